"""Random bases, Figure 2: Forest with random binning, error and training time against P.

Columns standardised, and as they come (metres, degrees, 0 and 1): bases-table1 says why both.
"""

from typing import Any

import numpy as np

import kitchensinks as ks
from kitchensinks.papers.experiments.claims import Claim, log_slope, near, ratio
from kitchensinks.papers.experiments.data import evidence, load, part, percent_wrong, standardised
from kitchensinks.papers.experiments.study import (
    Cell,
    Line,
    Report,
    Results,
    Stopwatch,
    Table,
    grid,
)

_COLUMNS = {"raw": "columns as they come", "standardised": "columns standardised"}
# Bandwidths as multiples of the median heuristic's.
_FACTORS = {"raw": 32.0, "standardised": 16.0}
_GRIDS = (1, 2, 5, 10, 20, 50)


def cells(quick: bool) -> list[Cell]:
    return grid(columns=_COLUMNS, P=(1, 2, 4) if quick else _GRIDS, seed=[0])


def run(cell: Cell, quick: bool) -> dict[str, Any]:
    data = part(load("covtype-binary"), 300 if quick else None, 300 if quick else None)
    raw = cell["columns"] == "raw"
    some = np.asarray(data.X_train[:2000], dtype=np.float64)
    like = some if raw else standardised(some, some)
    gamma = _FACTORS[cell["columns"]] * float(ks.Binning().resolve(like).gamma)
    model = ks.KitchenSinkClassifier(
        ks.Binning(gamma), cell["P"], alpha=1e-6, standardize=not raw, random_state=cell["seed"]
    )
    with Stopwatch() as watch:
        model.fit(data.X_train, data.y_train)
    error = percent_wrong(model.predict(data.X_test), data.y_test)
    measured = {"error": error, "seconds": watch.processor, "wall": watch.wall, "gamma": gamma}
    return measured | evidence(model)


def report(results: Results) -> Report:
    curves = {}
    for columns in _COLUMNS:
        own = results.where(columns=columns)
        curves[columns] = [np.array(own.values(key)) for key in ("P", "error", "seconds")]
    quickly, slowly = [], []
    for columns, title in _COLUMNS.items():
        grids, error, seconds = curves[columns]
        few = int(np.argmin(np.abs(grids - 10)))
        label = f"{title}, error at P = {grids[0]} over that at P = {grids[few]}"
        quickly.append(ratio([error[0]], [error[few]], 2, label=label))
        slope = log_slope(grids, seconds)
        slowly.append(near([slope], 1.0, 0.1, "lower", label=f"{title}, slope", against="at most"))
    claims = [
        Claim("the error decays quickly: ten grids halve that of one, or better", quickly),
        Claim("training time grows slowly: no faster than P (slope of log against log)", slowly),
    ]
    tables = [
        Table(
            title,
            [
                Line(f"P = {grids}", [error], note=f"{seconds:.1f} s")
                for grids, error, seconds in zip(*curves[columns], strict=True)
            ],
            "test error, %; seconds of training",
        )
        for columns, title in _COLUMNS.items()
    ]

    def draw(figure: Any) -> None:
        left, right = figure.subplots(1, 2)
        for columns, title in _COLUMNS.items():
            grids, error, seconds = curves[columns]
            left.plot(grids, error, "o-", ms=3, label=title)
            right.plot(grids, seconds, "o-", ms=3)
        left.set(xlabel="P", ylabel="test error, %")
        right.set(xlabel="P", ylabel="training time, s")
        left.legend()

    notes = "All 522,911 training rows, alpha = 1e-6; processor seconds of one thread."
    return Report(tables, claims, draw, (7.0, 3.0), notes)
