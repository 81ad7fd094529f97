"""Random bases, Figure 2: Forest with random binning, error and training time against P.

Columns standardised, and as they come (metres, degrees, 0 and 1): the paper does not name its
scaling.
"""

from functools import cache
from typing import Any

import numpy as np

import kitchensinks as ks
from kitchensinks.papers.datasets import Dataset
from kitchensinks.papers.experiments.claims import Claim, log_slope, near, ratio
from kitchensinks.papers.experiments.data import (
    best_factor,
    error_after_fit,
    evidence,
    inner_split,
    load,
    part,
    percent_wrong,
    standardised,
)
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
_GRIDS = (1, 2, 5, 10, 20, 50)
_SEEDS = 5
# Grids of the fits that choose the bandwidth, and their seed.
_SCREENED, _SCREEN_SEED = 10, 100


def cells(quick: bool) -> list[Cell]:
    grids, seeds = ((1, 2, 4), 1) if quick else (_GRIDS, _SEEDS)
    return grid(columns=_COLUMNS, P=grids, seed=range(seeds))


def run(cell: Cell, quick: bool) -> dict[str, Any]:
    data, factor = _forest(quick), _factor(cell["columns"], quick)
    model = _model(data, cell["columns"], cell["P"], factor, cell["seed"])
    with Stopwatch() as watch:
        model.fit(data.X_train, data.y_train)
    error = percent_wrong(model.predict(data.X_test), data.y_test)
    measured = {"error": error, "seconds": watch.processor, "wall": watch.wall, "factor": factor}
    return measured | evidence(model)


def _forest(quick: bool) -> Dataset:
    return part(load("covtype-binary"), *((300, 300) if quick else (None, None)))


@cache
def _factor(columns: str, quick: bool) -> float:
    """The bandwidth over the median heuristic's, by the rule of the notes."""
    trial = inner_split(_forest(quick), 0.1)

    def error(factor: float) -> float:
        return error_after_fit(_model(trial, columns, _SCREENED, factor, _SCREEN_SEED), trial)

    return best_factor(error, [8.0, 16.0])


def _model(data: Dataset, columns: str, grids: int, factor: float, seed: int) -> Any:
    raw = columns == "raw"
    some = np.asarray(data.X_train[:2000], dtype=np.float64)
    gamma = factor * float(ks.Binning().resolve(some if raw else standardised(some, some)).gamma)
    return ks.KitchenSinkClassifier(
        ks.Binning(gamma), grids, alpha=1e-6, standardize=not raw, random_state=seed
    )


def report(results: Results) -> Report:
    curves, tables, quickly, slowly = {}, [], [], []
    for columns, title in _COLUMNS.items():
        own = results.where(columns=columns)
        grids = np.array(own.unique("P"))
        # An axis of seeds after that of P.
        error, seconds = (
            np.array(list(own.by("P", of=key).values())) for key in ("error", "seconds")
        )
        curves[title] = grids, error.mean(axis=1), seconds.mean(axis=1)
        lines = [
            Line(f"{count}", errors, note=f"{mean:.1f}")
            for count, errors, mean in zip(grids, error, seconds.mean(axis=1), strict=True)
        ]
        factor = f"bandwidth {own.rows[0]['factor']:g} times the median rule's"
        tables.append(
            Table(title, lines, f"{factor}, test error, %", 2, "grids P", "seconds of training")
        )
        few = int(np.argmin(np.abs(grids - 10)))
        label = f"{title}, error at P = {grids[0]} over that at P = {grids[few]}"
        quickly.append(ratio(error[0], error[few], 2, label=label))
        slopes = [log_slope(grids, run) for run in seconds.T]
        slowly.append(near(slopes, 1.0, 0.1, "lower", label=f"{title}, slope", against="at most"))
    claims = [
        Claim("the error decays quickly: ten grids halve that of one, or better", quickly),
        Claim("training time grows slowly: no faster than P (slope of log against log)", slowly),
    ]

    def draw(figure: Any) -> None:
        left, right = figure.subplots(1, 2)
        for title, (grids, error, seconds) in curves.items():
            left.plot(grids, error, "o-", ms=3, label=title)
            right.plot(grids, seconds, "o-", ms=3)
        left.set(xlabel="P", ylabel="test error, %")
        right.set(xlabel="P", ylabel="training time, s")
        left.legend()

    notes = (
        "All 522,911 training rows, alpha = 1e-6; processor seconds of one thread, without those "
        "of choosing the bandwidth: on a tenth of the training rows, with ten grids fitted to the "
        "others, among powers of two times the median rule's."
    )
    return Report(tables, claims, draw, (7.0, 3.0), notes)
