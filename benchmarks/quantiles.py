"""Quantiles with nothing chosen: their cost beside a squared fit, and what their interval covers.

    python -m benchmarks.quantiles                  # what is not in the results yet
    python -m benchmarks.quantiles --tables airfoil --again
    python -m benchmarks.quantiles --report         # print the table alone

Tables of the development half of the pool (`benchmarks.pool`), three quarters fitted by seed. The
interval lies between the quantiles 5 % and 95 %, each fitted by itself; the ratio is the processor
time of the slower of the two to that of a fit with squared loss. Every fit has one thread. Targets
of few different values (35 of delta_ailerons, 10 of analcatdata_supreme) lie in more intervals than
a tenth less than all: the quantile of a row is one of these values, and the interval has its ends.
"""

import argparse
import time
import warnings
from functools import partial
from typing import Any

import numpy as np

from benchmarks.pool import half, listed, load
from benchmarks.store import FOLDER, complete

RESULTS = FOLDER / "quantiles.json"
SHARES = (0.05, 0.95)


def names() -> list[str]:
    """Regressions of the development half."""
    return [n for n, (task, _) in listed().items() if task == "regression" and half(n) == "develop"]


def run(name: str, seed: int) -> dict[str, Any]:
    """Processor seconds, pinball losses and the share of the tested rows that is covered."""
    from sklearn.metrics import mean_pinball_loss
    from sklearn.model_selection import train_test_split

    import kitchensinks as ks

    rows, target = load(name)
    train, test, fitted, truth = train_test_split(rows, target, test_size=0.25, random_state=seed)
    found: dict[str, Any] = {"rows": len(fitted)}
    ends = []
    for loss in ("squared", *map(ks.losses.Quantile, SHARES)):
        model = ks.KitchenSinkRegressor(loss=loss, random_state=seed, n_jobs=1)
        start = time.process_time()
        model.fit(train, fitted)
        key = loss if isinstance(loss, str) else f"{loss.tau:.0%}"
        found[f"{key} seconds"] = time.process_time() - start
        found[f"{key} solver"] = f"{model.solver_}, {model.n_iter_} iterations"
        if not isinstance(loss, str):
            ends.append(model.predict(test))
            found[f"{key} pinball"] = mean_pinball_loss(truth, ends[-1], alpha=loss.tau)
            found[f"{key} relative gap"] = model.gap_ / model.objective_
    found["covered"] = float(np.mean((truth >= ends[0]) & (truth <= ends[1])))
    return found


def report(results: dict[str, Any]) -> str:
    """Markdown: a line for each table and seed."""
    lines = [
        "| table, seed | rows | squared s | 5 % s | 95 % s | ratio | covered |",
        "|---" * 7 + "|",
    ]
    for key, one in results.items():
        seconds = [one[f"{name} seconds"] for name in ("squared", "5%", "95%")]
        cells = " | ".join(f"{value:.2f}" for value in seconds)
        ratio = max(seconds[1:]) / seconds[0]
        lines.append(
            f"| {key} | {one['rows']} | {cells} | {ratio:.2f} | {100 * one['covered']:.1f} % |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="*")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--again", action="store_true", help="run what is there already anew")
    parser.add_argument("--report", action="store_true", help="print the table alone")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    cells = [(name, seed) for seed in range(given.seeds) for name in given.tables or names()]
    jobs = [(f"{name}, {seed}", partial(run, name, seed)) for name, seed in cells]
    results = complete(RESULTS, [] if given.report else jobs, given.again)
    print(report(results))


if __name__ == "__main__":
    main()
