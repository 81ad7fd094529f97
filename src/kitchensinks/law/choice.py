"""Learn the law, and choose map, basis, bandwidth and ridge on held-out training rows.

Rounds, each with fewer candidates and more work for each of them; what a round compares runs side
by side:

1. a map of the columns for each kernel, by the leave-one-out error of short runs;
2. the scales of each kernel, by longer runs of several members; directions of wide tables;
3. bins, features and smooth features with one bandwidth factor, on at most 8000 rows;
4. the factors and ridges of those that are not hopeless;
5. what came close once more on at most 40,000 rows, and both in two stages;
6. the number of components, by how fast the held-out error falls with them and by what the last
   fit may cost.
"""

import math
import warnings
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kitchensinks.features.bases import Basis, Binning, Union
from kitchensinks.features.frozen import Frozen, spread_of
from kitchensinks.features.scaling import Warp
from kitchensinks.law import constants
from kitchensinks.law.candidates import (
    Candidate,
    Stages,
    affordable,
    again,
    at_last,
    enough,
    first_look,
    grown,
    in_reach,
    in_time,
    most_exported,
    ridge_for,
    try_stages,
    wider_look,
)
from kitchensinks.law.copies import counting, in_words, many, one_of_each
from kitchensinks.law.directions import by_gradients, turned
from kitchensinks.law.few import Kept, best_of_few
from kitchensinks.law.later import note_runs
from kitchensinks.law.learned import Learned
from kitchensinks.law.maps import (
    Found,
    allowed,
    even,
    learn_scales,
    plain_map,
    short_run,
    tried_maps,
    with_members,
)
from kitchensinks.law.task import Task
from kitchensinks.law.trend import find_trend
from kitchensinks.law.trials import preferred
from kitchensinks.law.values import Law, Record, Request
from kitchensinks.problem.targets import Batch

Floats = NDArray[np.float64]
# Bins (grids, n) of the rows of the last fit, or None: they are known where the law is learned.
Bins = NDArray[np.int32] | None

# Maps that wide tables are turned from.
_TURNED = ("squash", "common")


def learn_law(learned: Learned, batch: Batch, request: Request) -> tuple[Law, Bins] | str:
    """The learned law with the bins of the rows, or why there is none."""
    learned.check()
    refusal = _refusal(learned, batch)
    if refusal is not None:
        return refusal
    batch, copies = one_of_each(batch, request.seed)
    if copies is not None and many(copies):
        warnings.warn(in_words(copies), stacklevel=4)
    found = _refusal(learned, batch) or _learn(learned, batch, request)
    return found if isinstance(found, str) else (counting(found[0], copies), found[1])


def _learn(learned: Learned, batch: Batch, request: Request) -> tuple[Law, Bins] | str:
    """The same for rows without copies."""
    if _is_small(learned, batch):
        few = best_of_few(learned, batch, request)
        return few if isinstance(few, str) else _of_few(few, batch)
    task, basis = Task.of(batch, request, learned), learned.basis
    if not task.varies:
        return "Too few targets differ from the others to fit some of them and hold others out"
    mean = task.mean_error()
    if task.split:
        task.note("split", f"held out: {task.split}", len(task.data.fitted), mean)
    tried = task.early(constants.LATE_MAPS, short_run, _tried(task, basis))
    runs = [run for run in tried if run is not None]
    founds = _learned(task, basis, _best_maps(task, basis, runs))
    trend = find_trend(task, founds[0])
    left = task.without(trend)
    if basis is not None and not basis.open_bandwidth:
        law, bins = _with_basis(left, basis, with_members(left, founds[:1])[0])
    else:
        law, bins = _chosen(left, basis, _close(left, _candidates(left, basis, founds)))
    return _chance(task, mean) or (replace(law, trend=trend), bins)


def _compared(learned: Learned) -> bool:
    """Whether the law is one that is compared with others: it has a bandwidth to be learned."""
    basis = learned.basis
    return learned.law == "ard" and (basis is None or basis.open_bandwidth)


def _is_small(learned: Learned, batch: Batch) -> bool:
    """Whether laws are compared by cross-validation with exact kernels."""
    few = batch.counted < constants.FEW_ROWS or batch.rows.shape[1] > constants.MOST_COLUMNS
    return few and _compared(learned)


def _of_few(kept: Kept, batch: Batch) -> tuple[Law, Bins]:
    """The law that cross-validation has kept, for all rows."""
    task, found = kept.task, kept.found
    basis = task.learned.basis
    sparse = basis is not None and basis.sparse
    scaler, own = found.features(sparse, kept.factor, basis)
    task.source, task.weights = batch.rows, batch.weights
    draws = kept.limit.components
    if task.asked is None:
        draws = max(1, draws // own.features_per_draw)
    if batch.counted > len(task.places):
        spread = spread_of(batch.rows, batch.weights)
        scaler = scaler.covering(spread.low, spread.high)
    law, bins = _law(task, found, scaler, own, draws, kept.factor, kept.ridge, kept.limit.reason)
    return replace(law, trend=kept.trend), bins


def _tried(task: Task, basis: Basis | None) -> list[tuple[str, str]]:
    """The kernels and maps whose short runs are compared."""
    kernels: tuple[str, ...] = ("laplacian", "gaussian")
    if basis is not None:
        kernels = (basis.metric,)
    elif task.learned.law == "agop":
        kernels = ("gaussian",)
    return [(kernel, name) for kernel in kernels for name in tried_maps(task, kernel)]


def _best_maps(task: Task, basis: Basis | None, runs: list[tuple[float, Found]]) -> list[Found]:
    """The best map of each kernel that is not hopeless, with the scales of a short run."""
    groups: dict[str, list[tuple[float, Found]]] = {}
    for run in sorted(runs, key=lambda run: run[0]):
        groups.setdefault(run[1].kernel, []).append(run)
    # Bins gain from more rows than a batch has: the first kernel is kept in any case.
    first = runs[0][1].kernel
    most = constants.HOPELESS * groups[first][0][0]
    tried = [groups[first]]
    tried += [own for kernel, own in groups.items() if kernel != first and own[0][0] <= most]

    def best(job: tuple[Task, list[tuple[float, Found]]]) -> Found:
        own, group = job
        error = group[0][0]
        near = [found for other, found in group if other <= constants.EQUAL_MAPS * error]
        near = near[: own.work.close]
        if len(near) == 1 or own.late(constants.LATE_NEAR):
            return near[0]
        # Batches of a few hundred rows do not tell maps apart that are nearly equal.
        bins = _takes_bins(own, basis) and near[0].kernel == "laplacian"
        tried = own.early(constants.LATE_NEAR, first_look, [(found, bins, None) for found in near])
        looks = [look for look in tried if look is not None]
        return min(looks, key=lambda look: look.score.error).found

    return task.together(best, tried)


def _chosen(task: Task, basis: Basis | None, close: list[Candidate]) -> tuple[Law, Bins]:
    """The law of the best candidate, or of dense features and bins in two stages."""
    errors = [candidate.error for candidate in close]
    kept = close[preferred(errors, [candidate.score.losses for candidate in close])]
    # Two stages are compared by squared error: skip them where log loss decided.
    stages = task.request.stages and not task.request.stream and basis is None
    stages = stages and task.asked is None and not task.late(constants.LATE_LAST)
    if stages and kept.error == min(errors):
        both = _both(task, close)
        if both is not None:
            return _in_stages(task, both)
    return _kept(task, kept)


def _takes_bins(task: Task, basis: Basis | None) -> bool:
    if task.request.stream or not (basis is None or basis.sparse):
        return False
    asked = constants.FEWEST_GRIDS if task.asked is None else task.asked
    fits = most_exported(task) >= asked
    if not fits and basis is not None:
        raise ValueError(
            f"exportable=True, and the bins of {task.source.shape[0]:,} rows in {asked} grids may "
            "be more than the 2 GB of an ONNX file: use a dense basis such as ks.Fourier(), or "
            "leave exportable=False."
        )
    return fits


def _learned(task: Task, basis: Basis | None, best: list[Found]) -> list[Found]:
    """The maps with learned scales; the rows of wide tables turned along directions too."""
    if task.learned.law == "agop":
        return [by_gradients(task, best[0], basis)]
    founds = learn_scales(task, best)
    gaussian = basis is None or basis.metric == "gaussian"
    many = task.n_inputs > constants.MOST_TURNED
    if task.wide and not many and gaussian and not task.late(constants.LATE_TURNS):
        founds += turned(task, allowed(task, *_TURNED, best[0].map))
    return founds


def _candidates(task: Task, basis: Basis | None, founds: list[Found]) -> list[Candidate]:
    """Bins and features of every law, with the factor and ridge of the least held-out error."""
    jobs = _jobs(task, basis, founds)
    tried = task.early(constants.LATE_FACTORS, first_look, jobs)
    jobs = [job for job, look in zip(jobs, tried, strict=True) if look is not None]
    looks = [look for look in tried if look is not None]
    note_runs(task, jobs, looks)
    least = min(look.score.error for look in looks)
    hopeful = [one for one in looks if one.score.error <= constants.HOPELESS_FIRST * least]
    if task.late(constants.LATE_FACTORS):
        return hopeful
    wider = task.early(constants.LATE_FACTORS, wider_look, hopeful)
    return [found or look for found, look in zip(wider, hopeful, strict=True)]


def _jobs(
    task: Task, basis: Basis | None, founds: list[Found]
) -> list[tuple[Found, bool, Basis | None]]:
    """Every law with bins, with dense features or with both."""
    plain = _plain(task, basis)
    bins = []
    if _takes_bins(task, basis):
        bins = [found for found in founds + plain if found.kernel == "laplacian"]
    # Equal scales of the Laplacian kernel are for bins: the Gaussian has dense features of them.
    dense = founds + [found for found in plain if basis is not None or found.kernel != "laplacian"]
    jobs = [(found, True, basis) for found in bins]
    if basis is None or not basis.sparse:
        jobs += [(found, False, basis) for found in dense]
    if task.wide and task.learned.time_limit is not None:
        # The first one is tried in any case, and bins of many columns seldom win.
        jobs.sort(key=lambda job: job[1])
    return jobs


def _plain(task: Task, basis: Basis | None) -> list[Found]:
    """The laws that nothing is learned for: equal scales, and the linear model."""
    if basis is not None:
        return [even(task, basis.metric, plain_map(task))]
    names = allowed(task, plain_map(task), *(["common"] if task.wide else []))
    founds = [even(task, "gaussian", name) for name in names]
    if not task.wide:
        founds.append(even(task, "laplacian", names[0]))
    if task.linear:
        founds.append(even(task, "linear", plain_map(task)))
    return founds


def _close(task: Task, candidates: list[Candidate]) -> list[Candidate]:
    """Those near the least error, with more rows and components."""
    least = min(candidate.error for candidate in candidates)
    bins = min((one.error for one in candidates if one.sparse), default=math.inf)
    # Of bins with learned and with equal scales, only the better ones are tried again.
    hopeful = [one for one in candidates if not one.sparse or one.error == bins]
    close = [one for one in hopeful if one.error < constants.CLOSE * least]
    if task.wide and not any(map(_even, close)):
        # Equal scales gain from features more than directions do, of which few features show most.
        plain = [one for one in candidates if _even(one) and one.error < constants.PLAIN * least]
        close += sorted(plain, key=lambda one: one.error)[:1]
    close = _joined(task, close)
    many = len(task.data.fitted) > constants.MORE * len(task.few.fitted)
    more = many or (task.work.twice and len(close) > 1)
    if not more or task.late(constants.LATE_AGAIN):
        return close
    reached = [candidate for candidate in close if in_reach(task, candidate)]
    found = [one for one in task.early(constants.LATE_AGAIN, again, reached) if one is not None]
    if not found or task.late(constants.LATE_AGAIN):
        return found or close
    return _duel(task, found)


def _joined(task: Task, close: list[Candidate]) -> list[Candidate]:
    """The same candidates with all members of their laws."""
    founds = list({id(one.found): one.found for one in close}.values())
    joined = dict(zip(map(id, founds), with_members(task, founds), strict=True))
    return [replace(one, found=joined[id(one.found)]) for one in close]


def _even(candidate: Candidate) -> bool:
    """Whether all columns have the same scale, in a kernel."""
    return candidate.found.scaling == "equal" and candidate.found.kernel != "linear"


def _duel(task: Task, close: list[Candidate]) -> list[Candidate]:
    """The best law with equal scales and the best of the others with nearly as many features as the
    last fit has, where those are many more than were tried and both are close; else all.

    In wide tables alone: elsewhere equal scales are rarely close, and the fits cost too much.
    """
    if not task.wide:
        return close
    least = min(candidate.error for candidate in close)
    near = sorted((one for one in close if not one.sparse), key=lambda one: one.error)
    pair = [one for one in near if _even(one)][:1] + [one for one in near if not _even(one)][:1]
    far = any(one.limit.components > constants.MORE**2 * one.score.components for one in pair)
    if len(pair) < 2 or not far or max(one.error for one in pair) > constants.CLOSE * least:
        return close
    return task.together(at_last, pair)


def _kept(task: Task, kept: Candidate) -> tuple[Law, Bins]:
    """The law of one candidate, for all rows."""
    score, factor = kept.score, kept.score.factor
    if kept.sparse and task.counted > len(task.places):
        factor, ridge = grown(score, len(task.data.fitted), task.counted)
        score = score._replace(ridge=ridge)
    scaler, basis = kept.found.features(kept.sparse, factor, kept.given)
    if task.asked is None:
        count, reason = enough(in_time(task, kept), score, kept.sparse)
        draws = max(1, count // basis.features_per_draw)
    else:
        draws, reason = task.asked, kept.limit.reason
        count = draws * basis.features_per_draw
    ridge = score.ridge if kept.sparse else ridge_for(task, kept, count)
    return _law(task, kept.found, scaler, basis, draws, factor, ridge, reason)


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
    return both if both.error - min(gains) < constants.BETTER * alone else None


def _in_stages(task: Task, both: Stages) -> tuple[Law, Bins]:
    """The union of both bases, each with half of what the last fit may cost."""
    first, last, _, second = both
    counts = [
        enough(in_time(task, one, 0.5), one.score, one.sparse).components for one in (first, last)
    ]
    found, factor = first.found, first.score.factor
    scaler, dense = found.features(False, factor)
    if len(found.scales) == 1:
        bins = Binning(gamma=last.score.factor / factor)
    else:
        bins = Binning(gamma=found.gammas(last.score.factor))
    basis = Union([dense, bins], shares=[float(count) for count in counts])
    reason = f"{counts[0]} features, then {counts[1]} grids: better by held-out error than either"
    ridge = first.score.ridge
    return _law(task, found, scaler, basis, sum(counts), factor, ridge, reason, second)


def _with_basis(task: Task, basis: Basis, found: Found) -> tuple[Law, Bins]:
    """A basis with a bandwidth of its own: the scales are brought to a mean square of one."""
    scales = found.mean_scales
    scaler = found.warp.times(scales / math.sqrt(np.mean(scales**2)))
    resolved = basis.resolve(scaler.apply(task.sample[:2000], np.float64))
    count = affordable(task, basis.sparse).components
    reason = "the basis was given, with a bandwidth of its own"
    return _law(task, found, scaler, resolved, count, 1.0, math.nan, reason)


def _law(
    task: Task,
    found: Found,
    scaler: Warp,
    basis: Basis,
    count: int,
    factor: float,
    ridge: float,
    reason: str,
    second: float = math.nan,
) -> tuple[Law, Bins]:
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
    )
    dtype = np.dtype(task.request.dtype or np.float32)
    frozen = Frozen(scaler, basis, task.seed, scaler.width, count, dtype)
    features, bins = frozen.with_bins(task.source, task.weights)
    return Law(features, ridge, second, record), bins


def _refusal(learned: Learned, batch: Batch) -> str | None:
    """Why the law cannot be learned, as far as that is known before any trial."""
    targets, n_inputs = batch.counted_targets, batch.rows.shape[1]
    fewest, most = constants.FEWEST_FOR_SCALES, constants.MOST_COLUMNS
    if _compared(learned):
        fewest, most = constants.FEWEST_ROWS, n_inputs
    if len(targets) < fewest:
        return f"There are {len(targets)} rows, and a law is learned from {fewest} or more"
    if n_inputs > most:
        return f"There are {n_inputs} columns, and scales are learned for at most {most}"
    if not np.ptp(targets, axis=0).any():
        return "The targets are constant, so that nothing can be learned from them"
    if learned.basis is not None and not learned.basis.rescales:
        return (
            f"The law of {learned.basis!r} cannot be learned, only those of Binning, Fourier, "
            "Linear, ReLU, Sigmoid, Maxout, Custom and Union of these"
        )
    return None


def _chance(task: Task, mean: float) -> str | None:
    """Whether the best trial is ahead of the mean by no more than chance, in words.

    Where the columns say nothing, a trial lowers the error of m held-out rows by χ²/m of it (one
    degree of freedom), and the best of N by about 2·log(N)/m; unequal weights w count as
    m = (Σw)²/Σw² rows.
    """
    errors = [one.error for one in task.trials[1:] if one.stage not in ("map", "split", "trend")]
    if not errors:
        return None
    own, least = task.data.weights_of(task.data.held), min(errors)
    held = float(len(task.data.held)) if own is None else own.sum() ** 2 / (own**2).sum()
    if least < (1.0 - 2.0 * math.log(len(errors)) / held) * mean:
        return None
    return (
        f"Nothing that was tried is clearly better on {held:.0f} held-out rows than the mean of "
        f"the targets (squared error {least:.4f} against {mean:.4f}, in units of their variance)"
    )


def importances(task: Task, found: Found) -> Floats:
    """Each column's share of the distance between rows, (d,), summing to one; mean of members."""
    plain = found.warp.turned(np.empty((0, 0)))
    gap = np.diff(plain.apply(task.sample, np.float64), axis=0, append=0.0)[:-1]
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
