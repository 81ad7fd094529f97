"""Every other loss on a cluster: the solvers of one machine, on row vectors that stay there.

Features stay in the memory of the workers where all of them fit, and are made anew in each walk
where they do not; weights go out, and Z'·slopes come back.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kitchensinks.estimators.cluster.job import Job, batch_of
from kitchensinks.estimators.cluster.recipe import Split, Sums
from kitchensinks.estimators.cluster.vectors import RowVectors
from kitchensinks.fitting import Fit, Settings
from kitchensinks.fitting.convex import calibrated, candidates, problem_of, roughly
from kitchensinks.fitting.held_out import least_error
from kitchensinks.fitting.space import (
    CALIBRATION_ROWS,
    HELD_OUT,
    reporter,
    space_of,
    spectrum_facts,
    warn_noise,
)
from kitchensinks.numerics.threads import threads
from kitchensinks.problem.losses import Array
from kitchensinks.solvers import FactoredGram, Problem, Solution, solve_smooth
from kitchensinks.solvers.intercept import moved_scores
from kitchensinks.solvers.smoothed import solve_smoothed

# Rows that calibrate probabilities, with those that the weights for it are fitted to.
_CALIBRATION = round(CALIBRATION_ROWS / HELD_OUT), 2**24


def fit_convex(job: Job, calibrate: bool) -> tuple[Sums, Fit]:
    """Choose the ridge on held-out rows where that is asked for, then fit all rows."""
    settings = job.settings
    rows = RowVectors(job, features=True)
    limit = 0
    if calibrate:
        most, entries = _CALIBRATION
        limit = min(most, max(500, entries // job.partitions.schema.n_inputs))
    alphas = errors = None
    with threads(job.estimator.n_jobs):
        if settings.alpha == "auto":
            inside, outside = rows.split()
            fitted = job.summed(limit, inside, "sums-without-held-out")
            alpha, alphas, errors = _choose_alpha(job, rows, fitted, inside, outside)
            # Sums add up: those held out are all that is missing.
            found = fitted.merge(job.summed(0, outside, "sums-of-held-out"))
        else:
            alpha, found = float(settings.alpha), job.summed(limit)
        problem, factored, noise = problem_of(
            found.moments, rows.design, rows.targets, rows.shares(None), settings, alpha
        )
        warn_noise(alpha, noise)
        start, keep = _progress_of(job)
        solution = _solve(problem, factored, settings, start, keep)
        fit = Fit(
            solution.weights,
            solution.intercept,
            alpha,
            solution,
            alphas=alphas,
            alpha_errors=errors,
            noise=noise,
            **spectrum_facts(factored.values, alpha, factored.rounding),
        )
        if calibrate and found.sample is not None:
            fit.held_out = _held_out(job, found, alpha)
    return found, fit


def _choose_alpha(
    job: Job, rows: RowVectors, fitted: Sums, inside: Split, outside: Split
) -> tuple[float, Array, Array]:
    """The ridge strength with the least loss on held-out rows."""
    settings, held = job.settings, rows.shares(outside)
    problem, factored, noise = problem_of(
        fitted.moments, rows.design, rows.targets, rows.shares(inside), settings, 0.0
    )
    rough = roughly(settings)

    def error_of(alpha: float) -> float:
        solution = _solve(replace(problem, alpha=alpha), factored, rough)
        scores = rows.design.scores(solution.weights)
        scores = rows.design.each(moved_scores, scores, shift=solution.intercept)
        return float(replace(problem, row_weights=held).mean_loss(scores).sum())

    return least_error(candidates(factored.trace, noise), error_of, settings)


def _solve(
    problem: Problem,
    factored: FactoredGram,
    settings: Settings,
    start: tuple[Array, Array] | None = None,
    keep: Callable[[Array, Array], None] | None = None,
) -> Solution:
    # Rows on a cluster have no memory, which the method of multipliers needs.
    solve = solve_smooth if problem.loss.smooth else solve_smoothed
    return solve(
        problem,
        factored=factored,
        tol=settings.tol,
        max_iter=settings.max_iter,
        callback=reporter(settings),
        start=start,
        keep=keep,
    )


def _progress_of(job: Job) -> tuple[Any, Any]:
    """The weights that a checkpoint has, and what gives it those of each iteration."""
    checkpoint = job.checkpoint
    if checkpoint is None:
        return None, None
    found = checkpoint.stored("weights")
    start = None if found is None else (found["weights"], found["level"])

    def keep(weights: Array, level: Array) -> None:
        checkpoint.store("weights", {"weights": weights, "level": level})

    return start, keep


def _held_out(job: Job, found: Sums, alpha: float) -> Any:
    """Scores of rows of the sample that were held out of a fit on the rest of it."""
    assert found.sample is not None
    batch = batch_of(found.sample)
    blocks = job.estimator._blocks(batch.rows)
    settings = replace(job.estimator._settings(batch.rows, batch.one), alpha=alpha)
    space = space_of(blocks, batch.weights, settings)
    return calibrated(space, batch.targets, batch.weights, settings, alpha)
