"""`categorical_features`: columns that are declared categorical, by name, index or mask."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kitchensinks.tables.spelling import nearest

# Only columns of categorical or text type are categorical.
FROM_DTYPE = "from_dtype"


def check_categories(given: Any) -> tuple[Any, ...]:
    """The columns that `categorical_features` lists, as a tuple, or an error.

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
            "name, by index, or as True and False for each column."
        )
    return tuple(sorted(listed)) if isinstance(given, set) else listed


def columns_named(given: Any, names: Sequence[str], named: bool = True) -> list[str]:
    """The names of the columns that `categorical_features` lists, in the order of the table.

    named: whether the columns have names of their own; those of an array have indices only.

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
            "indices, or a data frame."
        )
    if kind == "mask":
        if len(listed) != len(names):
            raise ValueError(
                f"categorical_features has a mask of {len(listed)} entries, and X has "
                f"{len(names)} columns: need one entry for each column."
            )
        return [name for name, taken in zip(names, listed, strict=True) if taken]
    known: Sequence[Any] = names if kind == "name" else range(len(names))
    for one in listed:
        if one not in known and kind == "name":
            near = nearest(one, list(names))
            raise ValueError(f"categorical_features has {one!r}, which is no column{near}")
        if one not in known:
            raise ValueError(
                f"categorical_features has the index {int(one)}, and X has {len(names)} columns: "
                f"need indices from 0 to {len(names) - 1}."
            )
    return [name for one, name in zip(known, names, strict=True) if one in listed]


def _kind(one: object) -> str:
    if isinstance(one, bool | np.bool_):
        return "mask"
    if isinstance(one, int | np.integer):
        return "place"
    return "name" if isinstance(one, str) else "other"
