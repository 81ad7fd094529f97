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
import warnings
from dataclasses import replace

import numpy as np

from kitchensinks.features.bases import Basis
from kitchensinks.law import constants
from kitchensinks.law.candidates import nominal_seconds
from kitchensinks.law.copies import counting, in_words, many, one_of_each, which
from kitchensinks.law.directions import by_gradients, turned
from kitchensinks.law.ending import Bins, chosen, of_few, with_basis
from kitchensinks.law.few import best_of_few
from kitchensinks.law.learned import Learned
from kitchensinks.law.maps import Found, allowed, learn_scales, short_run, tried_maps, with_members
from kitchensinks.law.rounds import best_maps, candidates_of, tried_again
from kitchensinks.law.task import LearningRows
from kitchensinks.law.trend import find_trend
from kitchensinks.law.values import Law, Request
from kitchensinks.problem.targets import Batch

# Maps of wide tables from which rotations start.
_TURNED = ("squash", "common")


def learn_law(learned: Learned, batch: Batch, request: Request) -> tuple[Law, Bins] | str:
    """The learned law with the bins of the rows, or the reason why none can be learned."""
    learned.check()
    if (refusal := _refusal(learned, batch)) is not None:
        return refusal
    batch, copies = one_of_each(batch, request.seed)
    if copies is not None and many(copies):
        warnings.warn(in_words(copies), stacklevel=4)
    if (refusal := _refusal(learned, batch)) is not None:
        return refusal
    if _is_small(learned, batch):
        few = best_of_few(learned, batch, request)
        found = few if isinstance(few, str) else of_few(few, batch)
        return found if isinstance(found, str) else (counting(found[0], copies), found[1])
    task, basis = LearningRows.of(batch, request, learned), learned.basis
    task.copied = which(batch, copies)
    if not task.varies:
        return "Too few targets differ from the others to fit some of them and hold others out"
    mean = task.mean_error()
    if task.split:
        task.note("split", f"held out: {task.split}", len(task.data.fitted), mean)
    runs = task.early(constants.LATE_MAPS, short_run, _tried(task, basis))
    founds = _learned(task, basis, best_maps([run for run in runs if run is not None]))
    trend = find_trend(task, founds[0])
    left = task.without(trend)
    if basis is not None and not basis.open_bandwidth:
        law, bins = with_basis(left, basis, with_members(left, founds[0]))
    else:
        candidates = candidates_of(left, basis, founds)
        law, bins = chosen(left, basis, candidates, tried_again(left, candidates))
    return _chance(task, mean) or (counting(replace(law, trend=trend), copies), bins)


def _compared(learned: Learned) -> bool:
    """Whether laws are compared by trials: the basis has a bandwidth to be learned."""
    basis = learned.basis
    return learned.law == "ard" and (basis is None or basis.open_bandwidth)


def _is_small(learned: Learned, batch: Batch) -> bool:
    """Whether laws are compared by cross-validation with exact kernels."""
    few = batch.counted < constants.FEW_ROWS or batch.rows.shape[1] > constants.MOST_COLUMNS
    return few and _compared(learned)


def _tried(task: LearningRows, basis: Basis | None) -> list[tuple[str, str]]:
    """The kernels and maps whose short runs are compared."""
    kernels: tuple[str, ...] = ("laplacian", "gaussian")
    if basis is not None:
        kernels = (basis.metric,)
    elif task.learned.law == "agop":
        kernels = ("gaussian",)
    return [(kernel, name) for kernel in kernels for name in tried_maps(task, kernel)]


def _learned(task: LearningRows, basis: Basis | None, best: list[Found]) -> list[Found]:
    """The maps with learned scales, and rotations of wide tables."""
    if task.learned.law == "agop":
        return [by_gradients(task, best[0], basis)]
    founds = learn_scales(task, best)
    gaussian = basis is None or basis.metric == "gaussian"
    many = task.n_inputs > constants.MOST_TURNED
    if task.wide and not many and gaussian and _time_to_turn(task):
        founds += turned(task, allowed(task, *_TURNED, best[0].map))
    return founds


def _time_to_turn(task: LearningRows) -> bool:
    """Whether a round of directions fits into the time limit.

    Its gradients and eigenvectors take about as long as its fit.
    """
    limit = task.learned.time_limit
    if limit is None:
        return True
    rows = min(constants.SLOPE_FITTED, len(task.data.fitted))
    seconds = 2.0 * nominal_seconds(task, False, rows, constants.SLOPE_FEATURES)
    late = task.used + seconds / limit >= constants.LATE_LAST
    return not (late or task.late(constants.LATE_TURNS))


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
    if not np.ptp(targets, axis=0).any():
        return "The targets are constant, so that nothing can be learned from them"
    if learned.basis is not None and not learned.basis.rescales:
        return (
            f"The law of {learned.basis!r} cannot be learned, only those of Binning, Fourier, "
            "Linear, ReLU, Sigmoid, Maxout, Custom and Union of these"
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
    own, least = task.data.weights_of(task.data.held), min(errors)
    held = float(len(task.data.held)) if own is None else own.sum() ** 2 / (own**2).sum()
    if least < (1.0 - 2.0 * math.log(len(errors)) / held) * mean:
        return None
    return (
        f"Nothing that was tried is clearly better on {held:.0f} held-out rows than the mean of "
        f"the targets (squared error {least:.4f} against {mean:.4f}, in units of their variance)"
    )
