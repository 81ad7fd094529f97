"""Parameters of bases: serialisation to JSON and arrays, and comparison."""

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from kitchensinks.numerics.arrays import Arrays

if TYPE_CHECKING:
    from kitchensinks.features.bases.base import Basis

# Values that JSON holds as they are.
_PLAIN = (str, int, float, bool, type(None))


def known_bases() -> "dict[str, type[Basis]]":
    """The bases that a model file may name: those that `kitchensinks.features.bases` imports."""
    package = sys.modules[__name__.rpartition(".")[0]]
    base = package.Basis
    return {
        name: kind
        for name, kind in vars(package).items()
        if isinstance(kind, type) and issubclass(kind, base) and kind is not base
    }


def to_json(value: object, place: str, arrays: Arrays) -> Any:
    """A value as JSON; arrays are added to `arrays`, named after their place.

    >>> to_json((1.0, np.float32(0.5)), "gamma", {})
    {'list': [1.0, 0.5], 'tuple': True}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, np.ndarray) and value.dtype != object:
        arrays[place] = value
        return {"array": place}
    if isinstance(value, list | tuple):
        items = [to_json(item, f"{place}-{k}", arrays) for k, item in enumerate(value)]
        return {"list": items, "tuple": isinstance(value, tuple)}
    if hasattr(value, "describe"):
        return value.describe(place, arrays)
    raise ValueError(f"{place}={value!r} cannot be stored in a model file.")


def from_json(value: object, arrays: Arrays) -> Any:
    """The value that `to_json` has written, bases included.

    >>> arrays = {}
    >>> from_json(to_json([np.arange(2)], "edges", arrays), arrays)
    [array([0, 1])]
    """
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays[value["array"]]
    if "list" in value:
        items = [from_json(item, arrays) for item in value["list"]]
        return tuple(items) if value["tuple"] else items
    kind = known_bases().get(value["basis"])
    if kind is None:
        raise ValueError(f"{value['basis']!r} is no basis that this version knows")
    return kind(**{name: from_json(item, arrays) for name, item in value["fields"].items()})


def same_value(mine: Any, theirs: Any) -> bool:
    """Whether two parameters are equal; arrays, bases and functions are compared by content.

    >>> same_value([np.arange(2)], [np.arange(2)]), same_value(lambda x: x, lambda x: -x)
    (True, False)
    """
    if hasattr(mine, "same"):
        return bool(mine.same(theirs))
    if isinstance(mine, list | tuple):
        listed = isinstance(theirs, list | tuple) and len(mine) == len(theirs)
        return listed and all(map(same_value, mine, theirs))
    if isinstance(mine, np.ndarray) or isinstance(theirs, np.ndarray):
        return np.array_equal(mine, theirs)
    if hasattr(mine, "__code__"):
        return hasattr(theirs, "__code__") and same_value(_contents(mine), _contents(theirs))
    return bool(mine == theirs)


def _contents(function: Any) -> tuple[Any, ...]:
    """The content of a Python function: its code, defaults and closure."""
    cells = tuple(cell.cell_contents for cell in function.__closure__ or ())
    return function.__code__, function.__defaults__, function.__kwdefaults__, cells
