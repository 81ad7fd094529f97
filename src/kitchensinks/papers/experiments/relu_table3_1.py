"""Thesis, Table 3.1: accuracy and training time of Fourier and ReLU features on seven sets."""

from collections.abc import Callable
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np

import kitchensinks as ks
from kitchensinks.papers.experiments import bandwidths
from kitchensinks.papers.experiments.claims import Claim, below, near
from kitchensinks.papers.experiments.data import certified, evidence, fit_quietly
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
# Rows of a step. Passes over the rows: 10,000 steps or more, and at most 7 seconds a fit in the
# plane and 160 on real sets, of one thread; 8 on covtype, because there the second two of four
# passes still gained 0.019 on held-out rows. The thesis prints neither.
BATCH, EPOCHS = 20, {"plane": 256, "adult": 8, "mnist": 4, "covtype": 8}
# Bandwidth and step are screened by factors of four, from the median rule and from this step (of
# features of mean squared length one), until all four neighbours are worse: first with this share
# of the passes, but one at least, and from there on with all of them.
FACTOR, FIRST_STEP, FIRST_SHARE = 4.0, 4.0, 8
# Training rows of the screening; as many are held out in the plane, 5000 on real sets.
SCREENED = {"plane": 2000, "adult": 10_000, "mnist": 20_000, "covtype": 40_000}
HELD = 5000
# Draws of rows and features that the screening is averaged over.
DRAWS = {"plane": 2, "adult": 5, "mnist": 1, "covtype": 1}
# Seeds draw rows and features in the plane, features alone on real sets.
SEEDS = {"plane": 10, "adult": 5, "mnist": 3, "covtype": 3}


def cells(quick: bool) -> list[Cell]:
    return [
        {"data": name, "seed": seed, "features": basis}
        for name in (("strips", "adult") if quick else PAPER)
        for seed in range(1 if quick else SEEDS[_kind(name)])
        for basis in bandwidths.BASES
    ]


def _kind(name: str) -> str:
    return "plane" if name in bandwidths.SYNTHETIC else name


def run(cell: Cell, quick: bool) -> dict[str, Any]:
    name, basis, seed = (cell[key] for key in ("data", "features", "seed"))
    if _kind(name) == "plane":
        rows, labels = bandwidths.synthetic(name, 300 if quick else 2000, seed)
        others, truth = bandwidths.synthetic(name, 1000 if quick else 10_000, 1000)
    else:
        data = bandwidths.real(name, 200 if quick else None, 500 if quick else None)
        rows, labels, others, truth = data.X_train, data.y_train, data.X_test, data.y_test
    gamma, step, gain = _screened(name, basis, quick)
    epochs = 2 if quick else EPOCHS[_kind(name)]
    solver, count = _solver(step, epochs), _count(name, quick)
    model = bandwidths.classifier(name, solver, bandwidths.BASES[basis](gamma=gamma), count, seed)
    with Stopwatch() as training:
        fit_quietly(model, rows, labels)
    model.predict(others[:1])  # loads what is compiled
    with Stopwatch() as testing:
        accuracy = model.score(others, truth)
    return {
        "accuracy": accuracy,
        "seconds": training.processor,
        "test_seconds": testing.processor,
        "gamma": gamma,
        "step": step,
        "epochs": epochs,
        "gain": gain,
        "rows": len(labels),
        **evidence(model),
        **certified(model, rows, labels),
    }


def _solver(step: float, epochs: int) -> ks.Solver:
    return ks.Solver("stochastic", step=step, batch_size=BATCH, epochs=epochs)


def _count(name: str, quick: bool = False) -> int:
    return 20 if quick or _kind(name) == "plane" else 2000


@cache
def _screened(name: str, basis: str, quick: bool) -> tuple[float, float, float]:
    """Bandwidth and step of best accuracy on held-out rows, and what the second half of the passes
    gains.

    With as many features, rows of a step and passes as the fits; rows of training alone. The
    largest stable step depends on the second moments of the features, and not on the rows' number.
    """
    if quick:
        rows, _ = _screening_rows(name, 200)
        return *_parameters(name, basis, rows, (0, 0)), 0.0
    kind = _kind(name)
    epochs, n_rows = EPOCHS[kind], SCREENED[kind]
    held = n_rows if kind == "plane" else HELD
    parts = [_screening_rows(name, n_rows + held, draw) for draw in range(DRAWS[kind])]
    first = parts[0][0]

    @lru_cache(maxsize=len(parts))
    def features(draw: int, gamma: float) -> np.ndarray:
        made = ks.RandomFeatures(bandwidths.BASES[basis](gamma=gamma), _count(name), draw)
        shown = bandwidths.seen(name, parts[draw][0]).astype(np.float32)
        return np.asarray(made.fit_transform(shown))

    def accuracy(place: tuple[int, int], passes: int) -> float:
        gamma, step = _parameters(name, basis, first, place)
        solver, scores = _solver(step, passes), []
        for draw, (_, labels) in enumerate(parts):
            rows, model = features(draw, gamma), bandwidths.classifier(name, solver)
            fit_quietly(model, rows[:n_rows], labels[:n_rows])
            scores.append(model.score(rows[n_rows:], labels[n_rows:]))
        return float(np.mean(scores))

    rough, _ = _climb((0, 0), partial(accuracy, passes=max(1, epochs // FIRST_SHARE)))
    best, most = _climb(rough, partial(accuracy, passes=epochs))
    return *_parameters(name, basis, first, best), most - accuracy(best, epochs // 2)


def _climb(
    start: tuple[int, int], height: Callable[[tuple[int, int]], float]
) -> tuple[tuple[int, int], float]:
    """A place on the grid whose four neighbours are not higher, and its height."""
    found = {start: height(start)}
    best, before = start, None
    while best != before:
        before = best
        for move in ((0, -1), (0, 1), (-1, 0), (1, 0)):
            place = before[0] + move[0], before[1] + move[1]
            if place not in found:
                found[place] = height(place)
            if found[place] > found[best]:
                best = place
    return best, found[best]


def _screening_rows(name: str, count: int, draw: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows in a random order, and their labels; of the training rows alone."""
    if _kind(name) == "plane":
        return bandwidths.synthetic(name, count, 500 + draw)
    data = bandwidths.real(name, count, 1, seed=1 + draw)
    order = np.random.default_rng(draw).permutation(len(data.y_train))
    return data.X_train[order], data.y_train[order]


def _parameters(
    name: str, basis: str, rows: np.ndarray, place: tuple[int, int]
) -> tuple[float, float]:
    """Bandwidth and step of a place in the grid."""
    gamma = bandwidths.middle(name, basis, rows) * FACTOR ** place[0]
    square = bandwidths.mean_square(name, basis, gamma, rows)
    return gamma, FIRST_STEP * FACTOR ** place[1] / square


def report(results: Results) -> Report:
    sets = results.unique("data")
    accuracy, seconds, testing = (
        results.by("data", "features", of=key) for key in ("accuracy", "seconds", "test_seconds")
    )
    timed = {"training": seconds, "testing": testing}
    lines = [
        Line(name, own, *PAPER[name][basis][:2], column=basis)
        for (name, basis), own in accuracy.items()
    ]
    tables = [Table("Accuracy", lines, digits=3, case="set")]
    for what, found in timed.items():
        lines = [
            Line(name, own, PAPER[name][basis][2] if what == "training" else None, column=basis)
            for (name, basis), own in found.items()
        ]
        tables.append(Table(f"Time of {what}", lines, "seconds of one thread", 3, "set"))
    better = {
        name: sorted(bandwidths.BASES, key=lambda basis: PAPER[name][basis][0])
        for name in ("adult", "mnist", "strips", "covtype")
        if name in sets
    }
    claims = [
        Claim(
            "the accuracies (within 0.01, or above)",
            [
                near(own, mean, 0.01, "higher", deviation, f"{name}, {basis}")
                for (name, basis), own in accuracy.items()
                for mean, deviation, _ in [PAPER[name][basis]]
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
    "The thesis prints neither passes nor numbers of rows, nor the bandwidths and steps that it "
    "chose."
)


_NOTES = """20 features in the plane, 2000 on real sets; hinge loss for two classes, multinomial
logistic for more; ‖c‖₂ ≤ 1000 and 10,000, no intercept; plain stochastic gradients in the ball, as
in Algorithm 2 and section 3.7 of the thesis, in batches of 20 rows: 256 passes over the rows in the
plane, 8 on adult and covtype, 4 on MNIST: 10,000 steps or more, in at most 7 seconds a fit in the
plane and 160 on real sets (the thesis prints none of this). Nor does it print numbers of rows: 2000
training and 10,000 test rows in the plane (ten seeds of rows and features), the official splits of
adult (one-hot, standardised) and MNIST (pixels/255), and all 522,911 training rows of covtype
(seven classes, standardised); five seeds of features on adult, three on MNIST and covtype.
Bandwidth and step are screened together, by factors of four until all four neighbours are worse,
with the features, batches and passes of the fits: on 2000 rows in the plane (two draws of rows and
features) and 10,000 of adult (five draws), 20,000 of MNIST and 40,000 of covtype, scored on other
training rows. A first run that was stopped showed that a last batch of one row spoils a fit (mended
in the solver), that 4 passes are too few for covtype, and that one draw of 20 features chooses a
wrong bandwidth for strips. The gap of a fit is that of its last weights, and bounds how far its
objective is above the optimum; in balls of this size it is a weak bound. The thesis's times are of
another machine: compare Fourier with ReLU, not ours with theirs."""
