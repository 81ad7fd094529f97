"""Values from a file, checked against the types that the fields of a class declare."""

import types
import typing
from typing import Any

import numpy as np

from kitchensinks.numerics.arrays import AnyArray

# Floating-point numbers that compiled loops take.
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def declared(value: object, hint: object, name: str) -> Any:
    """The value, if it is of the type that its field declares, or an error.

    A whole number is taken for a decimal one; entries of lists and tuples are checked too, and the
    kind of numbers of an array.

    >>> declared((1, 2.5), tuple[float, ...], "fills")
    (1, 2.5)
    >>> declared("three", int, "pool")
    Traceback (most recent call last):
    ...
    ValueError: pool is str where int is needed
    """
    kinds = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if not any(_fits(value, kind) for kind in kinds):
        told = getattr(hint, "__name__", hint) if isinstance(hint, type) else hint
        raise ValueError(f"{name} is {type(value).__name__} where {told} is needed")
    return value


def _fits(value: Any, kind: object) -> bool:
    origin, inner = typing.get_origin(kind) or kind, typing.get_args(kind)
    if origin is Any:
        return True
    if origin in (int, float, bool):
        return type(value) is origin or (origin is float and type(value) is int)
    matches = isinstance(origin, type) and isinstance(value, origin)
    if not matches:
        return False
    if origin is np.ndarray and len(inner) == 2:
        return _has_kind(value, *typing.get_args(inner[1]))
    if origin in (list, tuple) and inner and inner[-1] in (inner[0], ...):
        return all(_fits(item, inner[0]) for item in value)
    return True


def _has_kind(array: AnyArray, kind: Any) -> bool:
    if kind is Any or isinstance(kind, typing.TypeVar):
        return True
    wanted = np.dtype(kind)
    return array.dtype in _FLOATS if wanted.kind == "f" else array.dtype == wanted
