"""Solvers that walk over the rows many times, on row vectors that stay where the rows are.

Features stay in the memory of the workers where all of them fit, and are made anew in each walk
where they do not; weights go out, and Z'·slopes come back.
"""

from dataclasses import replace
from operator import itemgetter

import numpy as np
from dask import delayed

from kitchensinks.execution.cluster import persist, workers
from kitchensinks.execution.design import PartitionedDesign, Vector
from kitchensinks.execution.job import Job
from kitchensinks.execution.order import order_statistic
from kitchensinks.execution.recipe import Recipe, RowSums, SplitSide
from kitchensinks.features.blocks import FeatureBlocks
from kitchensinks.fitting.blockwise import BlockDescent
from kitchensinks.fitting.calibration import Calibration, Residuals, calibrate
from kitchensinks.fitting.convex import calibrated, candidates, problem_of, roughly
from kitchensinks.fitting.held_out import least_error, too_few
from kitchensinks.fitting.plan import Plan
from kitchensinks.fitting.settings import Settings
from kitchensinks.fitting.space import (
    HELD_OUT,
    Fit,
    TrainingSet,
    solver_options,
    spectrum_facts,
    warn_noise,
)
from kitchensinks.problem.losses import Array
from kitchensinks.problem.problem import Problem, Solution
from kitchensinks.solvers.intercept import moved_scores
from kitchensinks.solvers.quadratic import FactoredGram
from kitchensinks.solvers.smooth import Keep, solve_smooth
from kitchensinks.solvers.smoothed import solve_smoothed
from kitchensinks.state import Spec
from kitchensinks.state.remembered import Limits, batch_of
from kitchensinks.tables.keys import Keys, RowSample

# Where a solver starts, and what it tells after each iteration.
Start = tuple[Array, Array] | None


class RowVectors:
    """Targets, weights and keys of all rows, as row vectors of a design.

    Workers keep the features if `features` is true and all of them fit into half of the memory
    budgets. Otherwise they keep the rows if those fit, and read partitions again in each walk if
    they do not.
    """

    def __init__(self, job: Job, features: bool) -> None:
        frozen, seen, schema = job.frozen, job.seen, job.partitions.schema
        count, shared = workers()
        given = job.recipe.memory_budget is not None
        budget = seen.memory if given else seen.memory / shared
        room = 0.5 * budget * count
        keep = features and frozen.dtype.itemsize * seen.n_rows * frozen.n_columns <= room
        held = keep or np.dtype(schema.dtype).itemsize * seen.n_rows * schema.n_inputs <= room
        call = delayed(Recipe.held)
        nodes = [call(job.sent, part, budget, keep) for part in job.bundles(gram=False)]
        tasks, *vectors = ([delayed(itemgetter(i))(node) for node in nodes] for i in range(4))
        size = len(nodes)
        kept = persist(*(tasks if held else ()), *(one for vector in vectors for one in vector))
        if held:
            tasks, kept = kept[:size], kept[size:]
        self.design = PartitionedDesign(
            tasks, job.partitions, seen.n_rows, frozen.n_columns, frozen.dtype
        )
        self.targets = Vector(kept[:size], (seen.n_rows, job.recipe.n_outputs))
        self.weights, self.keys = Vector(kept[size : 2 * size]), Vector(kept[2 * size :])
        where = "features are kept" if keep else "rows are kept" if held else "nothing is kept"
        job.progress(f"{where} by the workers")
        self.job = job

    def shares(self, split: SplitSide | None = None) -> Vector:
        """Weights that sum to one, of all rows or of one side of a split."""
        rows = self.weights, self.keys
        total = float(self.design.reduce(_weight, *rows, split=split))
        vector: Vector = self.design.each(_share, *rows, split=split, total=total)
        return vector

    def split(self, settings: Settings) -> tuple[SplitSide, SplitSide]:
        """The rows to fit, and a fifth of them, by their keys, that is held out."""
        nodes = self.design.each(_counted_keys, self.keys, self.weights).parts

        def rank(total: Array) -> Array:
            if total[0] < 2:
                raise too_few(settings, self.job.seen.n_rows)
            return np.clip(np.round(HELD_OUT * total), 1, total - 1)

        last = int(order_statistic(self.job.partitions, nodes, rank)[0])
        return SplitSide(last, False), SplitSide(last, True)


def fit_blocks(job: Job, settings: Settings, memory: float) -> Fit:
    """Squared loss by descent over blocks of features."""
    rows = RowVectors(job, features=False)
    vectors = rows.design, rows.design.tasks, rows.targets, rows.shares()
    return BlockDescent(*vectors, job.frozen, settings, memory).fit()


def fit_convex(
    job: Job, plan: Plan, settings: Settings, limits: Limits | None
) -> tuple[Fit, RowSample | None]:
    """Choose the ridge on held-out rows where that is asked for, then fit all rows.

    With a sample of the rows where limits are given.
    """
    rows = RowVectors(job, features=True)
    alphas = errors = None
    if settings.alpha == "auto":
        inside, outside = rows.split(settings)
        fitted = job.summed(limits, inside, "sums-without-held-out")
        alpha, alphas, errors = _choose_alpha(plan, settings, rows, fitted, inside, outside)
        # Sums add up: those held out are all that is missing.
        found = fitted.merge(job.summed(None, outside, "sums-of-held-out"))
    else:
        alpha, found = float(settings.alpha), job.summed(limits)
    problem, factored, noise = problem_of(
        found.moments, rows.design, rows.targets, rows.shares(), settings, alpha
    )
    warn_noise(alpha, noise)
    solution = _solve(plan, problem, factored, settings, *_going_on(job))
    facts = spectrum_facts(factored.values, alpha, factored.rounding)
    evidence = {"alphas": alphas, "alpha_errors": errors, "noise": noise, **facts}
    return Fit(alpha, solution, **evidence), found.sample


def calibration_of(
    job: Job, spec: Spec, settings: Settings, alpha: float, sample: RowSample
) -> Calibration | Residuals | None:
    """From scores of rows of the sample that were held out of a fit on the rest of it."""
    batch = batch_of(sample)
    run = settings.of_run(batch)
    training = TrainingSet.of(FeatureBlocks(batch.rows, job.frozen, spec.memory), batch, run)
    found = calibrated(training, alpha)
    if found is None:
        return None
    places, scores = found
    own = batch.part(places)
    return calibrate(spec.encoding, scores, own.targets, own.weights)


def _choose_alpha(
    plan: Plan,
    settings: Settings,
    rows: RowVectors,
    fitted: RowSums,
    inside: SplitSide,
    outside: SplitSide,
) -> tuple[float, Array, Array]:
    """The ridge strength with the least loss on held-out rows."""
    held, rough = rows.shares(outside), roughly(settings)
    problem, factored, noise = problem_of(
        fitted.moments, rows.design, rows.targets, rows.shares(inside), settings, 0.0
    )

    def error_of(alpha: float) -> float:
        solution = _solve(plan, replace(problem, alpha=alpha), factored, rough)
        scores = rows.design.scores(solution.weights)
        scores = rows.design.each(moved_scores, scores, shift=solution.intercept)
        return float(replace(problem, row_weights=held).mean_loss(scores).sum())

    return least_error(candidates(factored.trace, noise), error_of, settings)


def _solve(
    plan: Plan,
    problem: Problem,
    factored: FactoredGram,
    settings: Settings,
    start: Start = None,
    keep: Keep | None = None,
) -> Solution:
    solve = solve_smoothed if plan.solver == "smoothed" else solve_smooth
    return solve(problem, factored=factored, start=start, keep=keep, **solver_options(settings))


def _going_on(job: Job) -> tuple[Start, Keep | None]:
    """The weights that a checkpoint has, and what gives it those of each iteration."""
    checkpoint = job.checkpoint
    if checkpoint is None:
        return None, None
    found = checkpoint.stored("weights")

    def keep(weights: Array, level: Array) -> None:
        checkpoint.store("weights", {"weights": weights, "level": level})

    return None if found is None else (found["weights"], found["level"]), keep


# -- what runs on the workers ------------------------------------------------------------


def _counted_keys(keys: Keys, weights: Array) -> tuple[Keys, Array]:
    return keys[:, None], (weights > 0.0).astype(np.float64)


def _share(weights: Array, keys: Keys, split: SplitSide | None, total: float) -> Array:
    counted = True if split is None else split.counted(keys)
    return np.where(counted, weights, 0.0) / total


def _weight(weights: Array, keys: Keys, split: SplitSide | None) -> float:
    return float(_share(weights, keys, split, 1.0).sum())
