"""Which rows are held out while a law is learned: runs, whole groups, the latest, or a splitter's.

Rows to be predicted may belong to other groups than the fitted ones, or come later. Held-out rows
are chosen in the same way.
"""

import math
import reprlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kitchensinks.law import constants
from kitchensinks.law.learned import Learned
from kitchensinks.numerics.arrays import AnyArray, Matrix
from kitchensinks.numerics.words import Stream, Words
from kitchensinks.tables.arrays import block_slices, densify, describe
from kitchensinks.tables.columns import Columns
from kitchensinks.tables.encoders import Date, Number
from kitchensinks.tables.spelling import nearest
from kitchensinks.tables.table import Table
from kitchensinks.tables.view import Rows, known_targets

Places = NDArray[np.intp]
# Rows of a table that are read together.
_BLOCK = 2**14


class Order(NamedTuple):
    """The group and the time of each row, (n,), or None.

    dated: the times come from a date column that orders the rows, and that nobody named.
    """

    groups: NDArray[np.int64] | None = None
    times: NDArray[np.float64] | None = None
    dated: bool = False

    def part(self, places: Places) -> "Order":
        """That of some of the rows."""
        groups = None if self.groups is None else self.groups[places]
        times = None if self.times is None else self.times[places]
        return self._replace(groups=groups, times=times)


NO_ORDER = Order()


def order_of(
    learned: object, rows: Matrix, names: Sequence[str] | None = None, given: object = None
) -> Order:
    """Groups and times of rows from the named columns; names: of the columns of an array.

    Without a named column, the times are those of a date column that orders the rows. given: the
    group of each row, in place of a column.
    """
    if not isinstance(learned, Learned):
        if given is not None:
            raise ValueError(
                "groups say which rows are held out while a law is learned, and this basis is "
                f"given ({reprlib.repr(learned)}): need basis=None or ks.Learned(...), or fit "
                "without groups. In cross-validation the splitter needs them, such as GroupKFold."
            )
        return NO_ORDER
    groups = times = None
    if given is not None:
        groups = _given_groups(given, rows.shape[0], learned)
    elif learned.groups is not None:
        groups = _groups(rows, learned.groups, names)
    if learned.time is not None:
        times = _times(rows, learned.time, names)
    if groups is not None or times is not None or learned.split is not None:
        return Order(groups, times)
    times = _dates(rows) if isinstance(rows, Rows) else None
    return NO_ORDER if times is None else Order(None, times, dated=True)


def _given_groups(given: Any, n_rows: int, learned: Learned) -> NDArray[np.int64]:
    """The number of each row's group, from numbers or names; missing ones are a group together."""
    if learned.groups is not None:
        raise ValueError(
            f"groups were given to fit, and Learned has groups={learned.groups!r}: leave one out."
        )
    own = np.asarray(given)
    if own.shape != (n_rows,):
        raise ValueError(
            f"groups are {describe(own)} for {n_rows} rows: need the group of each row, such as "
            "a column of a data frame."
        )
    if own.dtype.kind != "O":
        return np.unique(own, return_inverse=True)[1].astype(np.int64)
    values = own.tolist()
    # Names and numbers in one array cannot be compared, so they are sorted as text.
    known = sorted({one for one in values if not _is_missing(one)}, key=str)
    numbers = {one: number for number, one in enumerate(known)}
    return np.array([-1 if _is_missing(one) else numbers[one] for one in values], dtype=np.int64)


def _is_missing(value: object) -> bool:
    """Whether a group is missing: None, NaN, or what pandas has in their place."""
    return value is None or (not isinstance(value, str) and str(value) in ("nan", "<NA>", "NaT"))


def _groups(rows: Matrix, column: str | int, names: Sequence[str] | None) -> NDArray[np.int64]:
    """The number of each row's group; rows without one are a group together."""
    own: AnyArray
    if isinstance(rows, Rows):
        name = _name("groups", column, rows.table)
        _check_known("groups", column, rows.table, name)
        own, known = known_targets(rows.table, name)
        missing = np.zeros(len(own), dtype=bool) if known is None else known == 0.0
    else:
        own = _column(rows, _place("groups", column, rows.shape[1], names))
        missing = np.isnan(own)
    groups = np.unique(own, return_inverse=True)[1].astype(np.int64)
    return np.where(missing, -1, groups)


def _times(rows: Matrix, column: str | int, names: Sequence[str] | None) -> NDArray[np.float64]:
    """The time of each row, −inf where it is missing: only known times are held out as latest."""
    if not isinstance(rows, Rows):
        found = _column(rows, _place("time", column, rows.shape[1], names))
        return _known_times(column, found, np.isnan(found))
    table = rows.table
    name = _name("time", column, table)
    _check_known("time", column, table, name)
    recipe = Columns.learn(table, [one for one in table.schema.names if one != name])
    if not isinstance(recipe.encoders[0], Date | Number):
        raise ValueError(
            f"time={column!r} holds {recipe.encoders[0].kind}: need a column of dates or numbers."
        )
    flagged = Rows(table, Columns((replace(recipe.encoders[0], flagged=True),), recipe.dtype))
    return _known_times(column, _column(flagged, 0), _column(flagged, -1) == 1.0)


def _check_known(what: str, column: str | int, table: Table, name: str) -> None:
    if all(batch.column(0).null_count == batch.num_rows for batch in table.batches([name])):
        raise ValueError(f"{what}={column!r} is missing in every row: need the {what} of some.")


def _known_times(
    column: str | int, times: NDArray[np.float64], missing: NDArray[np.bool_]
) -> NDArray[np.float64]:
    if missing.all():
        raise ValueError(f"time={column!r} is missing in every row: need the time of some.")
    return np.where(missing, -np.inf, times)


def _dates(rows: Rows) -> NDArray[np.float64] | None:
    """The days of the first date column in whose order the rows are, or None."""
    for encoder in rows.columns.encoders:
        if isinstance(encoder, Date) and encoder.parts[0] == "days":
            days = Rows(rows.table, Columns((encoder,), np.dtype(np.float64)))
            found = _column(days, 0, rising=True)
            if len(found) and found[0] < found[-1]:
                return found
    return None


def _column(rows: Matrix, place: int, rising: bool = False) -> NDArray[np.float64]:
    """One column of the rows, (n,); rising: an empty array if its values ever fall."""
    out = np.empty(rows.shape[0])
    for part in block_slices(rows.shape[0], _BLOCK):
        out[part] = densify(rows[part])[:, place]
        if rising and (np.diff(out[max(0, part.start - 1) : part.stop]) < 0.0).any():
            return np.empty(0)
    return out


def _place(what: str, column: str | int, width: int, names: Sequence[str] | None) -> int:
    """The place of a column of an array, or of a frame of numbers."""
    if isinstance(column, str):
        if names is None:
            raise ValueError(
                f"{what}={column!r} names a column, and X is an array: need the place of the "
                "column, or a frame."
            )
        if column not in names:
            raise ValueError(f"{what}={column!r} is no column of X{nearest(column, list(names))}")
        return list(names).index(column)
    if not -width <= column < width:
        raise ValueError(f"{what}={column}: X has {width} columns.")
    return column % width


def _name(what: str, column: str | int, table: Table) -> str:
    names = table.schema.names
    if isinstance(column, str):
        if column not in names:
            near = nearest(column, names)
            raise ValueError(f"{what}={column!r}: {table.label} has no column of this name{near}")
        return column
    if not -len(names) <= column < len(names):
        raise ValueError(f"{what}={column}: {table.label} has {len(names)} columns.")
    return str(names[column])


def held_rows(
    order: Order, counted: NDArray[np.bool_], share: float, words: Words
) -> NDArray[np.bool_]:
    """A mask (n,) of the rows to hold out: whole groups, or the latest rows."""
    places = np.flatnonzero(counted)
    held = max(1, round(share * len(places)))
    if order.groups is not None:
        found = _by_groups(places, len(places), held, words, order.groups)
    else:
        assert order.times is not None, "there is a column of groups or times"
        found = _last(places, len(places), held, words, order.times)
    mask = np.zeros(len(counted), dtype=bool)
    mask[found.places[: found.held]] = True
    return mask


class FewFolds(NamedTuple):
    """Rows to hold out in each fold, and all rows that are held out or fitted."""

    held: list[Places]
    used: Places


def folds_of(
    learned: Learned, order: Order, labels: AnyArray, n_folds: int, seed: int
) -> FewFolds | None:
    """The folds of a small table, or None for random ones.

    Those of a splitter that have all rows, or its last one; whole groups; or the latest rows as the
    only fold.
    """
    size = len(labels)
    if learned.split is not None:
        splits = _splits(learned.split, np.arange(size), order, labels)
        whole = [held for fitted, held in splits if len(fitted) + len(held) == size]
        if whole:
            return FewFolds(whole, np.arange(size))
        return FewFolds([splits[-1][1]], np.sort(np.concatenate(splits[-1])))
    if order.groups is not None:
        groups, own = np.unique(order.groups, return_inverse=True)
        _check_groups(len(groups))
        shuffled = Words(seed, 0, Stream.GROUP_FOLDS).permutation(len(groups))
        fold = np.empty(len(groups), dtype=np.intp)
        fold[shuffled] = np.arange(len(groups)) % n_folds
        held = [np.flatnonzero(fold[own] == k) for k in range(min(n_folds, len(groups)))]
        return FewFolds(held, np.arange(size))
    if order.times is not None:
        later = np.argsort(order.times, kind="stable")
        latest = np.sort(later[-math.ceil(constants.HELD_SHARE * size) :])
        return FewFolds([latest], np.arange(size))
    return None


def some_of(places: Places, most: int, words: Words) -> Places:
    """At most so many of the places, in their order."""
    if len(places) <= most:
        return places
    return np.sort(places[words.permutation(len(places))[:most]])


class HeldOutRows(NamedTuple):
    """The rows of a pool with the held-out ones first, the number of those, and a description
    (empty for runs of rows)."""

    places: Places
    held: int
    words: str


def split_rows(
    counted: Places, size: int, seed: int, learned: Learned, order: Order, labels: AnyArray
) -> HeldOutRows:
    """A pool of at most `size` of the counted rows, a part of which is held out.

    labels (n,): what a splitter may stratify by.
    """
    held = min(constants.MOST_HELD, math.ceil(constants.HELD_SHARE * size))
    words = Words(seed, 0, Stream.LAW_HOLD_OUT)
    if learned.split is not None:
        return _by_splitter(counted, size, words, learned.split, order, labels)
    if order.groups is not None:
        return _by_groups(counted, size, held, words, order.groups)
    if order.times is not None:
        return _last(counted, size, held, words, order.times)
    return _in_runs(counted, size, held, words)


def _joined(first: Places, others: Places, size: int, words: Words) -> Places:
    """Rows to be held out, then others in random order, `size` in all or half as many others."""
    others = others[words.permutation(len(others))]
    return np.concatenate([first, others])[: max(size, len(first) + size // 2)]


def _in_runs(counted: Places, size: int, held: int, words: Words) -> HeldOutRows:
    """Hold out runs of consecutive rows.

    Neighbouring rows are often similar, so a held-out row next to a training row underestimates the
    error.
    """
    run = max(1, held // constants.RUNS)
    starts = words.permutation(len(counted) // run)[: held // run] * run
    first = (starts[:, None] + np.arange(run)).ravel()
    rest = np.ones(len(counted), dtype=bool)
    rest[first] = False
    places = _joined(first, np.flatnonzero(rest), size, words)
    return HeldOutRows(counted[places], len(first), "")


def _by_groups(
    counted: Places, size: int, held: int, words: Words, groups: NDArray[np.int64]
) -> HeldOutRows:
    """Hold out whole groups, in random order, up to `held` rows."""
    labels, own = np.unique(groups[counted], return_inverse=True)
    _check_groups(len(labels))
    shuffled = words.permutation(len(labels))
    rows = np.cumsum(np.bincount(own)[shuffled])
    count = min(max(1, int(np.searchsorted(rows, held, side="right"))), len(labels) - 1)
    chosen = np.isin(own, shuffled[:count])
    # The whole group stays out of the fit; a part of a very large one is enough to score.
    first = some_of(np.flatnonzero(chosen), size, words)
    places = _joined(first, np.flatnonzero(~chosen), size, words)
    return HeldOutRows(counted[places], len(first), f"{len(first)} rows of {count} groups")


def _check_groups(count: int) -> None:
    if count < 2:
        raise ValueError("groups has one value in all rows: need two groups or more.")


def _last(
    counted: Places, size: int, held: int, words: Words, times: NDArray[np.float64]
) -> HeldOutRows:
    """The rows of the latest times."""
    order = np.argsort(times[counted], kind="stable")
    places = _joined(order[-held:], order[:-held], size, words)
    return HeldOutRows(counted[places], held, f"the last {held} rows in the order of time")


def _by_splitter(
    counted: Places, size: int, words: Words, splitter: object, order: Order, labels: AnyArray
) -> HeldOutRows:
    """Use the splitter's last split; for time-ordered splitters it has the largest training set."""
    pool = some_of(counted, size, words)
    fitted, held = _splits(splitter, pool, order, labels)[-1]
    fitted = fitted[words.permutation(len(fitted))]
    text = f"{len(held)} rows by {type(splitter).__name__}"
    return HeldOutRows(np.concatenate([held, fitted]), len(held), text)


def _splits(
    splitter: Any, pool: Places, order: Order, labels: AnyArray
) -> list[tuple[Places, Places]]:
    """The rows that each split fits and holds out; the splitter gets the pool ordered by time."""
    if order.times is not None:
        pool = pool[np.argsort(order.times[pool], kind="stable")]
    groups = None if order.groups is None else order.groups[pool]
    given = splitter.split(np.zeros((len(pool), 1)), labels[pool], groups)
    try:
        splits = [(np.asarray(fitted), np.asarray(held)) for fitted, held in given]
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"split={splitter!r} did not yield pairs of index arrays ({error}): need (rows to fit, "
            "rows to hold out), as scikit-learn's splitters give."
        ) from error
    if not splits:
        raise ValueError(
            f"split={splitter!r} makes no split of {len(pool)} rows: need one or more."
        )
    for fitted, held in splits:
        if not (_are_places(fitted, len(pool)) and _are_places(held, len(pool))):
            raise ValueError(
                f"split={splitter!r} yielded indices that are not rows: need whole numbers from 0 "
                f"to {len(pool) - 1}."
            )
        if not len(fitted) or not len(held) or len(np.intersect1d(fitted, held)):
            raise ValueError(
                f"split={splitter!r} fits {len(fitted)} and holds out {len(held)} of {len(pool)} "
                "rows: need some of each, and none in both."
            )
    return [(pool[fitted], pool[held]) for fitted, held in splits]


def _are_places(places: AnyArray, size: int) -> bool:
    """Whether an array holds indices of `size` rows; it may be empty."""
    if not places.size:
        return True
    whole = places.ndim == 1 and places.dtype.kind in "iu"
    return bool(whole and places.min() >= 0 and places.max() < size)
