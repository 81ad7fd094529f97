"""What the first fit after an installation takes beyond the second: loops that are compiled.

    python -m benchmarks.first_fit        # prints, and writes results/first_fit.json

A process of its own with an empty cache fits a regressor with nothing chosen twice, and then a
classifier with probabilities twice. Processor seconds, because other work changes them least; a fit
compiles on one thread.
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
    """Processor seconds of each fit, in this process."""
    import kitchensinks as ks

    random = np.random.default_rng(0)
    rows = random.normal(size=(3000, 8))
    target = np.sin(2.0 * rows[:, 0]) + rows[:, 1] * rows[:, 2] + 0.1 * random.normal(size=3000)
    found: dict[str, Any] = {}
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
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=HERE.parent, env=environment, check=True
        )
        kept = len(list(Path(empty).rglob("*.nbc")))
    found = json.loads(done.stdout.strip().splitlines()[-1])
    for name in ("regressor", "classifier"):
        more = found[f"{name}, first"] - found[f"{name}, second"]
        found[f"{name}, more"] = more
        print(f"{name}: the first fit takes {more:.1f} s more than the second")
    print(f"{kept} specialisations")
    results = {**found, "specialisations": kept, "machine": machine()}
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
