"""Empirical coverage of `predict_interval` on ten tables of the development pool.

    python -m benchmarks.intervals            # what is not in the results yet
    python -m benchmarks.intervals --again    # all of it
    python -m benchmarks.intervals --report   # print the table alone

Three quarters of the rows are fitted, by seed, and the share of the other rows whose target lies
inside of its interval is counted, for coverages of 80 and 90 percent: with nothing chosen, and with
`Fourier()`. Widths are in units of the targets' standard deviation. Every fit has one thread. Needs
the pool (KITCHENSINKS_DATA).
"""

import argparse
import itertools
import time
import warnings
from typing import Any

import numpy as np

from benchmarks.pool import load
from benchmarks.store import FOLDER, read, write

RESULTS = FOLDER / "intervals.json"
TABLES = (
    "bank32nh",
    "kin8nm",
    "delta_ailerons",
    "analcatdata_supreme",
    "space_ga",
    "parkinsons",
    "skillcraft",
    "airfoil",
    "ames",
    "deliveries",
)
SEEDS = 4
COVERAGES = (0.8, 0.9)


def models(seed: int) -> dict[str, Any]:
    import kitchensinks as ks

    plain = ks.KitchenSinkRegressor(ks.Fourier(), random_state=seed, n_jobs=1)
    return {
        "nothing chosen": ks.KitchenSinkRegressor(random_state=seed, n_jobs=1),
        "Fourier()": plain,
    }


def run(name: str, which: str, seed: int) -> dict[str, Any]:
    """Shares of targets inside, widths, the solver and the processor seconds of the fit."""
    from sklearn.model_selection import train_test_split

    rows, target = load(name)
    train, test, fitted, truth = train_test_split(rows, target, test_size=0.25, random_state=seed)
    model, start = models(seed)[which], time.process_time()
    model.fit(train, fitted)
    seconds = time.process_time() - start
    lower, upper = model.predict_interval(test, COVERAGES)
    inside = (lower <= truth[:, None]) & (truth[:, None] <= upper)
    return {
        "inside": inside.mean(axis=0).tolist(),
        "width": ((upper - lower).mean(axis=0) / truth.std()).tolist(),
        "solver": model.solver_,
        "rows": len(truth),
        "seconds": seconds,
    }


def report(results: dict[str, Any]) -> str:
    """Means over the seeds, with the standard error that the number of tested rows leaves."""
    lines = [
        "| table | model | at 80% | at 90% | standard error | width at 90% | solver |",
        "|---|---|---|---|---|---|---|",
    ]
    keys = [f"{name}, {which}" for name in TABLES for which in models(0)]
    for key in [key for key in keys if key in results]:
        name, _, which = key.partition(", ")
        found = list(results[key].values())
        inside = 100 * np.mean([one["inside"] for one in found], axis=0)
        width = float(np.mean([one["width"][-1] for one in found]))
        error = 100 * (0.09 / sum(one["rows"] for one in found)) ** 0.5
        cells = [name, which, *(f"{one:.1f}%" for one in inside), f"{error:.1f}", f"{width:.2f}"]
        lines.append(f"| {' | '.join(cells)} | {found[0]['solver']} |")
    far = [
        abs(100 * np.mean([one["inside"][-1] for one in seeds.values()]) - 90)
        for seeds in results.values()
    ]
    if far:
        lines.append(f"\nLargest distance from 90%: {max(far):.1f} points.")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--again", action="store_true", help="measure all of it anew")
    parser.add_argument("--report", action="store_true", help="print the table alone")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--only", default="", help="models whose name contains this")
    options = parser.parse_args()
    results = {} if options.again else read(RESULTS)
    warnings.simplefilter("ignore")
    for name, which in () if options.report else itertools.product(TABLES, models(0)):
        if options.only in which:
            seeds = results.setdefault(f"{name}, {which}", {})
            for seed in range(options.seeds):
                if str(seed) not in seeds:
                    seeds[str(seed)] = run(name, which, seed)
                    write(RESULTS, results)
    print(report(results))


if __name__ == "__main__":
    main()
