"""Maxout paper, Table 1: MNIST by ridge regression on m maxout features of pools of q.

One pass over the digits serves the whole table of a seed: the first m of 10,000 units are the draw
of m, the first q directions of a unit are its pool of q, and the leading corner of a Cholesky
factor is the factor of the corner.
"""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

import kitchensinks as ks
from kitchensinks.features.bases.projections import project
from kitchensinks.fitting.growth import Prefixes
from kitchensinks.papers.datasets import Dataset
from kitchensinks.papers.experiments.claims import Check, Claim, below, near
from kitchensinks.papers.experiments.data import load, part, percent_wrong
from kitchensinks.papers.experiments.study import Cell, Grouped, Line, Report, Results, Table
from kitchensinks.problem.moments import Moments, NormalEquations

COUNTS = [100, 500, 1000, 5000, 10_000]
# Mean and deviation of the error in per cent, of m = 100 to 10,000, by q.
PAPER = {
    1: [(17.68, 0.28), (14.76, 0.23), (14.64, 0.08), (15.02, 0.64), (15.12, 0.58)],
    2: [(16.95, 0.5321), (7.98, 0.22), (5.62, 0.18), (2.86, 0.11), (2.35, 0.04)],
    4: [(18.24, 0.39), (7.70, 0.24), (5.50, 0.16), (2.78, 0.07), (2.23, 0.07)],
    8: [(18.9, 0.28), (7.98, 0.47), (5.59, 0.19), (2.81, 0.10), (2.32, 0.09)],
    16: [(20.57, 0.76), (8.19, 0.21), (5.66, 0.15), (2.87, 0.12), (2.58, 0.04)],
}
# The paper's error of the best k-nearest neighbours, and the k that are tried.
NEIGHBOURS, MOST_NEIGHBOURS = 3.09, 10
SEEDS = 5
# Ridges as shares of the mean squared feature row; smaller ones drown in float32 rounding.
RIDGES = [1e-8, 1e-7, 1e-6]
BLOCK_ROWS = 6250
# Gaps are in units of the objective, and those of a fit that has converged are below this.
TOLERANCE = 1e-3


def cells(quick: bool) -> list[Cell]:
    rival = {"neighbours": MOST_NEIGHBOURS}
    if quick:
        return [*({"seed": seed, "pools": [1, 4]} for seed in (0, 1)), rival]
    # The last seeds are split in two cells, so that an interruption costs less.
    whole = [{"seed": seed, "pools": list(PAPER)} for seed in range(3)]
    later = [
        {"seed": seed, "pools": pools} for pools in ([8, 16], [1, 2, 4]) for seed in range(3, SEEDS)
    ]
    return [*whole, *later, rival]


def run(cell: Cell, quick: bool) -> dict[str, Any]:
    """Errors on the test digits of every q and m, with the ridge chosen on held-out digits."""
    data = part(load("mnist"), *((1200, 500) if quick else (None, None)))
    if "neighbours" in cell:
        return _by_neighbours(data, cell["neighbours"])
    pools, counts = cell["pools"], COUNTS[:2] if quick else COUNTS
    draw = ks.Maxout(pools[-1]).draw(cell["seed"], data.X_train.shape[1], counts[-1], np.float32)
    order = np.random.default_rng(0).permutation(len(data.y_train))
    fitted, held = np.split(order, [len(order) * 5 // 6])
    sums = {q: Moments.zeros(np.zeros(counts[-1]), 10) for q in pools}
    for start in range(0, len(fitted), BLOCK_ROWS):
        rows = fitted[start : start + BLOCK_ROWS]
        for q, features in _pooled(draw, data.X_train[rows], pools):
            sums[q].add(features.copy(), _coded(data.y_train[rows]), None)
    ridges = {}
    for q, features in _pooled(draw, data.X_train[held], pools):
        sums[q].close()
        ridges[q] = _choose(sums[q], counts, features, data.y_train[held])
        sums[q].add(features.copy(), _coded(data.y_train[held]), None)
        sums[q].close()
    measured = [
        {"q": q} | _tested(sums.pop(q), ridges[q], counts, features, data.y_test)
        for q, features in _pooled(draw, data.X_test, pools)
    ]
    gap = max(gap for each in measured for gap in each["gaps"])
    return {"m": counts, "measured": measured, "gap": gap, "converged": gap <= TOLERANCE}


def _by_neighbours(data: Dataset, most: int) -> dict[str, Any]:
    """Error of the k-nearest neighbours, k chosen on the last sixth of the training digits."""
    fitted = len(data.y_train) * 5 // 6
    held = _votes(data.X_train[:fitted], data.y_train[:fitted], data.X_train[fitted:], most)
    chosen = int(np.argmin([percent_wrong(vote, data.y_train[fitted:]) for vote in held]))
    tested = _votes(data.X_train, data.y_train, data.X_test, most)
    errors = [percent_wrong(vote, data.y_test) for vote in tested]
    return {"k": chosen + 1, "error": errors[chosen], "errors": errors}


def _votes(rows: np.ndarray, labels: np.ndarray, others: np.ndarray, most: int) -> list[np.ndarray]:
    """The commonest label of the nearest 1, …, `most` rows; the smallest of equally common ones."""
    search = NearestNeighbors(n_neighbors=most, algorithm="brute").fit(rows)
    near = labels[search.kneighbors(others, return_distance=False)]
    counts = np.cumsum(near[:, :, None] == np.arange(10), axis=1)
    return list(counts.argmax(axis=2).T)


def _tested(
    moments: Moments,
    ridges: list[float],
    counts: list[int],
    features: np.ndarray,
    labels: np.ndarray,
) -> dict[str, Any]:
    """Errors of every m with its own ridge, and the ridges in the units of the paper."""
    equations = moments.normal_equations(fit_intercept=False)
    found: dict[int, tuple[float, float]] = {}
    for ridge in set(ridges):
        served = [m for m, chosen in zip(counts, ridges, strict=True) if chosen == ridge]
        found |= zip(served, _fits(equations, ridge, served, features, labels), strict=True)
    # The paper's features are divided by √m, and its sums are not divided by n.
    alphas = np.array(ridges) * np.trace(equations.gram)
    lambdas = alphas * moments.weight / np.array(counts)
    errors, gaps = zip(*(found[m] for m in counts), strict=True)
    return {"errors": errors, "lambdas": lambdas, "gaps": gaps}


def _coded(labels: np.ndarray) -> np.ndarray:
    return np.where(labels[:, None] == np.arange(10), 1.0, -1.0)


def _pooled(draw: Any, rows: np.ndarray, pools: list[int]) -> Iterator[tuple[int, np.ndarray]]:
    """(q, features) of the first q directions of every unit, by a running maximum."""
    largest = None
    for place in range(pools[-1]):
        shown = project(rows, draw.theta[f"plane{place}"])
        largest = shown if largest is None else np.maximum(largest, shown, out=largest)
        if place + 1 in pools:
            yield place + 1, largest


def _choose(
    moments: Moments, counts: list[int], features: np.ndarray, labels: np.ndarray
) -> list[float]:
    """For each m the ridge of least error on these rows.

    The largest m takes that of the one before: its own would cost more than all the others.
    """
    equations = moments.normal_equations(fit_intercept=False)
    tried = [_fits(equations, ridge, counts[:-1], features, labels) for ridge in RIDGES]
    errors = [[error for error, _ in fits] for fits in tried]
    chosen = [RIDGES[place] for place in np.argmin(errors, axis=0)]
    return [*chosen, chosen[-1]]


def _fits(
    equations: NormalEquations,
    ridge: float,
    counts: list[int],
    features: np.ndarray,
    labels: np.ndarray,
) -> list[tuple[float, float]]:
    """Percentage of wrong labels and relative gap of the fits on the first m features.

    m increases, and the largest is the number of features that are factored.
    """
    alpha, most = ridge * float(np.trace(equations.gram)), counts[-1]
    mean, gram, cross = (part[:most] for part in (equations.mean, equations.gram, equations.cross))
    prefixes = Prefixes(replace(equations, mean=mean, gram=gram[:, :most], cross=cross), alpha)
    found = []
    for m in counts:
        weights = prefixes.weights(m)
        scores = features[:, :m] @ weights.astype(features.dtype)
        objective, gap = prefixes.certified(weights)
        found.append((percent_wrong(scores.argmax(axis=1), labels), gap / objective))
    return found


def report(results: Results) -> Report:
    counts = results.rows[0]["m"]
    (rival,) = results.where(neighbours=MOST_NEIGHBOURS).rows
    found = [each for row in results.rows for each in row.get("measured", ())]
    single = Results(
        {"q": each["q"], "m": m, "error": error, "lambda": strength}
        for each in sorted(found, key=lambda each: each["q"])
        for m, error, strength in zip(counts, each["errors"], each["lambdas"], strict=True)
    )
    ours, lambdas = (single.by("q", "m", of=key) for key in ("error", "lambda"))
    pools = sorted({q for q, _ in ours})
    paper = {(q, m): PAPER[q][COUNTS.index(m)] for q, m in ours}
    lines = [
        Line(f"{m:,}", ours[q, m], *paper[q, m], _lambda(lambdas[q, m]), f"q = {q}")
        for q, m in ours
    ]
    beside = Line("nearest neighbours", [rival["error"]], NEIGHBOURS, note=f"{rival['k']}")

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for q in pools:
            means = [np.mean(ours[q, m]) for m in counts]
            (line,) = axes.plot(counts, means, marker="o", ms=3, label=f"q = {q}")
            axes.plot(counts, [paper[q, m][0] for m in counts], "x", color=line.get_color())
        axes.axhline(rival["error"], color="grey", lw=0.8, ls=":", label="nearest neighbours")
        axes.set(xscale="log", yscale="log", xlabel="m", ylabel="test error, %")
        axes.set_title("MNIST: ours (dots) and the paper's (crosses)")
        axes.legend(fontsize=7)

    seeds = ", ".join(f"{len(ours[q, counts[-1]])} of q = {q}" for q in pools)
    tables = [
        Table("Test error on MNIST", lines, "%", case="m", note="λ"),
        Table("Test error on MNIST", [beside], "%", case="method", note="k"),
    ]
    claims = _claims(ours, paper, counts, pools, rival["error"])
    return Report(tables, claims, draw, (5.5, 3.8), f"{_NOTES} Seeds: {seeds}.")


def _claims(
    ours: Grouped, paper: Any, counts: list[int], pools: list[int], rival: float
) -> list[Claim]:
    most, others = counts[-1], [q for q in pools if q > 1]
    return [
        Claim(f"the errors at m = {most:,}", [_near(ours, paper, q, most) for q in others]),
        Claim("the errors at q = 4", [_near(ours, paper, 4, m) for m in counts]),
        Claim(
            "q = 1 is linear: about 15 % whatever m from 500 on",
            [near(ours[1, m], 15.0, 1.0, label=f"m = {m:,}") for m in counts if m >= 500],
        ),
        Claim(
            "for q > 1 the error falls with m",
            [
                below(ours[q, m], ours[q, less], f"q = {q}, m = {m:,}")
                for q in others
                for less, m in itertools.pairwise(counts)
            ],
        ),
        Claim(
            f"q = 4 is best at m = {most:,}",
            [below(ours[4, most], ours[q, most], f"q = 4 and {q}") for q in pools if q != 4],
            "Pools of 8 and 16 do as well: all of q ≥ 2 lie within a fifth of a per cent.",
        ),
        Claim(
            "below the best k-nearest neighbours",
            [below(ours[4, most], rival, f"q = 4, m = {most:,}")],
        ),
    ]


def _near(ours: Any, paper: Any, q: int, m: int) -> Check:
    """Within 0.1 percentage points or 5 % of the error."""
    mean, deviation = paper[q, m]
    tolerance = max(0.1, 0.05 * mean)
    return near(ours[q, m], mean, tolerance, "lower", deviation, f"q = {q}, m = {m:,}")


def _lambda(found: list[float]) -> str:
    low, high = (f"{value:.1g}" for value in (min(found), max(found)))
    return low if low == high else f"{low} to {high}"


_NOTES = """Pixels are divided by 255 (the paper names no scaling); squared loss on ±1 codes, no
intercept, λ in the units of the paper's formula. A sixth of the training digits, the same for all
seeds, is held out to choose λ (of three strengths, from the least that float32 sums allow; m =
10,000 takes the strength of m = 5000); then all 60,000 are fitted. A seed names 10,000 units of 16
directions; smaller m and q are the first of them. Nearest neighbours have Euclidean distances on
the same pixels; k, of 1 to 10, is chosen on the last sixth of the training digits."""
