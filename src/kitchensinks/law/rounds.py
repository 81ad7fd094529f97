"""The rounds of candidates: each has fewer candidates than the last, and more work for each."""

import math
from dataclasses import replace

from kitchensinks.features.bases import Basis
from kitchensinks.fitting.settings import silent
from kitchensinks.law import constants
from kitchensinks.law.candidates import (
    Candidate,
    again,
    at_last,
    first_look,
    in_reach,
    in_words,
    most_exported,
    wider_look,
)
from kitchensinks.law.maps import Found, allowed, even, plain_map
from kitchensinks.law.splits import NO_ORDER
from kitchensinks.law.task import LearningRows
from kitchensinks.law.trials import first_best


def best_maps(runs: list[tuple[float, Found]]) -> list[Found]:
    """The best map of each kernel that is not hopeless, with the scales of a short run.

    runs: held-out errors of short runs with what they found.
    """
    kernels = dict.fromkeys(found.kernel for _, found in runs)
    best = {}
    for kernel in kernels:
        own = [run for run in runs if run[1].kernel == kernel]
        best[kernel] = own[first_best([error for error, _ in own])]
    # Bins gain from more rows than a batch has, so the first kernel is always kept.
    error, first = best.pop(runs[0][1].kernel)
    most = constants.HOPELESS * error
    return [first] + [found for other, found in best.values() if other <= most]


def _takes_bins(task: LearningRows, basis: Basis | None) -> bool:
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


def candidates_of(task: LearningRows, basis: Basis | None, founds: list[Found]) -> list[Candidate]:
    """Bins and features of every law, with the factor and ridge of the least held-out error."""
    jobs = _jobs(task, basis, founds)
    tried = task.early(constants.LATE_FACTORS, first_look, jobs)
    begun = [(job, look) for job, look in zip(jobs, tried, strict=True) if look is not None]
    looks = [look for _, look in begun]
    _note_runs(task, [job for job, _ in begun], looks)
    least = constants.HOPELESS_FIRST * min(look.score.error for look in looks)
    hopeful = [one for one in looks if one.score.error <= least or _leads(one, founds)]
    if task.late(constants.LATE_FACTORS):
        return hopeful
    wider = task.early(constants.LATE_FACTORS, wider_look, hopeful)
    return [found or look for found, look in zip(wider, hopeful, strict=True)]


def _leads(candidate: Candidate, founds: list[Found]) -> bool:
    """Whether these are dense features of the scales with the least error in the short runs.

    Those compare kernels, whereas a first look compares bins with features of one bandwidth, which
    may be far from the best one.
    """
    # Directions of wide tables have errors of other fits.
    runs = [found for found in founds if found.start is not None] or founds
    best = first_best([found.run_error for found in runs])
    return not candidate.sparse and candidate.found is runs[best]


def _jobs(
    task: LearningRows, basis: Basis | None, founds: list[Found]
) -> list[tuple[Found, bool, Basis | None]]:
    """Every law with bins, with dense features or with both."""
    plain = _plain(task, basis)
    bins = []
    if _takes_bins(task, basis):
        bins = [found for found in founds + plain if found.kernel == "laplacian"]
    # Equal scales of the Laplacian kernel are tried with bins only; dense ones use the Gaussian.
    dense = founds + [found for found in plain if basis is not None or found.kernel != "laplacian"]
    jobs = [(found, True, basis) for found in bins]
    if basis is None or not basis.sparse:
        jobs += [(found, False, basis) for found in dense]
    if task.wide and task.learned.time_limit is not None:
        # The first job always runs, and bins of many columns seldom win.
        jobs.sort(key=lambda job: job[1])
    return jobs


def _note_runs(
    task: LearningRows, jobs: list[tuple[Found, bool, Basis | None]], looks: list[Candidate]
) -> None:
    """Record which candidate wins on runs of rows, and which on the last rows.

    Only if the last rows are held out because of a date column that nobody named. looks: the
    candidates of the jobs, scored on the last rows.
    """
    if not task.request.order.dated or task.late(constants.LATE_FACTORS):
        return
    request = replace(task.request, order=NO_ORDER, progress=silent)
    by_runs = LearningRows.of(task.given, request, task.learned).without(task.trend)
    tried = by_runs.early(constants.LATE_FACTORS, first_look, jobs)
    theirs = [look for look in tried if look is not None]
    for words, found in (("runs of rows", theirs), ("the last rows", looks)):
        first = found[first_best([one.score.error for one in found])]
        text = f"first by {words}: {in_words(first, first.score)}"
        task.note("split", text, len(by_runs.few.fitted), first.score.error)


def _plain(task: LearningRows, basis: Basis | None) -> list[Found]:
    """The laws without learned scales: equal scales, and the linear model."""
    if basis is not None:
        return [even(task, basis.metric, plain_map(task))]
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
    more = many or (task.effort.twice and len(close) > 1)
    if not more or task.late(constants.LATE_AGAIN):
        return close
    reached = [candidate for candidate in close if in_reach(task, candidate)]
    found = [one for one in task.early(constants.LATE_AGAIN, again, reached) if one is not None]
    if not found or task.late(constants.LATE_AGAIN):
        return found or close
    return _duel(task, found)


def _near(task: LearningRows, candidates: list[Candidate]) -> list[Candidate]:
    """Those near the least error, and of bins those near the best of them."""
    least = min(candidate.error for candidate in candidates)
    near = [one for one in candidates if one.error < constants.CLOSE * least]
    bins = constants.CLOSE_BINS * min((one.error for one in near if one.sparse), default=math.inf)
    near = [one for one in near if not one.sparse or one.error <= bins]
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
    """The best law with equal scales and the best of the others with nearly as many features as the
    last fit has, where those are many more than were tried and both are close; else all.

    In wide tables alone: elsewhere equal scales are rarely close, and the fits cost too much.
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
