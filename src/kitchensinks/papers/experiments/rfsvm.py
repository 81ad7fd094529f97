"""Data and models common to the studies of random Fourier SVMs (thesis, section 2.5)."""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.svm import SVC

import kitchensinks as ks
from kitchensinks.papers import datasets
from kitchensinks.papers.datasets.synthetic import Pair
from kitchensinks.papers.experiments.claims import Check, Claim
from kitchensinks.papers.experiments.data import evidence, fit_quietly, load, part
from kitchensinks.papers.experiments.study import Cell, Line, Results

NOISE = 0.1
# Columns of the synthetic sets.
INPUTS = {"annulus": 2, "shell": 10}
# λ of the thesis's ½λ‖f‖²; its −7 ≤ log λ ≤ 1 is taken to base ten.
LAMBDAS = [10.0**power for power in range(-7, 2)]
# Uniform features; reweighted ones as Algorithm 1 prints them, and scaled by 1/√(M·p_i) so that
# the kernel is kept (docs/errata.md).
METHODS = {"unif": "uniform", "printed": "reweighted, as printed", "opt": "reweighted, corrected"}


@lru_cache(maxsize=4)
def training(data: str, m: int, run: int) -> Pair:
    """m rows of a run: annulus (2 or 10 dimensions, a tenth of the labels flipped) or digits."""
    if data == "mnist":
        digits = part(load("mnist"), m, 1, seed=run)
        return digits.X_train, digits.y_train
    return datasets.make_annulus(m, noise=NOISE, n_inputs=INPUTS[data], random_state=run)


@lru_cache(maxsize=2)
def testing(data: str, n_rows: int, run: int) -> Pair:
    """Test rows; those of synthetic sets are drawn for each run and have labels without noise."""
    if data == "mnist":
        digits = load("mnist")
        return digits.X_test[:n_rows], digits.y_test[:n_rows]
    seed = 10_000 + run
    return datasets.make_annulus(n_rows, noise=0.0, n_inputs=INPUTS[data], random_state=seed)


def bandwidth(rows: np.ndarray) -> float:
    """1/(2γ²), γ the mean distance of the rows (of 1000 of them)."""
    return float(0.5 / pdist(rows[:1000]).mean() ** 2)


def _features(rows: np.ndarray, cell: Cell) -> Callable[[np.ndarray], np.ndarray]:
    """The map of N cosines and sines, drawn (and chosen by these rows) once for all λ."""
    basis: ks.bases.Basis = ks.Fourier(gamma=bandwidth(rows), form="paired")
    if cell["method"] != "unif":
        basis = ks.Reweighted(basis, pool=100, rows=0.3, correction=cell["method"] == "opt")
    made = ks.RandomFeatures(basis, cell["N"], random_state=cell["run"])
    return made.fit(rows.astype(np.float64)).transform  # type: ignore[no-any-return]


def _machine(cell: Cell, lam: float, rows: np.ndarray, n_rows: int) -> Any:
    """Minimises the mean hinge loss + ½λ‖f‖² over sums of the features, or in the kernel's space
    for the method "ksvm"; both with an intercept that is not penalised, as LIBSVM has. A cell may
    have features without one.
    """
    if cell["method"] == "ksvm":
        return SVC(C=1.0 / (lam * n_rows), gamma=bandwidth(rows))
    return ks.KitchenSinkClassifier(
        ks.Linear(),
        loss="hinge",
        alpha=lam / 2,
        standardize=False,
        fit_intercept=cell.get("intercept", True),
        solver=ks.Solver(max_iter=2000),
        random_state=cell["run"],
    )


def excess_risk(accuracy: Any) -> Any:
    """Excess risk over the Bayes classifier, from the accuracy on labels without noise."""
    return (1.0 - 2.0 * NOISE) * (1.0 - accuracy)


def log_squared(m: int, factor: float) -> int:
    """N = O(ln² m) features."""
    return max(1, round(factor * math.log(m) ** 2))


def scores(
    cell: Cell, m: int, lambdas: list[float], n_test: int
) -> tuple[list[float], dict[str, Any]]:
    """Accuracy on test rows for each λ, with m training rows, and the evidence of the fits."""
    data = cell.get("data", "annulus")
    rows, labels = training(data, m, cell["run"])
    others, truth = testing(data, n_test, cell["run"])
    machines = [_machine(cell, lam, rows, m) for lam in lambdas]
    if cell["method"] != "ksvm":
        features = _features(rows, cell)
        rows, others = features(rows), features(others)
    found = [float(fit_quietly(each, rows, labels).score(others, truth)) for each in machines]
    return found, evidence(*machines)


class Best(NamedTuple):
    """The λ of the best mean over the runs, and the value of each run there."""

    n_features: int | None
    lam: float
    values: np.ndarray

    def line(self, m: int, method: str) -> Line:
        label = f"{m:,}, {self.n_features}"
        return Line(label, self.values, note=f"{self.lam:g}", column=METHODS[method])


def best(results: Results, key: str, choose: Any, *entries: str) -> dict[Any, Best]:
    """The best λ for each combination of entries; np.argmin or np.argmax chooses it."""
    found = {}
    for group, listed in results.by(*entries, of=key).items():
        values = np.array(listed)
        place = int(choose(values.mean(axis=0)))
        row = results.where(**dict(zip(entries, group, strict=True))).rows[0]
        found[group] = Best(row["N"], row["lambdas"][place], values[:, place])
    return found


def better_than_uniform(checks: Callable[[str], list[Check]]) -> list[Claim]:
    """The claims about both kinds of reweighted features, from the checks of a method."""
    words = "features do better than uniform ones"
    kinds = {"printed": "paper", "opt": "ours"}
    return [Claim(f"{METHODS[k]}: {words}", checks(k), kind=kinds[k]) for k in kinds]


def draw_runs(axes: Any, sizes: list[int], runs: dict[str, list[np.ndarray]], label: str) -> None:
    """Mean and deviation of the runs at each size, a line for each method."""
    for method, values in runs.items():
        means, deviations = [v.mean() for v in values], [v.std() for v in values]
        axes.errorbar(sizes, means, deviations, lw=1, capsize=2, label=method)
    axes.set(xscale="log", xlabel="m", ylabel=label)
