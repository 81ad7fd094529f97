"""Thesis, Table 3.1: accuracy and training time of Fourier and ReLU features on seven sets."""

from functools import cache
from typing import Any

import numpy as np

import kitchensinks as ks
from kitchensinks.papers.experiments import bandwidths
from kitchensinks.papers.experiments.claims import Check, Claim, below, near
from kitchensinks.papers.experiments.data import evidence, fit_quietly
from kitchensinks.papers.experiments.study import Cell, Line, Report, Results, Stopwatch, Table

# (accuracy, deviation, seconds) of Fourier and ReLU features.
PAPER = {
    "sine": {"Fourier": (0.993, 0.007, 1.597), "ReLU": (0.984, 0.005, 1.564)},
    "strips": {"Fourier": (0.834, 0.084, 1.598), "ReLU": (0.732, 0.006, 1.565)},
    "square": {"Fourier": (0.948, 0.038, 1.769), "ReLU": (0.934, 0.015, 1.743)},
    "checkboard": {"Fourier": (0.716, 0.045, 1.581), "ReLU": (0.743, 0.027, 1.545)},
    "adult": {"Fourier": (0.838, 0.002, 6.648), "ReLU": (0.846, 0.002, 5.849)},
    "mnist": {"Fourier": (0.937, 0.001, 70.438), "ReLU": (0.951, 0.001, 69.229)},
    "covtype": {"Fourier": (0.816, 0.001, 125.719), "ReLU": (0.769, 0.002, 112.613)},
}
# Theirs: stochastic gradients in the ball. Ours: the convex problem solved.
SOLVERS = {"theirs": "stochastic", "ours": "auto"}
# Screened bandwidths, as multiples of the median heuristic.
FACTORS = {"Fourier": [0.0625, 0.25, 1.0, 4.0, 16.0], "ReLU": [0.25, 1.0, 4.0, 16.0, 64.0]}
ROWS = {"covtype": 50_000}
# Iteration limit on real sets: the last digits of a hinge fit would take hundreds.
REAL_ITERATIONS = 100
# Seeds draw rows and features in the plane, features alone on real sets.
SEEDS = {"plane": 5, "real": 1}


def cells(quick: bool) -> list[Cell]:
    return [
        {"data": name, "seed": seed, "features": basis, "solver": solver}
        for name in (("strips", "adult") if quick else PAPER)
        for seed in range(1 if quick else SEEDS["plane" if _plane(name) else "real"])
        for basis in bandwidths.BASES
        for solver in SOLVERS
    ]


def _plane(name: str) -> bool:
    return name in bandwidths.SYNTHETIC


def run(cell: Cell, quick: bool) -> dict[str, Any]:
    name, basis, seed = cell["data"], cell["features"], cell["seed"]
    if _plane(name):
        count, most = 20, 200
        rows, labels = bandwidths.synthetic(name, 300 if quick else 2000, seed)
        others, truth = bandwidths.synthetic(name, 1000 if quick else 10_000, 1000)
    else:
        count, most = 20 if quick else 2000, REAL_ITERATIONS
        data = bandwidths.real(name, 200 if quick else ROWS.get(name), 500 if quick else None)
        rows, labels, others, truth = data.X_train, data.y_train, data.X_test, data.y_test
    solver = SOLVERS[cell["solver"]]
    gamma = _screened(name, basis, solver, quick)
    settings = ks.Solver(solver, max_iter=10 if quick else most)
    model = bandwidths.classifier(name, basis, gamma, count, seed, settings)
    with Stopwatch() as watch:
        fit_quietly(model, rows, labels)
    return {
        "accuracy": model.score(others, truth),
        "seconds": watch.processor,
        "gamma": gamma,
        "rows": len(labels),
        "objective": model.objective_ if np.isfinite(model.objective_) else None,
        **evidence(model),
    }


@cache
def _screened(name: str, basis: str, solver: str, quick: bool) -> float:
    """The bandwidth of best accuracy on held-out rows, screened with few rows and features."""
    count, n_rows = (20, 2000) if _plane(name) else (300, 3000)
    n_rows = 100 if quick else n_rows
    if _plane(name):
        rows, labels = bandwidths.synthetic(name, 2 * n_rows, 500)
    else:
        data = bandwidths.real(name, 2 * n_rows, 1, seed=1)
        rows, labels = data.X_train, data.y_train
    centre, scores = bandwidths.middle(name, basis, rows), {}
    settings = ks.Solver(solver, tol=1e-2, max_iter=10 if quick else 50)
    for factor in FACTORS[basis][1:3] if quick else FACTORS[basis]:
        model = bandwidths.classifier(name, basis, factor * centre, count, 0, settings)
        fit_quietly(model, rows[:n_rows], labels[:n_rows])
        scores[factor * centre] = model.score(rows[n_rows:], labels[n_rows:])
    return max(scores, key=scores.__getitem__)


def report(results: Results) -> Report:
    sets = results.unique("data")
    by = ("data", "features", "solver")
    accuracy, seconds = (results.by(*by, of=key) for key in ("accuracy", "seconds"))
    tables = [
        Table(
            "Accuracy",
            [
                Line(f"{name}, {basis}, {solver}", values, *PAPER[name][basis][:2])
                for (name, basis, solver), values in accuracy.items()
            ],
            digits=3,
        ),
        Table(
            "Training time",
            [
                Line(f"{name}, {basis}, {solver}", values, PAPER[name][basis][2])
                for (name, basis, solver), values in seconds.items()
            ],
            "seconds of one thread",
        ),
    ]
    better = {
        name: sorted(bandwidths.BASES, key=lambda basis: PAPER[name][basis][0])
        for name in ("adult", "mnist", "strips", "covtype")
        if name in sets
    }
    claims = [
        *(
            Claim(
                f"the accuracies, {told}",
                [
                    _near(accuracy[name, basis, solver], name, basis)
                    for name in sets
                    for basis in bandwidths.BASES
                ],
                "The library has one step for all sets, where the thesis screened one for each. "
                "Solved, the same problems reach the thesis's numbers.",
            )
            for solver, told in (
                ("theirs", "by stochastic gradients as in the thesis"),
                ("ours", "with the convex problem solved"),
            )
        ),
        Claim(
            "ReLU features are better on adult and MNIST, Fourier features on strips and covtype",
            [
                below(
                    accuracy[name, worse, solver],
                    accuracy[name, best, solver],
                    f"{name}, {solver}: {worse} below {best}",
                )
                for name, (worse, best) in better.items()
                for solver in SOLVERS
            ],
            "With the problem solved, the two are within a tenth of a per cent of each other on "
            "MNIST and covtype.",
        ),
        Claim(
            "ReLU features take less time to train on every set",
            [
                below(seconds[name, "ReLU", "theirs"], seconds[name, "Fourier", "theirs"], name)
                for name in sets
            ],
            "A dense matrix product gains nothing by the zeros of ReLU features.",
        ),
    ]

    def draw(figure: Any) -> None:
        left, right = figure.subplots(1, 2)
        places = np.arange(len(sets))
        for step, basis in enumerate(bandwidths.BASES):
            at = places + 0.4 * step - 0.2
            for axes, found, part in ((left, accuracy, 0), (right, seconds, 2)):
                axes.plot(at, [PAPER[n][basis][part] for n in sets], "kx", ms=4)
                for solver, mark in (("theirs", "s"), ("ours", "o")):
                    means = [np.mean(found[n, basis, solver]) for n in sets]
                    label = f"{basis}, {solver}" if axes is left else None
                    axes.plot(at, means, mark, color=f"C{step}", ms=4, mfc="none", label=label)
        for axes in (left, right):
            axes.set_xticks(places, sets, rotation=30)
        left.set(ylabel="accuracy", title="crosses: the thesis")
        right.set(ylabel="seconds of training", yscale="log")
        left.legend(fontsize=6)

    return Report(tables, claims, draw, (10.0, 3.6), _NOTES)


def _near(ours: list[float], name: str, basis: str) -> Check:
    mean, deviation, _ = PAPER[name][basis]
    return near(ours, mean, 0.01, "higher", deviation, f"{name}, {basis}")


_NOTES = """20 features in the plane, 2000 on real sets; hinge loss for two classes, multinomial
logistic for more; ‖c‖₂ ≤ 1000 and 10,000. *Theirs*: averaged stochastic gradients in the ball (the
library's; the thesis has plain ones, with a screened step). *Ours*: the convex problem solved to a
relative gap of 10⁻³ or 200 iterations (100 on real sets). The thesis prints no numbers of rows:
2000 training and 10,000 test rows in the plane (five seeds of rows and features), the official
splits of adult (one-hot, standardised) and MNIST (pixels/255), and of covtype (seven classes,
standardised) 50,000 of the 522,911 training rows (one seed of features). The bandwidth is screened
for each solver, on rows and features of its own (five strengths around the median rule). The
thesis's times are of another machine: compare Fourier with ReLU, not ours with theirs."""
