"""`python -m benchmarks.selection`: what reweighted feature selection gains, and what it costs.

Writes results/selection.json and prints the tables of docs/selection.md. Accuracy is against
labels without noise, so that 1 is the Bayes classifier. Times are processor seconds.
"""

import resource
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import stats
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import RidgeClassifierCV
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

import kitchensinks as ks
from benchmarks.store import FOLDER, run_works

RESULTS = FOLDER / "selection.json"
METHODS: dict[str, Callable[[Any], Any]] = {
    "uniform": lambda basis: basis,
    "reweighted": ks.Reweighted,
    "plain": lambda basis: ks.Reweighted(basis, correction=False),
}
Data = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
RUNS = 10


def annulus(run: int, n_inputs: int = 2) -> Data:
    """1000 rows with 10 % of the labels flipped (thesis 2.5), and 50,000 with none."""
    rows, labels = ks.datasets.make_annulus(1000, n_inputs=n_inputs, random_state=run)
    others, truth = ks.datasets.make_annulus(
        50_000, n_inputs=n_inputs, noise=0.0, random_state=10_000
    )
    return rows, labels, others, truth


def shell(run: int) -> Data:
    return annulus(run, n_inputs=10)


def digits(run: int) -> Data:
    """1000 of the training digits of MNIST and 5000 of the test digits."""
    data = ks.datasets.load("mnist", download=False)
    chosen = np.random.default_rng(run).permutation(len(data.y_train))[:1000]
    rows, others = data.X_train[chosen] / 255.0, data.X_test[:5000] / 255.0
    return rows, data.y_train[chosen], others, data.y_test[:5000]


def bandwidth(rows: np.ndarray) -> float:
    """1/(2γ²) with γ the mean distance of rows, as in the thesis."""
    some = rows[:300]
    squares = np.square(some).sum(axis=1)
    distances = np.sqrt(np.maximum(squares[:, None] + squares - 2 * some @ some.T, 0.0))
    return float(0.5 / distances.mean() ** 2)


def hinge() -> Any:
    """Hinge loss, with C by 3-fold cross-validation: 13 fits."""
    grid = {"C": [0.3, 3.0, 30.0, 300.0]}
    return GridSearchCV(
        LinearSVC(loss="hinge", max_iter=5000, tol=1e-3, random_state=0), grid, cv=3
    )


def ridge() -> Any:
    """Squared loss, with alpha by exact leave-one-out: one factorisation."""
    return RidgeClassifierCV(np.logspace(-8, 0, 9))


def fit(
    data: Data, n_components: int, method: str, run: int, form: str, make_machine: Any
) -> dict[str, float]:
    """Choose and make features, fit, and measure the accuracy on other rows."""
    rows, labels, others, truth = data
    basis = ks.Fourier(gamma=bandwidth(rows), form=form)
    start = time.process_time()
    features = ks.RandomFeatures(METHODS[method](basis), n_components, run).fit(rows)
    chosen = time.process_time()
    shown = features.transform(rows)
    classifier = make_machine()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        classifier.fit(shown, labels)
    done = time.process_time()
    return {
        "accuracy": float(classifier.score(features.transform(others), truth)),
        "selection_seconds": chosen - start,
        "seconds": done - start,
    }


def compare(
    make: Callable[[int], Data],
    counts: list[int],
    methods: tuple[str, ...] = tuple(METHODS),
    form: str = "paired",
    make_machine: Any = hinge,
    runs: range = range(RUNS),
) -> Iterator[dict[str, Any]]:
    """Every method at every N: mean and deviation, and a paired t-test against uniform."""
    for count in counts:
        fits: dict[str, list[dict[str, float]]] = {name: [] for name in methods}
        for run in runs:
            data = make(run)
            for name in methods:
                fits[name].append(fit(data, count, name, run, form, make_machine))
        base = [each["accuracy"] for each in fits["uniform"]]
        for name, mine in fits.items():
            own = [each["accuracy"] for each in mine]
            test = stats.ttest_rel(own, base, alternative="greater") if name != "uniform" else None
            yield {
                "N": count,
                "method": name,
                "accuracy": float(np.mean(own)),
                "deviation": float(np.std(own, ddof=1)),
                "p": None if test is None else float(test.pvalue),
                "seconds": float(np.median([each["seconds"] for each in mine])),
                "selection_seconds": float(np.median([e["selection_seconds"] for e in mine])),
            }


def large() -> dict[str, float]:
    """M = 100,000 candidates for N = 1000 on L = 2000 rows of 20 columns."""
    rows = np.random.default_rng(0).normal(size=(20_000, 20))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    basis = ks.Reweighted(ks.Fourier(gamma=1 / 40))
    basis.learn_draw(basis.draw(0, 20, 1000, np.float32), rows)
    return {
        "wall_seconds": time.perf_counter() - start,
        "memory_mb": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024,
        "features_mb": 100_000 * 2000 * 8 / 1e6,
    }


UNIFORM = ("uniform",)
BOTH = ("uniform", "reweighted")
WORK: dict[str, Callable[[], Any]] = {
    "M = 100,000, N = 1000, L = 2000": large,
    "annulus": lambda: list(compare(annulus, [1, 3, 5, 10, 20])),
    # The rule for mu was settled on the runs above.
    "annulus, 30 further runs": lambda: list(
        compare(annulus, [5, 10, 20], BOTH, runs=range(100, 130))
    ),
    "annulus, one cosine a draw": lambda: list(compare(annulus, [5, 10, 20, 40], form="phase")),
    "annulus, more uniform features": lambda: list(compare(annulus, [40, 80, 160], UNIFORM)),
    "annulus, ridge": lambda: [
        *compare(annulus, [10, 20], BOTH, make_machine=ridge),
        *compare(annulus, [40, 80, 160], UNIFORM, make_machine=ridge),
    ],
    "10 dimensions": lambda: list(compare(shell, [20, 100])),
    "10 dimensions, more uniform features": lambda: list(compare(shell, [120, 200], UNIFORM)),
    "MNIST, 1000 rows, ridge": lambda: [
        *compare(digits, [50, 200], BOTH, make_machine=ridge),
        *compare(digits, [400, 800], UNIFORM, make_machine=ridge),
    ],
    "MNIST, 1000 rows, hinge": lambda: list(compare(digits, [100], runs=range(5))),
}


def table(rows: Any) -> str:
    """Markdown."""
    if isinstance(rows, dict):
        return "\n".join(f"{name}: {value:.1f}" for name, value in rows.items())
    lines = ["| N | method | accuracy ± deviation | p | seconds | of these, choosing |"]
    lines.append("|---|---|---|---|---|---|")
    for row in rows:
        chance = "" if row.get("p") is None else f"{row['p']:.4f}"
        choosing = f"{row['selection_seconds']:.2f}"
        lines.append(
            f"| {row['N']} | {row['method']} | {row['accuracy']:.4f} ± "
            f"{row['deviation']:.4f} | {chance} | {row['seconds']:.2f} | {choosing} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    run_works(__doc__, RESULTS, WORK, table)
