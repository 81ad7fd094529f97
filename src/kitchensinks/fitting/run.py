"""Make a plan and run it: from blocks of features to outer weights with their evidence."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from kitchensinks.features.blocks import FeatureBlocks
from kitchensinks.fitting.blockwise import fit_blocks
from kitchensinks.fitting.condense import Groups, condense, expand
from kitchensinks.fitting.convex import fit_convex
from kitchensinks.fitting.held_out import held_out_scores
from kitchensinks.fitting.plan import Plan, after_all, make_plan
from kitchensinks.fitting.settings import Settings
from kitchensinks.fitting.sizes import Sizes, gram_noise
from kitchensinks.fitting.space import Fit, TrainingSet, solver_options, warn_noise
from kitchensinks.fitting.sparse import fit_sparse
from kitchensinks.fitting.squared import fit_squared, solve_given
from kitchensinks.fitting.stages import fit_stages
from kitchensinks.fitting.stochastic import fit_stochastic
from kitchensinks.problem.moments import Moments
from kitchensinks.problem.targets import Batch
from kitchensinks.solvers.conjugate import factored_preconditioner, solve_ridge


@dataclass(frozen=True)
class Task:
    """A plan, and what is fitted by it.

    groups: features that coincide on all rows, which are fitted once, with their multiplicity.
    calibrate: the number of folds to hold out for scores that calibrate, where these need fits of
    their own; zero for no such scores. moments: the sums, if they are known.
    """

    plan: Plan
    shape: Sizes
    given: tuple[FeatureBlocks, Batch, Settings]
    groups: Groups | None
    calibrate: int
    moments: Moments | None

    @classmethod
    def of(
        cls,
        blocks: FeatureBlocks,
        batch: Batch,
        settings: Settings,
        calibrate: int = 0,
        moments: Moments | None = None,
    ) -> "Task":
        """Plan to minimise Σw·loss(y, u)/Σw + α‖β‖² over the ball, u = Zβ + b."""
        blocks.check_draw()
        fewer = condense(blocks, settings) if moments is None else None
        blocks, groups = (blocks, None) if fewer is None else fewer
        shape = Sizes.of(blocks, outputs=batch.targets.shape[1], summed=moments is not None)
        plan = make_plan(shape, settings)
        moments = moments if plan.space == "features" else None
        return cls(plan, shape, (blocks, batch, settings), groups, calibrate, moments)

    @property
    def training(self) -> TrainingSet:
        return TrainingSet.of(*self.given, span=self.plan.space == "span")

    def whole(self, fit: Fit) -> Fit:
        """The fit of all features."""
        return fit if self.groups is None else expand(fit, self.groups)


# From a task to the plan that ran and its fit.
Run = Callable[[Task], tuple[Plan, Fit]]


def fit_direct(task: Task) -> tuple[Plan, Fit]:
    """Squared loss by sums over the rows, and by scores of held-out rows where these calibrate."""
    training = task.training
    fit = fit_squared(training, training.sums() if task.moments is None else task.moments)
    if task.calibrate and fit.left_out is None:
        fixed = replace(training, settings=replace(training.settings, alpha=fit.alpha))
        fit.held_out = held_out_scores(fixed, solve_given)
    return task.plan, fit


def fit_conjugate(task: Task) -> tuple[Plan, Fit]:
    """Squared loss by conjugate gradients: the Gram of a sample of the rows preconditions passes.

    Where a plan of ours finds them too slow, so that more passes are still to come than the rest of
    the Gram is worth, the fit is the direct one.
    """
    plan, training = task.plan, task.training
    space, settings = training.space, training.settings
    alpha, intercept = float(settings.alpha), settings.fit_intercept
    worth = task.shape.worth if settings.solver == "auto" else math.inf
    sample, image = training.sample_sums()
    mean, target = image[:, 0] * intercept, training.shares @ training.targets * intercept
    equations = sample.normal_equations(intercept)
    trace = float(np.trace(equations.gram))
    noise, sample_noise = (
        gram_noise(space.dtype, trace, count) for count in (space.n_rows, sample.count)
    )
    warn_noise(alpha, noise)
    precondition = factored_preconditioner(equations.gram, alpha, sample_noise)
    solution = solve_ridge(
        training.problem(alpha, mean),
        cross=image[:, 1:] - np.outer(mean, target),
        precondition=precondition,
        start=precondition(equations.cross),
        worth=worth,
        **solver_options(settings),
    )
    solution = solution._replace(passes=solution.passes + 1)
    if math.isfinite(worth) and not solution.converged and solution.iterations < settings.max_iter:
        training.add_others(sample)
        return after_all(plan, task.shape, solution.passes), fit_squared(training, sample)
    # Leverages and freedom are those of the sample; the scores are those of the fit.
    total = float(space.n_rows if training.weights is None else training.weights.sum())
    sampled = replace(equations, weight=total, mean=mean, target=target)
    return plan, Fit(alpha, solution, noise=noise, sampled=sampled)


def _convex(task: Task) -> tuple[Plan, Fit]:
    return fit_convex(task.plan, task.training, task.calibrate > 0, task.moments)


def _sparse(task: Task) -> tuple[Plan, Fit]:
    return fit_sparse(task.plan, *task.given, task.calibrate)


def _staged(task: Task) -> tuple[Plan, Fit]:
    return fit_stages(task.plan, *task.given, task.calibrate > 0)


# What runs a plan in this process, by its solver.
RUNS: dict[str, Run] = {
    "direct": fit_direct,
    "conjugate": fit_conjugate,
    "coordinates": _convex,
    "sampled": _convex,
    "quasi-newton": _convex,
    "projected": _convex,
    "multipliers": _convex,
    "binned conjugate": _sparse,
    "sparse conjugate": _sparse,
    "sparse coordinates": _sparse,
    "sparse rows": _sparse,
    "sparse quasi-newton": _sparse,
    "sparse projected": _sparse,
    "sparse multipliers": _sparse,
    "blocks": lambda task: (task.plan, fit_blocks(*task.given)),
    "stages": _staged,
    "stochastic": lambda task: (task.plan, fit_stochastic(*task.given)),
}
