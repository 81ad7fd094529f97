"""Symmetric products of matrices, callable from several threads at once."""

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cython_blas


def _function(name: str, scalar: Any) -> Any:
    """A BLAS routine of SciPy's that runs without the interpreter's lock, as `scipy.linalg.blas`
    does not."""
    capsule = cython_blas.__pyx_capi__[name]
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    address = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
    whole, number = ctypes.POINTER(ctypes.c_int), ctypes.POINTER(scalar)
    kinds = (ctypes.c_char_p, ctypes.c_char_p, whole, whole, number, ctypes.c_void_p, whole)
    return ctypes.CFUNCTYPE(None, *kinds, number, ctypes.c_void_p, whole)(address)


_SYRK = {
    np.dtype(np.float32): (_function("ssyrk", ctypes.c_float), ctypes.c_float),
    np.dtype(np.float64): (_function("dsyrk", ctypes.c_double), ctypes.c_double),
}


def gram_lower(rows: NDArray[Any], out: NDArray[Any]) -> None:
    """Put rows'·rows into the lower triangle of `out`, whose upper triangle is left alone.

    rows (n, K) in float32 or float64; out (K, K) of the same dtype, column by column in memory.
    """
    count, size = rows.shape
    entry = rows.itemsize
    if out.shape != (size, size) or not out.flags.f_contiguous or out.dtype != rows.dtype:
        raise ValueError(f"out {out.shape}, {out.dtype}: need ({size}, {size}), {rows.dtype}, 'F'.")
    if rows.strides[1] != entry or rows.strides[0] < size * entry:
        rows = np.ascontiguousarray(rows)
    syrk, scalar = _SYRK[rows.dtype]
    width, depth = ctypes.c_int(size), ctypes.c_int(count)
    stride = ctypes.c_int(max(1, size, rows.strides[0] // entry))
    one, zero = ctypes.byref(scalar(1.0)), ctypes.byref(scalar(0.0))
    # Row by row in memory is the transpose, column by column.
    source, target = rows.ctypes.data, out.ctypes.data
    syrk(b"L", b"N", width, depth, one, source, stride, zero, target, width)
