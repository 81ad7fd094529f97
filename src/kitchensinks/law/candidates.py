"""Bases that a law is tried with: small fits, what they reach, and what more would."""

import math
from typing import NamedTuple

import numpy as np

from kitchensinks.features.bases import Basis
from kitchensinks.features.frozen import Frozen
from kitchensinks.features.scaling import Warp
from kitchensinks.fitting.stages import FIRST_SHARE
from kitchensinks.law.maps import SHORT_BATCH, Found, short_runs
from kitchensinks.law.task import Task
from kitchensinks.law.trials import (
    DenseFit,
    GridFits,
    HeldOut,
    Score,
    climb,
    dense_fit,
)
from kitchensinks.problem.losses import Array

# What is this much worse than the best so far is not looked at any more: a map of the columns, and
# a basis with its first factor.
HOPELESS, _HOPELESS_FIRST = 1.15, 1.3
# Features of a trial: rows times grids times outputs, and rows times columns; features of a trial
# on wide tables, where directions differ by what many of them do.
_TRIAL_GRIDS, _TRIAL_COLUMNS, _WIDE_COLUMNS = 6e5, 2.5e6, 1000
# The same where close candidates are tried again: rows times grids times outputs, and rows times
# products of columns (and of wide tables); grids that are enough for it.
_AGAIN_GRIDS, _AGAIN_PRODUCTS, _WIDE_PRODUCTS, _MANY_GRIDS = 1.5e6, 4e9, 6e10, 250
# The ridge that bins are tried with first, and the factor of dense features.
_FIRST_RIDGE, _FIRST_DENSE = 0.1, 1.2
# Maps whose short runs differ by less are compared by small fits.
_EQUAL = 1.03
# Nominal speed: features a second of dense fits are 10⁸ entries; a bin of the last fit of a
# sparse one costs as much as 8 of them, an entry of a Gram as much as 1/300.
_SPEED = 1e8
_BIN_COST, _GRAM_COST = 8.0, 1.0 / 300.0
MOST_GRIDS, MOST_COLUMNS = 1000, 6000
# Nominal seconds of the last fit where none are given, and for each entry of the table.
_SECONDS, _SECONDS_AN_ENTRY = 1.5, 3e-7
# Components are enough where more would lower the held-out error by less than this share.
_ENOUGH = 0.002
# The best bandwidth factor and ridge of bins grow with about these powers of the number of rows;
# where there are this many times more, the factor is looked for again, and the ridge of dense
# features where there are as many more of those.
_GROWTH, _RIDGE_GROWTH, _MORE = 0.2, 0.28, 1.5


class Limit(NamedTuple):
    """How many components a fit may have, and why not more."""

    components: int
    reason: str


class Candidate(NamedTuple):
    """A basis with learned scales, what it reached, and what it would with all it may have.

    error: with as many components as the limit allows; fits: the bins of a sparse one, hashed, or
    the fit of a dense one; None before `again`.
    """

    score: Score
    sparse: bool
    found: Found
    limit: Limit
    error: float
    fits: GridFits | DenseFit | None

    @classmethod
    def of(
        cls,
        task: Task,
        score: Score,
        sparse: bool,
        found: Found,
        fits: GridFits | DenseFit | None = None,
    ) -> "Candidate":
        limit = affordable(task, sparse)
        if task.asked is not None and not sparse:
            columns = task.asked * found.basis(sparse=False).features_per_draw
            limit = limit._replace(components=columns)
        return cls(score, sparse, found, limit, score.at(limit.components), fits)


def best_map(task: Task, kernel: str, names: tuple[str, ...], sparse: bool) -> tuple[float, Found]:
    """The map with the least leave-one-out error of a short run, and that error.

    Batches of a few hundred rows do not tell maps apart that are nearly equal: those are compared
    by small fits.
    """
    runs = short_runs(task, kernel, names)
    close = [run for run in runs if run[0] <= _EQUAL * runs[0][0]]
    if len(close) == 1:
        return close[0]
    size = len(task.few.fitted)

    def error(run: tuple[float, Found]) -> float:
        found = run[1]
        if sparse:
            warp = found.warp.times(_first_factor(size, SHORT_BATCH))
            least, *_ = GridFits(task.few, warp, _trial_grids(task), task.seed).best(_FIRST_RIDGE)
            name = "grids"
        else:
            basis = found.basis(sparse=False)
            frozen = _frozen(task, basis, found.warp.times(_FIRST_DENSE), _trial_columns(task))
            least, name = dense_fit(task.few, frozen).error, "features"
        task.note("map", f"{kernel}, {found.map}, {name}", size, least)
        return least

    return min(close, key=error)


def _first_factor(rows: int, batch: int) -> float:
    """The bandwidth factor to begin with: bins for so many rows, scales from batches."""
    return float(max(1.0, (rows / batch) ** 0.38))


def _trial_grids(task: Task) -> int:
    return int(
        np.clip(
            task.work.share * _TRIAL_GRIDS / (len(task.few.fitted) * task.targets.shape[1]), 8, 100
        )
    )


def _trial_columns(task: Task) -> int:
    if task.wide:
        return int(np.clip(len(task.few.fitted) // 4, 256, _WIDE_COLUMNS))
    return int(np.clip(task.work.share * _TRIAL_COLUMNS / len(task.few.fitted), 256, 400))


def try_sparse(task: Task, found: Found) -> Score:
    """Binning on few rows, with the factor and ridge of the least held-out error."""
    first = _first_factor(len(task.few.fitted), task.batch_size("laplacian"))
    return _search_grids(
        task, "basis", task.few, found, _trial_grids(task), _FIRST_RIDGE, first, 2.0, 4
    )[0]


def _search_grids(
    task: Task,
    stage: str,
    data: HeldOut,
    found: Found,
    count: int,
    near: float,
    first: float,
    ratio: float,
    most: int,
) -> tuple[Score, GridFits]:
    """What `count` grids reach, by `climb` over factors; `near`: the ridge to begin with."""
    size = len(data.fitted)
    tried: dict[float, tuple[float, Array | None, GridFits]] = {}

    def one(factor: float) -> tuple[float, float]:
        nonlocal near
        fits = GridFits(data, found.warp.times(factor), count, task.seed)
        error, near, losses = fits.best(near)
        tried[factor] = near, losses, fits
        task.note(
            stage, f"{count} grids, {found.map}, factor {factor:.3g}, ridge {near:.2g}", size, error
        )
        return error, factor

    error, factor, best = climb(one, first, ratio, most)
    ridge, losses, fits = tried[best]
    half, _ = fits.first(max(1, count // 2)).error(ridge)
    return Score(error, half, losses, factor, ridge, count), fits


def try_dense(task: Task, found: Found, limit: float) -> Score:
    """Fourier features of few rows, likewise; given up where far above `limit`."""
    size = len(task.few.fitted)
    count = _trial_columns(task)
    basis = found.basis(sparse=False)
    scores: dict[float, Score] = {}

    def one(factor: float) -> tuple[float, float]:
        if factor not in scores:
            near = next((score.ridge for score in reversed(scores.values())), None)
            mapped = found.warp.times(factor)
            fit = dense_fit(task.few, _frozen(task, basis, mapped, count), near)
            scores[factor] = Score(fit.error, fit.half, fit.losses, factor, fit.ridge, count)
            name = _dense_name(count, found, factor, fit.ridge)
            task.note("basis", name, size, fit.error)
        return scores[factor].error, factor

    if one(_FIRST_DENSE)[0] > _HOPELESS_FIRST * limit:
        return scores[_FIRST_DENSE]
    _, factor, best = climb(one, _FIRST_DENSE, 1.6, 6)
    return scores[best]._replace(factor=factor)


def _dense_name(count: int, found: Found, factor: float, ridge: float) -> str:
    return f"{count} {found.kernel} features, {found.map}, factor {factor:.3g}, ridge {ridge:.2g}"


def grown(score: Score, tried: int, rows: int) -> tuple[float, float]:
    """Factor and ridge λ = α·n of bins for so many rows, chosen with `tried` of them."""
    more = rows / tried
    return score.factor * more**_GROWTH, score.ridge * more**_RIDGE_GROWTH


def affordable(task: Task, sparse: bool, share: float = 1.0) -> Limit:
    """What the last fit may cost, in nominal seconds; `share`: of them."""
    if task.asked is not None:
        return Limit(task.asked, f"{task.asked} components were asked for")
    outputs = task.targets.shape[1]
    table = _SECONDS + _SECONDS_AN_ENTRY * task.counted * task.n_inputs
    seconds = share * (task.learned.seconds or task.work.share * table)
    entries = seconds * _SPEED
    if sparse:
        cost = task.counted * (_BIN_COST * (1 + 0.5 * (outputs - 1)) + task.n_inputs / 8)
        count, most = int(entries / cost), MOST_GRIDS
    else:
        # n·K entries and n·K²/300 for their Gram.
        half = 1.0 / (2.0 * _GRAM_COST)
        count = int(math.sqrt(half**2 + entries / (task.counted * _GRAM_COST)) - half)
        # A fit by the Gram holds six arrays of its size.
        most = min(MOST_COLUMNS, task.counted // 2, int(math.sqrt(task.request.memory / 50.0)))
        # Cosine and sine come together.
        count, most = count - count % 2, most - most % 2
    what = "grids" if sparse else "features"
    if count >= most:
        return Limit(most, f"stopped at {most} {what}, the most that are tried")
    count = max(count, _fewest(sparse))
    return Limit(count, f"stopped at {count} {what}: {seconds:.2g} nominal seconds")


def enough(limit: Limit, score: Score, sparse: bool) -> Limit:
    """No more components than the held-out error asks for."""
    count = max(2 * math.ceil(score.enough(_ENOUGH) / 2), score.components, _fewest(sparse))
    if count >= limit.components:
        return limit
    what = "grids" if sparse else "features"
    reason = f"more would lower the held-out error by less than {_ENOUGH:.1%}"
    return Limit(count, f"stopped at {count} {what}: {reason}")


def _fewest(sparse: bool) -> int:
    return 16 if sparse else 256


def again(task: Task, candidate: Candidate) -> Candidate:
    """The same with more rows and components: what stands out among few may not last."""
    if candidate.sparse:
        return _sparse_again(task, candidate)
    size, score, found = len(task.data.fitted), candidate.score, candidate.found
    products = task.work.share * (_WIDE_PRODUCTS if task.wide else _AGAIN_PRODUCTS)
    count = int(math.sqrt(products / size))
    count = min(max(count, score.components), candidate.limit.components)
    mapped = found.warp.times(score.factor)
    frozen = _frozen(task, found.basis(sparse=False), mapped, count)
    fit = dense_fit(task.data, frozen, score.ridge)
    name = _dense_name(count, found, score.factor, fit.ridge)
    task.note("again", name, size, fit.error)
    better = Score(fit.error, fit.half, fit.losses, score.factor, fit.ridge, count)
    return Candidate.of(task, better, False, found, fit)


def _sparse_again(task: Task, candidate: Candidate) -> Candidate:
    """`again` for bins; with many more rows than before, the factor is looked for again too."""
    size, tried = len(task.data.fitted), len(task.few.fitted)
    score, found = candidate.score, candidate.found
    count = min(_MANY_GRIDS, int(task.work.share * _AGAIN_GRIDS / (size * task.targets.shape[1])))
    count = min(max(count, _fewest(True)), candidate.limit.components)
    first, _ = grown(score, tried, size)
    most = 3 if size > _MORE * tried else 1
    better, fits = _search_grids(
        task, "again", task.data, found, count, score.ridge, first, 1.6, most
    )
    return Candidate.of(task, better, True, found, fits)


def ridge_for(task: Task, candidate: Candidate, basis: Basis, count: int) -> float:
    """The ridge of dense features on the pool, `count` of them, as far as the memory goes: more
    features want a weaker one, and so do classes than their squared error."""
    score, found = candidate.score, candidate.found
    # It holds the Gram in float64 and copies of it.
    count = min(count, int(math.sqrt(task.request.memory / 50.0)))
    if count <= _MORE * score.components and not task.classes:
        return score.ridge
    frozen = _frozen(task, basis, found.warp.times(score.factor), count)
    fit = dense_fit(task.data, frozen, score.ridge, by_classes=task.classes)
    name = _dense_name(count, found, score.factor, fit.ridge)
    task.note("ridge", name, len(task.data.fitted), fit.error)
    return fit.ridge


def _frozen(task: Task, basis: Basis, mapped: Warp, count: int) -> Frozen:
    draws = max(1, count // basis.features_per_draw)
    return Frozen(mapped, basis, task.seed, mapped.width, draws, np.dtype(np.float32))


class Stages(NamedTuple):
    """Dense features, then bins for what they leave: the held-out error, and the second ridge."""

    first: Candidate
    last: Candidate
    error: float
    ridge: float


def try_stages(task: Task, first: Candidate, last: Candidate) -> Stages:
    """Both on the pool, with the factors and the number of components that each was tried with."""
    data, size = task.data, len(task.data.fitted)
    assert isinstance(first.fits, DenseFit), "dense features were tried again"
    assert isinstance(last.fits, GridFits), "bins were tried again"
    left = data.targets - FIRST_SHARE * first.fits.scores(data.rows)
    grids = last.score.components
    error, ridge, _ = last.fits.best(last.score.ridge, targets=left)
    name = f"{first.score.components} features, then {grids} grids, ridge {ridge:.2g}"
    task.note("stages", name, size, error)
    return Stages(first, last, error, ridge)
