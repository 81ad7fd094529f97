"""Checks of the arguments, and one search that turns any falling bound into its inverse."""

import math
import operator
from collections.abc import Callable


def positive(name: str, value: float, meaning: str) -> float:
    """`value` as a float, or an error that says what it stands for."""
    number = _number(name, value, "a positive finite number", meaning)
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"{name}={value!r}: need a positive finite number. It is {meaning}.")
    return number


def nonnegative(name: str, value: float, meaning: str) -> float:
    """`value` as a float that may be zero, or an error that says what it stands for."""
    number = _number(name, value, "a finite number of 0 or more", meaning)
    if not (math.isfinite(number) and number >= 0):
        raise ValueError(f"{name}={value!r}: need a finite number of 0 or more. It is {meaning}.")
    return number


def above(name: str, value: float, limit: float, meaning: str) -> float:
    """`value` as a float larger than `limit`, or an error that says what it stands for."""
    number = _number(name, value, f"a finite number above {limit:g}", meaning)
    if not (math.isfinite(number) and number > limit):
        raise ValueError(
            f"{name}={value!r}: need a finite number above {limit:g}. It is {meaning}."
        )
    return number


def probability(name: str, value: float) -> float:
    """`value` as a float strictly between 0 and 1."""
    meaning = "a chance of failure: give one that you accept, such as 0.05"
    number = _number(name, value, "a number strictly between 0 and 1", meaning)
    if not 0 < number < 1:
        raise ValueError(
            f"{name}={value!r}: need a number strictly between 0 and 1. It is {meaning}."
        )
    return number


def count(name: str, value: int, meaning: str) -> int:
    """`value` as a whole number of 1 or more."""
    try:
        whole = operator.index(value)
    except TypeError:
        raise TypeError(
            f"{name}={value!r} is of type {type(value).__name__}: need a whole number of 1 or "
            f"more. It is {meaning}."
        ) from None
    if isinstance(value, bool) or whole < 1:
        raise ValueError(f"{name}={value!r}: need a whole number of 1 or more. It is {meaning}.")
    return whole


def smallest_count(bound: Callable[[int], float], error: float, *, start: int = 1) -> int:
    """The smallest whole number n >= `start` with bound(n) <= error, for a bound that falls with n.

    >>> smallest_count(lambda n: 3 / n, 0.5)
    6
    """
    high = start
    while bound(high) > error:
        high *= 2
        if high.bit_length() > 400:
            raise ValueError(
                f"error={error!r}: the bound is still {bound(high):.3g} at {high:.3g}. "
                "Ask for a larger error, or lower what the bound cannot shrink."
            )
    low = max(high // 2, start - 1)
    while high - low > 1:
        middle = (low + high) // 2
        if bound(middle) <= error:
            high = middle
        else:
            low = middle
    return high


def leaves_room(error: float, fixed: float, part: str, remedy: str) -> None:
    """Raise when the part of a bound that the asked count cannot shrink is already `error`."""
    if fixed >= error:
        raise ValueError(
            f"error={error!r}: {part} alone is {fixed:.3g}, and no count brings the bound below "
            f"it. {remedy}"
        )


def _number(name: str, value: float, need: str, meaning: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(
            f"{name}={value!r} is of type {type(value).__name__}: need {need}. It is {meaning}."
        ) from None
