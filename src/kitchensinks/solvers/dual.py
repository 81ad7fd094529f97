"""Fewer rows than features: the same problem in the span of the rows.

Random bases, section IV: where n < K it is cheaper to work with the n × n matrix of inner
products. With B = √w·(Z − z̄) and BB' = U diag(s) U', the weights of any ridge or 2-norm problem
lie in the span V = B'U/√s of the rows, and ‖Vβ̃‖ = ‖β̃‖: the problem in β̃ has the features
(Z − z̄)V, whose Gram is diag(s), and at most n of them.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from kitchensinks.losses import Array


class Span(NamedTuple):
    """The rows in an orthonormal basis of their span: features (n, rank), directions (K, rank)."""

    features: Array
    directions: Array
    mean: Array
    values: Array


def span_of_rows(features: NDArray[Any], shares: Array, fit_intercept: bool) -> Span:
    """The span of n rows of features (n, K) with weights `shares` that sum to one."""
    features = features.astype(np.float64, copy=False)
    mean = shares @ features if fit_intercept else np.zeros(features.shape[1])
    centred = features - mean
    weighted = np.sqrt(shares)[:, None] * centred
    values, vectors = eigh(weighted @ weighted.T, check_finite=False)
    largest = float(values.max(initial=0.0))
    kept = values > largest * len(values) * np.finfo(float).eps
    if not kept.any():
        kept[-1] = True
        values = np.maximum(values, np.finfo(float).tiny)
    directions = weighted.T @ (vectors[:, kept] / np.sqrt(values[kept]))
    return Span(centred @ directions, directions, mean, values[kept])
