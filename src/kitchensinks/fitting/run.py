"""Do what a plan says: from blocks of features to outer weights with their evidence."""

from contextlib import nullcontext
from dataclasses import replace

from kitchensinks.features.blocks import FeatureBlocks
from kitchensinks.fitting.blockwise import fit_blocks
from kitchensinks.fitting.condense import condense, expand
from kitchensinks.fitting.conjugate import fit_conjugate
from kitchensinks.fitting.convex import fit_convex
from kitchensinks.fitting.held_out import held_out_scores
from kitchensinks.fitting.plan import Plan, Shape, make_plan
from kitchensinks.fitting.settings import Settings
from kitchensinks.fitting.space import Fit, Space, space_of, sum_moments
from kitchensinks.fitting.sparse import fit_sparse
from kitchensinks.fitting.squared import fit_squared, solve_moments
from kitchensinks.fitting.stages import fit_stages
from kitchensinks.fitting.stochastic import fit_stochastic
from kitchensinks.numerics.threads import single_blas
from kitchensinks.problem.losses import Array
from kitchensinks.problem.moments import Moments
from kitchensinks.problem.targets import Batch

# Factorisations of up to this many columns use one thread: threads wait for each other at every
# step, and small ones are faster alone.
FEW_COLUMNS = 512


def fit_features(
    blocks: FeatureBlocks,
    batch: Batch,
    settings: Settings,
    calibrate: bool = False,
    moments: Moments | None = None,
) -> tuple[Plan, Fit]:
    """Plan and fit: minimise Σw·loss(y, u)/Σw + α‖β‖² over the ball, u = Zβ + b.

    Features that coincide on all rows are fitted once, with their multiplicity. calibrate: scores
    of rows that the weights have not seen are wanted; moments: the sums, if they are known already.
    """
    fewer = condense(blocks, settings) if moments is None else None
    blocks, groups = (blocks, None) if fewer is None else fewer
    plan = make_plan(Shape.of(blocks), settings)
    with single_blas() if blocks.n_columns <= FEW_COLUMNS else nullcontext():
        fit = run(plan, blocks, batch, settings, calibrate, moments)
    return plan, fit if groups is None else expand(fit, groups)


def run(
    plan: Plan,
    blocks: FeatureBlocks,
    batch: Batch,
    settings: Settings,
    calibrate: bool,
    moments: Moments | None,
) -> Fit:
    """The fit that a plan describes."""
    _, targets, weights, _ = batch
    if plan.solver == "stochastic":
        return fit_stochastic(blocks.frozen, batch, settings)
    if plan.solver == "stages":
        return fit_stages(blocks, targets, weights, settings, calibrate)
    if plan.solver == "blocks":
        return fit_blocks(blocks, targets, weights, settings)
    if plan.solver == "sparse":
        return fit_sparse(blocks, targets, weights, settings, calibrate)
    if plan.solver == "conjugate":
        return fit_conjugate(blocks, targets, weights, settings)
    space = space_of(blocks, weights, settings, plan.space == "span")
    known = moments if space.span is None else None
    if plan.solver != "direct":
        return fit_convex(space, targets, weights, settings, calibrate, known)
    fit = fit_squared(space, targets, weights, settings, known)
    if calibrate and fit.left_out is None:
        fixed = replace(settings, alpha=fit.alpha)
        fit.held_out = held_out_scores(space, targets, weights, fixed, _squared_weights)
    return fit


def _squared_weights(
    space: Space, targets: Array, weights: Array, settings: Settings
) -> tuple[Array, Array]:
    fit = solve_moments(sum_moments(space, targets, weights, settings), settings, space.dtype)
    return fit.weights, fit.intercept
