"""What the columns do: importances, and predictions as one or two of them change."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from kitchensinks.numerics.arrays import AnyArray, Floats
from kitchensinks.numerics.words import Stream, Words
from kitchensinks.report.rows import Sample, in_words
from kitchensinks.state.importance import ColumnPlaces

# Rows that importances are measured on.
_ROWS = 1000
# Columns whose importance is measured.
_COLUMNS = 40
# Columns whose effect is shown.
_CURVES = 4
# Rows that an effect is averaged over.
_AVERAGED = 200
# Values of a column at which its effect is computed.
_VALUES = 15
# Values of each of the two columns of an interaction.
_GRID = 8
# Rows that an interaction is averaged over.
_AVERAGED_PAIRS = 100
# Classes whose probabilities are shown.
_CLASSES = 4


@dataclass(frozen=True)
class Importance:
    """A column: its place, its share by `feature_importances_` (None where there are none), and by
    how much the loss increases when its values are permuted between rows."""

    column: str
    place: int
    share: float | None
    increase: float
    standard_error: float


@dataclass(frozen=True)
class Curve:
    """Partial dependence: the mean answer of each output if all rows had a value of the column.

    The values are in order where they are ordered, as numbers and dates are.
    """

    column: str
    values: list[Any]
    ordered: bool
    means: dict[str, list[float]]


@dataclass(frozen=True)
class Interaction:
    """The mean answer if all rows had a value of one column and one of another: (first, second)."""

    first: str
    second: str
    first_values: list[Any]
    second_values: list[Any]
    output: str
    means: list[list[float]]


def importances(sample: Sample) -> list[Importance]:
    """The columns from the most to the least important by permutation (Breiman 2001).

    The increase of the loss (that of `Sample.losses`) is a mean over rows, with its standard error.
    Beyond 40 columns the others are left out: those with the least share by
    `feature_importances_`, or the last ones.
    """
    small = sample.some(_ROWS)
    before = small.losses(small.answers())
    shares = _shares(sample)
    places = list(range(len(sample.names)))
    if shares is not None:
        places.sort(key=lambda place: -shares[place])
    words, found = Words(0, 2, Stream.REPORT), []
    for place in places[:_COLUMNS]:
        moved = small.column(place)[words.permutation(len(small.y))]
        more = small.losses(small.answers(small.replaced({place: moved}))) - before
        error = float(more.std()) / np.sqrt(len(more))
        share = None if shares is None else float(shares[place])
        name = str(sample.names[place])
        found.append(Importance(name, place, share, float(more.mean()), float(error)))
    return sorted(found, key=lambda one: -one.increase)


def _shares(sample: Sample) -> Floats | None:
    """`feature_importances_` by the columns of the table."""
    model = sample.model
    found = getattr(model, "feature_importances_", None)
    if found is None:
        return None
    if len(found) == len(sample.names):
        return np.asarray(found)
    places = ColumnPlaces.of(model, model.state_.columns).places
    return np.array([found[part].sum() for part in places])


def _grid(sample: Sample, place: int, count: int) -> tuple[list[Any], bool]:
    """Representative values of a column, and whether they are ordered.

    Quantiles of numbers and dates, else the most frequent values; those of ordered categories in
    their declared order.
    """
    values, declared = sample.column(place), sample.levels(place)
    if declared is not None:
        return _most_frequent(values, declared, count), False
    if values.dtype.kind in "iuf":
        known = values[np.isfinite(values.astype(np.float64))]
        if len(known):
            levels = np.quantile(known, np.linspace(0.02, 0.98, count), method="nearest")
            return np.unique(levels).tolist(), True
    if values.dtype.kind == "M":
        known = np.sort(values[~np.isnat(values)])
    else:
        known = np.array(sorted(v for v in values.tolist() if isinstance(v, datetime) and v == v))
    if len(known):
        places = np.round(np.linspace(0.02, 0.98, count) * (len(known) - 1)).astype(int)
        return list(dict.fromkeys(known[places])), True
    known = np.array([value for value in values.tolist() if value == value and value is not None])
    if not len(known):
        return [], False
    different, counts = np.unique(known, return_counts=True)
    return different[np.argsort(-counts, kind="stable")[:count]].tolist(), False


def _most_frequent(values: AnyArray, levels: list[Any], count: int) -> list[Any]:
    """The levels that most values have, in the order of the levels."""
    often = [int(np.sum(values == _alone(level, values))) for level in levels]
    shown = np.sort(np.argsort(often, kind="stable")[::-1][:count])
    return [levels[number] for number in shown.tolist() if often[number]]


def _alone(level: Any, values: AnyArray) -> Any:
    """A level to compare with each of the values, and not with their array, if it is a tuple."""
    if values.dtype != object:
        return level
    alone = np.empty(1, dtype=object)
    alone[0] = level
    return alone


def _outputs(sample: Sample) -> dict[str, int]:
    """Names and places of the answers that are shown."""
    if sample.classes is None:
        return {"prediction": 0}
    if len(sample.classes) == 2:
        return {f"probability of {sample.classes[1]}": 1}
    shown = sample.frequent[:_CLASSES]
    return {f"probability of {sample.classes[place]}": place for place in shown}


def curves(sample: Sample, order: list[int]) -> list[Curve]:
    """Partial dependence on the first columns of an order."""
    small, outputs, found = sample.some(_AVERAGED), _outputs(sample), []
    for place in order[:_CURVES]:
        values, ordered = _grid(sample, place, _VALUES)
        means = np.array([small.answers(small.replaced({place: v})).mean(axis=0) for v in values])
        if len(values):
            lines = {name: means[:, column].tolist() for name, column in outputs.items()}
            shown = [in_words(value) for value in values]
            found.append(Curve(str(sample.names[place]), shown, ordered, lines))
    return found


def interaction(sample: Sample, order: list[int]) -> Interaction | None:
    """Of the first two columns of an order, for the first answer that is shown."""
    if len(order) < 2:
        return None
    small, (output, column) = sample.some(_AVERAGED_PAIRS), next(iter(_outputs(sample).items()))
    first, second = order[:2]
    grids = [_grid(sample, place, _GRID)[0] for place in (first, second)]
    if not (grids[0] and grids[1]):
        return None
    means = [
        [
            float(small.answers(small.replaced({first: a, second: b}))[:, column].mean())
            for b in grids[1]
        ]
        for a in grids[0]
    ]
    one, two = (str(sample.names[place]) for place in (first, second))
    shown = [[in_words(value) for value in grid] for grid in grids]
    return Interaction(one, two, shown[0], shown[1], output, means)
