"""BLAS and LAPACK routines for symmetric matrices that several threads can call at once.

They are SciPy's own, called without the interpreter's lock, which `scipy.linalg` holds. All of them
use the lower triangle in column-major order, which is the upper triangle in row-major order.
"""

import ctypes
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import cython_blas, cython_lapack

from kitchensinks.numerics.arrays import AnyArray, DType
from kitchensinks.numerics.threads import in_order

# The letter and the C type of each dtype, by which BLAS and LAPACK name their functions.
_KINDS: dict[DType, tuple[str, Any]] = {
    np.dtype(np.float32): ("s", ctypes.c_float),
    np.dtype(np.float64): ("d", ctypes.c_double),
}
# Smaller matrices are factored by LAPACK on one thread.
_SHARED = 768
# Columns that are factored at a time: threads wait for each other less often than with 128, which
# take 1.3 times as long on two threads (K = 1170 and 2000).
_PANEL = 256
# Columns that a thread updates at a time.
_TILE = 256
# Columns of a Gram matrix that a thread computes at a time: half as many take a tenth longer.
_GRAM_TILE = 1024
# Columns of an inverse that a thread computes at a time.
_INVERTED = 128
# Fortran takes every argument by its address, letters too.
_CHAR, _ARRAY, _WHOLE = ctypes.c_char_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)


def _functions(module: Any, name: str, kinds: str) -> dict[DType, Any]:
    """A routine for each dtype. kinds: c for a character, i for a whole number, n for a number of
    the dtype, a for an array."""
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    found = {}
    for dtype, (letter, scalar) in _KINDS.items():
        capsule = module.__pyx_capi__[letter + name]
        address = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
        types: dict[str, Any] = {"c": _CHAR, "i": _WHOLE, "n": ctypes.POINTER(scalar), "a": _ARRAY}
        found[dtype] = ctypes.CFUNCTYPE(None, *(types[kind] for kind in kinds))(address)
    return found


# The letters: how `_functions` reads the arguments of each.
_SYRK = _functions(cython_blas, "syrk", "cciinainai")
_TRSM = _functions(cython_blas, "trsm", "cccciinaiai")
_GEMM = _functions(cython_blas, "gemm", "cciiinaiainai")
_POTRF = _functions(cython_lapack, "potrf", "ciaii")
_POTRI = _functions(cython_lapack, "potri", "ciaii")
_POTRS = _functions(cython_lapack, "potrs", "ciiaiaii")


def _whole(number: int) -> Any:
    return ctypes.byref(ctypes.c_int(number))


def _check_square(matrix: AnyArray, size: int, dtype: DType) -> None:
    if matrix.shape != (size, size) or not matrix.flags.f_contiguous or matrix.dtype != dtype:
        came = f"out {matrix.shape}, {matrix.dtype}"
        raise ValueError(f"{came}: need ({size}, {size}), {dtype}, 'F'.")


def gram_lower(rows: AnyArray, out: AnyArray) -> None:
    """Put rows'·rows into the lower triangle of `out`, whose upper triangle is left alone.

    rows (n, K) in float32 or float64; out (K, K) of the same dtype, column by column in memory.
    The threads of the team share the work, in tiles of columns that depend on K alone.
    """
    size, entry = rows.shape[1], rows.itemsize
    _check_square(out, size, rows.dtype)
    if rows.strides[1] != entry or rows.strides[0] < size * entry:
        rows = np.ascontiguousarray(rows)
    # Row by row in memory is the transpose, column by column.
    transposed = rows.ctypes.data, max(1, size, rows.strides[0] // entry), len(rows)
    _add_square(out, transposed, (1.0, 0.0), _tiles(0, size, _GRAM_TILE))


def _add_square(
    out: AnyArray,
    side: tuple[int, int, int],
    scales: tuple[float, float],
    tiles: list[tuple[int, int]],
) -> None:
    """a·S·S' + b·out in the columns of the tiles, on and below the diagonal; scales: a and b.

    side: the address of S (K, inner), entries from one column to the next, and `inner`. What is
    below the square on the diagonal of a tile is a product apart, and the largest products are the
    first, so that threads end at about the same time.
    """
    size = len(out)
    # (products, tile, whether below the diagonal's square)
    parts = [((stop - start) ** 2 // 2, (start, stop), False) for start, stop in tiles]
    parts += [((stop - start) * (size - stop), (start, stop), True) for start, stop in tiles]

    def work(part: tuple[int, tuple[int, int], bool]) -> None:
        _, tile, below = part
        (_add_below if below else _add_on_diagonal)(out, side, scales, tile)

    for _ in in_order(work, sorted(parts, reverse=True)):
        pass


def _add_on_diagonal(
    out: AnyArray, side: tuple[int, int, int], scales: tuple[float, float], tile: tuple[int, int]
) -> None:
    """The square of a tile's columns that has the diagonal."""
    (address, stride, inner), (start, stop), dtype = side, tile, out.dtype
    a, b = (ctypes.byref(_KINDS[dtype][1](scale)) for scale in scales)
    width, step, depth, own = (_whole(n) for n in (len(out), stride, inner, stop - start))
    top = address + out.itemsize * start
    _SYRK[dtype](b"L", b"N", own, depth, a, top, step, b, _at(out, start, start), width)


def _add_below(
    out: AnyArray, side: tuple[int, int, int], scales: tuple[float, float], tile: tuple[int, int]
) -> None:
    """What is below that square, in the columns of a tile."""
    (address, stride, inner), (start, stop), dtype = side, tile, out.dtype
    if stop == len(out):
        return
    a, b = (ctypes.byref(_KINDS[dtype][1](scale)) for scale in scales)
    width, step, depth, own = (_whole(n) for n in (len(out), stride, inner, stop - start))
    factors = address + out.itemsize * stop, step, address + out.itemsize * start, step
    rest, under = _whole(len(out) - stop), _at(out, stop, start)
    _GEMM[dtype](b"N", b"T", rest, own, depth, a, *factors, b, under, width)


def _tiles(first: int, size: int, tile: int) -> list[tuple[int, int]]:
    """The columns from `first` on, in tiles."""
    return [(start, min(start + tile, size)) for start in range(first, size, tile)]


def cholesky_lower(matrix: AnyArray) -> bool:
    """Put the Cholesky factor into the lower triangle, in place; False where there is none.

    matrix (K, K), column by column in memory; what is above the diagonal is left alone. From K =
    768 on the threads of the team share the work: A₂₂ − L₂₁·L₂₁' follows each panel of columns, in
    tiles that depend on K alone.
    """
    size = len(matrix)
    _check_square(matrix, size, matrix.dtype)
    if size < _SHARED:
        return _factored(matrix, 0, size)
    for first in range(0, size, _PANEL):
        last = min(first + _PANEL, size)
        if not _factored(matrix, first, last):
            return False
        panel = _at(matrix, 0, first), size, last - first
        tiles = _tiles(last, size, _TILE)
        for _ in in_order(partial(_solve_tile, matrix, (first, last)), tiles):
            pass
        _add_square(matrix, panel, (-1.0, 1.0), tiles)
    return True


def _at(matrix: AnyArray, row: int, column: int) -> int:
    """The address of an entry."""
    return int(matrix.ctypes.data) + matrix.itemsize * (row + column * len(matrix))


def _factored(matrix: AnyArray, first: int, last: int) -> bool:
    """The factor of the square from row and column `first` to `last`, in place."""
    failed, width = ctypes.c_int(0), _whole(max(1, len(matrix)))
    place = _at(matrix, first, first)
    _POTRF[matrix.dtype](b"L", _whole(last - first), place, width, ctypes.byref(failed))
    return failed.value == 0


def _solve_tile(matrix: AnyArray, panel: tuple[int, int], tile: tuple[int, int]) -> None:
    """L₂₁ = A₂₁·L₁₁'⁻¹ for the rows of a tile, in place."""
    (first, last), (start, stop) = panel, tile
    width, one = _whole(len(matrix)), ctypes.byref(_KINDS[matrix.dtype][1](1.0))
    sizes = _whole(stop - start), _whole(last - first)
    places = _at(matrix, first, first), _at(matrix, start, first)
    _TRSM[matrix.dtype](b"R", b"L", b"T", b"N", *sizes, one, places[0], width, places[1], width)


def solve_lower(factor: AnyArray, right: AnyArray) -> AnyArray:
    """A⁻¹·right from the Cholesky factor in the lower triangle of `factor`, column by column in
    memory; right (K, outputs) of the same dtype.

    >>> solve_lower(np.diag([2.0, 3.0]).copy(order="F"), np.array([[8.0], [9.0]]))
    array([[2.],
           [1.]])
    """
    size = len(factor)
    _check_square(factor, size, right.dtype)
    out, failed = np.array(right, order="F"), ctypes.c_int(0)
    width = _whole(max(1, size))
    sizes = _whole(size), _whole(right.shape[1])
    addresses = factor.ctypes.data, width, out.ctypes.data, width
    _POTRS[factor.dtype](b"L", *sizes, *addresses, ctypes.byref(failed))
    return out


def inverse_squares(factor: AnyArray) -> float:
    """‖L⁻¹‖² = tr (L·L')⁻¹ of the factor L in the lower triangle, column by column in memory.

    Some columns of L⁻¹ at a time, which have nothing above the first of them.

    >>> inverse_squares(np.diag([2.0, 4.0]).copy(order="F"))
    0.3125
    """
    size, one = len(factor), ctypes.byref(_KINDS[factor.dtype][1](1.0))
    _check_square(factor, size, factor.dtype)
    width = _whole(max(1, size))

    def of_tile(tile: tuple[int, int]) -> float:
        start, stop = tile
        columns = np.zeros((size - start, stop - start), factor.dtype, order="F")
        np.fill_diagonal(columns, 1.0)
        sizes = _whole(size - start), _whole(stop - start)
        places = _at(factor, start, start), width, columns.ctypes.data, sizes[0]
        _TRSM[factor.dtype](b"L", b"L", b"N", b"N", *sizes, one, *places)
        entries = columns.ravel(order="F")
        return float(entries @ entries)

    return sum(in_order(of_tile, _tiles(0, size, _INVERTED)))


def inverse_lower(matrix: AnyArray) -> bool:
    """Put the inverse of a positive definite matrix into its lower triangle, in place.

    False where it is not positive definite; matrix (K, K), column by column in memory.
    """
    if not cholesky_lower(matrix):
        return False
    size, failed = _whole(len(matrix)), ctypes.c_int(0)
    width = _whole(max(1, len(matrix)))
    _POTRI[matrix.dtype](b"L", size, matrix.ctypes.data, width, ctypes.byref(failed))
    return failed.value == 0
