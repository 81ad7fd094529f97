"""Mixed tables: columns of text, categories and missing values as numbers, by a plain recipe.

A column of categories becomes the mean target of its category (out of fold for the rows that are
fitted, so that no row sees its own target), an indicator for each category, or, where the
categories were declared in an order, their place in it: whichever has the lowest leave-one-out
error after a short run of learning scales. A missing category is a category of
its own; a missing number becomes the median, with an indicator beside it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold
from sklearn.preprocessing import TargetEncoder

from kitchensinks.adapt.maps import best_map
from kitchensinks.adapt.record import Adapt
from kitchensinks.adapt.task import Task

Floats = NDArray[np.float64]

# Categories beyond these are "others" where each has a column of its own.
_MOST_LEVELS = 64
_FOLDS = 5
# Indicators are not looked at where they would be more than this, nor with fewer rows than this.
_MOST_COLUMNS, _FEWEST_ROWS = 500, 500
_MISSING = "\x00missing"


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a table.

    A number: levels is None; values (1, 1) holds the median that stands for what is missing, and
    `flag` says whether an indicator of that follows. A category: levels (m,) text, sorted, and
    values (m + 1, width), the last for a category that is not among them.
    """

    name: str
    levels: NDArray[np.str_] | None
    values: Floats
    flag: bool = False

    @property
    def width(self) -> int:
        return self.values.shape[1] + self.flag

    def apply(self, frame: Any) -> Floats:
        if self.levels is None:
            numbers = numbers_of(frame[self.name])
            if numbers is None:
                raise ValueError(
                    f"column {self.name!r} holds text, and held numbers in fit: give numbers."
                )
            missing = np.isnan(numbers)
            filled = np.where(missing, self.values[0, 0], numbers)
            parts = [filled, missing.astype(np.float64)] if self.flag else [filled]
            return np.column_stack(parts)
        texts, own = categories_of(frame[self.name])
        place = np.minimum(np.searchsorted(self.levels, texts), len(self.levels) - 1)
        known = self.levels[place] == texts
        return self.values[np.where(known, place, len(self.levels))][own]


@dataclass(frozen=True, eq=False)
class Frames:
    """How the columns of a table become numbers: nothing but names and arrays."""

    columns: tuple[Column, ...]
    encoding: str

    def apply(self, frame: Any) -> Floats:
        """Numbers (n, width) of a table with these columns, in any order."""
        absent = [column.name for column in self.columns if column.name not in list(frame.columns)]
        if absent:
            raise ValueError(f"columns {absent} are missing: give the same columns as in fit.")
        return np.column_stack([column.apply(frame) for column in self.columns])

    @property
    def names(self) -> list[str]:
        """A name for each column of numbers."""
        out: list[str] = []
        for column in self.columns:
            if column.levels is None:
                out += [column.name, f"{column.name} is missing"][: column.width]
            else:
                out += [f"{column.name} #{k}" for k in range(column.width)]
        return out


def is_mixed(rows: Any) -> bool:
    """Whether rows are a table (pandas, polars) with text, categories or missing values."""
    if not (hasattr(rows, "columns") and hasattr(rows, "__getitem__") and hasattr(rows, "shape")):
        return False
    for name in list(rows.columns):
        numbers = numbers_of(rows[name])
        if numbers is None or np.isnan(numbers).any():
            return True
    return False


def numbers_of(series: Any) -> Floats | None:
    """A column as float64 with NaN for what is missing; None where it holds text or categories."""
    values = np.asarray(series)
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    if values.dtype.kind in "mM":
        return np.where(np.isnat(values), np.nan, values.astype("M8[s]").astype(np.float64))
    if "categor" in str(series.dtype).lower() or "enum" in str(series.dtype).lower():
        return None
    kept = [value for value in series.to_list() if not _is_missing(value)]
    if not all(isinstance(value, int | float | np.number) for value in kept):
        return None
    found = [np.nan if _is_missing(value) else float(value) for value in series.to_list()]
    return np.array(found, dtype=np.float64)


def categories_of(series: Any) -> tuple[NDArray[np.str_], NDArray[np.intp]]:
    """The different values of a column as sorted text, and each row's among them.

    What is missing has a word of its own. Each different value is looked at once.
    """
    values = series.to_list()
    words = {value: _MISSING if _is_missing(value) else str(value) for value in set(values)}
    levels = sorted(set(words.values()))
    numbers = {word: number for number, word in enumerate(levels)}
    place = {value: numbers[word] for value, word in words.items()}
    return np.array(levels), np.array([place[value] for value in values], dtype=np.intp)


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def learn_frames(
    frame: Any, targets: NDArray[Any], kind: str, encoding: str, seed: int
) -> tuple[Frames, Floats]:
    """The recipe with one encoding, and the numbers of the rows to be fitted.

    encoding: "target", "hot", or "order" (where there is one, else as "target"). targets (n,):
    class labels for kind "classification", numbers for "regression".
    """
    columns: list[Column] = []
    parts: list[Floats] = []
    for name in list(frame.columns):
        numbers = numbers_of(frame[name])
        if numbers is None:
            levels, place = categories_of(frame[name])
            order = order_of(frame[name]) if encoding == "order" else None
            if order is not None:
                column = _by_order(str(name), levels, order)
                part = column.values[place]
            elif encoding == "hot":
                column, part = _by_level(str(name), levels, place)
            else:
                column, part = _by_target(str(name), levels, place, targets, kind, seed)
        else:
            known = numbers[np.isfinite(numbers)]
            middle = float(np.median(known)) if len(known) else 0.0
            flag = bool(np.isnan(numbers).any())
            column = Column(str(name), None, np.array([[middle]]), flag)
            part = column.apply(frame)
        columns.append(column)
        parts.append(part)
    return Frames(tuple(columns), encoding), np.column_stack(parts)


def order_of(series: Any) -> list[str] | None:
    """The categories of a column in the order that they were declared with, or None."""
    declared = getattr(series.dtype, "categories", None)
    ordered = getattr(series.dtype, "ordered", "enum" in str(series.dtype).lower())
    return [str(value) for value in declared] if declared is not None and ordered else None


def _by_order(name: str, levels: NDArray[np.str_], order: list[str]) -> Column:
    """The place of each category in their order; the middle for one that has none."""
    places = {word: float(place) for place, word in enumerate(order)}
    middle = 0.5 * (len(order) - 1)
    values = [places.get(word, middle) for word in levels]
    return Column(name, levels, np.array([*values, middle])[:, None])


def _by_level(
    name: str, levels: NDArray[np.str_], place: NDArray[np.intp]
) -> tuple[Column, Floats]:
    """An indicator for each category, the rarest of many together."""
    count = np.bincount(place, minlength=len(levels))
    kept = np.sort(np.argsort(-count, kind="stable")[:_MOST_LEVELS])
    column = Column(name, levels[kept], np.eye(len(kept) + 1, len(kept)))
    return column, np.eye(len(levels))[:, kept][place]


def _by_target(
    name: str,
    levels: NDArray[np.str_],
    place: NDArray[np.intp],
    targets: Any,
    kind: str,
    seed: int,
) -> tuple[Column, Floats]:
    """The mean target of each category (of each class where there are several)."""
    single = {"classification": "multiclass", "regression": "continuous"}[kind]
    if kind == "classification" and len(np.unique(targets)) == 2:
        single = "binary"
    folds = KFold(_FOLDS, shuffle=True, random_state=seed % 2**32)
    encoder = TargetEncoder(target_type=single, smooth="auto", cv=folds)
    part = np.asarray(encoder.fit_transform(place[:, None], targets))
    # One number more than there are stands for a category never seen.
    values = np.asarray(encoder.transform(np.arange(len(levels) + 1)[:, None]))
    return Column(name, levels, values), part


def learn_table(frame: Any, targets: Any, kind: str, seed: int) -> tuple[Frames, Floats]:
    """The recipe with the better encoding of its categories, and the numbers of the rows.

    targets (n,) or (n, outputs): labels for kind "classification", numbers for "regression".
    """
    plain, rows = learn_frames(frame, targets, kind, "hot", seed)
    texts = [column for column in plain.columns if column.levels is not None]
    if not texts or targets.ndim > 1:
        return plain, rows
    tried = [learn_frames(frame, targets, kind, "target", seed)]
    if any(order_of(frame[name]) is not None for name in list(frame.columns)):
        tried.append(learn_frames(frame, targets, kind, "order", seed))
    if len(targets) < _FEWEST_ROWS:
        return tried[0]
    if rows.shape[1] <= _MOST_COLUMNS:
        tried.append((plain, rows))
    if len(tried) == 1:
        return tried[0]
    coded = targets[:, None].astype(np.float64) if kind == "regression" else _coded(targets)
    errors = []
    for _, numbers in tried:
        task = Task(numbers, coded, None, seed, Adapt(), lambda text: None)
        errors.append(best_map(task, "laplacian", ("squash",))[0])
    return tried[int(np.argmin(errors))]


def _coded(labels: NDArray[Any]) -> Floats:
    classes, place = np.unique(labels, return_inverse=True)
    return 2.0 * np.eye(len(classes))[place] - 1.0
