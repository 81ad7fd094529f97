"""Lines that extend outside of the range of the rows, tested on rows outside of a fitted range.

Features clip columns to the range of the fitted rows. Where a column has a trend, the model is
t(x) + f(x): a line in that column that extends outside, and features for its residuals.
With the kernel k of the learned scales and T = (1, x_j, …), both are fitted together by

    w = (T'CT)⁻¹T'Cy,    f = k(·, X)·C·(y − Tw),    C = (K + λI)⁻¹

(universal kriging: Rasmussen and Williams, Gaussian Processes for Machine Learning, section 2.7),
whose leave-one-out residuals are (Py)_i/P_ii with P = C − CT(T'CT)⁻¹T'C.

To test a column, rows at both ends of its range are held out (or the latest rows, where the law
holds those out), and some of the others are fitted with and without the line. The line is kept if
it clearly lowers the error of the held-out rows and does not raise the leave-one-out error of the
others.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from kitchensinks.features.scaling import Warp
from kitchensinks.features.trend import Trend
from kitchensinks.law import constants
from kitchensinks.law.maps import Found
from kitchensinks.law.splits import Places
from kitchensinks.law.task import LearningRows
from kitchensinks.numerics.arrays import Floats
from kitchensinks.numerics.choices import lower
from kitchensinks.numerics.products import inverse_lower
from kitchensinks.numerics.threads import in_order
from kitchensinks.solvers.cholesky import ridge_solve


class TrendRows(NamedTuple):
    """Rows as they come (n, d), mapped and scaled, their targets, and one over their weights."""

    raw: Floats
    mapped: Floats
    targets: Floats
    noise: Floats


class Line(NamedTuple):
    """A fit with lines in some columns: leave-one-out error, scores of other rows, the slopes."""

    within: float
    scores: Floats
    slopes: Floats


def find_trend(task: LearningRows, found: Found) -> Trend | None:
    """The columns with a line that extends outside of the range, and its slopes; or None."""
    wanted = task.request.trend and task.learned.trend
    if not wanted or task.late(constants.LATE_SCALES):
        return None
    fitted = task.data.fitted
    if task.later:
        fitted = np.setdiff1d(fitted, task.data.held)
    places = _some(fitted, constants.TREND_SAMPLE)
    raw = task.pool[places]
    taken: list[int] = []
    for column in _promising(task, raw, places):
        inner, outer = (places, task.data.held) if task.later else _ends(raw[:, column], places)
        split = _some(inner, constants.TREND_FITTED), _some(outer, constants.TREND_FITTED)
        if _helps(task, found, raw, split, [*taken, column]):
            taken.append(column)
    if not taken:
        return None
    columns = np.array(sorted(taken))
    mean, deviation = _units(raw, columns)
    last = _some(places, 2 * constants.TREND_FITTED)
    if task.later:
        # The latest rows say most about rows to come.
        last = np.concatenate([last, _some(task.data.held, constants.TREND_FITTED)])
    part = _part(task, found.warp, found, last)
    lines = (part.raw[:, columns] - mean) / deviation
    (line,) = _fits(found, part, [lines])
    low, high = task.spread.low[columns], task.spread.high[columns]
    slopes = task.request.unit * line.slopes * task.sizes / deviation[:, None]
    known = task.request.names
    names = () if known is None else tuple(str(known[column]) for column in columns)
    low, high = low - (high - low), high + (high - low)
    return Trend(columns.astype(np.int64), mean, low, high, slopes, names)


def _promising(task: LearningRows, raw: Floats, places: Places) -> list[int]:
    """Columns with several values and the largest effects in a linear fit, the largest first.

    Where later rows are held out, columns whose range most of them leave come first.
    """
    columns, targets = np.flatnonzero(~task.hot), task.data.targets[places]
    mean, deviation = _units(raw, columns)
    standard = (raw[:, columns] - mean) / deviation
    cross = standard.T @ (targets - targets.mean(axis=0)) / len(raw)
    first = _beyond(task, raw, columns)
    # The linear fit has the columns most correlated with the targets.
    order = np.argsort(-np.where(first, np.inf, np.sqrt((cross**2).sum(axis=1))), kind="stable")
    order = order[: constants.SCREENED]
    several = [len(np.unique(raw[:, columns[k]])) >= constants.TREND_VALUES for k in order]
    order = order[np.array(several, dtype=bool)]
    gram = standard[:, order].T @ standard[:, order] / len(raw)
    slopes = ridge_solve(gram, constants.TREND_SOLVED, cross[order])
    size = np.sqrt((slopes**2).sum(axis=1)) / math.sqrt(task.unit)
    size = np.where(first[order], np.inf, size)
    best = np.argsort(-size, kind="stable")[: constants.TREND_TRIED]
    return [int(columns[order[k]]) for k in best if size[k] > constants.TREND_LEAST]


def _beyond(task: LearningRows, raw: Floats, columns: Places) -> NDArray[np.bool_]:
    """Columns whose range most of the held-out later rows leave."""
    if not task.later:
        return np.zeros(len(columns), dtype=bool)
    held = task.pool[_some(task.data.held, constants.TREND_FITTED)][:, columns]
    low, high = raw[:, columns].min(axis=0), raw[:, columns].max(axis=0)
    return np.asarray(((held < low) | (held > high)).mean(axis=0) > 0.5)


def _ends(values: Floats, places: Places) -> tuple[Places, Places]:
    """Rows within the range of a column without its ends, and rows at its ends."""
    low, high = np.quantile(values, [constants.TREND_ENDS, 1.0 - constants.TREND_ENDS])
    inside = (values >= low) & (values <= high)
    return places[inside], places[~inside]


def _some(places: Places, most: int) -> Places:
    """At most `most` of the places, evenly spaced."""
    return places[np.linspace(0, len(places) - 1, min(most, len(places))).astype(np.intp)]


def _units(raw: Floats, columns: Places) -> tuple[Floats, Floats]:
    """Mean and deviation of some columns; no deviation is zero."""
    mean, deviation = raw[:, columns].mean(axis=0), raw[:, columns].std(axis=0)
    return mean, np.where(deviation > 0.0, deviation, 1.0)


def _helps(
    task: LearningRows, found: Found, raw: Floats, split: tuple[Places, Places], tried: list[int]
) -> bool:
    """Whether a line in the last of the tried columns, beside lines in the others, lowers the error
    of the held-out rows and keeps that of the fitted ones."""
    fitted, held = split
    if len(fitted) < constants.TREND_FEWEST or len(held) < constants.TREND_FEWEST // 4:
        return False
    rows = task.pool[fitted]
    # The law is clipped to the range of the rows that are fitted here.
    warp = found.warp.within(rows.min(axis=0), rows.max(axis=0))
    part, outer = _part(task, warp, found, fitted), _part(task, warp, found, held)
    columns = np.array(tried)
    mean, deviation = _units(raw, columns)
    lines, beyond = ((one.raw[:, columns] - mean) / deviation for one in (part, outer))
    if np.linalg.matrix_rank(_design(lines)) <= len(tried):
        # Where most values are zero, a column without its ends is constant.
        return False
    both = [lines[:, :-1], lines]
    without, line = _fits(found, part, both, outer, [beyond[:, :-1], beyond])
    losses = [
        np.sum((outer.targets - one.scores) ** 2, axis=1) / outer.noise / task.unit
        for one in (without, line)
    ]
    errors = [float(own.mean()) for own in losses]
    known = task.request.names
    name = f"column {tried[-1] if known is None else str(known[tried[-1]])!r}"
    where = "later rows" if task.later else f"rows outside of {name}"
    for what, error in zip(("no line", "a line"), errors, strict=True):
        task.note("trend", f"{where}, {what} in {name}", len(fitted), error)
    gain = losses[0] - losses[1]
    clear = gain.mean() > constants.TREND_CHANCE * gain.std() / math.sqrt(len(gain))
    better = errors[1] < constants.TREND_BETTER * errors[0]
    most = constants.TREND_LATER if task.later else constants.TREND_WITHIN
    return bool(clear and better and line.within <= most * without.within)


def _design(lines: Floats) -> Floats:
    """T: ones beside the lines."""
    return np.column_stack([np.ones(len(lines)), lines])


def _part(task: LearningRows, warp: Warp, found: Found, places: Places) -> TrendRows:
    """Rows of the pool as the kernel takes them."""
    raw, own = task.pool[places], task.data.weights_of(places)
    mapped = warp.times(found.mean_scales).apply(raw, np.float64)
    noise = np.ones(len(places)) if own is None else own.mean() / np.maximum(own, 1e-3 * own.mean())
    return TrendRows(raw, mapped, task.data.targets[places], noise)


def _fits(
    found: Found,
    part: TrendRows,
    lines: list[Floats],
    outer: TrendRows | None = None,
    beyond: Sequence[Floats] = (),
) -> list[Line]:
    """A fit for each of the lines (n, r), standardised, with the ridge of least leave-one-out
    error; beyond: the same columns of the outer rows, which have scores then."""
    kernel = _kernel(found, part.mapped, part.mapped)
    across = None if outer is None else _kernel(found, outer.mapped, part.mapped)
    found_lines: list[Line | None] = [None] * len(lines)
    ridges = sorted(constants.TREND_RIDGES, reverse=True)
    for inverse in in_order(lambda one: _inverse(kernel + np.diag(one * part.noise)), ridges):
        for k, own in enumerate(lines):
            design = _design(own)
            turned = inverse @ design
            solved = np.linalg.solve(design.T @ turned, turned.T)
            weights = solved @ part.targets
            dual = inverse @ (part.targets - design @ weights)
            left = np.diagonal(inverse) - np.einsum("ij,ji->i", turned, solved)
            losses = np.sum((dual / left[:, None]) ** 2, axis=1)
            within = float(np.average(losses, weights=1.0 / part.noise))
            best = found_lines[k]
            if best is not None and not lower(within, best.within):
                continue
            scores = np.empty((0, 0))
            if across is not None:
                scores = _design(beyond[k]) @ weights + across @ dual
            found_lines[k] = Line(within, scores, weights[1:])
    return [one for one in found_lines if one is not None]


def _inverse(matrix: Floats) -> Floats:
    """Of a symmetric positive definite matrix, which is overwritten."""
    if not inverse_lower(matrix.T):
        raise np.linalg.LinAlgError("the kernel matrix of a trial is not positive definite")
    return np.triu(matrix) + np.triu(matrix, 1).T


def _kernel(found: Found, rows: Floats, others: Floats) -> Floats:
    """k of mapped and scaled rows."""
    if found.kernel == "linear":
        return np.asarray(rows @ others.T)
    metric = "cityblock" if found.kernel == "laplacian" else "sqeuclidean"
    return np.asarray(np.exp(-cdist(rows, others, metric)))
