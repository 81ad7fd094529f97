"""Sums over the few classes of many rows, which NumPy takes one small row at a time."""

import math
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from kitchensinks.numerics.threads import looped

Floats = NDArray[np.float64]


@looped()
def _softmax(scores: Any, out: Any) -> None:
    for i in numba.prange(scores.shape[0]):
        top = scores[i, 0]
        for c in range(1, scores.shape[1]):
            top = max(top, scores[i, c])
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


@looped()
def _log_sum_exp(scores: Any, out: Any) -> None:
    for i in numba.prange(scores.shape[0]):
        top = scores[i, 0]
        for c in range(1, scores.shape[1]):
            top = max(top, scores[i, c])
        total = 0.0
        for c in range(scores.shape[1]):
            total += math.exp(scores[i, c] - top)
        out[i] = top + math.log(total)


def log_sum_exp(scores: Floats) -> Floats:
    """log Σ_c exp(u_c) over the last axis.

    >>> log_sum_exp(np.array([[0.0, np.log(3.0)]])) == np.log(4.0)
    array([ True])
    """
    rows = _rows(scores)
    out = np.empty(len(rows))
    _log_sum_exp(rows, out)
    return out.reshape(scores.shape[:-1])


@looped()
def _entropy(shares: Any, out: Any) -> None:
    for i in numba.prange(shares.shape[0]):
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
    rows = _rows(shares)
    out = np.empty(len(rows))
    _entropy(rows, out)
    return out.reshape(shares.shape[:-1])


def _rows(values: Floats) -> Floats:
    return np.ascontiguousarray(values, dtype=np.float64).reshape(-1, values.shape[-1])
