"""Learn the law, and choose map, basis, bandwidth and ridge on held-out training rows.

Each round has fewer candidates than the last and spends more work on each. The candidates of a
round run in parallel:

1. a map of the columns for each kernel, by the held-out error of short runs;
2. the scales of each kernel, by a longer run; directions of wide tables;
3. bins and dense features of each kernel with one bandwidth factor, on at most 8000 rows;
4. bandwidth factors and ridges of the promising ones;
5. close candidates again, on at most 40,000 rows, and dense features followed by bins;
6. for the winner, the scales of further members, and the number of components, from how fast the
   held-out error falls with them and from the cost of the last fit.
"""

import math
from dataclasses import replace

import numpy as np

from kitchensinks.fitting.settings import silent
from kitchensinks.law import constants
from kitchensinks.law.candidates import (
    Candidate,
    again,
    at_last,
    first_look,
    halved,
    in_reach,
    in_words,
    most_exported,
    nominal_seconds,
    wider_look,
)
from kitchensinks.law.copies import (
    by_chance,
    counting,
    many,
    numbers,
    one_of_each,
    which,
)
from kitchensinks.law.copies import in_words as copies_in_words
from kitchensinks.law.directions import by_gradients, turned
from kitchensinks.law.ending import BinNumbers, chosen, with_basis
from kitchensinks.law.few import best_of_few
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
from kitchensinks.law.searches import first_best
from kitchensinks.law.splits import NO_ORDER
from kitchensinks.law.task import LearningRows, in_effect
from kitchensinks.law.trend import find_trend
from kitchensinks.law.values import Law, Request, Trial
from kitchensinks.numerics.warned import warn
from kitchensinks.problem.targets import Batch
from kitchensinks.tables.keys import Copies

# Maps of wide tables from which rotations start.
_TURNED = ("squash", "common")


def learn_law(learned: Learned, batch: Batch, request: Request) -> tuple[Law, BinNumbers] | str:
    """The learned law with the bins of the rows, or the reason why none can be learned."""
    learned.check()
    if (refusal := _refusal(learned, batch)) is not None:
        return refusal
    batch, copies = _one_of_each(batch, request)
    if (refusal := _refusal(learned, batch)) is not None:
        return refusal
    few = batch.counted < constants.FEW_ROWS or batch.rows.shape[1] > constants.MOST_COLUMNS
    if few and _compared(learned):
        found = best_of_few(learned, batch, request)
        return found if isinstance(found, str) else (counting(found[0], copies), found[1])
    _check_dense(learned, request)
    task = LearningRows(batch, request, learned)
    task.copied = which(batch, copies)
    task.temper(numbers(batch, copies))
    if not task.varies:
        return "Too few targets differ from the others to fit some of them and hold others out"
    mean = task.mean_error()
    if task.split:
        task.note("split", f"held out: {task.split}", len(task.data.fitted), mean)
    runs = task.early(constants.LATE_MAPS, short_run, _kernels_and_maps(task))
    founds = _learned(task, best_maps([run for run in runs if run is not None]))
    trend = find_trend(task, founds[0])
    left = task.without(trend)
    if task.basis is not None and not task.basis.open_bandwidth:
        law, bins = with_basis(left, task.basis, with_members(left, founds[0]))
    else:
        candidates = candidates_of(left, founds)
        law, bins = chosen(left, candidates, tried_again(left, candidates))
    return _chance(task, mean) or (counting(replace(law, trend=trend), copies), bins)


def _check_dense(learned: Learned, request: Request) -> None:
    """Raise an error for bins of rows that come in batches: nothing would be left to try."""
    basis = learned.basis
    if request.stream and basis is not None and basis.sparse and _compared(learned):
        raise ValueError(
            f"The law of {basis!r} is learned for rows that are fitted at once, and these come in "
            "batches: use fit, or ks.Learned(ks.Fourier()) for freeze and long streams."
        )


def _one_of_each(batch: Batch, request: Request) -> tuple[Batch, Copies | None]:
    """The rows without their copies, and the copies; a warning where there are many."""
    places = batch.counted_places
    batch, copies = one_of_each(batch, request.seed)
    if many(copies) and not by_chance(batch.rows, places, copies, request.seed):
        warn(copies_in_words(copies))
    return batch, copies


def _compared(learned: Learned) -> bool:
    """Whether laws are compared by trials: the basis has a bandwidth to be learned."""
    basis = learned.basis
    return learned.law == "ard" and (basis is None or basis.open_bandwidth)


def _kernels_and_maps(task: LearningRows) -> list[tuple[str, str]]:
    """What short runs compare."""
    return [(kernel, name) for kernel in task.kernels for name in tried_maps(task, kernel)]


def _learned(task: LearningRows, best: list[Found]) -> list[Found]:
    """The maps with learned scales, and rotations of wide tables."""
    if task.learned.law == "agop":
        return [by_gradients(task, best[0])]
    founds = learn_scales(task, best)
    many = task.n_inputs > constants.MOST_TURNED
    if task.wide and not many and "gaussian" in task.kernels and _time_to_turn(task):
        founds += turned(task, allowed(task, *_TURNED, best[0].map))
    return founds


def _time_to_turn(task: LearningRows) -> bool:
    """Whether a round of directions fits into the time limit."""
    rows = min(constants.SLOPE_FITTED, len(task.data.fitted))
    # Gradients and eigenvectors take about as long as the fit.
    seconds = 2.0 * nominal_seconds(task, False, rows, constants.SLOPE_FEATURES)
    return task.reaches(seconds) and not task.late(constants.LATE_TURNS)


def _refusal(learned: Learned, batch: Batch) -> str | None:
    """Why the law cannot be learned, where that is known before any trial; else None."""
    targets, n_inputs = batch.counted_targets, batch.rows.shape[1]
    fewest, most = constants.FEWEST_FOR_SCALES, constants.MOST_COLUMNS
    if _compared(learned):
        fewest, most = constants.FEWEST_ROWS, n_inputs
    if len(targets) < fewest:
        return f"There are {len(targets)} rows, and a law is learned from {fewest} or more"
    if n_inputs > most:
        return f"There are {n_inputs} columns, and scales are learned for at most {most}"
    if batch.weights is not None and (rows := in_effect(batch.weights)) < constants.LEAST_ROWS:
        return f"The weights count as {rows:.3g} rows, because nearly all of their sum is on one"
    if not np.ptp(targets, axis=0).any():
        return "The targets are constant, so that nothing can be learned from them"
    if learned.basis is not None and not learned.basis.rescales:
        return (
            f"The law of {learned.basis!r} cannot be learned (those of Binning, Fourier, Linear, "
            "ReLU, Sigmoid, Maxout and Custom can, and of a Union or Product of these)"
        )
    return None


def _chance(task: LearningRows, mean: float) -> str | None:
    """The reason for no learned law where the best trial beats the mean only by chance.

    If the columns carry no information, a trial lowers the error of m held-out rows by χ²/m of it
    (one degree of freedom), and the best of N by about 2·log(N)/m; unequal weights w count as
    m = (Σw)²/Σw² rows.
    """
    errors = [one.error for one in task.trials[1:] if one.stage not in ("map", "split", "trend")]
    if not errors:
        return None
    own, least = task.data.scored_of(task.data.held), min(errors)
    held = float(len(task.data.held)) if own is None else in_effect(own)
    if least < (1.0 - 2.0 * math.log(len(errors)) / held) * mean:
        return None
    return (
        f"Nothing that was tried is clearly better on {held:.0f} held-out rows than the mean of "
        f"the targets (squared error {least:.4f} against {mean:.4f}, in units of their variance)"
    )


def best_maps(runs: list[Found]) -> list[Found]:
    """The best map of each kernel that is not hopeless, of the short runs."""
    best = []
    for kernel in dict.fromkeys(run.kernel for run in runs):
        own = [run for run in runs if run.kernel == kernel]
        best.append(own[first_best([run.run_error for run in own])])
    # Bins gain from more rows than a batch has, so the first kernel is always kept.
    most = constants.CLOSE * best[0].run_error
    return best[:1] + [run for run in best[1:] if run.run_error <= most]


def _takes_bins(task: LearningRows) -> bool:
    if task.request.stream or not (task.basis is None or task.basis.sparse):
        return False
    asked = constants.FEWEST_GRIDS if task.asked is None else task.asked
    fits = most_exported(task) >= asked
    if not fits and task.basis is not None:
        raise ValueError(
            f"exportable=True, and the bins of {task.source.shape[0]:,} rows in {asked} grids may "
            "be more than the 2 GB of an ONNX file: use a dense basis such as ks.Fourier(), or "
            "leave exportable=False."
        )
    return fits


def candidates_of(task: LearningRows, founds: list[Found]) -> list[Candidate]:
    """Bins and features of every law, with the factor and ridge of the least held-out error."""
    jobs = _jobs(task, founds)
    # Bins of many columns seldom win: a time limit leaves them out first.
    tried = task.early(constants.LATE_FACTORS, first_look, jobs, lambda job: task.wide and job[1])
    begun = [(job, look) for job, look in zip(jobs, tried, strict=True) if look is not None]
    looks = [look for _, look in begun]
    _note_runs(task, [job for job, _ in begun], looks)
    least = constants.HOPELESS_FIRST * min(look.score.error for look in looks)
    hopeful = [one for one in looks if one.score.error <= least or _leads(one, founds)]
    if task.late(constants.LATE_FACTORS):
        return [halved(one) for one in hopeful]
    wider = task.early(
        constants.LATE_FACTORS, wider_look, hopeful, lambda one: task.wide and one.sparse
    )
    return [found or halved(look) for found, look in zip(wider, hopeful, strict=True)]


def _leads(candidate: Candidate, founds: list[Found]) -> bool:
    """Whether these are dense features of the scales with the least error in the short runs.

    Those compare kernels, whereas a first look compares bins with features of one bandwidth, which
    may be far from the best one.
    """
    # Directions of wide tables have errors of other fits.
    runs = [found for found in founds if found.start is not None] or founds
    best = first_best([found.run_error for found in runs])
    return not candidate.sparse and candidate.found is runs[best]


def _jobs(task: LearningRows, founds: list[Found]) -> list[tuple[Found, bool]]:
    """Every law with bins (True), with dense features or with both."""
    plain, basis = _plain(task), task.basis
    bins = []
    if _takes_bins(task):
        bins = [found for found in founds + plain if found.kernel == "laplacian"]
    # Equal scales of the Laplacian kernel are tried with bins only; dense ones use the Gaussian.
    dense = founds + [found for found in plain if basis is not None or found.kernel != "laplacian"]
    jobs = [(found, True) for found in bins]
    if basis is None or not basis.sparse:
        jobs += [(found, False) for found in dense]
    return jobs


def _note_runs(task: LearningRows, jobs: list[tuple[Found, bool]], looks: list[Candidate]) -> None:
    """Record which candidate wins on runs of rows, and which on the last rows.

    Only if the last rows are held out because of a date column that nobody named. looks: the
    candidates of the jobs, scored on the last rows.
    """
    if not task.request.order.dated or task.late(constants.LATE_FACTORS):
        return
    request = replace(task.request, order=NO_ORDER, progress=silent)
    by_runs = LearningRows(task.given, request, task.learned).without(task.trend)
    tried = by_runs.early(constants.LATE_FACTORS, first_look, jobs)
    theirs = [look for look in tried if look is not None]
    for words, found in (("runs of rows", theirs), ("the last rows", looks)):
        first = found[first_best([one.score.error for one in found])]
        text = f"first by {words}: {in_words(first, first.score)}"
        # Learning is further on than a split is, so that no progress is told.
        task.trials.append(Trial("split", text, len(by_runs.few.fitted), first.score.error))


def _plain(task: LearningRows) -> list[Found]:
    """The laws without learned scales: equal scales, and the linear model."""
    if task.basis is not None:
        return [even(task, task.basis.metric, plain_map(task))]
    names = allowed(task, plain_map(task), *(["common"] if task.wide else []))
    founds = [even(task, "gaussian", name) for name in names]
    if not task.wide:
        founds.append(even(task, "laplacian", names[0]))
    if task.linear:
        founds.append(even(task, "linear", plain_map(task)))
    return founds


def tried_again(task: LearningRows, candidates: list[Candidate]) -> list[Candidate]:
    """The candidates near the least error, tried again with more rows and components."""
    close = _near(task, candidates)
    many = len(task.data.fitted) > constants.MORE * len(task.few.fitted)
    if not (many or task.effort.twice) or task.late(constants.LATE_AGAIN):
        return close
    reached = [candidate for candidate in close if in_reach(task, candidate)]
    found = [one for one in task.early(constants.LATE_AGAIN, again, reached) if one is not None]
    if not found or task.late(constants.LATE_AGAIN):
        return found or close
    return _duel(task, found)


def _near(task: LearningRows, candidates: list[Candidate]) -> list[Candidate]:
    """Those near the least error; on wide tables equal scales are among them sooner."""
    least = min(candidate.error for candidate in candidates)
    near = [one for one in candidates if one.error < constants.CLOSE * least]
    if task.wide and not any(map(_even, near)):
        # Equal scales gain more from further features than rotations do.
        plain = [one for one in candidates if _even(one) and one.error < constants.PLAIN * least]
        near += _first_best(plain)
    return near


def _first_best(candidates: list[Candidate]) -> list[Candidate]:
    """The candidate of least error in a list of one, or an empty list."""
    if not candidates:
        return []
    return [candidates[first_best([one.error for one in candidates])]]


def _even(candidate: Candidate) -> bool:
    """Whether all columns have the same scale, in a kernel."""
    return candidate.found.scaling == "equal" and candidate.found.kernel != "linear"


def _duel(task: LearningRows, close: list[Candidate]) -> list[Candidate]:
    """Compare the best equal-scale law with the best other law again, at nearly the final number of
    features.

    Return all candidates if the two are not close or the trials already had about as many features.
    Only for wide tables: elsewhere equal scales are rarely close, and the fits cost too much.
    """
    if not task.wide:
        return close
    least = min(candidate.error for candidate in close)
    dense = [one for one in close if not one.sparse]
    pair = _first_best([one for one in dense if _even(one)])
    pair += _first_best([one for one in dense if not _even(one)])
    far = any(one.limit.components > constants.MORE**2 * one.score.components for one in pair)
    if len(pair) < 2 or not far or max(one.error for one in pair) > constants.CLOSE * least:
        return close
    return task.together(at_last, pair)
