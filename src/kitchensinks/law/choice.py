"""Learn the law, and choose map, basis, bandwidth and ridge on held-out training rows.

Six stages: a map of the columns for each kernel, by the leave-one-out error of short runs on the
same batches; the scales, by a longer run; directions of wide tables; basis, bandwidth factor and
ridge, by fits on at most 8000 rows and the error on rows that none of this has seen; what came
close once more on at most 40,000; the number of components, by how fast that error falls with them
and by what the last fit may cost.
"""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from kitchensinks.features.bases import Basis, Binning, Union
from kitchensinks.features.frozen import Frozen
from kitchensinks.features.scaling import Warp
from kitchensinks.law.candidates import (
    HOPELESS,
    Candidate,
    Stages,
    affordable,
    again,
    best_map,
    enough,
    grown,
    ridge_for,
    try_dense,
    try_sparse,
    try_stages,
)
from kitchensinks.law.directions import by_gradients, turned
from kitchensinks.law.maps import MOST_TURNED, Found, allowed, settled, tried_maps
from kitchensinks.law.task import Task
from kitchensinks.law.trials import preferred
from kitchensinks.law.values import Law, Record

Floats = NDArray[np.float64]
# Bins (grids, n) of the rows of the last fit, or None: they are known where the law is learned.
Bins = NDArray[np.int32] | None

# Maps that wide tables are turned from.
_TURNED = ("squash", "common")
# A kernel this much worse than the best so far is not given settled scales; candidates this near
# to the best are tried again with more components; two stages are kept where they are this much
# better than either.
_NEAR, _CLOSE, _BETTER = 1.05, 1.15, 0.985


def choose(task: Task) -> tuple[Law, Bins]:
    """The learned law and the bins of its rows, or None: see `find_law`."""
    basis = task.learned.basis
    only = None if basis is None else basis.metric
    agop = task.learned.law == "agop"
    kernel = only or ("gaussian" if agop else "laplacian")
    bins = kernel == "laplacian" and not task.request.stream and (basis is None or basis.sparse)
    error, short = best_map(task, kernel, tried_maps(task), bins)
    found = by_gradients(task, short, basis) if agop else settled(task, short)
    if basis is not None and not basis.open_bandwidth:
        return _with_basis(task, basis, found)
    candidates = _candidates(task, basis, short, found, HOPELESS * error, bins)
    least = min(candidate.error for candidate in candidates)
    close = [candidate for candidate in candidates if candidate.error < _CLOSE * least]
    if len(close) > 1 or len(task.few.fitted) < len(task.data.fitted):
        close = [again(task, candidate) for candidate in close]
    errors = [candidate.error for candidate in close]
    kept = close[preferred(errors, [candidate.score.losses for candidate in close])]
    # Two stages are compared by squared error: where the classes have chosen, they are not.
    stages = task.request.stages and not task.request.stream and basis is None
    if stages and task.asked is None and kept.error == min(errors):
        both = _both(task, close)
        if both is not None:
            return _in_stages(task, both)
    score, factor = kept.score, kept.score.factor
    if kept.sparse and task.counted > len(task.places):
        factor, ridge = grown(score, len(task.data.fitted), task.counted)
        score = score._replace(ridge=ridge)
    own = kept.found.basis(kept.sparse) if basis is None else clone(basis).set_params(gamma=1.0)
    if task.asked is None:
        count, reason = enough(kept.limit, score, kept.sparse)
        draws = max(1, count // own.features_per_draw)
    else:
        draws, reason = task.asked, kept.limit.reason
        count = draws * own.features_per_draw
    ridge = score.ridge if kept.sparse else ridge_for(task, kept, own, count)
    return _law(task, kept.found, own, draws, factor, ridge, reason)


def _candidates(
    task: Task, basis: Basis | None, short: Found, found: Found, hopeless: float, bins: bool
) -> list[Candidate]:
    """What a law is tried with: turned rows of wide tables, bins, features, and smooth features."""
    agop = task.learned.law == "agop"
    candidates: list[Candidate] = []

    def add(found: Found, sparse: bool = False) -> None:
        limit = min((other.score.error for other in candidates), default=math.inf)
        score = try_sparse(task, found) if sparse else try_dense(task, found, limit)
        candidates.append(Candidate.of(task, score, sparse, found))

    gaussian = basis is None or basis.metric == "gaussian"
    if task.wide and task.n_inputs <= MOST_TURNED and gaussian and not agop:
        for other in turned(task, allowed(task, *_TURNED, short.map)):
            add(other)
    if bins:
        add(found, sparse=True)
    if basis is None or not basis.sparse:
        add(found)
    if basis is None and not agop:
        least = min(one.score.error for one in candidates)
        smooth = _smooth(task, short, hopeless, least)
        if smooth is not None:
            add(smooth)
    return candidates


def _smooth(task: Task, short: Found, hopeless: float, least: float) -> Found | None:
    """Scales of the Gaussian kernel, where a first look with those of a short run is promising."""
    maps = allowed(task, short.map, "standard")
    error, found = best_map(task, "gaussian", maps, sparse=False)
    if error < hopeless and try_dense(task, found, 0.0).error < _NEAR * least:
        return settled(task, found)
    return None


def _both(task: Task, close: list[Candidate]) -> Stages | None:
    """Dense features of a law, then its bins, where that is clearly better at the same cost."""
    lasts = [candidate for candidate in close if candidate.sparse]
    firsts = [one for one in close if not one.sparse and lasts and one.found is lasts[0].found]
    if not firsts or task.counted > len(task.places):
        return None
    both = try_stages(task, firsts[0], lasts[0])
    # Each then has half of what one alone may have, and gains as much by it as the other does.
    gains = [
        one.score.error - one.score.at(affordable(task, one.sparse, share=0.5).components)
        for one in (both.first, both.last)
    ]
    alone = min(candidate.error for candidate in close)
    return both if both.error - min(gains) < _BETTER * alone else None


def _in_stages(task: Task, both: Stages) -> tuple[Law, Bins]:
    """The union of both bases, each with half of what the last fit may cost."""
    first, last, _, second = both
    counts = [
        enough(affordable(task, one.sparse, share=0.5), one.score, one.sparse).components
        for one in (first, last)
    ]
    factor = first.score.factor
    basis = Union(
        [first.found.basis(sparse=False), Binning(gamma=last.score.factor / factor)],
        shares=[float(count) for count in counts],
    )
    reason = f"{counts[0]} features, then {counts[1]} grids: better by held-out error than either"
    return _law(task, first.found, basis, sum(counts), factor, first.score.ridge, reason, second)


def _with_basis(task: Task, basis: Basis, found: Found) -> tuple[Law, Bins]:
    """A basis with a bandwidth of its own: the scales are brought to a mean square of one."""
    scales = found.law.scales
    scaler = found.warp.times(1.0 / math.sqrt(np.mean(scales**2)))
    resolved = basis.resolve(scaler.apply(task.sample[:2000], np.float64))
    count = affordable(task, basis.sparse).components
    reason = "the basis was given, with a bandwidth of its own"
    kept = replace(found, warp=scaler)
    return _law(task, kept, resolved, count, 1.0, math.nan, reason)


def _law(
    task: Task,
    found: Found,
    basis: Basis,
    count: int,
    factor: float,
    ridge: float,
    reason: str,
    second: float = math.nan,
) -> tuple[Law, Bins]:
    scaler = found.warp.times(factor)
    record = Record(
        found.map,
        found.kernel,
        factor,
        found.law.scales,
        importances(task, scaler, found.kernel),
        tuple(task.trials),
        reason,
    )
    dtype = np.dtype(task.request.dtype or np.float32)
    frozen = Frozen(scaler, basis, task.seed, scaler.width, count, dtype)
    features, bins = frozen.with_bins(task.source, task.weights)
    return Law(features, ridge, second, record), bins


def importances(task: Task, scaler: Warp, kernel: str) -> Floats:
    """Each column's share of the distance between rows, (d,), summing to one."""
    rows = scaler.turned(np.empty((0, 0))).apply(task.sample, np.float64)
    gap = rows - np.roll(rows, 1, axis=0)
    if scaler.rotation.size:
        # ‖R'Δ‖² = Σ_j Δ_j·(RR'Δ)_j; a column that others outweigh may have less than nothing.
        share = np.maximum(np.mean(gap * (gap @ scaler.rotation @ scaler.rotation.T), axis=0), 0.0)
    else:
        share = (np.abs(gap) if kernel == "laplacian" else gap**2).mean(axis=0)
    total = float(share.sum())
    return share / total if total > 0 else np.full(len(share), 1.0 / len(share))
