"""Learn the law, and choose map, basis, bandwidth and ridge on held-out training rows.

Five stages: a map of the columns for each kernel, by the leave-one-out error of short runs on the
same batches; the scales, by a longer run; basis, bandwidth factor and ridge, by fits on at most
40,000 rows and the error on rows that none of this has seen; the factor once more on all rows,
where there are more; the number of components, by what the last fit may cost.
"""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numba import get_num_threads
from numpy.typing import NDArray
from scipy.spatial.distance import pdist
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from kitchensinks.adapt.agop import learn_directions
from kitchensinks.adapt.record import Adapt, Adaptation, Trial
from kitchensinks.adapt.scales import Law, learn_scales
from kitchensinks.adapt.trials import Rows, climb, dense_errors, sparse_errors
from kitchensinks.bases import Basis, Binning, Fourier, Maxout, ReLU, Sigmoid
from kitchensinks.features import Frozen, spread_of
from kitchensinks.losses import Array
from kitchensinks.numerics.warps import LINEAR, MIX, QUANTILE, SQUASH
from kitchensinks.numerics.words import Words
from kitchensinks.rows import densify
from kitchensinks.standardise import Warp, indicators, warp

Floats = NDArray[np.float64]

# Rows that everything but the last fit looks at, and entries of them.
_POOL, _POOL_ENTRIES = 45_000, 2**24
_HELD, _HELD_SHARE, _RUNS = 5000, 0.2, 20
# Rows whose quantiles a map by rank goes through.
_KNOT_ROWS = 10_000
# Short runs that compare maps.
_SHORT_STEPS, _SHORT_BATCH = 24, 256
# Columns beyond which batches are halved and fewer maps tried.
_WIDE = 200
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
# Features of a trial: rows times grids, and rows times columns.
_TRIAL_GRIDS, _TRIAL_COLUMNS = 2.5e6, 1e7
# Nominal speed: features a second of dense fits are 10⁸ entries; a bin of the last fit of a
# sparse one costs as much as 8 of them, an entry of a Gram as much as 1/300.
_SPEED = 1e8
_BIN_COST, _GRAM_COST = 8.0, 1.0 / 300.0
MOST_GRIDS, MOST_COLUMNS = 1000, 6000
# Rows and features of the fits whose gradients are taken.
_AGOP_ROWS, _AGOP_COLUMNS = 10_000, 500
# The best bandwidth factor grows with about this power of the number of rows.
_GROWTH = 0.33


@dataclass
class Task:
    """Rows (n, d), targets (n, outputs) and weights, with a pool of them in memory."""

    source: Any
    targets: Array
    weights: Array | None
    seed: int
    settings: Adapt
    progress: Callable[[str], None]
    memory: float = 2e9
    trials: list[Trial] = field(default_factory=list)

    def __post_init__(self) -> None:
        n_rows, self.n_inputs = self.source.shape
        counted = np.arange(n_rows) if self.weights is None else np.flatnonzero(self.weights > 0)
        self.counted = len(counted)
        self.wide = self.n_inputs > _WIDE
        size = min(len(counted), _POOL, max(2000, _POOL_ENTRIES // self.n_inputs))
        order, held = _in_runs(counted, size, self.seed)
        self.held, self.rest = order[:held], order[held:]
        self.places = order[:size]
        self.spread = spread_of(self.source, self.weights)
        self.pool = densify(self.source[self.places]).astype(np.float64, copy=False)
        self.level = np.average(self.targets[self.places], axis=0, weights=self.own)
        centred = self.targets[self.places] - self.level
        self.unit = float(np.average(np.sum(centred**2, axis=1), weights=self.own))
        self.learned = (centred[held:] / math.sqrt(self.unit)).astype(np.float32)
        self.hot = indicators(self.spread, self.pool[:_KNOT_ROWS])
        self.data = Rows(
            self.pool,
            self.targets[self.places] - self.level,
            self.own,
            np.arange(held, size),
            np.arange(held),
            self.unit,
        )

    @property
    def own(self) -> Array | None:
        return None if self.weights is None else self.weights[self.places]

    def note(self, stage: str, what: str, rows: int, error: float) -> None:
        self.trials.append(Trial(stage, what, rows, error))
        self.progress(f"{stage}: {what}, error {error:.4f}")

    def batches(self, rows: NDArray[np.float32]) -> Callable[[int, int], Any]:
        """Batches of the mapped pool without its held-out rows: (step, size) -> rows, targets."""
        own = self.own
        chance = None
        if own is not None:
            chance = own[len(self.held) :][: len(rows)]
            chance = chance / chance.sum()

        def batch(step: int, size: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
            random = np.random.Generator(np.random.Philox(key=[self.seed, 2**32 + step]))
            # No more than half of the rows, so that every batch is another one.
            size = min(size, max(2, len(rows) // 2))
            if chance is None:
                chosen = random.choice(len(rows), size, replace=False)
            else:
                chosen = random.choice(len(rows), size, p=chance)
            targets = self.learned[chosen]
            return rows[chosen], targets - targets.mean(axis=0)

        return batch


def _in_runs(counted: NDArray[np.intp], size: int, seed: int) -> tuple[NDArray[np.intp], int]:
    """The rows in random order, those to be held out first, and how many those are.

    They are held out in runs of neighbours: rows that were taken one after another are often alike,
    and a row whose neighbour is fitted says little about rows from elsewhere.
    """
    held = min(_HELD, math.ceil(_HELD_SHARE * size))
    run = max(1, held // _RUNS)
    words = Words(seed, 0, stream=7)
    starts = words.permutation(len(counted) // run)[: held // run] * run
    first = (starts[:, None] + np.arange(run)).ravel()
    rest = np.ones(len(counted), dtype=bool)
    rest[first] = False
    others = np.flatnonzero(rest)
    others = others[words.permutation(len(others))]
    return counted[np.concatenate([first, others])], len(first)


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
    mapped = warp(task.spread, task.pool[:_KNOT_ROWS], kind, common)
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


def try_sparse(task: Task, found: Found) -> tuple[float, float, float]:
    """Binning on the pool: held-out error, factor, ridge."""
    size = len(task.data.fitted)
    count = int(np.clip(_TRIAL_GRIDS / size, 8, 200))

    near: float | None = None

    def one(factor: float) -> tuple[float, float]:
        nonlocal near
        most = 4 if near is None else 3
        mapped = found.warp.times(factor)
        error, ridge = sparse_errors(task.data, mapped, count, task.seed, near, most)
        task.note("basis", f"{count} grids, factor {factor:.3g}, ridge {ridge:.2g}", size, error)
        near = ridge
        return error, ridge

    return climb(one, max(1.0, (size / task.settings.batch) ** 0.38), 2.0, 4)


def try_dense(task: Task, found: Found, limit: float) -> tuple[float, float, float]:
    """Fourier on the pool: held-out error, factor, ridge; given up where far above `limit`."""
    size = len(task.data.fitted)
    count = int(np.clip(_TRIAL_COLUMNS / size, 256, 800))
    basis = found.basis(sparse=False)
    near: float | None = None

    def one(factor: float) -> tuple[float, float]:
        nonlocal near
        mapped = found.warp.times(factor)
        error, ridge = dense_errors(task.data, basis, mapped, count, task.seed, near)
        name = f"{count} {found.kernel} features, factor {factor:.3g}, ridge {ridge:.2g}"
        task.note("basis", name, size, error)
        near = ridge
        return error, ridge

    first = one(1.2)
    if first[0] > _HOPELESS * limit:
        return first[0], 1.2, first[1]
    return climb(lambda factor: first if factor == 1.2 else one(factor), 1.2, 1.6, 4)


def on_all_rows(task: Task, found: Found, factor: float, ridge: float) -> float:
    """The bandwidth factor for all rows, by a few grids."""
    data = Rows(
        task.source,
        task.targets - task.level,
        task.weights,
        task.rest,
        task.held,
        task.unit,
    )
    size = len(task.rest)
    count = int(np.clip(_TRIAL_GRIDS / size, 4, 200))

    def one(factor: float) -> tuple[float, float]:
        error, _ = sparse_errors(data, found.warp.times(factor), count, task.seed, ridge, 1)
        task.note("rows", f"{count} grids, factor {factor:.3g}, ridge {ridge:.2g}", size, error)
        return error, ridge

    grown = factor * (size / len(task.data.fitted)) ** _GROWTH
    return climb(one, grown, 1.6, 3)[1]


def components(task: Task, sparse: bool) -> tuple[int, str]:
    """How many the last fit may have, and why."""
    outputs = task.targets.shape[1]
    entries = task.settings.seconds * _SPEED
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
        return most, f"stopped at {most} {what}, the most that are tried"
    count = max(count, 16 if sparse else 256)
    return count, f"stopped at {count} {what}: {task.settings.seconds:g} nominal seconds"


def adaptable(basis: Basis) -> bool:
    """Whether learned scales of the columns change the features of a basis."""
    return isinstance(basis, Binning | Fourier | ReLU | Sigmoid | Maxout)


def choose(
    task: Task,
    dtype: Any,
    n_components: int | None = None,
    dense: bool = False,
    basis: Basis | None = None,
) -> tuple[Frozen, Adaptation]:
    """The features of the last fit, and the record of how they were found.

    n_components: given by the user; dense: bins are of no use (rows come in batches); basis: the
    only one to look at, with a bandwidth of its own where it is a number.
    """
    only = None if basis is None else _kernel_of(basis)
    batch = int(np.clip(task.counted / 12, 300, task.settings.batch))
    batch = min(batch, task.settings.batch // 2) if task.wide else batch

    def settled(found: Found) -> Found:
        return learn(task, found.kernel, found.map, task.settings.steps, batch)

    agop = task.settings.law == "agop"
    error, short = best_map(task, only or ("gaussian" if agop else "laplacian"), _TRIED[task.wide])
    found = by_gradients(task, short) if agop else settled(short)
    if basis is not None and not _takes_factor(basis):
        return _with_basis(task, dtype, n_components, basis, found)
    results = []
    if found.kernel == "laplacian" and not dense and not isinstance(basis, Fourier):
        results.append((try_sparse(task, found), True, found))
    if not isinstance(basis, Binning):
        limit = min((result[0][0] for result in results), default=math.inf)
        results.append((try_dense(task, found, limit), False, found))
    if basis is None and not agop:
        limit = min(result[0][0] for result in results)
        maps = tuple(dict.fromkeys([short.map, "standard"]))
        smooth_error, smooth = best_map(task, "gaussian", maps)
        # A first look with the scales of the short run.
        if smooth_error < _HOPELESS * error and try_dense(task, smooth, 0.0)[0] < _NEAR * limit:
            smooth = settled(smooth)
            results.append((try_dense(task, smooth, limit), False, smooth))
    (_, factor, ridge), sparse, kept = min(results, key=lambda result: result[0][0])
    if sparse and task.counted > 1.5 * len(task.places):
        factor = on_all_rows(task, kept, factor, ridge)
    count, reason = components(task, sparse)
    if n_components is not None:
        count, reason = n_components, f"{n_components} components were asked for"
    own = kept.basis(sparse) if basis is None else clone(basis).set_params(gamma=1.0)
    return _frozen(task, dtype, kept, own, count, factor, ridge, reason)


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
    gamma = float(resolved.gamma)
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
) -> tuple[Frozen, Adaptation]:
    """A basis with a bandwidth of its own: the scales are brought to a mean square of one."""
    scales = found.law.scales
    scaler = found.warp.times(1.0 / math.sqrt(np.mean(scales**2)))
    resolved = basis.resolve(scaler.apply(task.pool[:2000], np.float64))
    count = n_components or components(task, basis.sparse)[0]
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
) -> tuple[Frozen, Adaptation]:
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
    return frozen.tabulated(task.source, task.weights), record


def importances(task: Task, scaler: Warp, kernel: str) -> Floats:
    """Each column's share of the distance between rows, (d,), summing to one."""
    rows = scaler.turned(np.empty((0, 0))).apply(task.pool, np.float64)
    gap = np.abs(rows - np.roll(rows, 1, axis=0))
    share = (gap if kernel == "laplacian" else gap**2).mean(axis=0)
    if scaler.rotation.size:
        share *= np.sum(scaler.rotation**2, axis=1)
    total = float(share.sum())
    return share / total if total > 0 else np.full(len(share), 1.0 / len(share))
