"""What the bounds share: checks of the arguments by their names, and `solve`, their inverse."""

import functools
import inspect
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar, overload

from scipy.optimize import brentq

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Rule:
    """What an argument stands for and what it must be; calling the rule converts and checks it."""

    meaning: str
    need: str
    allowed: Callable[[Any], bool]
    convert: Callable[[Any], Any] = float

    def __call__(self, name: str, value: Any) -> Any:
        told = f"need {self.need}. It is {self.meaning}."
        try:
            converted = self.convert(value)
        except (TypeError, ValueError):
            kind = type(value).__name__
            raise TypeError(f"{name}={value!r} is of type {kind}: {told}") from None
        if isinstance(value, bool) or not (math.isfinite(converted) and self.allowed(converted)):
            raise ValueError(f"{name}={value!r}: {told}")
        return converted


def checked(**rules: Rule) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator that puts every argument given by name to the rule of that name.

    The docstring of the function gains the list of its arguments, each with the meaning that its
    rule states; that is where the letters of the paper are mapped to the names of the arguments.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        names = [name for name in inspect.signature(function).parameters if name in rules]

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            values: Any = {
                name: rules[name](name, value) if name in rules else value
                for name, value in kwargs.items()
            }
            return function(*args, **values)

        listed = "\n".join(f"{name} : {rules[name].meaning}." for name in names)
        call.__doc__ = f"{inspect.getdoc(function)}\n\nParameters\n----------\n{listed}\n"
        return call

    return decorate


def positive(meaning: str) -> Rule:
    return Rule(meaning, "a positive finite number", lambda value: value > 0)


def nonnegative(meaning: str) -> Rule:
    return Rule(meaning, "a finite number of 0 or more", lambda value: value >= 0)


def chance(meaning: str) -> Rule:
    return Rule(meaning, "a number strictly between 0 and 1", lambda value: 0 < value < 1)


def count(meaning: str) -> Rule:
    need = "a whole number of 1 or more"
    return Rule(meaning, need, lambda value: value >= 1, operator.index)


DELTA = chance("δ, the probability of failure: pass one that you accept, such as 0.05")


@overload
def solve(
    unknown: str, bound: Callable[..., float], *, value: float, start: int = 1, **arguments: Any
) -> int: ...
@overload
def solve(
    unknown: str,
    bound: Callable[..., float],
    *,
    value: float,
    between: tuple[float, float],
    **arguments: Any,
) -> float: ...
def solve(
    unknown: str,
    bound: Callable[..., float],
    *,
    value: float,
    between: tuple[float, float] | None = None,
    start: int = 1,
    **arguments: Any,
) -> float:
    """The inverse of any bound: the argument `unknown` for which `bound` is `value`.

    A count such as n_features or n_rows is the smallest whole number, from `start` on, at which the
    bound is at most `value`. With `between` = (low, high), both positive, the argument is a real
    number of that interval at which a monotone bound equals `value`. The other arguments of the
    bound are passed by name.

    >>> from kitchensinks import theory
    >>> theory.solve("n_features", theory.sinks_l2_error, value=0.1, weight_bound=1.0, delta=0.05)
    1189
    >>> mu = theory.solve("mu", theory.polynomial_freedom, value=40.0, between=(1e-9, 0.9),
    ...                   scale=1.0, exponent=2.0)
    >>> round(mu, 6)
    0.01
    """
    value = positive("what the bound is to be")("value", value)

    def at(place: float) -> float:
        return bound(**arguments, **{unknown: place})

    if between is not None:
        return _root(at, value, between)
    high: int = count("the first number that is tried")("start", start)
    while (reached := at(high)) > value:
        high *= 2
        if high.bit_length() > 400:
            others = ", ".join(f"{name}={held!r}" for name, held in arguments.items())
            raise ValueError(
                f"value={value!r}: the bound is still {reached:.3g} at {unknown}={high:.3g}, and "
                f"no count brings it lower. Ask for a larger value, or change {others or 'it'}."
            )
    low = max(high // 2, start - 1)
    while high - low > 1:
        middle = (low + high) // 2
        if at(middle) <= value:
            high = middle
        else:
            low = middle
    return high


def _root(bound: Callable[[float], float], value: float, between: tuple[float, float]) -> float:
    """Where a monotone bound has the value, searched on a logarithmic axis."""
    low, high = (positive("an end of the interval")("between", end) for end in between)
    ends = bound(low), bound(high)
    if not min(ends) <= value <= max(ends):
        raise ValueError(
            f"value={value!r}: the bound runs from {ends[0]:.3g} to {ends[1]:.3g} between {low:g} "
            f"and {high:g}. Ask for a value in that range, or widen `between`."
        )
    place = brentq(lambda log: bound(math.exp(log)) - value, math.log(low), math.log(high))
    return math.exp(float(place))
