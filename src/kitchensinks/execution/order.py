"""Order statistics of numbers that stay where they are: medians of targets, keys to hold out.

Read as whole numbers, the bits of floating-point numbers have their order, once those of negative
ones are inverted. So the number of a given rank is found in four steps of sixteen bits, each of
which adds up the weights in 65,536 intervals: exact, and from sums alone.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from dask import delayed

from kitchensinks.execution.cluster import Task, persist, tree
from kitchensinks.execution.partitions import Partitions
from kitchensinks.problem.losses import Array
from kitchensinks.problem.targets import NORMAL_DEVIATION
from kitchensinks.tables.keys import Keys

_BITS = 16
_SIGN = np.uint64(1 << 63)


def order_statistic(
    partitions: Partitions, nodes: list[Task], rank: Callable[[Array], Any]
) -> Keys:
    """The least word of each column with a weight of `rank(total)` at or below it.

    nodes: tasks of pairs of words (n, columns) and their weights (n,).
    """
    prefix: Any = None
    below: Any = 0.0
    for shift in range(64 - _BITS, -1, -_BITS):
        counts = [delayed(_counts)(node, prefix, shift) for node in nodes]
        (weights,) = partitions.compute(tree(counts, np.add))
        if prefix is None:
            wanted = rank(weights.sum(axis=0))
            prefix = np.zeros(weights.shape[1], dtype=np.uint64)
        reached = below + np.cumsum(weights, axis=0)
        # Rounding may leave the last sum just below what is wanted: then it is the last interval.
        least = np.minimum(wanted, reached[-1])
        place = np.argmax(reached >= least, axis=0)
        columns = np.arange(len(place))
        below = reached[place, columns] - weights[place, columns]
        prefix = (prefix << np.uint64(_BITS)) | place.astype(np.uint64)
    found: Keys = prefix
    return found


def robust_spread(partitions: Partitions, nodes: list[Task]) -> float:
    """As `problem.targets.robust_spread`, of values in tasks: pairs of (n, columns) and weights."""
    nodes = persist(*nodes)
    centre = _median(partitions, nodes)
    away = persist(*[delayed(_deviations)(node, centre) for node in nodes])
    spread = NORMAL_DEVIATION * float(_median(partitions, away)[0])
    if spread <= 0.0:
        (sums,) = partitions.compute(tree([delayed(_sums)(node) for node in away], np.add))
        spread = float(sums[0] / sums[1])
    return spread if spread > 0.0 and np.isfinite(spread) else 1.0


def _median(partitions: Partitions, nodes: list[Task]) -> Array:
    """Of each column, the mean of the two middle values."""
    middle = []
    for sign in (1.0, -1.0):
        words = [delayed(_words)(node, sign) for node in nodes]
        found = order_statistic(partitions, words, lambda total: 0.5 * total)
        bits = np.where(found & _SIGN, found ^ _SIGN, ~found)
        middle.append(sign * bits.view(np.float64))
    return np.asarray(0.5 * (middle[0] + middle[1]))


# -- what runs on the workers ------------------------------------------------------------


def _counts(weighted: tuple[Keys, Array], prefix: Any, shift: int) -> Array:
    """The weight in each interval of words that begin with the bits of the prefix."""
    words, weights = weighted
    places = ((words >> np.uint64(shift)) & np.uint64(2**_BITS - 1)).astype(np.intp)
    found = np.zeros((2**_BITS, words.shape[1]))
    for column in range(words.shape[1]):
        own = weights
        if prefix is not None:
            inside = words[:, column] >> np.uint64(shift + _BITS) == prefix[column]
            own = np.where(inside, weights, 0.0)
        found[:, column] = np.bincount(places[:, column], own, 2**_BITS)
    return found


def _words(weighted: tuple[Array, Array], sign: float) -> tuple[Keys, Array]:
    values, weights = weighted
    # Adding zero makes −0.0 and 0.0 the same bits.
    bits = (sign * values + 0.0).view(np.uint64)
    return np.where(bits & _SIGN, ~bits, bits | _SIGN), weights


def _deviations(weighted: tuple[Array, Array], centre: Array) -> tuple[Array, Array]:
    """|y − centre| of all columns, one below the other."""
    values, weights = weighted
    return np.abs(values - centre).reshape(-1, 1), np.repeat(weights, values.shape[1])


def _sums(weighted: tuple[Array, Array]) -> Array:
    values, weights = weighted
    return np.array([weights @ values[:, 0], weights.sum()])
