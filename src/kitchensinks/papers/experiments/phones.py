"""Data, models and claims common to the studies of speech frames (maxout paper, 5.2.2)."""

import itertools
from functools import cache
from typing import Any

from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kitchensinks as ks
from kitchensinks.papers.datasets import Dataset
from kitchensinks.papers.experiments.claims import Claim, below
from kitchensinks.papers.experiments.data import evidence, fit_quietly, load, part, percent_wrong
from kitchensinks.papers.experiments.study import Cell, Groups

POOLS = [2, 4, 8, 16]
NAMES = {"phoneme": "phonemes of TIMIT", "isolet": "ISOLET"}
SEEDS = {"phoneme": 5, "isolet": 1}


def sets(quick: bool) -> dict[str, int]:
    """The data sets, each with its number of seeds."""
    return {"phoneme": 1} if quick else SEEDS


def frames(name: str, quick: bool) -> Dataset:
    return part(load(name), 300 if quick else None, 300 if quick else None)


@cache
def strength(name: str, quick: bool) -> float:
    """One ridge for every m and q: chosen on held-out rows with 250 maxout units of q = 4."""
    data = frames(name, quick)
    model = _classifier(ks.Maxout(4), 40 if quick else 250, "auto", 100)
    return float(model.fit(data.X_train, data.y_train).alpha_)


def run(cell: Cell, quick: bool) -> dict[str, Any]:
    """Per cent of the test frames that multinomial logistic regression gets wrong.

    It is fitted to m random features, or to the standardised inputs in a cell without m.
    """
    name = cell["data"]
    data = frames(name, quick)
    if cell["m"] is None:
        model = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-3, max_iter=300))
        model.fit(data.X_train, data.y_train)
    else:
        basis: Any = ks.Maxout(cell.get("q", 4), projections=cell.get("projections"))
        if cell.get("features") == "Fourier":
            basis = ks.Fourier()
        model = _classifier(basis, cell["m"], strength(name, quick), cell["seed"])
        fit_quietly(model, data.X_train, data.y_train)
    return {"error": percent_wrong(model.predict(data.X_test), data.y_test), **evidence(model)}


def _classifier(basis: Any, count: int, alpha: float | str, seed: int) -> Any:
    return ks.KitchenSinkClassifier(
        basis,
        count,
        loss="logistic",
        alpha=alpha,
        solver=ks.Solver(tol=1e-2, dtype="float32"),
        random_state=seed,
    )


def claims(errors: Groups, raw: list[float], prefix: str = "") -> list[Claim]:
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
            [below(errors[most, 4], [0.8 * raw[0]], "q = 4, against four fifths of it")],
        ),
    ]
