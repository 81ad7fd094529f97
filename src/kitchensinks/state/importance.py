"""How much a fitted function changes along each of its columns, from the model alone."""

from typing import Any, NamedTuple, Protocol

import numpy as np

from kitchensinks.features.scaling import Scaler
from kitchensinks.numerics.words import Stream, Words
from kitchensinks.problem.losses import Array
from kitchensinks.state.model import Model
from kitchensinks.tables.columns import Columns

# Pairs of points for each column: an importance of 0.5 is then known to about 0.03.
_POINTS = 512
# Entries of all points for one column, at most: wide tables get fewer points.
_ENTRIES = 2**21


class Counted(Protocol):
    """Anything that has the number of columns it was fitted to."""

    n_features_in_: int


class ColumnPlaces(NamedTuple):
    """The columns that rows came with, and where the numbers of each stand among those fitted.

    A column of text, dates or categories has become several numbers; one without any value, none.
    """

    names: list[Any]
    places: list[slice]

    @classmethod
    def of(cls, estimator: Counted, columns: Columns | None) -> "ColumnPlaces":
        """By the columns of arrays, frames and tables; columns: the recipe of the fit."""
        names = getattr(estimator, "feature_names_in_", None)
        if columns is None:
            own = range(estimator.n_features_in_) if names is None else names
            return cls(list(own), [slice(j, j + 1) for j in range(len(own))])
        known = dict(zip(columns.inputs, columns.groups, strict=True))
        nothing = slice(0, 0)
        if columns.n_given:
            own = range(columns.n_given) if names is None else names
            return cls(list(own), [known.get(f"x{j}", nothing) for j in range(len(own))])
        own = columns.inputs if names is None else names
        return cls(list(own), [known.get(name, nothing) for name in own])

    def counted(self, estimator: Counted) -> list[slice]:
        """The places of what `n_features_in_` counts: of a table that is all of its numbers."""
        count = estimator.n_features_in_
        if len(self.names) == count:
            return self.places
        return [slice(j, j + 1) for j in range(count)]


def variance_along(model: Model, scaler: Scaler, groups: list[slice]) -> Array:
    """Each column's share of E Var(f | all other columns), summing to one.

    These are the total effects of Sobol's variance decomposition, estimated as Jansen (1999) does,
    ½·E(f(x) − f(x′))² with x′ a copy of x whose column is drawn anew. The columns are independent
    and normal, with mean and deviation of the fitted rows and cut off at their range: all that a
    model keeps of its rows. Outputs count in units of their own variance.

    scaler: has mean, deviation and range of the columns; groups: where the numbers of each column
    stand; those of one column are drawn anew together.
    """
    width = len(scaler.mean)
    count = max(32, min(_POINTS, _ENTRIES // width))
    words = Words(model.frozen.seed, 0, Stream.IMPORTANCE)
    points, others = (
        np.clip(scaler.mean + scaler.scale * words.normal(count, width), scaler.low, scaler.high)
        for _ in range(2)
    )
    scores = model.scores(points)
    spread = scores.var(axis=0)
    unit = np.where(spread > 0.0, spread, 1.0)
    effects = np.zeros(len(groups))
    for number, group in enumerate(groups):
        if group.start < group.stop:
            moved = points.copy()
            moved[:, group] = others[:, group]
            effects[number] = np.mean((model.scores(moved) - scores) ** 2 / unit)
    total = float(effects.sum())
    return effects / total if total > 0.0 else np.full(len(groups), 1.0 / len(groups))
