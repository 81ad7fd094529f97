"""Checks of the numbers that users give: each error names the parameter and what it needs."""

import math
import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np

# Largest count: more than any memory can hold, and small enough that products are finite.
MOST_COUNTED = 10**15


def check_count(name: str, value: object) -> int:
    """The value as an int, if it is an integer of 1 or more; else an error."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Integral):
        raise TypeError(
            f"{name}={value!r} is of type {type(value).__name__}: need a whole number of 1 or more."
        )
    if int(value) < 1:
        raise ValueError(f"{name}={value!r}: need a whole number of 1 or more.")
    if int(value) > MOST_COUNTED:
        raise ValueError(
            f"{name} is above {MOST_COUNTED:.0e}: need a whole number of at most that."
        )
    return int(value)


def check_bool(name: str, value: object) -> bool:
    """The value, if it is True or False; else an error, because "no" would count as True."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name}={value!r}: need True or False.")
    return bool(value)


def check_positive(name: str, value: Any, advice: str = "") -> float:
    """The value as a float, if it is positive and finite; else an error."""
    good = isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
    if not (good and math.isfinite(value) and value > 0):
        raise ValueError(f"{name}={value!r}: need a positive finite number{advice}.")
    return float(value)


def check_choice(name: str, value: object, choices: Iterable[str]) -> str:
    choices = list(choices)
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name}={value!r}: need one of {', '.join(map(repr, choices))}.")
    return value
