"""Exact pairwise distances, safe for very long rows."""

import numpy as np
from scipy.spatial.distance import cdist

from kitchensinks.numerics.arrays import Floats

# Above this squared length ‖x‖² + ‖z‖² − 2x·z cancels too many digits.
_LONG = 1e4


def squared_euclidean(rows: Floats, others: Floats) -> Floats:
    """‖x − z‖² for every pair, shape (rows, others), to 1e-11 absolute or 1e-15 relative.

    One matrix product of the centred rows while they are short enough for it, else the plain
    sum of squared differences (which may overflow to infinity for rows beyond 1e150, never
    to NaN).
    """
    with np.errstate(over="ignore", invalid="ignore"):
        centre = others.sum(axis=0) / max(1, len(others))
        near, far = rows - centre, others - centre
        lengths = np.einsum("ij,ij->i", near, near)
        other_lengths = np.einsum("ij,ij->i", far, far)
        longest = np.maximum(lengths.max(initial=0.0), other_lengths.max(initial=0.0))
        if not longest <= _LONG:
            return np.asarray(cdist(rows, others, "sqeuclidean"))
    distances = near @ far.T
    distances *= -2.0
    distances += lengths[:, None]
    distances += other_lengths
    np.maximum(distances, 0.0, out=distances)
    if rows is others:
        np.fill_diagonal(distances, 0.0)
    return np.asarray(distances)


def euclidean(rows: Floats, others: Floats) -> Floats:
    """‖x − z‖₂ for every pair, by differences (a square root magnifies rounding)."""
    return np.asarray(cdist(rows, others, "euclidean"))


def cityblock(rows: Floats, others: Floats) -> Floats:
    """‖x − z‖₁ for every pair."""
    return np.asarray(cdist(rows, others, "cityblock"))
