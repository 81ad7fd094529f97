"""Cholesky factors of matrices that are positive definite up to rounding."""

import numpy as np

from kitchensinks.numerics.arrays import AnyArray
from kitchensinks.numerics.products import cholesky_lower, solve_lower
from kitchensinks.numerics.threads import in_order
from kitchensinks.tables.arrays import block_slices

# Growth of the jitter from one attempt to the next.
_GROWTH = 10.0
# Columns that are copied at a time.
_COLUMNS = 256


def lower_copy(matrix: AnyArray) -> AnyArray:
    """A column-major copy of the lower triangle of a symmetric matrix; the rest is not set."""
    source = matrix if matrix.strides[0] <= matrix.strides[1] else matrix.T
    copy = np.empty_like(source, order="F")

    def fill(part: slice) -> None:
        copy[part.start :, part] = source[part.start :, part]

    for _ in in_order(fill, block_slices(len(copy), _COLUMNS)):
        pass
    return copy


def ridge_factor(matrix: AnyArray, ridge: float, jitter: float = 0.0) -> AnyArray | None:
    """The factor of matrix + (ridge + jitter)·I in the lower triangle; the rest is not set.

    None where that sum, as it is, is not positive definite to rounding.
    """
    factor = lower_copy(matrix)
    diagonal = np.diag_indices_from(factor)
    factor[diagonal] += ridge
    factor[diagonal] += jitter
    return factor if cholesky_lower(factor) else None


def ridge_solve(matrix: AnyArray, ridge: float, right: AnyArray) -> AnyArray:
    """(matrix + ridge·I)⁻¹·right, with the jitter of `lower_factor`; the matrix is symmetric.

    >>> ridge_solve(np.array([[3.0, 0.0], [0.0, 8.0]]), 1.0, np.array([4.0, 18.0]))
    array([1., 2.])
    """
    factor = _jittered(matrix, ridge)[0]
    columns = right if right.ndim == 2 else right[:, None]
    return solve_lower(factor, columns).reshape(right.shape)


def lower_factor(matrix: AnyArray, ridge: float = 0.0) -> AnyArray:
    """The lower triangular L with L·L' = matrix + (ridge + jitter)·I; the matrix is symmetric.

    The jitter is the first of 0, d, 10·d, 100·d, … for which L exists, where d is ε times the
    largest diagonal entry and ε the rounding unit of the dtype of the matrix. A sum that is
    positive definite is factored as it is; one whose negative eigenvalues are rounding gets no more
    than ten times what makes it positive definite.

    >>> lower_factor(np.array([[4.0, 0.0], [0.0, 9.0]]))
    array([[2., 0.],
           [0., 3.]])
    """
    factor = _jittered(matrix, ridge)[0]
    for column in range(1, len(factor)):
        factor[:column, column] = 0.0
    return factor


def definite(matrix: AnyArray) -> AnyArray:
    """The matrix with the jitter of `lower_factor`, twice: as it is where that is zero."""
    jitter = _jittered(matrix)[1]
    if jitter == 0.0:
        return matrix
    shifted = matrix.copy()
    shifted[np.diag_indices_from(shifted)] += 2.0 * jitter
    return shifted


def _jittered(matrix: AnyArray, ridge: float = 0.0) -> tuple[AnyArray, float]:
    """The factor of matrix + (ridge + jitter)·I in the lower triangle, and the jitter."""
    jitter = 0.0
    while (factor := ridge_factor(matrix, ridge, jitter)) is None:
        if not np.isfinite(matrix).all():
            raise np.linalg.LinAlgError("A matrix with numbers that are not finite has no factor.")
        information = np.finfo(matrix.dtype)
        least = float(information.eps) * float(np.abs(np.diagonal(matrix) + ridge).max())
        jitter = max(_GROWTH * jitter, least, float(information.tiny))
    return factor, jitter
