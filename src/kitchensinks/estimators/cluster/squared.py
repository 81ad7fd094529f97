"""Squared loss: the sums, and for alpha="auto" leave-one-out where the rows are.

Without a checkpoint both walks are one graph, so that the factored Gram goes from worker to worker
and not through the scheduler.
"""

import operator
from dataclasses import replace
from typing import Any

import numpy as np

from kitchensinks.estimators.cluster.job import Job
from kitchensinks.estimators.cluster.recipe import Recipe, Sums
from kitchensinks.execution.cluster import all_threads, delayed, scattered, tree
from kitchensinks.execution.partitions import Part
from kitchensinks.fitting import Fit, LeftOut, LookedPath, Settings, left_out_of, solve_moments
from kitchensinks.numerics.threads import threads
from kitchensinks.problem.losses import Array
from kitchensinks.problem.moments import Moments


def fit_squared(job: Job, limit: int) -> tuple[Sums, Fit]:
    """The sums with a sample of at most `limit` rows, and the fit."""
    settings = job.settings
    if settings.alpha != "auto":
        found = job.summed(limit)
        with threads(job.estimator.n_jobs):
            fit = solve_moments(found.moments, settings, job.frozen.dtype)
    elif job.checkpoint is None:
        found, fit = _in_one_graph(job, limit)
    else:
        found = job.summed(limit)
        fit = _leave_one_out(job, found)
    fit.moments = found.moments
    if settings.constraint is None:
        # Made from the sums when they are asked for.
        fit.left_out = _left_out(found.moments, fit.alpha, settings)
    return found, fit


def _in_one_graph(job: Job, limit: int) -> tuple[Sums, Fit]:
    bundles, sent = job.bundles(), _sent(job.settings)
    job.estimator._progress(f"summing {len(job.partitions.parts)} partitions, leave-one-out")
    sums = job.sums(bundles, limit)
    looked = delayed(_looked_path)(sums, sent, job.frozen.dtype)
    best = delayed(_best)(looked, _errors(job, bundles, looked), sent)
    found, fit = job.compute(sums, best)
    return found, fit


def _leave_one_out(job: Job, found: Sums) -> Fit:
    """From sums that are here: errors in waves, which a checkpoint can stop and take up again."""
    assert job.checkpoint is not None
    job.estimator._progress("leave-one-out over the ridge path")
    with threads(job.estimator.n_jobs):
        looked = LookedPath.of(found.moments, job.settings, job.frozen.dtype)
    total = np.zeros((len(looked.alphas), len(looked.path.equations.target)))

    def wave(bundles: list[list[Part]]) -> Any:
        light = scattered(_light(looked, job.frozen.dtype))
        call = delayed(Recipe.errors)
        return tree([call(job.recipe, part, light) for part in bundles], operator.add)

    walk = job.checkpoint.over(
        "leave-one-out",
        job.waves(wave),
        lambda: {"total": total},
        lambda arrays: np.copyto(total, arrays["total"]),
    )
    for _, errors in walk:
        np.add(total, errors, out=total)
    with threads(job.estimator.n_jobs):
        return looked.best(total, job.settings)


def _errors(job: Job, bundles: list[list[Part]], looked: Any) -> Any:
    light = delayed(_light)(looked, job.frozen.dtype)
    nodes = [delayed(Recipe.errors)(job.recipe, part, light) for part in bundles]
    return tree(nodes, operator.add)


def _left_out(moments: Moments, alpha: float, settings: Settings) -> LeftOut:
    def scores(*rows: Any) -> Array:
        found = left_out_of(moments.normal_equations(settings.fit_intercept), alpha, settings)
        assert found is not None
        return found(*rows)

    return scores


# -- what runs on the workers ------------------------------------------------------------


def _sent(settings: Settings) -> Settings:
    """Settings without what belongs to this process."""
    return replace(settings, keys=_no_keys, progress=_silent)


def _no_keys() -> np.ndarray:
    raise AssertionError("rows on a cluster have no keys here")


def _silent(text: str) -> None:
    """Progress is told where the fit was called."""


def _looked_path(sums: Sums, settings: Settings, dtype: Any) -> LookedPath:
    with all_threads():
        return LookedPath.of(sums.moments, settings, dtype)


def _light(looked: LookedPath, dtype: Any) -> LookedPath:
    """What leave-one-out needs of the path: eigenvectors in the dtype of the features, no Gram."""
    path = object.__new__(type(looked.path))
    vars(path).update(vars(looked.path))
    nothing = np.zeros((0, 0))
    path.equations = replace(path.equations, gram=nothing)
    factored = object.__new__(type(path.factored))
    vars(factored).update(vars(path.factored))
    factored.gram, factored.vectors = nothing, factored.vectors.astype(dtype)
    path.factored = factored
    return replace(looked, path=path)


def _best(looked: LookedPath, errors: Array, settings: Settings) -> Fit:
    """The weights at the strength of least error; what holds a Gram stays behind."""
    with all_threads():
        fit = looked.best(errors, settings)
    fit.left_out = None
    return fit
