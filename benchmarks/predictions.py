"""Prediction of learned laws beside LightGBM: one row, and 100,000 rows.

    KITCHENSINKS_DATA=... python -m benchmarks.predictions     # run, and print the table
    python -m benchmarks.report                                # the table into docs/benchmarks.md

Fits 20,000 rows of forest cover (two classes) on one thread, with bins, with dense features, and
with nothing chosen. `predict` is asked in turns, after a warm-up: the median of single rows by the
clock, and of all rows in processor seconds.
"""

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import kitchensinks as ks
from benchmarks.__main__ import machine
from benchmarks.store import FOLDER, use_data_beside, write

RESULTS = FOLDER / "predictions.json"
LIGHTGBM = "LightGBM"
FITTED, ASKED = 20_000, 100_000
# Times that single rows, and all rows, are asked for.
SINGLE, ROUNDS = 500, 7


def contestants() -> dict[str, Any]:
    from lightgbm import LGBMClassifier

    def ours(basis: Any) -> Any:
        return ks.KitchenSinkClassifier(basis, random_state=0, n_jobs=1)

    return {
        LIGHTGBM: LGBMClassifier(random_state=0, n_jobs=1, verbose=-1),
        "kitchensinks, bins": ours(ks.Learned(ks.Binning())),
        "kitchensinks, dense features": ours(ks.Learned(ks.Fourier())),
        "kitchensinks, nothing chosen": ours(ks.Learned()),
    }


def spent(clock: Callable[[], float], call: Callable[[], Any]) -> float:
    start = clock()
    call()
    return clock() - start


def measure() -> dict[str, Any]:
    """Medians of each contestant, which take turns."""
    data = ks.datasets.load("covtype-binary")
    rows = np.asarray(data.X_train[: FITTED + ASKED], dtype=np.float64)
    targets = data.y_train[:FITTED]
    models = {name: each.fit(rows[:FITTED], targets) for name, each in contestants().items()}
    asked, one = rows[FITTED:], rows[FITTED : FITTED + 1].copy()
    times: dict[str, dict[str, list[float]]] = {name: {"one": [], "all": []} for name in models}
    for model in models.values():
        model.predict(asked), model.predict(one)
    for _ in range(ROUNDS):
        for name, model in models.items():
            times[name]["all"].append(spent(time.process_time, lambda m=model: m.predict(asked)))
            calls = [
                spent(time.perf_counter, lambda m=model: m.predict(one)) for _ in range(SINGLE)
            ]
            times[name]["one"].append(statistics.median(calls))
    return {
        name: {key: statistics.median(values) for key, values in own.items()}
        for name, own in times.items()
    }


def table(results: dict[str, Any]) -> str:
    """Markdown: microseconds of one row, processor seconds of all, and their ratio."""
    lines = [
        f"| forest cover, two classes | one row, µs | {ASKED:,} rows, s | over LightGBM's |",
        "|---|---|---|---|",
    ]
    found = results.get("contestants", {})
    for name, own in found.items():
        ratio = own["all"] / found[LIGHTGBM]["all"]
        lines.append(f"| {name} | {1e6 * own['one']:.0f} | {own['all']:.2f} | {ratio:.2f} |")
    return "\n".join(lines)


def main() -> None:
    use_data_beside()
    results = {"contestants": measure(), "machine": machine()}
    write(RESULTS, results)
    print(table(results))


if __name__ == "__main__":
    main()
