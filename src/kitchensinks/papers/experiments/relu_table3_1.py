"""Thesis, Table 3.1: accuracy and training time of Fourier and ReLU features on seven sets."""

from functools import cache, partial
from typing import Any

import numpy as np

import kitchensinks as ks
from kitchensinks.papers.experiments import bandwidths
from kitchensinks.papers.experiments.claims import Check, Claim, below, near
from kitchensinks.papers.experiments.data import best_factor, evidence, fit_quietly
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
# Bandwidths over the median rule's and steps (of squared features of length one) that are screened;
# the search goes on by factors of four while the best one is at an end.
FACTORS = {"Fourier": [0.0625, 0.25, 1.0, 4.0, 16.0], "ReLU": [0.25, 1.0, 4.0, 16.0, 64.0]}
STEPS, FACTOR = [0.25, 1.0, 4.0, 16.0, 64.0], 4.0
# Rows of a step, and passes over the rows: some thousands of steps on every set.
BATCH, EPOCHS = 100, {"plane": 200, "adult": 10, "mnist": 5, "covtype": 2}
# Seeds draw rows and features in the plane, features alone on real sets. Five leave times
# open, and ten of covtype or 20 of adult are cheap.
SEEDS = {"plane": 20, "adult": 20, "mnist": 5, "covtype": 10}


def cells(quick: bool) -> list[Cell]:
    return [
        {"data": name, "seed": seed, "features": basis}
        for name in (("strips", "adult") if quick else PAPER)
        for seed in range(1 if quick else SEEDS["plane" if _plane(name) else name])
        for basis in bandwidths.BASES
    ]


def _plane(name: str) -> bool:
    return name in bandwidths.SYNTHETIC


def run(cell: Cell, quick: bool) -> dict[str, Any]:
    name, basis, seed = (cell[key] for key in ("data", "features", "seed"))
    if _plane(name):
        count = 20
        rows, labels = bandwidths.synthetic(name, 300 if quick else 2000, seed)
        others, truth = bandwidths.synthetic(name, 1000 if quick else 10_000, 1000)
    else:
        count = 20 if quick else 2000
        data = bandwidths.real(name, 200 if quick else None, 500 if quick else None)
        rows, labels, others, truth = data.X_train, data.y_train, data.X_test, data.y_test
    gamma, step = _screened(name, basis, quick)
    model = bandwidths.classifier(name, basis, gamma, count, seed, _solver(name, step, quick))
    with Stopwatch() as training:
        fit_quietly(model, rows, labels)
    with Stopwatch() as testing:
        accuracy = model.score(others, truth)
    return {
        "accuracy": accuracy,
        "seconds": training.processor,
        "test_seconds": testing.processor,
        "gamma": gamma,
        "step": step,
        "rows": len(labels),
        **evidence(model),
    }


def _solver(name: str, step: float, quick: bool) -> ks.Solver:
    epochs = 2 if quick else EPOCHS["plane" if _plane(name) else name]
    return ks.Solver("stochastic", step=step, batch_size=BATCH, epochs=epochs)


@cache
def _screened(name: str, basis: str, quick: bool) -> tuple[float, float]:
    """Bandwidth and step of best accuracy on held-out rows, screened with few rows and features."""
    count, n_rows = (20, 2000) if _plane(name) else (300, 3000)
    n_rows = 100 if quick else n_rows
    if _plane(name):
        rows, labels = bandwidths.synthetic(name, 2 * n_rows, 500)
    else:
        data = bandwidths.real(name, 2 * n_rows, 1, seed=1)
        rows, labels = data.X_train, data.y_train
    middle = bandwidths.middle(name, basis, rows)
    if quick:
        return middle, 1.0
    found: dict[tuple[float, float], float] = {}

    def wrong(gamma: float, step: float) -> float:
        solver = _solver(name, step, quick)
        model = bandwidths.classifier(name, basis, gamma, count, 0, solver)
        fit_quietly(model, rows[:n_rows], labels[:n_rows])
        found[gamma, step] = 1.0 - float(model.score(rows[n_rows:], labels[n_rows:]))
        return found[gamma, step]

    def least(gamma: float) -> float:
        unit = 1.0 / bandwidths.mean_square(name, basis, gamma, rows)
        step = best_factor(partial(wrong, gamma), [unit * each for each in STEPS], FACTOR)
        return found[gamma, step]

    best_factor(least, [factor * middle for factor in FACTORS[basis]], FACTOR)
    return min(found, key=found.__getitem__)


def report(results: Results) -> Report:
    sets = results.unique("data")
    accuracy, seconds, testing = (
        results.by("data", "features", of=key) for key in ("accuracy", "seconds", "test_seconds")
    )
    timed = {"training": seconds, "testing": testing}
    tables = [
        Table(
            "Accuracy",
            [
                Line(name, own, *PAPER[name][basis][:2], column=basis)
                for (name, basis), own in accuracy.items()
            ],
            digits=3,
            case="set",
        ),
        *(
            Table(
                f"Time of {what}",
                [
                    Line(name, own, printed, column=basis)
                    for (name, basis), own in found.items()
                    for printed in [PAPER[name][basis][2] if what == "training" else None]
                ],
                "seconds of one thread",
                digits=3,
                case="set",
            )
            for what, found in timed.items()
        ),
    ]
    better = {
        name: sorted(bandwidths.BASES, key=lambda basis: PAPER[name][basis][0])
        for name in ("adult", "mnist", "strips", "covtype")
        if name in sets
    }
    claims = [
        Claim(
            "the accuracies (within 0.01, or above)",
            [
                _near(accuracy[name, basis], name, basis)
                for name in sets
                for basis in bandwidths.BASES
            ],
            _WHY,
        ),
        Claim(
            "ReLU features are better on adult and MNIST, Fourier features on strips and covtype",
            [
                below(accuracy[name, worse], accuracy[name, best], f"{name}: {worse} below {best}")
                for name, (worse, best) in better.items()
            ],
            _WHY,
        ),
        *(
            Claim(
                f"ReLU features take less time in {what} on every set",
                [below(found[name, "ReLU"], found[name, "Fourier"], name) for name in sets],
                "A dense matrix product gains nothing by the zeros of ReLU features.",
            )
            for what, found in timed.items()
        ),
    ]

    def draw(figure: Any) -> None:
        left, right = figure.subplots(1, 2)
        places = np.arange(len(sets))
        for step, basis in enumerate(bandwidths.BASES):
            at = places + 0.4 * step - 0.2
            for axes, found, printed in ((left, accuracy, 0), (right, seconds, 2)):
                axes.plot(at, [PAPER[n][basis][printed] for n in sets], "kx", ms=4)
                means = [np.mean(found[n, basis]) for n in sets]
                axes.plot(at, means, "o", color=f"C{step}", ms=4, mfc="none", label=basis)
        for axes in (left, right):
            axes.set_xticks(places, sets, rotation=30)
        left.set(ylabel="accuracy", title="crosses: the thesis")
        right.set(ylabel="seconds of training", yscale="log")
        left.legend(fontsize=6)

    return Report(tables, claims, draw, (10.0, 3.6), _NOTES)


_WHY = (
    "Our fits are at fault, and this verdict is not one on the thesis. They have an intercept, "
    "which Algorithm 2 of the thesis does not have: a feature of length one beside ReLU features "
    "of length 1/3 (MNIST), for which steps that suit these are too long. And a last batch of a "
    "few rows (11 of covtype) moved the weights as far as a whole one, which is mended since. "
    "Solved to a gap of a thousandth, the same problems had accuracies of 0.957 (ReLU, MNIST), "
    "0.762 (ReLU, checkboard) and 0.815 (both, a tenth of covtype) in an earlier form of this "
    "study (results/ at commit 7a2b400; one seed on real sets). The thesis does not print its "
    "number of passes."
)


def _near(ours: list[float], name: str, basis: str) -> Check:
    mean, deviation, _ = PAPER[name][basis]
    return near(ours, mean, 0.01, "higher", deviation, f"{name}, {basis}")


_NOTES = """20 features in the plane, 2000 on real sets; hinge loss for two classes, multinomial
logistic for more; ‖c‖₂ ≤ 1000 and 10,000; plain stochastic gradients in the ball, as in the thesis,
in batches of 100 rows: 200 passes over the rows in the plane, 10 on adult, 5 on MNIST and 2 on
covtype (the thesis prints none of this). Nor does it print numbers of rows: 2000 training and
10,000 test rows in the plane (20 seeds of rows and features), the official splits of adult
(one-hot, standardised) and MNIST (pixels/255), and all 522,911 training rows of covtype (seven
classes, standardised); five seeds of features on MNIST, ten on covtype and 20 on adult. Bandwidth
and step are screened together, on rows and features of their own (2000 rows and 20 features in the
plane, 3000 and 300 on real sets), by factors of four until the best one is not at an end. The
thesis's times are of another machine: compare Fourier with ReLU, not ours with theirs."""
