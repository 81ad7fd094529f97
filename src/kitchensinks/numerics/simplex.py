"""Softmax and related functions over classes: NumPy is slow for many short rows."""

import math
from typing import Any

import numpy as np

from kitchensinks.numerics.arrays import AnyArray, Floats, Ints
from kitchensinks.numerics.threads import Loop, compiled, inlined, looped

# The smallest factor that scores are multiplied with for a log loss.
_COLDEST = 1e-6
# The largest factor: scores in units of the targets then mean near certainty.
_HOTTEST = 1e6
# Newton steps in the search for the best factor.
_STEPS = 30


@inlined()
def _largest(scores: AnyArray) -> Any:
    top = scores[0]
    for c in range(1, len(scores)):
        top = scores[c] if scores[c] > top else top
    return top


@looped(lambda scores, *_: len(scores))
def _softmax(scores: AnyArray, out: AnyArray, begin: int, end: int) -> None:
    for i in range(begin, end):
        top = _largest(scores[i])
        total = 0.0
        for c in range(scores.shape[1]):
            out[i, c] = math.exp(scores[i, c] - top)
            total += out[i, c]
        for c in range(scores.shape[1]):
            out[i, c] /= total


def softmax(scores: Floats) -> Floats:
    """exp(u_c)/Σ_c exp(u_c) over the last axis.

    >>> softmax(np.array([[0.0, np.log(3.0)]]))
    array([[0.25, 0.75]])
    """
    rows = _rows(scores)
    out = np.empty_like(rows)
    _softmax(rows, out)
    return out.reshape(scores.shape)


@looped(lambda scores, *_: len(scores))
def _log_sum_exp(scores: AnyArray, out: AnyArray, begin: int, end: int) -> None:
    for i in range(begin, end):
        top = _largest(scores[i])
        total = 0.0
        for c in range(scores.shape[1]):
            total += math.exp(scores[i, c] - top)
        out[i] = top + math.log(total)


def log_sum_exp(scores: Floats) -> Floats:
    """log Σ_c exp(u_c) over the last axis.

    >>> log_sum_exp(np.array([[0.0, np.log(3.0)]])) == np.log(4.0)
    array([ True])
    """
    return _by_rows(_log_sum_exp, scores)


@looped(lambda shares, *_: len(shares))
def _entropy(shares: AnyArray, out: AnyArray, begin: int, end: int) -> None:
    for i in range(begin, end):
        total = 0.0
        for c in range(shares.shape[1]):
            if shares[i, c] > 0.0:
                total -= shares[i, c] * math.log(shares[i, c])
        out[i] = total


def entropy(shares: Floats) -> Floats:
    """−Σ_c p_c·log p_c over the last axis; what is not positive counts as zero.

    >>> entropy(np.array([[0.5, 0.5, 0.0]])) == np.log(2.0)
    array([ True])
    """
    return _by_rows(_entropy, shares)


def _rows(values: Floats) -> Floats:
    return np.ascontiguousarray(values, dtype=np.float64).reshape(-1, values.shape[-1])


def _by_rows(loop: Loop, values: Floats) -> Floats:
    """The result of a loop for each row, in the shape of all axes but the last."""
    rows = _rows(values)
    out = np.empty(len(rows))
    loop(rows, out)
    return out.reshape(values.shape[:-1])


@compiled()
def _tempered(
    scores: AnyArray, labels: AnyArray, weights: AnyArray, t: float, out: AnyArray
) -> Any:
    """log Σ_c exp(t·u_c) − t·u_y into `out`, and the first two derivatives of Σ w·out in t."""
    slope, bend = 0.0, 0.0
    n_rows, n_classes = scores.shape
    for i in range(n_rows):
        top = _largest(scores[i])
        total, first, second = 0.0, 0.0, 0.0
        for c in range(n_classes):
            below = scores[i, c] - top
            part = math.exp(t * below)
            total += part
            first += part * below
            second += part * below * below
        mean = first / total
        own = scores[i, labels[i]] - top
        out[i] = math.log(total) - t * own
        slope += weights[i] * (mean - own)
        bend += weights[i] * (second / total - mean * mean)
    return slope, bend


def log_losses(scores: Floats, labels: Ints, weights: Floats) -> Floats:
    """The log loss of each row under softmax(t·u), (n,), with the t > 0 of the least weighted mean.

    scores u (n, classes), labels (n,), weights (n,). The mean is convex in t, so that Newton steps
    find it; none changes t by more than a factor of four.

    >>> scores = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    >>> found = log_losses(scores, np.array([1, 1, 1, 0]), np.ones(4))  # p = 3/4 at t = log 3
    >>> found.round(4).tolist() == [-round(math.log(p), 4) for p in (0.75, 0.75, 0.75, 0.25)]
    True
    """
    t, weights = 4.0, weights / weights.sum()
    losses = np.empty(len(scores))
    for _ in range(_STEPS):
        slope, bend = _tempered(scores, labels, weights, t, losses)
        aim = t - slope / bend if bend > 0.0 else (4.0 * t if slope < 0.0 else t)
        aim = min(max(aim, t / 4.0, _COLDEST), 4.0 * t, _HOTTEST)
        if abs(aim - t) <= 1e-4 * t:
            break
        t = aim
    return losses
