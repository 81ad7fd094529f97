"""`python -m benchmarks.versions BEFORE AFTER`: error and time of two versions, side by side.

Each argument is the root of a source tree. Every job runs in a process of its own, the versions
taking turns, after a warm-up in the same process; the table has medians over repeats and the range
of the times. Jobs are fits to the training rows of sets, where seeds change the fit alone, and fits
with nothing chosen to the tables of the development pool, where a seed is a split. The last lines
are geometric means over these tables. Needs the real data sets (KITCHENSINKS_DATA).
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks import pool
from benchmarks.store import FOLDER, read, write

HERE = Path(__file__).parent
RESULTS = FOLDER / "versions.json"
JOBS = (
    "cpu_act, nothing chosen",
    "house_16H, nothing chosen",
    "adult, nothing chosen",
    "phoneme frames, nothing chosen",
    "adult, Fourier K = 2000",
    "adult, Fourier K = 1000, leave-one-out",
    "adult, hinge, K = 1000",
)
POOL = "of the pool"
CODE = """
import json, sys, time, warnings
import numpy as np
import kitchensinks as ks
warnings.simplefilter("ignore")
from benchmarks import pool
job, seed = sys.argv[1], int(sys.argv[2])
name, _, how = job.partition(", ")
names = {"cpu_act": "cpu_act", "house_16H": "house_16H", "adult": "adult-onehot",
         "phoneme frames": "phoneme"}
if how == "of the pool":
    X, T, y, t = pool.split(name, seed)
    task, how = pool.listed()[name][0], "nothing chosen"
else:
    data = ks.datasets.load(names[name])
    X, y, T, t, task = data.X_train, data.y_train, data.X_test, data.y_test, data.task
kind = ks.KitchenSinkRegressor if task == "regression" else ks.KitchenSinkClassifier
def model():
    if how == "nothing chosen":
        return kind(random_state=seed, n_jobs=1)
    if how == "hinge, K = 1000":
        return kind(ks.Fourier(), 1000, loss="hinge", alpha=1e-5, random_state=seed, n_jobs=1)
    if how.startswith("Fourier K = 2000"):
        return kind(ks.Fourier(), 2000, alpha=1e-6, random_state=seed, n_jobs=1)
    return kind(ks.Fourier(), 1000, random_state=seed, n_jobs=1)
few = min(len(X), 3000)
warm = model().fit(X[:few], y[:few])
warm.predict(T[:100])
start, cpu = time.perf_counter(), time.process_time()
fitted = model().fit(X, y)
seconds, used = time.perf_counter() - start, time.process_time() - cpu
found = fitted.predict(T)
if task == "regression":
    error = 100 * float(np.sqrt(np.mean((found - t) ** 2)) / np.std(t))
else:
    error = 100 * float(np.mean(found != t))
print(json.dumps({"error": error, "seconds": seconds, "processor": used}))
"""


def measure(tree: Path, job: str, seed: int) -> dict[str, float]:
    """One job of one version in a new process."""
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    environment = {**os.environ, **one, "PYTHONPATH": str(tree / "src")}
    done = subprocess.run(
        [sys.executable, "-c", CODE, job, str(seed)],
        cwd=HERE.parent,
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{job!r} failed in {tree}:\n{done.stderr}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def row(job: str, runs: dict[str, list[dict[str, float]]]) -> str:
    cells = [job]
    for measured in runs.values():
        errors = [run["error"] for run in measured]
        times = [run["processor"] for run in measured]
        cells.append(f"{statistics.fmean(errors):.2f}")
        cells.append(f"{statistics.median(times):.2f} ({min(times):.2f}–{max(times):.2f})")
    return f"| {' | '.join(cells)} |"


def over_the_pool(results: dict[str, Any]) -> str:
    """Geometric means over the tables of the pool: error and time after over those before."""
    lines = []
    tables = {name.partition(",")[0]: runs for name, runs in results.items() if POOL in name}
    for part in ("develop", "aside"):
        own = [runs for name, runs in tables.items() if pool.half(name) == part]
        if not own:
            continue
        for what, least in (("error", 1e-2), ("processor", 0.0)):
            ratios = [
                max(statistics.fmean(run[what] for run in runs["after"]), least)
                / max(statistics.fmean(run[what] for run in runs["before"]), least)
                for runs in own
            ]
            better = sum(ratio < 1.0 for ratio in ratios)
            lines.append(
                f"{part}, {len(own)} tables: {what} after over before {pool.geometric(ratios):.3f} "
                f"(median {statistics.median(ratios):.3f}), lower on {better}"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="", help="jobs whose names contain this text")
    given = parser.parse_args()
    print("| job | error before, % | processor s before | error after, % | processor s after |")
    print("|---|---|---|---|---|")
    results = read(RESULTS)
    jobs = (*JOBS, *(f"{name}, {POOL}" for name in pool.listed()))
    for job in (job for job in jobs if given.only in job):
        runs: dict[str, list[dict[str, float]]] = {"before": [], "after": []}
        for seed in range(given.seeds):
            for version, tree in (("before", given.before), ("after", given.after)):
                runs[version].append(measure(tree.resolve(), job, seed))
        results[job] = runs
        print(row(job, runs), flush=True)
        write(RESULTS, results)
    print(over_the_pool(results))


if __name__ == "__main__":
    main()
