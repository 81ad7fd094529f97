"""What the first fit after an installation takes beyond the second: loops that are compiled.

    python -m benchmarks.first_fit        # prints, and writes results/first_fit.json

A process of its own with an empty cache imports the estimators, fits a regressor with nothing
chosen twice, and then a classifier with probabilities twice. A second process finds the cache and
does the same: what its first fit takes more is loading. Processor seconds, because other work
changes them least; a fit compiles on one thread.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.__main__ import machine

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "first_fit.json"


def fits() -> dict[str, Any]:
    """Processor seconds of the imports and of each fit, in this process."""
    begun = time.process_time()
    import kitchensinks as ks

    # The estimators are imported when they are first named.
    assert ks.KitchenSinkRegressor is not ks.KitchenSinkClassifier
    imports = time.process_time() - begun
    random = np.random.default_rng(0)
    rows = random.normal(size=(3000, 8))
    target = np.sin(2.0 * rows[:, 0]) + rows[:, 1] * rows[:, 2] + 0.1 * random.normal(size=3000)
    found: dict[str, Any] = {"imports": imports}
    for name in ("regressor", "classifier"):
        for which in ("first", "second"):
            begun = time.process_time()
            if name == "regressor":
                ks.KitchenSinkRegressor(random_state=0, n_jobs=1).fit(rows, target).predict(rows)
            else:
                model = ks.KitchenSinkClassifier(random_state=0, n_jobs=1)
                model.fit(rows, target > 0).predict_proba(rows)
            found[f"{name}, {which}"] = time.process_time() - begun
    return found


def main() -> None:
    if sys.argv[1:] == ["--here"]:
        print(json.dumps(fits()))
        return
    with tempfile.TemporaryDirectory() as empty:
        environment = {**os.environ, "NUMBA_CACHE_DIR": empty}
        command = [sys.executable, "-W", "ignore", "-m", "benchmarks.first_fit", "--here"]
        processes = []
        for _ in range(2):
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                cwd=HERE.parent,
                env=environment,
                check=True,
            )
            processes.append(json.loads(done.stdout.strip().splitlines()[-1]))
        kept = len(list(Path(empty).rglob("*.nbc")))
    found = processes[0]
    print(f"imports: {found['imports']:.1f} s")
    for name in ("regressor", "classifier"):
        more, loading = (own[f"{name}, first"] - own[f"{name}, second"] for own in processes)
        found[f"{name}, more"], found[f"{name}, more with a cache"] = more, loading
        print(
            f"{name}: the first fit takes {more:.1f} s more than the second, "
            f"{loading:.1f} s more in a process that finds a cache"
        )
    print(f"{kept} specialisations are kept")
    results = {**found, "specialisations": kept, "machine": machine()}
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
