"""Maxout paper, Table 1: MNIST by ridge regression on m maxout features of pools of q.

The first m of 10,000 features are the draw of m, and the leading corner of a Cholesky factor is the
factor of the corner: one pass over the digits and one factorisation a ridge serve every m.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

import kitchensinks as ks
from kitchensinks.experiments.claims import Below, Claim, Near
from kitchensinks.experiments.data import load, part, percent_wrong
from kitchensinks.experiments.study import Cell, Line, Report, Results, Study, Table
from kitchensinks.fitting.growth import Prefixes
from kitchensinks.moments import Moments, NormalEquations

COUNTS = [100, 500, 1000, 5000, 10_000]
# Mean and deviation of the error in per cent, of m = 100 to 10,000, by q.
PAPER = {
    1: [(17.68, 0.28), (14.76, 0.23), (14.64, 0.08), (15.02, 0.64), (15.12, 0.58)],
    2: [(16.95, 0.5321), (7.98, 0.22), (5.62, 0.18), (2.86, 0.11), (2.35, 0.04)],
    4: [(18.24, 0.39), (7.70, 0.24), (5.50, 0.16), (2.78, 0.07), (2.23, 0.07)],
    8: [(18.9, 0.28), (7.98, 0.47), (5.59, 0.19), (2.81, 0.10), (2.32, 0.09)],
    16: [(20.57, 0.76), (8.19, 0.21), (5.66, 0.15), (2.87, 0.12), (2.58, 0.04)],
}
NEIGHBOURS = 3.09
# Shares of the mean squared feature row; below the least, float32 products are noise.
RIDGES = [1e-8, 1e-7, 1e-6]
BLOCK_ROWS = 8192


def cells(quick: bool) -> list[Cell]:
    """Three seeds of everything, then two more: a run that is cut short has whole columns."""
    if quick:
        return [{"q": q, "seed": seed} for seed in (0, 1) for q in (1, 4)]
    rounds = [(range(3), PAPER), (range(3, 5), (1, 2, 4)), (range(3, 5), (8, 16))]
    return [{"q": q, "seed": s} for seeds, pools in rounds for s in seeds for q in pools]


def run(cell: Cell, quick: bool) -> dict[str, Any]:
    """Errors on the test digits, each m with the ridge of least error on held-out digits."""
    data = part(load("mnist"), *((1200, 500) if quick else (None, None)))
    counts = COUNTS[:2] if quick else COUNTS
    basis = ks.Maxout(cell["q"])
    features = ks.RandomFeatures(basis, counts[-1], random_state=cell["seed"], dtype="float32")
    features.fit(data.X_train[:1])
    order = np.random.default_rng(0).permutation(len(data.y_train))
    fitted, held = np.split(order, [len(order) * 5 // 6])
    moments = Moments.zeros(np.zeros(counts[-1]), 10)
    for start in range(0, len(fitted), BLOCK_ROWS):
        _add(moments, features, data, fitted[start : start + BLOCK_ROWS])
    equations = moments.normal_equations(fit_intercept=False)
    alphas = np.array(RIDGES) * np.trace(equations.gram)
    own = features.transform(data.X_train[held])
    tried = [_errors(equations, a, counts, own, data.y_train[held]) for a in alphas]
    chosen = alphas[np.argmin(tried, axis=0)]
    del own
    _add(moments, features, data, held)
    equations = moments.normal_equations(fit_intercept=False)
    others = features.transform(data.X_test)
    errors = [0.0] * len(counts)
    for alpha in np.unique(chosen):
        places = np.flatnonzero(chosen == alpha)
        served = [counts[place] for place in places]
        found = _errors(_first(equations, served[-1]), alpha, served, others, data.y_test)
        for place, error in zip(places, found, strict=True):
            errors[place] = error
    # The paper's features are divided by √m, ours by √K, and its sums are not divided by n.
    lambdas = chosen * moments.weight * counts[-1] / np.array(counts)
    return {"m": counts, "errors": errors, "lambdas": lambdas, "held_out_errors": tried}


def _add(moments: Moments, features: Any, data: Any, rows: np.ndarray) -> None:
    """Add the sums of these rows, classes coded as ±1."""
    coded = np.where(data.y_train[rows, None] == np.arange(10), 1.0, -1.0)
    moments.add(features.transform(data.X_train[rows]), coded, None)
    moments.close()


def _first(equations: NormalEquations, count: int) -> NormalEquations:
    """The equations of the first features alone."""
    parts = equations.mean[:count], equations.gram[:count, :count], equations.cross[:count]
    mean, gram, cross = parts
    return NormalEquations(
        equations.weight, mean, gram, equations.target, cross, equations.squares, equations.copies
    )


def _errors(
    equations: NormalEquations,
    alpha: float,
    counts: list[int],
    features: np.ndarray,
    labels: np.ndarray,
) -> list[float]:
    """Per cent wrong of the fits on the first m features."""
    prefixes = Prefixes(equations, alpha)
    scores = (features[:, :m] @ prefixes.weights(m).astype(features.dtype) for m in counts)
    return [percent_wrong(each.argmax(axis=1), labels) for each in scores]


def errors_of(results: Results, q: int, m: int) -> list[float]:
    """One error a seed."""
    return [row["errors"][row["m"].index(m)] for row in results.where(q=q).rows]


def report(results: Results) -> Report:
    pools, counts = sorted(results.unique("q")), results.rows[0]["m"]
    ours = {(q, m): errors_of(results, q, m) for q in pools for m in counts}
    paper = {(q, m): PAPER[q][COUNTS.index(m)] for q, m in ours}
    lines = [
        Line(f"q = {q}, m = {m:,}", ours[q, m], *paper[q, m], _lambda(results, q, m))
        for q, m in ours
    ]
    most, others = counts[-1], [q for q in pools if q > 1]
    claims = [
        Claim(
            f"the errors at m = {most:,}",
            [_near(ours, paper, q, most) for q in others],
        ),
        Claim("the errors at q = 4", [_near(ours, paper, 4, m) for m in counts]),
        Claim(
            "q = 1 is linear: about 15 % whatever m from 500 on",
            [Near(ours[1, m], 15.0, 1.0, label=f"m = {m:,}") for m in counts if m >= 500],
        ),
        Claim(
            "for q > 1 the error falls with m",
            [
                Below(ours[q, m], ours[q, less], f"q = {q}, m = {m:,}")
                for q in others
                for less, m in itertools.pairwise(counts)
            ],
        ),
        Claim(
            f"q = 4 is best at m = {most:,}",
            [Below(ours[4, most], ours[q, most], f"q = 4 and {q}") for q in pools if q != 4],
        ),
        Claim(
            f"below the best k-nearest neighbours ({NEIGHBOURS} %, the paper's number)",
            [Below(ours[4, most], [NEIGHBOURS], f"q = 4, m = {most:,}")],
        ),
    ]

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for q in pools:
            (line,) = axes.plot(
                counts, [np.mean(ours[q, m]) for m in counts], marker="o", ms=3, label=f"q = {q}"
            )
            axes.plot(counts, [paper[q, m][0] for m in counts], "x", color=line.get_color())
        axes.axhline(NEIGHBOURS, color="grey", lw=0.8, ls=":", label="nearest neighbours")
        axes.set(xscale="log", yscale="log", xlabel="m", ylabel="test error, %")
        axes.set_title("MNIST: ours (dots) and the paper's (crosses)")
        axes.legend(fontsize=7)

    table = Table("Test error on MNIST", lines, "%")
    return Report([table], claims, draw, (5.5, 3.8), _NOTES)


def _near(ours: Any, paper: Any, q: int, m: int) -> Near:
    """Within two deviations, a tenth of a per cent or a twentieth of the error."""
    mean, deviation = paper[q, m]
    tolerance = max(0.1, 0.05 * mean)
    return Near(ours[q, m], mean, tolerance, "lower", deviation, f"q = {q}, m = {m:,}")


def _lambda(results: Results, q: int, m: int) -> str:
    found = [row["lambdas"][row["m"].index(m)] for row in results.where(q=q).rows]
    low, high = (f"{value:.1g}" for value in (min(found), max(found)))
    return f"λ = {low}" if low == high else f"λ = {low} to {high}"


_NOTES = """Pixels are divided by 255 (the paper names no scaling); squared loss on ±1 codes, no
intercept, λ in the units of the paper's formula. A sixth of the training digits, the same for all
seeds, is held out to choose λ (among three, from the least that float32 sums allow); then all
60,000 are fitted. A seed names the 10,000 pools; the smaller m are its first ones."""

STUDY = Study(
    name="maxout-table1",
    source="maxout paper, Table 1",
    what="MNIST test error of ridge regression on random maxout features, by m and q",
    minutes=90,
    cells=cells,
    run=run,
    report=report,
    needs=("mnist",),
)
