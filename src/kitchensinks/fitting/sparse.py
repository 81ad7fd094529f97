"""Many sparse columns (Binning): every loss and constraint without a Gram, by products alone."""

from dataclasses import replace

import numpy as np

from kitchensinks.features.blocks import FeatureBlocks
from kitchensinks.fitting.held_out import Split, least_held_out, too_few, with_level
from kitchensinks.fitting.settings import Settings
from kitchensinks.fitting.space import HELD_OUT, Fit, gathered, shares_of, solver_options
from kitchensinks.problem.bins import Bins
from kitchensinks.problem.design import SparseFeatures
from kitchensinks.problem.losses import Array
from kitchensinks.problem.problem import Problem, Solution
from kitchensinks.problem.targets import Batch
from kitchensinks.solvers import (
    binned_ridge,
    solve_coordinates,
    solve_nonsmooth,
    solve_ridge,
    solve_smooth,
)
from kitchensinks.solvers.coordinate import MOST_VISITS
from kitchensinks.solvers.implicit import DiagonalGram, ImplicitGram
from kitchensinks.tables import block_slices

# Ridge strengths tried: a row of features has length one.
_ALPHAS = 10.0 ** np.arange(-1.0, -7.0, -0.5)
# Bins that are looked up at a time.
_FOUND = 2**24
# Relative gap that is close enough to compare ridge strengths.
_ROUGH = 1e-2
# Visits to each row that are enough to compare ridge strengths of kinked losses.
_ROUGH_VISITS = 30
# Fits on bins whose law is learned stop where a step lowers the objective by less than this share:
# the held-out error then no longer changes (measured on census, house prices and forest cover).
# Kinked losses stop after MOST_VISITS visits to each row.
SETTLED = 2e-3
# Rows that calibrate probabilities where the ridge is given.
CALIBRATED = 10_000
# With so many rows in one fold, quantiles of residuals are known to a point of coverage: no further
# fold is fitted.
_ENOUGH_RESIDUALS = 1000
# Held-out rows below this share of all rows are left out of the final fit too.
_NEGLIGIBLE = 0.05


def sparse_design(blocks: FeatureBlocks) -> SparseFeatures | Bins:
    """All features of the rows, as the design with the fastest products."""
    draw = blocks.frozen.draw
    if not draw.basis.binned:
        return SparseFeatures(gathered(blocks))
    if blocks.columns is not None:
        return Bins(blocks.columns, draw.offsets, draw.scale)
    kind = np.int32 if draw.n_columns < 2**31 else np.int64
    columns = np.empty((draw.n_components, blocks.n_rows), dtype=kind)
    for part in block_slices(blocks.n_rows, max(blocks.block_rows, _FOUND // draw.n_components)):
        columns[:, part] = draw.bins(blocks.frozen.scaled(blocks.rows[part]))
    return Bins(columns, draw.offsets, draw.scale)


def fit_sparse(blocks: FeatureBlocks, batch: Batch, settings: Settings, calibrate: int) -> Fit:
    """Ridge regression by conjugate gradients; other smooth losses, and balls, by quasi-Newton or
    projected-gradient steps in the metric of the Gram's diagonal; kinked losses with a ridge by
    dual coordinate ascent over bins, else by ADMM whose ridge steps are conjugate gradients. All
    are certified as their dense counterparts are.

    The ridge is chosen on a held-out fifth of the rows, and probabilities are calibrated there, or
    on 10,000 rows where the ridge is given: in `calibrate` folds, each held out of a fit to all
    others, or in one of them where that has many rows. The final fit starts from the weights found
    without them; where they are less than a twentieth of all rows, those weights are final.
    """
    design, targets, weights = sparse_design(blocks), batch.targets, batch.weights
    chosen = settings.alpha == "auto"
    split, folds = None, 1
    if chosen or calibrate:
        # To calibrate takes fewer rows than to choose.
        share = HELD_OUT if chosen else min(HELD_OUT, CALIBRATED / blocks.n_rows)
        if not chosen and share > _NEGLIGIBLE:
            share /= calibrate
            folds = calibrate if share * blocks.n_rows < _ENOUGH_RESIDUALS else 1
        split = Split.of(settings, weights, share=share)
        if split is None and chosen:
            raise too_few(settings, blocks.n_rows)
    if split is None:
        alpha = float(settings.alpha)
        solution = solve_sparse(design, targets, weights, settings, alpha)
        return Fit(alpha, solution)
    # Where few rows are held out, the fit without them is the final one.
    final = not chosen and share <= _NEGLIGIBLE
    rough = settings
    # The level of a quantile is that of the rows held out: it would be too far out if the last fit
    # were closer to its optimum than the one without them.
    if not (final or settings.loss.shares_below):
        few = settings.max_iter if settings.loss.smooth else min(_ROUGH_VISITS, settings.max_iter)
        rough = replace(settings, tol=max(_ROUGH, settings.tol), max_iter=few)
    last: Solution | None = None
    dual: Array | None = None

    def scores_of(alpha: float, split: Split = split) -> Array:
        nonlocal last, dual
        start = None if last is None else last.weights
        last, dual = _solved(design, targets, split.fitted, rough, alpha, start, dual)
        return np.asarray(design.scores(last.weights)[split.held] + last.intercept)

    candidates = _ALPHAS if chosen else [float(settings.alpha)]
    alpha, tried, errors, held_out = least_held_out(candidates, scores_of, targets, split, settings)
    for fold in range(1, folds):
        further = Split.of(settings, weights, share=share, fold=fold)
        if further is not None:
            # Weights of the fold before have seen these rows, and few steps do not forget them.
            last = None
            places, scores = further.places[further.held], scores_of(alpha, further)
            held_out = np.append(held_out[0], places), np.concatenate([held_out[1], scores])
    assert last is not None, "at least one ridge is tried"
    if not final:
        last, _ = _solved(design, targets, weights, settings, alpha, last.weights, dual)
    if chosen:
        rows = design, targets, shares_of(weights, design.n_rows)
        last = with_level(last, held_out, *rows, settings.loss)
    return Fit(alpha, last, alphas=tried, alpha_errors=errors, held_out=held_out)


def solve_sparse(
    design: SparseFeatures | Bins,
    targets: Array,
    weights: Array | None,
    settings: Settings,
    alpha: float,
    start: Array | None = None,
) -> Solution:
    """One fit with a given ridge; weights (n,) or None for ones."""
    return _solved(design, targets, weights, settings, alpha, start)[0]


def _solved(
    design: SparseFeatures | Bins,
    targets: Array,
    weights: Array | None,
    settings: Settings,
    alpha: float,
    start: Array | None = None,
    dual: Array | None = None,
) -> tuple[Solution, Array | None]:
    """One fit, from weights or dual variables on; dual variables where the solver has them."""
    shares, first_pass = shares_of(weights, design.n_rows), design.passes
    loss, constraint, fit_intercept = settings.loss, settings.constraint, settings.fit_intercept
    options = solver_options(settings)
    ridge = loss.squared and constraint is None
    if ridge and alpha > 0.0 and isinstance(design, Bins):
        options |= {"fit_intercept": fit_intercept, "settled": settings.settled, "start": start}
        solution = binned_ridge(design, targets, shares, alpha, **options)
        return solution._replace(solver=f"{solution.solver} (sparse)"), None
    problem = Problem.without_gram(design, loss, targets, shares, alpha, constraint, fit_intercept)
    if ridge:
        solution = solve_ridge(problem, start=start, **options)
    elif loss.smooth:
        solution = solve_smooth(problem, factored=DiagonalGram(problem.diagonal), **options)
    elif constraint is None and alpha > 0.0 and isinstance(design, Bins):
        most = float(options.pop("max_iter"))
        most = min(most, MOST_VISITS) if settings.settled else most
        solution, dual = solve_coordinates(problem, dual=dual, most=most, **options)
        solution = solution._replace(settled=settings.settled > 0.0)
    else:
        metric = ImplicitGram(problem.gram_times, problem.diagonal)
        solution = solve_nonsmooth(problem, factored=metric, **options)
    passes = design.passes - first_pass
    return solution._replace(solver=f"{solution.solver} (sparse)", passes=passes), dual
