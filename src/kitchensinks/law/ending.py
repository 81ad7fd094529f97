"""From the winning candidate to the law of all rows."""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kitchensinks.features.bases import Basis, Binning, Union
from kitchensinks.features.frozen import Frozen, spread_of
from kitchensinks.features.scaling import Scaler, Warp
from kitchensinks.law import constants
from kitchensinks.law.candidates import (
    Candidate,
    Limit,
    affordable,
    again,
    enough,
    grown,
    halved,
    in_time,
    left_by,
    ridge_for,
    try_stages,
    with_copies,
    with_trees,
)
from kitchensinks.law.forest import among_leaves, grown_trees
from kitchensinks.law.maps import Found, with_members
from kitchensinks.law.searches import clearly_less, first_best, preferred
from kitchensinks.law.task import LearningRows
from kitchensinks.law.trials import GridFits
from kitchensinks.law.values import Law, Record, UnseenScores, what_of
from kitchensinks.numerics.arrays import Floats
from kitchensinks.problem.targets import Batch

# Bins (grids, n) of the rows of the last fit, or None: they are known where the law is learned.
BinNumbers = NDArray[np.int32] | None


def _law(
    task: LearningRows,
    found: Found,
    features: tuple[Warp, Basis],
    draws: int,
    factor: float,
    ridges: tuple[float, float],
    reason: str,
    trees: bool = False,
) -> tuple[Law, BinNumbers]:
    """The law for all rows, and their bins.

    features: scaler and basis; factor: multiplies the learned scales; ridges: λ of the fit and of
    its second stage; reason: why there are not more draws.
    """
    record = Record(
        found.map,
        found.kernel,
        len(found.scales),
        factor,
        found.mean_scales,
        importances(task, found),
        tuple(task.trials),
        reason,
        found.scaling,
        trees,
    )
    (scaler, basis), dtype = features, np.dtype(task.request.dtype or np.float32)
    # Columns that are taken as they come have no mean in their map, and missing values need one.
    spread = None if task.request.standardize else Scaler.over(task.spread)
    frozen = Frozen(scaler, basis, task.seed, scaler.width, draws, dtype, spread=spread)
    frozen, bins = frozen.with_bins(task.source, task.weights, not math.isnan(ridges[1]))
    return Law(frozen, *ridges, record), bins


def chosen(
    task: LearningRows, candidates: list[Candidate], close: list[Candidate]
) -> tuple[Law, BinNumbers]:
    """The law of the best of the close candidates, or of dense features and bins in two stages."""
    kept, leaves = _best(task, close), _with_trees(task, candidates, close)
    # Two stages are compared by squared error: skip them where log loss decided.
    by_error = leaves is not None or kept is close[first_best([one.error for one in close])]
    if by_error and _allows_stages(task) and (both := _in_stages(task, close, leaves)) is not None:
        return both
    return _kept(task, leaves or kept)


def _best(task: LearningRows, close: list[Candidate]) -> Candidate:
    """The candidate of the least error; among nearly equal ones, by log loss or by copies."""
    errors = [candidate.error for candidate in close]
    if task.copied is None:
        return close[preferred(errors, [candidate.score.losses for candidate in close])]
    # Errors are those of rows without a fitted copy, because the copies may be artificial. If they
    # are genuine, new rows may repeat fitted ones. Among laws of nearly equal error, prefer the one
    # that predicts repeated rows best.
    even = [one for one in close if one.error <= constants.EVEN * min(errors)]
    return even[first_best([with_copies(task, one) for one in even])]


def _allows_stages(task: LearningRows) -> bool:
    """Whether the request leaves law and components open, no rows beyond those of the trials are to
    be fitted, and there is time."""
    open_law = task.request.stages and task.basis is None
    known = task.asked is None and task.counted <= len(task.places)
    return open_law and known and not task.late(constants.LATE_LAST)


def _with_trees(
    task: LearningRows, candidates: list[Candidate], close: list[Candidate]
) -> Candidate | None:
    """The best bins with leaves of trees among them, unless these are clearly worse; else None.

    A trial of few rows is too noisy to say which is the better one (dna, ten splits: 0.98 of the
    errors that they have where trees must lower the error of the trial by 2 %). Where a smooth
    kernel does about as well as bins, the targets have no jumps, and the gain of trees in a trial
    does not last. With many more rows than in the trials, grids become finer and trees do not.
    Trees have seen the targets, so they need a ridge that trials have chosen: the loss must be
    squared.
    """
    near, others = _best_bins(close), _best_bins(candidates)
    bins = near or others
    if bins is None or not _allows_trees(task) or _is_matched(bins, close):
        return None
    if near is None and len(task.few.fitted) < len(task.data.fitted):
        bins = again(task, bins)
    found = with_trees(task, bins)
    if _is_clearly_worse(found, bins):
        return None
    found = halved(found)
    dense = min((one.error for one in close if not one.sparse), default=math.inf)
    return found if found.error <= dense else None


def _is_clearly_worse(leaves: Candidate, bins: Candidate) -> bool:
    """Whether trees raise the held-out error of equally many bins by more than may be chance."""
    if leaves.score.error <= bins.score.error:
        return False
    return clearly_less(_squares(bins), _squares(leaves))


def _squares(candidate: Candidate) -> Floats:
    """The share of each held-out row in the error of bins."""
    assert isinstance(candidate.fits, GridFits), "bins were tried"
    return candidate.fits.squares(candidate.score.ridge)


def _best_bins(candidates: list[Candidate]) -> Candidate | None:
    """The bins of least error, or None if there are none."""
    sparse = [one for one in candidates if one.sparse]
    return sparse[first_best([one.error for one in sparse])] if sparse else None


def _allows_trees(task: LearningRows) -> bool:
    """Whether the request leaves the law open, no rows beyond those of the trials are to be fitted,
    and there is time."""
    # One grid has no room for a tree.
    open_law = task.request.stages and task.basis is None and task.asked != 1
    return open_law and task.counted <= len(task.places) and not task.late(constants.LATE_TREES)


def _is_matched(bins: Candidate, close: list[Candidate]) -> bool:
    """Whether a smooth kernel does about as well as bins, or a linear model is better.

    Dense features of the kernel of the bins say nothing of that.
    """
    smooth = [one.error for one in close if one.found.kernel == "gaussian"]
    others = [one.error for one in close if one.found.kernel != bins.found.kernel]
    near = min(smooth, default=math.inf) < constants.TREES_SMOOTH * bins.error
    return near or bins.error > constants.TREES_NEAR * min(others, default=math.inf)


def _kept(task: LearningRows, kept: Candidate) -> tuple[Law, BinNumbers]:
    """The law of one candidate with all its members, for all rows."""
    kept = replace(kept, found=with_members(task, kept.found))
    score, factor = kept.score, kept.score.factor
    if kept.sparse and task.counted > len(task.places):
        factor, ridge = grown(score, len(task.data.fitted), task.counted)
        score = score._replace(ridge=ridge)
    scaler, basis = kept.found.features(kept.sparse, factor, task.basis)
    if task.asked is None:
        count, reason = enough(in_time(task, kept), score, kept.sparse)
        draws = max(1, count // basis.features_per_draw)
    else:
        draws, reason = task.asked, kept.limit.reason
        count = draws * basis.features_per_draw
    if kept.leaves:
        basis = _with_leaves(task, kept, scaler, basis, draws)
    ridge = score.ridge if kept.sparse else ridge_for(task, kept, count)
    ridges = ridge, math.nan
    law, bins = _law(
        task, kept.found, (scaler, basis), draws, factor, ridges, reason, kept.leaves > 0.0
    )
    return replace(law, held=_unseen(task, kept, score.ridge)), bins


def _with_leaves(
    task: LearningRows, kept: Candidate, scaler: Warp, grids: Basis, count: int
) -> Union:
    """`count` bins for the last fit, some of them leaves of trees grown on all rows of the pool."""
    places = np.arange(len(task.places))
    trees = grown_trees(task, places, scaler, round(kept.leaves * count))
    return among_leaves(grids, trees, kept.leaves, count)


def _unseen(
    task: LearningRows, kept: Candidate, ridge: float, targets: Floats | None = None
) -> UnseenScores | None:
    """Scores that calibrate bins with trees: those of the trial, whose trees had not seen the
    held-out rows. The final trees have seen the targets of all rows.

    targets: of a second stage, what the first one leaves.
    """
    if not kept.leaves:
        return None
    assert isinstance(kept.fits, GridFits), "trees were tried"
    data = task.data
    found = kept.fits.scores([ridge], targets)[0], data.targets[data.held]
    scores, targets = (task.request.unit * (task.level + task.sizes * one) for one in found)
    return UnseenScores(scores, targets, data.weights_of(data.held))


def _in_stages(
    task: LearningRows, close: list[Candidate], leaves: Candidate | None
) -> tuple[Law, BinNumbers] | None:
    """Dense features followed by bins of the same law, if better than either as they were tried.

    The union of both bases, each with half of what the last fit may cost. leaves: bins with leaves
    of trees among them, which then are the second stage.
    """
    lasts = [one for one in close if one.sparse] if leaves is None else [leaves]
    firsts = [one for last in lasts[:1] for one in close if _same_law(one, last)]
    if not firsts:
        return None
    first, last = firsts[0], lasts[0]
    error, second = try_stages(task, first, last)
    if first_best([*(one.score.error for one in (*close, last)), error]) <= len(close):
        return None
    counts = [
        enough(in_time(task, one, 0.5), one.score, one.sparse).components for one in (first, last)
    ]
    found, factor = with_members(task, first.found), first.score.factor
    scaler, dense = found.features(False, factor)
    # The scaler has the scales of one member, with the factor of the features.
    one = len(found.scales) == 1
    gamma = last.score.factor / factor if one else found.gammas(last.score.factor)
    bins: Basis = Binning(gamma=gamma)
    held = None
    if last.leaves:
        counts[1] = min(counts[1], last.limit.components)
        bins = _with_leaves(task, last, scaler, bins, counts[1])
        held = _unseen(task, last, second, left_by(task, first))
    basis = Union([dense, bins], shares=[float(count) for count in counts])
    what = what_of(found.kernel, True, last.leaves > 0.0)
    reason = f"{counts[0]} features, then {counts[1]} {what}: better by held-out error than either"
    given = sum(counts), factor, (first.score.ridge, second), reason, last.leaves > 0.0
    law, numbers = _law(task, found, (scaler, basis), *given)
    return replace(law, held=held), numbers


def _same_law(dense: Candidate, bins: Candidate) -> bool:
    """Whether these are dense features of the law of the bins."""
    return not dense.sparse and dense.found is bins.found


def with_basis(task: LearningRows, basis: Basis, found: Found) -> tuple[Law, BinNumbers]:
    """A basis with a bandwidth of its own: the scales are brought to a mean square of one."""
    scales = found.mean_scales
    scaler = found.warp.times(scales / math.sqrt(np.mean(scales**2)))
    resolved = basis.resolve(scaler.apply(task.sample[:2000], np.float64))
    draws = affordable(task, basis.sparse).components
    if task.asked is None:
        draws = resolved.whole(scaler.width) or max(1, draws // resolved.features_per_draw)
    reason = "the basis was given, with a bandwidth of its own"
    return _law(task, found, (scaler, resolved), draws, 1.0, (math.nan, math.nan), reason)


def of_few(
    task: LearningRows, batch: Batch, found: Found, limit: Limit, factor: float, ridge: float
) -> tuple[Law, BinNumbers]:
    """The law that cross-validation has kept, for all rows; ridge: λ = α·n."""
    sparse = task.basis is not None and task.basis.sparse
    scaler, own = found.features(sparse, factor, task.basis)
    task.source, task.weights = batch.rows, batch.weights
    draws = limit.components
    if task.asked is None:
        draws = max(1, draws // own.features_per_draw)
    if batch.counted > len(task.places):
        spread = spread_of(batch.rows, batch.weights)
        scaler = scaler.covering(spread.low, spread.high)
    return _law(task, found, (scaler, own), draws, factor, (ridge, math.nan), limit.reason)


def importances(task: LearningRows, found: Found) -> Floats:
    """Each column's share of the distance between rows, (d,), summing to one; mean of members."""
    plain = found.warp.turned(np.empty((0, 0)))
    gap = np.diff(plain.apply(task.sample, np.float64), axis=0)
    rotation, shares = found.warp.rotation, []
    taken = plain.factor != 0.0
    for scales in found.scales:
        own = gap * scales[taken]
        if rotation.size:
            # ‖R'Δ‖² = Σ_j Δ_j·(RR'Δ)_j; a column that others outweigh may have less than nothing.
            share = np.maximum(np.mean(own * (own @ rotation @ rotation.T), axis=0), 0.0)
        else:
            share = (np.abs(own) if found.kernel == "laplacian" else own**2).mean(axis=0)
        total = float(share.sum())
        shares.append(share / total if total > 0 else np.full(len(share), 1.0 / len(share)))
    out = np.zeros(len(taken))
    out[taken] = np.mean(shares, axis=0)
    return out
