"""Rows that come in batches with nothing chosen, beside one fit to all of them.

    python -m benchmarks.streams                        # six tables
    python -m benchmarks.streams --tables cpu_act magic --batch 1000

Three fits to the same rows: all at once; half of them, and then `partial_fit` of the others under
the law of the half; and `partial_fit` alone, in batches, asked for a prediction at the end. Errors
are as in `benchmarks.learned_law`, seconds those of the processor, every fit has one thread.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks import pool
from benchmarks.learned_law import SETS, Split, split

TABLES = ("house_16H", "cpu_act", "adult", "kin8nm", "wine_quality_white", "magic")


def rows_of(name: str) -> Split:
    """One of the ten sets, or a table of the pool."""
    if name in SETS:
        return split(name, 0)
    rows, target = pool.load(name)
    train, test, fitted, truth = train_test_split(rows, target, test_size=0.25, random_state=0)
    return Split(pool.listed()[name][0], train, fitted, test, truth)


def taken(rows: Any, part: slice) -> Any:
    return rows.iloc[part] if hasattr(rows, "iloc") else rows[part]


def ways(data: Split, batch: int) -> dict[str, Callable[[Any], Any]]:
    """What is done with a model, by name."""
    half, count = len(data.target) // 2, len(data.target)
    more = {"classes": np.unique(data.target)} if data.task == "classification" else {}

    def in_batches(model: Any) -> Any:
        for start in range(0, count, batch):
            part = slice(start, start + batch)
            model.partial_fit(taken(data.train, part), data.target[part], **more)
        return model

    def going_on(model: Any) -> Any:
        model.fit(taken(data.train, slice(0, half)), data.target[:half])
        return model.partial_fit(taken(data.train, slice(half, None)), data.target[half:])

    return {
        "one fit": lambda model: model.fit(data.train, data.target),
        "half, then the rest": going_on,
        f"batches of {batch}": in_batches,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="*", default=TABLES)
    parser.add_argument("--batch", type=int, default=1000)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in given.tables:
        data = rows_of(name)
        print(f"{name}, {len(data.target):,} rows")
        for way, fit in ways(data, given.batch).items():
            model, start = pool.ours("default")(data.task, 0), time.process_time()
            error = data.error(fit(model).predict(data.test))
            seconds, basis = time.process_time() - start, model.law_.features.basis
            print(f"  {way:20} {error:6.2f}  {seconds:5.1f} s  {type(basis).__name__}", flush=True)


if __name__ == "__main__":
    main()
