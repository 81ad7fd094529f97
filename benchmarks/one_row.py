"""Processor time of predicting one row of a data frame, on tables of the development pool.

    KITCHENSINKS_DATA=... python -m benchmarks.one_row            # five tables
    KITCHENSINKS_DATA=... python -m benchmarks.one_row nursery    # others

Fits at most 3,000 rows of a table with nothing chosen, asks for 200 single rows one after another,
and prints the median of their processor time. `HistGradientBoosting` is asked for the same rows.
"""

import sys
import time
import warnings
from typing import Any

import numpy as np

from benchmarks.pool import listed, load, ours

TABLES = ("ames", "deliveries", "lending_club", "skillcraft", "airfoil")
FITTED, ASKED = 3_000, 200


def median_time(model: Any, rows: Any) -> float:
    """Milliseconds of `predict` for each of some rows."""
    singles = [rows.iloc[k : k + 1] for k in range(min(ASKED, len(rows)))]
    times = []
    for single in [*singles[:5], *singles]:
        start = time.process_time()
        model.predict(single)
        times.append(time.process_time() - start)
    return 1e3 * float(np.median(times[5:]))


def main() -> None:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    print("| table | columns | kitchensinks, ms | HistGradientBoosting, ms |\n|---|---|---|---|")
    for name in sys.argv[1:] or TABLES:
        task, _ = listed()[name]
        rows, target = load(name)
        rows, target = rows[:FITTED], target[:FITTED]
        trees = HistGradientBoostingRegressor if task == "regression" else None
        trees = trees or HistGradientBoostingClassifier
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            own = median_time(ours("default")(task, 0).fit(rows, target), rows)
            numeric = rows.select_dtypes(exclude="datetime")
            peer = median_time(trees(random_state=0).fit(numeric, target), numeric)
        print(f"| {name} | {rows.shape[1]} | {own:.2f} | {peer:.2f} |", flush=True)


if __name__ == "__main__":
    main()
