"""Many sparse columns (Binning): every loss and constraint without a Gram, by products alone."""

import math
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from kitchensinks.features.blocks import FeatureBlocks
from kitchensinks.fitting.held_out import Split, least_held_out, too_few, with_level
from kitchensinks.fitting.plan import Plan, by_rows
from kitchensinks.fitting.settings import Settings, Solver
from kitchensinks.fitting.space import HELD_OUT, Fit, gathered, shares_of, solver_options
from kitchensinks.problem.bins import Bins
from kitchensinks.problem.design import SparseFeatures
from kitchensinks.problem.losses import Array
from kitchensinks.problem.problem import Problem, Solution
from kitchensinks.problem.targets import Batch
from kitchensinks.solvers.binned import binned_ridge
from kitchensinks.solvers.conjugate import solve_ridge
from kitchensinks.solvers.coordinate import MOST_VISITS, solve_coordinates
from kitchensinks.solvers.implicit import DiagonalGram, ImplicitGram
from kitchensinks.solvers.nonsmooth import solve_nonsmooth
from kitchensinks.solvers.rows import solve_by_rows
from kitchensinks.solvers.smooth import solve_smooth
from kitchensinks.tables.arrays import block_slices

# Ridge strengths tried: a row of features has length one.
_ALPHAS = 10.0 ** np.arange(-1.0, -7.0, -0.5)
# Bins that are looked up at a time.
_FOUND = 2**24
# Relative gap that is close enough to compare ridge strengths.
_ROUGH = 1e-2
# Visits to each row, enough to compare ridge strengths of losses with a kink.
_ROUGH_VISITS = 30
# Fits on bins whose law is learned stop where a step lowers the objective by less than this share:
# the held-out error then no longer changes (measured on census, house prices and forest cover).
# Dual coordinate ascent stops after MOST_VISITS visits to each row.
LEAST_GAIN = 2e-3
# Most iterations of such a fit where `max_iter` was left at its default: it stops by itself, after
# 100 to 150 of them on categories without noise (nursery), and 520 on the hardest bins tried.
LEARNED_STEPS = 2000
# Rows that calibrate probabilities where the ridge is given.
CALIBRATED = 10_000
# No further fold is fitted beyond this many held-out rows: the coverage of 90 % intervals then has
# a standard error of 1.3 points.
_ENOUGH_RESIDUALS = 500
# Held-out rows below this share of all rows are left out of the final fit too.
_NEGLIGIBLE = 0.05
# Ridges whose coefficients are kept: a path ends two after the best.
_KEPT = 3


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


def fit_sparse(
    plan: Plan, blocks: FeatureBlocks, batch: Batch, settings: Settings, calibrate: int
) -> tuple[Plan, Fit]:
    """The fit by the solver of the plan, certified as its dense counterpart is; the plan that ran.

    The ridge is chosen on a held-out fifth of the rows, and probabilities are calibrated there, or
    on 10,000 rows where the ridge is given: in `calibrate` folds, each held out of a fit to all
    others, or in one of them where that has many rows. The final fit starts from the weights found
    without them; where they are less than a twentieth of all rows, those weights are final.
    """
    path = WarmStarts(sparse_design(blocks), batch.targets, plan)
    weights, chosen = batch.weights, settings.alpha == "auto"
    share, folds = _held_share(settings, blocks.n_rows, calibrate)
    split = Split.of(settings, weights, share=share) if folds else None
    if split is None:
        if chosen:
            raise too_few(settings, blocks.n_rows)
        alpha = float(settings.alpha)
        solution = path.solve(weights, settings, alpha)
        return path.plan, Fit(alpha, solution)
    # Where few rows are held out, the fit without them is the final one.
    final = not chosen and share <= _NEGLIGIBLE
    rough = settings if final else _rough(settings)
    candidates = _ALPHAS if chosen else [float(settings.alpha)]
    scores_of = partial(path.held_out_scores, split, rough)
    alpha, tried, errors, held_out = least_held_out(
        candidates, scores_of, batch.targets, split, settings
    )
    for fold in range(1, folds):
        further = Split.of(settings, weights, share=share, fold=fold)
        if further is not None:
            # The last solution has seen these rows, so start again from zero.
            path.last, path.kept = None, {}
            places = further.places[further.held]
            scores = path.held_out_scores(further, rough, alpha)
            held_out = np.append(held_out[0], places), np.concatenate([held_out[1], scores])
    solution = path.last if final and path.last else path.solve(weights, settings, alpha)
    if chosen:
        rows = path.design, batch.targets, shares_of(weights, blocks.n_rows)
        solution = with_level(solution, held_out, *rows, settings.loss)
    fit = Fit(alpha, solution, alphas=tried, alpha_errors=errors, held_out=held_out)
    return path.plan, fit


def _held_share(settings: Settings, n_rows: int, calibrate: int) -> tuple[float, int]:
    """The share of the rows in one fold, and the number of folds."""
    if settings.alpha == "auto":
        return HELD_OUT, 1
    if not calibrate:
        return 0.0, 0
    # Calibration needs fewer rows than the choice of a ridge.
    share = min(HELD_OUT, CALIBRATED / n_rows)
    if share <= _NEGLIGIBLE:
        return share, 1
    share /= calibrate
    return share, calibrate if share * n_rows < _ENOUGH_RESIDUALS else 1


def _rough(settings: Settings) -> Settings:
    """Settings accurate enough to compare ridge strengths.

    Quantile fits keep theirs: held-out rows calibrate their level, so the fit without these rows
    must be as accurate as the last one.
    """
    if settings.loss.shares_below:
        return settings
    most = settings.max_iter if settings.loss.smooth else min(_ROUGH_VISITS, settings.max_iter)
    return replace(settings, tol=max(_ROUGH, settings.tol), max_iter=most)


@dataclass
class WarmStarts:
    """Fits to the same features one after the other, each from the solution of the one before.

    Ridge regression is by conjugate gradients. Quasi-Newton and projected-gradient steps are in the
    metric of the Gram's diagonal, and the ridge steps of ADMM are conjugate gradients. kept: by
    each of the last ridges, the coefficients of the rows in the weights, where the solver has them.
    plan: that of the next fit; L-BFGS goes on where dual coordinates are too slow.
    """

    design: SparseFeatures | Bins
    targets: Array
    plan: Plan
    last: Solution | None = None
    kept: dict[float, Array] = field(default_factory=dict)

    def solve(self, weights: Array | None, settings: Settings, alpha: float) -> Solution:
        """The fit with this ridge; weights (n,) or None for ones."""
        design, shares = self.design, shares_of(weights, self.design.n_rows)
        start = None if self.last is None else self.last.weights
        options, first_pass = solver_options(settings), design.passes
        if self.plan.solver == "binned conjugate":
            options |= {"fit_intercept": settings.fit_intercept, "least_gain": settings.least_gain}
            if settings.least_gain > 0.0 and settings.max_iter == Solver.max_iter:
                options["max_iter"] = LEARNED_STEPS
            assert isinstance(design, Bins), "the plan is for bins"
            found = binned_ridge(design, self.targets, shares, alpha, start=start, **options)
        else:
            ball, intercept = settings.constraint, settings.fit_intercept
            problem = Problem(design, settings.loss, self.targets, shares, alpha, ball, intercept)
            if self.plan.solver == "sparse conjugate":
                found = solve_ridge(problem, start=start, **options)
            else:
                found = self._convex(problem, settings.least_gain, options)
            found = found._replace(passes=design.passes - first_pass)
        self.last = found._replace(solver=f"{found.solver} (sparse)")
        return self.last

    def _convex(self, problem: Problem, least_gain: float, options: dict[str, Any]) -> Solution:
        """A loss that is not squared, or a ball."""
        alpha, kind = problem.alpha, self.plan.solver
        if kind == "sparse multipliers":
            metric = ImplicitGram(problem.gram_times, problem.diagonal)
            return solve_nonsmooth(problem, factored=metric, **options)
        if kind not in ("sparse coordinates", "sparse rows"):
            return solve_smooth(problem, factored=DiagonalGram(problem.diagonal), **options)
        nearest = sorted(self.kept, key=lambda one: abs(math.log(one / alpha)))[:1]
        options["start"] = self.kept[nearest[0]] if nearest else None
        if kind == "sparse rows":
            found, own = solve_by_rows(problem, **options)
        else:
            steps = int(options.pop("max_iter"))
            most = min(float(steps), MOST_VISITS) if least_gain else float(steps)
            found, own = solve_coordinates(problem, most=most, **options)
            found = found._replace(settled=least_gain > 0.0)
            if problem.loss.smooth and not (found.converged or found.settled):
                self.plan = by_rows(self.plan)
                options |= {"start": own, "max_iter": steps}
                found, own = solve_by_rows(problem, **options)
        self.kept = dict([*self.kept.items(), (alpha, own)][-_KEPT:])
        return found

    def held_out_scores(self, split: Split, settings: Settings, alpha: float) -> Array:
        """The scores of the held-out rows by a fit to the others."""
        found = self.solve(split.fitted, settings, alpha)
        return np.asarray(self.design.scores(found.weights)[split.held] + found.intercept)
