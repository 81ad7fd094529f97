"""Data, models and claims common to the studies of speech frames (maxout paper, 5.2.2)."""

import itertools
from functools import cache, partial
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kitchensinks as ks
from kitchensinks.papers.datasets import Dataset
from kitchensinks.papers.experiments.claims import Claim, below
from kitchensinks.papers.experiments.data import (
    best_factor,
    error_after_fit,
    evidence,
    inner_split,
    load,
    part,
    standardised,
)
from kitchensinks.papers.experiments.study import Cell, Grouped

POOLS = [2, 4, 8, 16]
NAMES = {"phoneme": "phonemes of TIMIT", "isolet": "ISOLET"}
SEEDS = 5
# Training rows: the cost of a fit with more features than rows grows with their cube.
ROWS = 2000
# Units of the fits that choose ridge and bandwidth, and their seed.
SCREENED, SCREEN_SEED = 1000, 100


def sets(quick: bool) -> dict[str, int]:
    """The data sets, each with its number of seeds."""
    return {"phoneme": 1} if quick else dict.fromkeys(NAMES, SEEDS)


def frames(name: str, quick: bool) -> Dataset:
    return part(load(name), 300 if quick else ROWS, 300 if quick else None)


@cache
def chosen(name: str, features: str, pool: int, quick: bool) -> tuple[Any, float]:
    """The basis with its bandwidth, and its ridge: of least error on a quarter of the rows.

    A bandwidth is a power of two times the median rule's and a ridge a power of ten; neither is at
    an end of those that were tried. Maxout units are homogeneous and have no bandwidth.
    """
    trial = inner_split(frames(name, quick), 0.25)
    found: dict[tuple[float, float], float] = {}

    def basis(gamma: float) -> Any:
        return ks.Fourier(gamma=gamma) if features == "Fourier" else ks.Maxout(pool)

    def error(alpha: float, gamma: float) -> float:
        model = _classifier(basis(gamma), 40 if quick else SCREENED, alpha, SCREEN_SEED)
        found[gamma, alpha] = error_after_fit(model, trial)
        return found[gamma, alpha]

    def least(gamma: float) -> float:
        if quick:
            return error(1e-5, gamma)
        alpha = best_factor(partial(error, gamma=gamma), [1e-5, 1e-4, 1e-3], 10.0)
        return found[gamma, alpha]

    middle = 1.0
    if features == "Fourier":
        some = standardised(trial.X_train[:2000], trial.X_train).astype(np.float64)
        middle = float(ks.Fourier().resolve(some).gamma)
    if quick or features != "Fourier":
        least(middle)
    else:
        best_factor(least, [0.5 * middle, middle])
    gamma, alpha = min(found, key=found.__getitem__)
    return basis(gamma), alpha


def run(cell: Cell, quick: bool) -> dict[str, Any]:
    """Per cent of the test frames that multinomial logistic regression gets wrong.

    It is fitted to m random features, or to the standardised inputs in a cell without m.
    """
    data, settings = frames(cell["data"], quick), {}
    if cell["m"] is None:
        model: Any = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-3, max_iter=300))
    else:
        features, pool = cell.get("features", "maxout"), cell.get("q", 4)
        basis, alpha = chosen(cell["data"], features, pool, quick)
        settings = {"alpha": alpha, "gamma": basis.gamma if features == "Fourier" else None}
        if cell.get("projections") is not None:
            basis = ks.Maxout(pool, projections=cell["projections"])
        model = _classifier(basis, cell["m"], alpha, cell["seed"])
    return {"error": error_after_fit(model, data), **settings, **evidence(model)}


def _classifier(basis: Any, count: int, alpha: float, seed: int) -> Any:
    return ks.KitchenSinkClassifier(
        basis,
        count,
        loss="logistic",
        alpha=alpha,
        solver=ks.Solver(tol=1e-2, dtype="float32"),
        random_state=seed,
    )


def claims(errors: Grouped, raw: list[float], prefix: str = "") -> list[Claim]:
    """What Table 2 claims of the errors by (m, q) and of the error on the inputs themselves."""
    counts = sorted({m for m, _ in errors})
    most = counts[-1]
    return [
        Claim(
            f"{prefix}q = 4 is best at m = {most:,}",
            [below(errors[most, 4], errors[most, q], f"q = 4 and {q}") for q in POOLS if q != 4],
        ),
        Claim(
            f"{prefix}the error falls with m",
            [
                below(errors[more, q], errors[less, q], f"q = {q}, m = {more:,}")
                for q in POOLS
                for less, more in itertools.pairwise(counts)
            ],
        ),
        Claim(
            f"{prefix}far below logistic regression on the inputs",
            [below(errors[most, 4], 0.8 * raw[0], "q = 4, against four fifths of it")],
            "It is below, by less than a fifth." if np.mean(errors[most, 4]) < raw[0] else "",
        ),
    ]
