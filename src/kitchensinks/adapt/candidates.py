"""Bases that a law is tried with: small fits, what they reach, and what more would."""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from kitchensinks.adapt.maps import Found
from kitchensinks.adapt.task import Task
from kitchensinks.adapt.trials import (
    Rows,
    Score,
    climb,
    dense_errors,
    dense_fit,
    sparse_errors,
)
from kitchensinks.features import Frozen
from kitchensinks.fitting import FIRST_SHARE

# What is this much worse than the best so far is not looked at any more.
HOPELESS = 1.15
# Features of a trial: rows times grids times outputs, and rows times columns.
_TRIAL_GRIDS, _TRIAL_COLUMNS = 1.5e6, 6e6
# The same where close candidates are tried again: rows times grids times outputs, and rows times
# products of columns; grids that are enough for it.
_AGAIN_GRIDS, _AGAIN_PRODUCTS, _MANY_GRIDS = 3e6, 6e9, 250
# Ridges that bins are tried with at first, and then around the best so far.
_RIDGES, _AROUND = (0.03, 0.1, 0.3, 1.0), (1 / 3, 1.0, 3.0)
# Nominal speed: features a second of dense fits are 10⁸ entries; a bin of the last fit of a
# sparse one costs as much as 8 of them, an entry of a Gram as much as 1/300.
_SPEED = 1e8
_BIN_COST, _GRAM_COST = 8.0, 1.0 / 300.0
MOST_GRIDS, MOST_COLUMNS = 1000, 6000
# Nominal seconds of the last fit where none are given, and for each entry of the table.
_SECONDS, _SECONDS_AN_ENTRY = 1.0, 1.7e-7
# Components are enough where more would lower the held-out error by less than this share.
_ENOUGH = 0.002
# The best bandwidth factor grows with about this power of the number of rows.
_GROWTH = 0.33


class Limit(NamedTuple):
    """How many components a fit may have, and why not more."""

    components: int
    reason: str


class Candidate(NamedTuple):
    """A basis with learned scales, what it reached, and what it would with all it may have."""

    score: Score
    sparse: bool
    found: Found
    limit: Limit
    error: float

    @classmethod
    def of(cls, task: Task, score: Score, sparse: bool, found: Found) -> "Candidate":
        limit = affordable(task, sparse)
        return cls(score, sparse, found, limit, score.at(limit.components))


def try_sparse(task: Task, found: Found) -> Score:
    """Binning on the pool, with the factor and ridge of the least held-out error."""
    size = len(task.data.fitted)
    count = int(np.clip(_TRIAL_GRIDS / (size * task.targets.shape[1]), 8, 100))
    near: float | None = None

    def one(factor: float) -> tuple[float, float]:
        nonlocal near
        ridges = _RIDGES if near is None else tuple(near * ratio for ratio in _AROUND)
        errors = sparse_errors(task.data, found.warp.times(factor), count, task.seed, ridges)
        error, near = float(errors.min()), ridges[int(errors.argmin())]
        task.note("basis", f"{count} grids, factor {factor:.3g}, ridge {near:.2g}", size, error)
        return error, near

    first = max(1.0, (size / task.batch) ** 0.38)
    error, factor, ridge = climb(one, first, 2.0, 4)
    mapped = found.warp.times(factor)
    half = float(sparse_errors(task.data, mapped, count // 2, task.seed, (ridge,))[0])
    return Score(error, half, factor, ridge, count)


def try_dense(task: Task, found: Found, limit: float) -> Score:
    """Fourier on the pool, likewise; given up where far above `limit`."""
    size = len(task.data.fitted)
    count = int(np.clip(_TRIAL_COLUMNS / size, 256, 600))
    basis = found.basis(sparse=False)
    scores: dict[float, Score] = {}

    def one(factor: float) -> tuple[float, float]:
        if factor not in scores:
            near = next((score.ridge for score in reversed(scores.values())), None)
            mapped = found.warp.times(factor)
            error, half, ridge = dense_errors(task.data, basis, mapped, count, task.seed, near)
            scores[factor] = Score(error, half, factor, ridge, count)
            name = f"{count} {found.kernel} features, factor {factor:.3g}, ridge {ridge:.2g}"
            task.note("basis", name, size, error)
        return scores[factor].error, factor

    if one(1.2)[0] > HOPELESS * limit:
        return scores[1.2]
    _, factor, best = climb(one, 1.2, 1.6, 4)
    return scores[best]._replace(factor=factor)


def on_all_rows(task: Task, found: Found, score: Score) -> float:
    """The bandwidth factor for all rows, by a few grids."""
    data = Rows(
        task.source,
        task.targets - task.level,
        task.weights,
        task.rest,
        task.held,
        task.unit,
    )
    size, ridge = len(task.rest), score.ridge
    count = int(np.clip(_TRIAL_GRIDS / (size * task.targets.shape[1]), 4, 100))

    def one(factor: float) -> tuple[float, float]:
        mapped = found.warp.times(factor)
        error = float(sparse_errors(data, mapped, count, task.seed, (ridge,))[0])
        task.note("rows", f"{count} grids, factor {factor:.3g}, ridge {ridge:.2g}", size, error)
        return error, ridge

    grown = score.factor * (size / len(task.data.fitted)) ** _GROWTH
    return climb(one, grown, 1.6, 3)[1]


def affordable(task: Task, sparse: bool, share: float = 1.0) -> Limit:
    """What the last fit may cost, in nominal seconds; `share`: of them."""
    outputs = task.targets.shape[1]
    table = _SECONDS + _SECONDS_AN_ENTRY * task.counted * task.n_inputs
    seconds = share * (task.settings.seconds or table)
    entries = seconds * _SPEED
    if sparse:
        cost = task.counted * (_BIN_COST * (1 + 0.5 * (outputs - 1)) + task.n_inputs / 8)
        count, most = int(entries / cost), MOST_GRIDS
    else:
        # n·K entries and n·K²/300 for their Gram.
        half = 1.0 / (2.0 * _GRAM_COST)
        count = int(math.sqrt(half**2 + entries / (task.counted * _GRAM_COST)) - half)
        # A fit by the Gram holds six arrays of its size.
        most = min(MOST_COLUMNS, task.counted // 2, int(math.sqrt(task.memory / 50.0)))
    what = "grids" if sparse else "features"
    if count >= most:
        return Limit(most, f"stopped at {most} {what}, the most that are tried")
    count = max(count, _fewest(sparse))
    return Limit(count, f"stopped at {count} {what}: {seconds:.2g} nominal seconds")


def enough(limit: Limit, score: Score, sparse: bool) -> Limit:
    """No more components than the held-out error asks for."""
    count = max(math.ceil(score.enough(_ENOUGH)), score.components, _fewest(sparse))
    if count >= limit.components:
        return limit
    what = "grids" if sparse else "features"
    reason = f"more would lower the held-out error by less than {_ENOUGH:.1%}"
    return Limit(count, f"stopped at {count} {what}: {reason}")


def _fewest(sparse: bool) -> int:
    return 16 if sparse else 256


def again(task: Task, candidate: Candidate) -> Candidate:
    """The same with more components: what stands out among few of them may not last."""
    size, outputs = len(task.data.fitted), task.targets.shape[1]
    score, _, found, limit, _ = candidate
    mapped = found.warp.times(score.factor)
    if candidate.sparse:
        count = min(_MANY_GRIDS, int(_AGAIN_GRIDS / (size * outputs)))
    else:
        count = int(math.sqrt(_AGAIN_PRODUCTS / size))
    count = min(max(count, score.components), limit.components)
    if candidate.sparse:
        ridges = tuple(score.ridge * ratio for ratio in _AROUND)
        errors = sparse_errors(task.data, mapped, count, task.seed, ridges)
        error, ridge = float(errors.min()), ridges[int(errors.argmin())]
        half = float(sparse_errors(task.data, mapped, count // 2, task.seed, (ridge,))[0])
        name = "grids"
    else:
        basis = found.basis(sparse=False)
        error, half, ridge = dense_errors(task.data, basis, mapped, count, task.seed, score.ridge)
        name = f"{found.kernel} features"
    task.note("again", f"{count} {name}, factor {score.factor:.3g}, ridge {ridge:.2g}", size, error)
    better = Score(error, half, score.factor, ridge, count)
    return Candidate.of(task, better, candidate.sparse, found)


class Stages(NamedTuple):
    """Dense features, then bins for what they leave: the held-out error, and the second ridge."""

    first: Candidate
    last: Candidate
    error: float
    ridge: float


def try_stages(task: Task, first: Candidate, last: Candidate) -> Stages:
    """Both on the pool, with the factors and the number of components that each was tried with."""
    data, found, size = task.data, first.found, len(task.data.fitted)
    frozen = Frozen(
        found.warp.times(first.score.factor),
        found.basis(sparse=False),
        task.seed,
        found.warp.width,
        first.score.components,
        np.dtype(np.float32),
    )
    fit = dense_fit(data, frozen, first.score.ridge)
    left = data.targets - FIRST_SHARE * fit.scores(frozen, data.rows)
    ridges = tuple(last.score.ridge * ratio for ratio in _AROUND)
    mapped = found.warp.times(last.score.factor)
    grids = last.score.components
    errors = sparse_errors(replace(data, targets=left), mapped, grids, task.seed, ridges)
    ridge = ridges[int(errors.argmin())]
    name = f"{first.score.components} features, then {grids} grids, ridge {ridge:.2g}"
    task.note("stages", name, size, float(errors.min()))
    return Stages(first, last, float(errors.min()), ridge)
