"""Squared loss: the sums, and for alpha="auto" leave-one-out where the rows are.

Without a checkpoint both walks are one graph, so that the factored Gram goes from worker to worker
and not through the scheduler.
"""

import operator
from copy import copy
from dataclasses import replace
from functools import partial

import numpy as np
from dask import delayed

from kitchensinks.execution.cluster import Task, scattered, tree
from kitchensinks.execution.job import Bundle, Job
from kitchensinks.execution.recipe import Recipe, RowSums
from kitchensinks.fitting.refine import added
from kitchensinks.fitting.settings import Settings
from kitchensinks.fitting.space import Fit
from kitchensinks.fitting.squared import RidgeCandidates, solve_moments, without_rounding
from kitchensinks.law.copies import many
from kitchensinks.numerics.arrays import DType
from kitchensinks.problem.losses import Array
from kitchensinks.problem.moments import NormalEquations
from kitchensinks.state.remembered import REMEMBERED, Limits, copies_in, left_out_errors
from kitchensinks.tables.arrays import densify
from kitchensinks.tables.keys import RowSample


def fit_squared(
    job: Job, settings: Settings, limits: Limits | None
) -> tuple[Fit, RowSample | None]:
    """The fit with its sums, and a sample of the rows where limits are given."""
    if settings.alpha != "auto":
        found = job.summed(limits, dtype=settings.summed)
        fit = solve_moments(found.moments, settings, job.frozen.dtype, summed=settings.summed)
    elif (copied := _copied(job)) is not None:
        found = job.summed(limits)
        candidates = RidgeCandidates.of(found.moments, settings, job.frozen.dtype)
        features = densify(job.frozen.features(copied.rows))
        fit = candidates.best(left_out_errors(copied, features, candidates), settings)
    elif job.checkpoint is None:
        found, fit = _in_one_graph(job, settings.bare(), limits)
    else:
        found = job.summed(limits)
        fit = _leave_one_out(job, settings, found)
    fit.moments = found.moments
    sums = partial(_residuals, job)
    return without_rounding(fit, found.moments, settings, job.frozen.dtype, sums), found.sample


def _copied(job: Job) -> RowSample | None:
    """Rows with all their copies, where many are copies; else None.

    Copies may be in any partition, and all of a row have to leave together. So the ridge is chosen
    as that of a stream, on rows that are remembered: all of them, or the lowest keys of many.
    """
    if job.sample.counts.max() == 1:
        return None
    sample = job.sampled(REMEMBERED)
    copies = copies_in(sample)
    all_known = int(sample.counts.sum()) == job.seen.n_rows
    return sample if copies is not None and (all_known or many(copies)) else None


def _in_one_graph(job: Job, settings: Settings, limits: Limits | None) -> tuple[RowSums, Fit]:
    bundles, dtype = job.bundles(), job.frozen.dtype
    sums = job.sums(bundles, limits)
    path = delayed(RidgeCandidates.of)(sums.moments, settings, dtype)
    errors = _errors(job, bundles, delayed(_light)(path, dtype))
    best = delayed(_best)(path, errors, settings)
    found, fit = job.compute(f"summing {job.partitions}, leave-one-out", sums, best)
    return found, fit


def _leave_one_out(job: Job, settings: Settings, found: RowSums) -> Fit:
    """From sums that are here: errors in waves, which a checkpoint can stop and take up again."""
    assert job.checkpoint is not None
    candidates = RidgeCandidates.of(found.moments, settings, job.frozen.dtype)
    total = np.zeros((len(candidates.alphas), len(candidates.path.equations.target)))

    def wave(bundles: list[Bundle]) -> Task:
        return _errors(job, bundles, scattered(_light(candidates, job.frozen.dtype)))

    walk = job.checkpoint.over(
        "leave-one-out",
        partial(job.waves, "leave-one-out over the ridge path", wave),
        lambda: {"total": total},
        lambda arrays: np.copyto(total, arrays["total"]),
    )
    for _, errors in walk:
        np.add(total, errors, out=total)
    return candidates.best(total, settings)


def _residuals(job: Job, equations: NormalEquations, weights: Array) -> list[Array]:
    """Residuals of the rows, added up where these are."""
    sent = scattered((replace(equations, gram=np.zeros((0, 0))), weights))
    call = delayed(Recipe.residuals)
    tasks = tree([call(job.sent, part, sent) for part in job.bundles()], _both)
    (total,) = job.compute("residuals of the rows", tasks)
    return list(total)


def _both(*parts: list[Array]) -> list[Array]:
    return added(parts)


def _errors(job: Job, bundles: list[Bundle], light: object) -> Task:
    call = delayed(Recipe.errors)
    return tree([call(job.sent, part, light) for part in bundles], operator.add)


# -- what runs on the workers -------------------------------------------------------------------


def _light(candidates: RidgeCandidates, dtype: DType) -> RidgeCandidates:
    """What leave-one-out needs of the path: eigenvectors in the dtype of the features, no Gram."""
    path, nothing = copy(candidates.path), np.zeros((0, 0))
    path.factored, path.equations = copy(path.factored), replace(path.equations, gram=nothing)
    path.factored.gram, path.factored.vectors = nothing, path.factored.vectors.astype(dtype)
    return replace(candidates, path=path)


def _best(candidates: RidgeCandidates, errors: Array, settings: Settings) -> Fit:
    """The weights at the strength of least error; what holds a Gram stays behind."""
    fit = candidates.best(errors, settings)
    fit.left_out = fit.factored = None
    return fit
