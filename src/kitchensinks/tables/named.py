"""Columns that are categories although their type does not say so, by name, place or mask."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kitchensinks.tables.table import nearest

# Columns are categories where their type says so: declared categories, and text.
FROM_DTYPE = "from_dtype"


def check_categories(given: object) -> tuple[Any, ...]:
    """What `categorical_features` names beside columns whose type says it, or an error.

    >>> check_categories([2, 0]), check_categories("from_dtype")
    ((2, 0), ())
    """
    if given is None or (isinstance(given, str) and given == FROM_DTYPE):
        return ()
    listed = tuple(given) if isinstance(given, list | tuple | set | np.ndarray) else (None,)
    kinds = {_kind(one) for one in listed}
    if "other" in kinds or len(kinds) > 1:
        raise TypeError(
            f"categorical_features={given!r}: need 'from_dtype', None, or a list of columns by "
            "name, by place, or as True and False for each column."
        )
    return tuple(sorted(listed)) if isinstance(given, set) else listed


def columns_named(given: object, names: Sequence[str], named: bool = True) -> list[str]:
    """The columns that `categorical_features` names, in the order of the columns.

    named: whether the columns have names of their own; those of an array have places alone.

    >>> columns_named([2, 0], ["age", "height", "city"])
    ['age', 'city']
    >>> columns_named([False, True, False], ["age", "height", "city"])
    ['height']
    >>> columns_named("from_dtype", ["age", "height", "city"])
    []
    """
    listed = check_categories(given)
    if not listed:
        return []
    kind = _kind(listed[0])
    if kind == "name" and not named:
        raise ValueError(
            f"categorical_features={given!r} has names, and X is an array without any: give "
            "places, or a data frame."
        )
    if kind == "mask":
        taken = _of_mask(listed, names)
    else:
        taken = _of_places(listed, names) if kind == "place" else _of_names(listed, names)
    return [name for name in names if name in taken]


def _of_mask(given: Sequence[bool], names: Sequence[str]) -> set[str]:
    if len(given) != len(names):
        raise ValueError(
            f"categorical_features has {len(given)} times True or False, and X has "
            f"{len(names)} columns: need one for each."
        )
    return {name for name, taken in zip(names, given, strict=True) if taken}


def _of_places(given: Sequence[int], names: Sequence[str]) -> set[str]:
    wrong = [int(place) for place in given if not 0 <= place < len(names)]
    if wrong:
        raise ValueError(
            f"categorical_features has the place {wrong[0]}, and X has {len(names)} columns: "
            f"need places from 0 to {len(names) - 1}."
        )
    return {names[int(place)] for place in given}


def _of_names(given: Sequence[str], names: Sequence[str]) -> set[str]:
    taken = {str(name) for name in given}
    unknown = sorted(taken - set(names))
    if unknown:
        raise ValueError(
            f"categorical_features has {unknown[0]!r}, which is no column"
            f"{nearest(unknown[0], list(names))}"
        )
    return taken


def _kind(one: object) -> str:
    if isinstance(one, bool | np.bool_):
        return "mask"
    if isinstance(one, int | np.integer):
        return "place"
    return "name" if isinstance(one, str) else "other"
