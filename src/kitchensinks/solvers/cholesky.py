"""Cholesky factors of matrices that are positive definite up to the rounding of their sums."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kitchensinks.numerics.pairs import clear_lower
from kitchensinks.numerics.products import cholesky_lower

# Each further attempt adds this many times as much to the diagonal.
_GROWTH = 10.0


def column_by_column(matrix: NDArray[Any]) -> NDArray[Any]:
    """A copy of a symmetric matrix, column by column in memory, without transposing it."""
    return np.array(matrix if matrix.flags.f_contiguous else matrix.T, order="F")


def lower_factor(matrix: NDArray[Any]) -> NDArray[Any]:
    """The lower triangular L with L·L' = matrix + jitter·I, for a finite symmetric matrix.

    The jitter is the first of 0, d, 10·d, 100·d, … for which L exists, where d is ε times the
    largest diagonal entry and ε the rounding unit of the dtype of the matrix. A matrix that is
    positive definite is factored as it is; one whose negative eigenvalues are rounding gets no more
    than ten times what makes it positive definite.

    >>> lower_factor(np.array([[4.0, 0.0], [0.0, 9.0]]))
    array([[2., 0.],
           [0., 3.]])
    """
    diagonal = np.diag_indices_from(matrix)
    jitter = 0.0
    while True:
        shifted = column_by_column(matrix)
        shifted[diagonal] += jitter
        if cholesky_lower(shifted):
            clear_lower(shifted.T)
            return shifted
        if not np.isfinite(matrix).all():
            raise np.linalg.LinAlgError("A matrix with numbers that are not finite has no factor.")
        information = np.finfo(matrix.dtype)
        least = float(information.eps) * float(np.abs(matrix[diagonal]).max())
        jitter = max(_GROWTH * jitter, least, float(information.tiny))
