"""Run a plan: from blocks of features to outer weights with their evidence."""

import math
from dataclasses import replace

from kitchensinks.features.blocks import FeatureBlocks
from kitchensinks.fitting.blockwise import fit_blocks
from kitchensinks.fitting.condense import condense, expand
from kitchensinks.fitting.conjugate import Slow, fit_conjugate
from kitchensinks.fitting.convex import fit_convex
from kitchensinks.fitting.held_out import held_out_scores
from kitchensinks.fitting.plan import Plan, Shape, after_all, by_gram, make_plan
from kitchensinks.fitting.settings import Settings
from kitchensinks.fitting.space import Fit, TrainingSet
from kitchensinks.fitting.sparse import fit_sparse
from kitchensinks.fitting.squared import fit_squared, solve_given
from kitchensinks.fitting.stages import fit_stages
from kitchensinks.fitting.stochastic import fit_stochastic
from kitchensinks.problem.moments import Moments
from kitchensinks.problem.targets import Batch


def fit_features(
    blocks: FeatureBlocks,
    batch: Batch,
    settings: Settings,
    calibrate: int = 0,
    moments: Moments | None = None,
) -> tuple[Plan, Fit]:
    """Plan and fit: minimise Σw·loss(y, u)/Σw + α‖β‖² over the ball, u = Zβ + b.

    Features that coincide on all rows are fitted once, with their multiplicity. calibrate: the
    number of folds to hold out for scores that calibrate, where these need fits of their own; zero
    for no such scores. moments: the sums, if they are known.
    """
    blocks.check_draw()
    fewer = condense(blocks, settings) if moments is None else None
    blocks, groups = (blocks, None) if fewer is None else fewer
    shape = Shape.of(blocks, outputs=batch.targets.shape[1])
    plan = make_plan(shape, settings)
    given = blocks, batch, settings
    if plan.solver == "stochastic":
        fit = fit_stochastic(blocks.frozen, batch, settings)
    elif plan.solver == "stages":
        fit = fit_stages(*given, calibrate > 0)
    elif plan.solver == "blocks":
        fit = fit_blocks(*given)
    elif plan.solver == "sparse":
        fit = fit_sparse(*given, calibrate)
    elif plan.solver == "conjugate":
        plan, fit = _by_passes(plan, shape, TrainingSet.of(*given))
    else:
        training = TrainingSet.of(*given, span=plan.space == "span")
        known = moments if training.space.span is None else None
        if plan.solver != "direct":
            solver, fit = fit_convex(training, calibrate > 0, known)
            plan = plan if solver == plan.solver else by_gram(plan, known is not None)
        else:
            fit = fit_squared(training, training.sums() if known is None else known)
            if calibrate and fit.left_out is None:
                fixed = replace(training, settings=replace(settings, alpha=fit.alpha))
                fit.held_out = held_out_scores(fixed, solve_given)
    return plan, fit if groups is None else expand(fit, groups)


def _by_passes(plan: Plan, shape: Shape, training: TrainingSet) -> tuple[Plan, Fit]:
    """Conjugate gradients, or the direct fit where a plan of ours finds them too slow."""
    chosen = training.settings.solver == "auto"
    found = fit_conjugate(training, shape.worth if chosen else math.inf)
    if isinstance(found, Slow):
        return after_all(plan, shape, found.passes), fit_squared(training, found.moments)
    return plan, found
