"""Learn the law, and choose map, basis, bandwidth and ridge on held-out training rows.

Five stages: a map of the columns for each kernel, by the leave-one-out error of short runs on the
same batches; the scales, by a longer run; basis, bandwidth factor and ridge, by fits on at most
40,000 rows and the error on rows that none of this has seen; the factor once more on all rows,
where there are more; the number of components, by how fast that error falls with them and by what
the last fit may cost.
"""

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numba import get_num_threads
from numpy.typing import NDArray
from scipy.spatial.distance import pdist
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from kitchensinks.adapt.agop import learn_directions
from kitchensinks.adapt.record import Adaptation
from kitchensinks.adapt.scales import Law, learn_scales
from kitchensinks.adapt.task import KNOT_ROWS, Task
from kitchensinks.adapt.trials import Rows, Score, climb, dense_errors, sparse_errors
from kitchensinks.bases import Basis, Binning, Fourier, Maxout, ReLU, Sigmoid
from kitchensinks.features import Frozen
from kitchensinks.numerics.warps import LINEAR, MIX, QUANTILE, SQUASH
from kitchensinks.standardise import Warp, warp

Floats = NDArray[np.float64]

# Short runs that compare maps.
_SHORT_STEPS, _SHORT_BATCH = 16, 256
# A batch is this part of the rows, where that is between its bounds.
_BATCH_SHARE, _SMALLEST_BATCH = 1 / 30, 300
_MAPS: dict[str, tuple[int, bool]] = {
    "standard": (LINEAR, False),
    "squash": (SQUASH, False),
    "quantile": (QUANTILE, False),
    "mix": (MIX, False),
    "common": (LINEAR, True),
}
_TRIED = {False: ("squash", "standard", "mix", "quantile"), True: ("squash", "common")}
# What is this much worse than the best so far is not looked at any more, before and after its
# scales are settled.
_HOPELESS, _NEAR = 1.15, 1.1
# Features of a trial: rows times grids times outputs, and rows times columns.
_TRIAL_GRIDS, _TRIAL_COLUMNS = 1.5e6, 6e6
# What is within this ratio of the best is tried again with more of them: rows times grids times
# outputs, and rows times products of columns.
_CLOSE, _AGAIN_GRIDS, _AGAIN_PRODUCTS = 1.1, 4e6, 6e9
# Ridges that bins are tried with at first, and then around the best so far.
_RIDGES, _AROUND = (0.03, 0.1, 0.3, 1.0), (1 / 3, 1.0, 3.0)
# Nominal speed: features a second of dense fits are 10⁸ entries; a bin of the last fit of a
# sparse one costs as much as 8 of them, an entry of a Gram as much as 1/300.
_SPEED = 1e8
_BIN_COST, _GRAM_COST = 8.0, 1.0 / 300.0
MOST_GRIDS, MOST_COLUMNS = 1000, 6000
# Nominal seconds of the last fit where none are given, and for each entry of the table.
_SECONDS, _SECONDS_AN_ENTRY = 1.0, 3e-7
# Components are enough where more would lower the held-out error by less than this share.
_ENOUGH = 0.002
# Rows and features of the fits whose gradients are taken.
_AGOP_ROWS, _AGOP_COLUMNS = 10_000, 500
# The best bandwidth factor grows with about this power of the number of rows.
_GROWTH = 0.33


@dataclass(frozen=True)
class Found:
    """A map with learned scales in its factors, and what made it."""

    kernel: str
    map: str
    warp: Warp
    law: Law

    def basis(self, sparse: bool) -> Basis:
        return Binning(gamma=1.0) if sparse else Fourier(kernel=self.kernel, gamma=1.0)


def learn(task: Task, kernel: str, name: str, steps: int, batch: int) -> Found:
    """Scales of one kernel on one map of the columns."""
    kind, common = _MAPS[name]
    mapped = warp(task.spread, task.pool[:KNOT_ROWS], kind, common)
    # As many rows as the batches can use.
    end = len(task.held) + max(2000, steps * batch)
    rows = mapped.apply(task.pool[len(task.held) : end], np.float32)
    few = rows[: 300 if task.wide else 500]
    distance = pdist(few, "cityblock" if kernel == "laplacian" else "euclidean")
    typical = float(np.median(distance[distance > 0])) if (distance > 0).any() else 1.0
    start = np.full(task.n_inputs, 1.0 / typical)
    with threadpool_limits(1, user_api="blas"):
        law = learn_scales(task.batches(rows), start, [batch] * steps, kernel, task.hot)
    return Found(kernel, name, mapped.times(law.scales), law)


def best_map(task: Task, kernel: str, names: tuple[str, ...]) -> tuple[float, Found]:
    """The map whose short run ends with the least leave-one-out error, over the same batches."""

    def short(name: str) -> Found:
        return learn(task, kernel, name, _SHORT_STEPS, _SHORT_BATCH)

    scores = []
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(get_num_threads()) as pool:
        runs = list(pool.map(short, names))
    for name, found in zip(names, runs, strict=True):
        error = float(np.mean(found.law.errors[-_SHORT_STEPS // 3 :]))
        task.note("map", f"{kernel}, {name}", _SHORT_BATCH, error)
        scores.append((error, found))
    return min(scores, key=lambda score: score[0])


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

    first = max(1.0, (size / task.settings.batch) ** 0.38)
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

    if one(1.2)[0] > _HOPELESS * limit:
        return scores[1.2]
    return scores[climb(one, 1.2, 1.6, 4)[2]]


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


class Limit(NamedTuple):
    """How many components a fit may have, and why not more."""

    components: int
    reason: str


def affordable(task: Task, sparse: bool) -> Limit:
    """What the last fit may cost, in nominal seconds."""
    outputs = task.targets.shape[1]
    table = _SECONDS + _SECONDS_AN_ENTRY * task.counted * task.n_inputs
    seconds = task.settings.seconds or table
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


def adaptable(basis: Basis) -> bool:
    """Whether learned scales of the columns change the features of a basis."""
    return isinstance(basis, Binning | Fourier | ReLU | Sigmoid | Maxout)


def choose(
    task: Task,
    dtype: Any,
    n_components: int | None = None,
    dense: bool = False,
    basis: Basis | None = None,
) -> tuple[Frozen, Any, Adaptation]:
    """The features of the last fit, the bins of its rows or None, and how the law was found.

    n_components: given by the user; dense: bins are of no use (rows come in batches); basis: the
    only one to look at, with a bandwidth of its own where it is a number.
    """
    only = None if basis is None else _kernel_of(basis)
    agop = task.settings.law == "agop"
    error, short = best_map(task, only or ("gaussian" if agop else "laplacian"), _TRIED[task.wide])
    found = by_gradients(task, short) if agop else settled(task, short)
    if basis is not None and not _takes_factor(basis):
        return _with_basis(task, dtype, n_components, basis, found)
    candidates: list[Candidate] = []
    if found.kernel == "laplacian" and not dense and not isinstance(basis, Fourier):
        candidates.append(Candidate.of(task, try_sparse(task, found), True, found))
    if not isinstance(basis, Binning):
        limit = min((other.score.error for other in candidates), default=math.inf)
        score = try_dense(task, found, limit)
        candidates.append(Candidate.of(task, score, False, found))
    if basis is None and not agop:
        limit = min(other.score.error for other in candidates)
        maps = tuple(dict.fromkeys([short.map, "standard"]))
        smooth_error, smooth = best_map(task, "gaussian", maps)
        # A first look with the scales of the short run.
        near = smooth_error < _HOPELESS * error
        if near and try_dense(task, smooth, 0.0).error < _NEAR * limit:
            smooth = settled(task, smooth)
            score = try_dense(task, smooth, limit)
            candidates.append(Candidate.of(task, score, False, smooth))
    least = min(candidate.error for candidate in candidates)
    close = [candidate for candidate in candidates if candidate.error < _CLOSE * least]
    if len(close) > 1:
        close = [again(task, candidate) for candidate in close]
    kept = min(close, key=lambda candidate: candidate.error)
    score, factor = kept.score, kept.score.factor
    if kept.sparse and task.counted > 1.5 * len(task.places):
        factor = on_all_rows(task, kept.found, score)
    count, reason = enough(kept.limit, score, kept.sparse)
    if n_components is not None:
        count, reason = n_components, f"{n_components} components were asked for"
    own = kept.found.basis(kept.sparse) if basis is None else clone(basis).set_params(gamma=1.0)
    return _frozen(task, dtype, kept.found, own, count, factor, score.ridge, reason)


def again(task: Task, candidate: "Candidate") -> "Candidate":
    """The same with more components: what stands out among few of them may not last."""
    size, outputs = len(task.data.fitted), task.targets.shape[1]
    score, _, found, limit, _ = candidate
    mapped = found.warp.times(score.factor)
    if candidate.sparse:
        count = int(_AGAIN_GRIDS / (size * outputs))
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


def settled(task: Task, found: Found) -> Found:
    """The scales of a map by a longer run on larger batches."""
    most = task.settings.batch // 2 if task.wide else task.settings.batch
    batch = int(np.clip(_BATCH_SHARE * task.counted, min(_SMALLEST_BATCH, most), most))
    return learn(task, found.kernel, found.map, task.settings.steps, batch)


def by_gradients(task: Task, short: Found) -> Found:
    """Scales or directions from the gradients of fitted functions, in units of the kernel."""
    mapped = short.warp.times(1.0 / short.law.scales)
    data = replace(task.data, fitted=task.data.fitted[:_AGOP_ROWS])
    rounds = max(1, task.settings.steps // 10)
    basis = Fourier(kernel=short.kernel)
    learned, errors = learn_directions(
        data, mapped, basis, _AGOP_COLUMNS, task.seed, rounds, task.settings.rank
    )
    for k, error in enumerate(errors):
        task.note("agop", f"round {k}, {_AGOP_COLUMNS} features", len(data.fitted), error)
    resolved = basis.resolve(learned.apply(task.pool[:2000], np.float64))
    # What the kernel's own γ would be is put into the scales, so that factors mean the same.
    gamma = float(np.asarray(resolved.gamma))
    unit = gamma if short.kernel == "laplacian" else math.sqrt(gamma)
    law = Law(short.kernel, unit * learned.factor, short.law.ridge, np.array(errors))
    return Found(short.kernel, short.map, learned.times(unit), law)


def _kernel_of(basis: Basis) -> str:
    """The kernel whose scales are learned for a basis."""
    by_columns = isinstance(basis, Fourier) and basis.spectrum in ("laplacian", "cauchy")
    return "laplacian" if by_columns or isinstance(basis, Binning) else "gaussian"


def _takes_factor(basis: Basis) -> bool:
    """Whether the learned scales have the units of the basis's own bandwidth, still open."""
    if not isinstance(basis, Binning | Fourier) or basis.unresolved() is None:
        return False
    return isinstance(basis, Binning) or basis.spectrum in ("laplacian", "gaussian")


def _with_basis(
    task: Task, dtype: Any, n_components: int | None, basis: Basis, found: Found
) -> tuple[Frozen, Any, Adaptation]:
    """A basis with a bandwidth of its own: the scales are brought to a mean square of one."""
    scales = found.law.scales
    scaler = found.warp.times(1.0 / math.sqrt(np.mean(scales**2)))
    resolved = basis.resolve(scaler.apply(task.pool[:2000], np.float64))
    count = n_components or affordable(task, basis.sparse).components
    reason = "the basis was given, with a bandwidth of its own"
    kept = replace(found, warp=scaler)
    return _frozen(task, dtype, kept, resolved, count, 1.0, math.nan, reason)


def _frozen(
    task: Task,
    dtype: Any,
    found: Found,
    basis: Basis,
    count: int,
    factor: float,
    ridge: float,
    reason: str,
) -> tuple[Frozen, Any, Adaptation]:
    scaler = found.warp.times(factor)
    record = Adaptation(
        found.map,
        repr(basis),
        count,
        factor,
        ridge,
        found.law.scales,
        importances(task, scaler, found.kernel),
        tuple(task.trials),
        reason,
    )
    frozen = Frozen(scaler, basis, task.seed, scaler.width, count, np.dtype(dtype))
    return *frozen.tabulated_and_found(task.source, task.weights), record


def importances(task: Task, scaler: Warp, kernel: str) -> Floats:
    """Each column's share of the distance between rows, (d,), summing to one."""
    rows = scaler.turned(np.empty((0, 0))).apply(task.pool, np.float64)
    gap = np.abs(rows - np.roll(rows, 1, axis=0))
    share = (gap if kernel == "laplacian" else gap**2).mean(axis=0)
    if scaler.rotation.size:
        share *= np.sum(scaler.rotation**2, axis=1)
    total = float(share.sum())
    return share / total if total > 0 else np.full(len(share), 1.0 / len(share))
