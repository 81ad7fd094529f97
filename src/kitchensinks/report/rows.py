"""Rows that a report looks at: frames or arrays, with some columns exchanged for other values."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from kitchensinks.law.splits import some_of
from kitchensinks.numerics.arrays import AnyArray, Floats
from kitchensinks.numerics.words import Stream, Words
from kitchensinks.problem.losses import Kinked
from kitchensinks.problem.targets import Classes, Numbers, Targets, plain_labels
from kitchensinks.solvers.intercept import kink_shift
from kitchensinks.solvers.needs import kinked
from kitchensinks.state import State
from kitchensinks.state.importance import ColumnPlaces
from kitchensinks.state.model import Outside
from kitchensinks.tables.arrays import as_given, densify
from kitchensinks.tables.arrow import pa
from kitchensinks.tables.columns import Columns
from kitchensinks.tables.table import Table
from kitchensinks.tables.view import Given, Rows, known_targets

# Rows of a large table that a report looks at.
MOST_ROWS = 20_000


class Fitted(Protocol):
    """What a report asks of a fitted classifier or regressor; those of a classifier have
    `predict_proba` and those of a regressor `predict_interval` as well."""

    state_: State
    n_features_in_: int

    def predict(self, X: Given) -> AnyArray: ...

    def outside(self, X: Given) -> Outside: ...

    def set_params(self, **params: Any) -> Any: ...


@dataclass(frozen=True)
class Sample:
    """Some rows with their targets, as a model takes them, and answers of the model to them."""

    model: Fitted
    X: Any
    y: AnyArray
    names: list[Any]

    @classmethod
    def of(cls, model: Fitted, X: Given, y: ArrayLike) -> "Sample":
        """At most 20,000 rows of frames, arrays, or of a table with the name of its target."""
        names = ColumnPlaces.of(model, model.state_.columns).names
        if isinstance(X, Table):
            X, y = framed(X, y, names)
        elif isinstance(X, Rows) and names_columns(model.state_.columns):
            X, y = _framed_rows(X, y, names)
        else:
            X = _by_column(X, names)
        if isinstance(y, str):
            raise ValueError(
                f"y={y!r} names a column, and X is no table: give the targets themselves, or "
                f"report(ks.open_table(X), {y!r})."
            )
        y = np.asarray(y)
        if y.ndim == 2 and y.shape[1] == 1:
            y = y[:, 0]
        if y.ndim != 1 or len(y) != X.shape[0]:
            raise ValueError(
                f"X has {X.shape[0]} rows and y is of shape {y.shape}: a report needs one target "
                "for each row. Report on several outputs one by one."
            )
        if not len(y):
            raise ValueError("X has no rows: a report needs some with known targets.")
        found = cls(model, X, known(model.state_.targets, y), list(names))
        return found.some(MOST_ROWS)

    @property
    def frame(self) -> bool:
        return hasattr(self.X, "iloc")

    @property
    def labels(self) -> AnyArray:
        """The labels of a classifier as they are."""
        targets: Any = self.model.state_.targets
        return np.asarray(targets.labels)

    @property
    def classes(self) -> list[Any] | None:
        """The labels of a classifier, or None."""
        return self.labels.tolist() if isinstance(self.model.state_.targets, Classes) else None

    @property
    def quantile(self) -> Kinked | None:
        """The loss of a model of quantiles, or None."""
        loss = self.model.state_.loss
        return kinked(loss) if loss.shares_below else None

    @property
    def frequent(self) -> list[int]:
        """The places of the labels, from the most to the least frequent one."""
        counts = [int(np.sum(self.y == label)) for label in self.labels.tolist()]
        return [int(place) for place in np.argsort(counts, kind="stable")[::-1]]

    def some(self, count: int) -> "Sample":
        """At most so many rows, at random but in their order."""
        if len(self.y) <= count:
            return self
        chosen = some_of(np.arange(len(self.y)), count, Words(0, 0, Stream.REPORT))
        X = self.X.iloc[chosen] if self.frame else self.X[chosen]
        return Sample(self.model, X, self.y[chosen], self.names)

    def column(self, place: int) -> AnyArray:
        """The values of a column, missing ones as NaN among numbers and as None among others."""
        if not self.frame:
            return np.asarray(self.X[:, place])
        series = self.X[self.names[place]]
        values = np.asarray(series)
        if values.dtype != object:
            return values
        # pandas.NA has no truth value, and no place among numbers.
        numeric = getattr(series.dtype, "kind", "O") in "biuf"
        kind, gap = (np.float64, np.nan) if numeric else (object, None)
        return np.asarray(series.to_numpy(dtype=kind, na_value=gap))

    def levels(self, place: int) -> list[Any] | None:
        """The categories of a column in their declared order; None where they have none."""
        dtype: Any = self.X[self.names[place]].dtype if self.frame else None
        return list(dtype.categories) if getattr(dtype, "ordered", False) else None

    def replaced(self, columns: dict[int, Any]) -> Any:
        """The rows with other values in some columns: an array, or one value for all rows."""
        X = self.X.copy()
        for place, values in columns.items():
            if self.frame:
                name = self.names[place]
                X[name] = _as_before(values, X[name])
            else:
                X[:, place] = values
        return X

    def answers(self, X: Given = None) -> Floats:
        """Probabilities of the classes (n, classes), or predictions (n, 1)."""
        X = self.X if X is None else X
        if self.classes is not None:
            classifier: Any = self.model
            return np.asarray(classifier.predict_proba(X), dtype=np.float64)
        return np.asarray(self.model.predict(X), dtype=np.float64).reshape(-1, 1)

    def losses(self, answers: Floats) -> Floats:
        """The loss of each row: minus the logarithm of its class's probability, the quantile loss
        of a model of quantiles, or a square."""
        targets = self.model.state_.targets
        if isinstance(targets, Classes):
            return -np.log(np.maximum(targets.own_chances(self.y, answers), 1e-15))
        truths = self.y.astype(np.float64)
        if self.quantile is not None:
            return self.quantile.value(truths, answers[:, 0])
        return np.asarray((answers[:, 0] - truths) ** 2)


def constant_loss(loss: Kinked, truths: Floats) -> float:
    """The mean loss of the constant with the least: for a quantile loss, that quantile."""
    column, shares = truths[:, None], np.full(len(truths), 1.0 / len(truths))
    constant = kink_shift(loss, column, np.zeros_like(column), shares)
    return float(loss.value(column, constant).mean())


def in_words(value: Any) -> Any:
    """A value of a table as JSON can hold it: dates as text, without a time where there is none.

    >>> in_words(np.datetime64("2024-05-01T00:00:00", "us")), in_words(np.float64(2.5))
    ('2024-05-01', 2.5)
    """
    if isinstance(value, np.datetime64):
        return str(value.astype("datetime64[s]")).replace("T", " ").removesuffix(" 00:00:00")
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bool | int | float | str | None):
        return value
    return str(value).removesuffix(" 00:00:00")


def known(targets: Targets, y: AnyArray) -> AnyArray:
    """The targets of a report, or an error where they are not such as were fitted."""
    if not isinstance(targets, Classes):
        return Numbers.check(y)
    fitted, given = set(targets.labels.tolist()), set(y.tolist())
    new = [label for label in y.tolist() if label not in fitted]
    # Labels that were not fitted are counted as errors, if they could have been.
    odd = [label for label in new if _is_number(label) != _is_number(next(iter(fitted)))]
    odd += [label for label in new if isinstance(label, float) and not label.is_integer()]
    if odd or not given & fitted:
        shown = ", ".join(map(repr, targets.labels.tolist()[:5]))
        raise ValueError(
            f"y has {(odd or new)[0]!r}, and the classes that were fitted are {shown}"
            f"{', …' if len(fitted) > 5 else ''}: a report on a classifier needs the labels of the "
            "rows, as fit had them."
        )
    return np.asarray(plain_labels(y))


def _is_number(label: object) -> bool:
    return isinstance(label, int | float)


def _as_before(values: Any, series: Any) -> Any:
    """Values for a column of a frame, in the kind that the column has."""
    import pandas as pd

    values = values if np.ndim(values) else [values] * len(series)
    return pd.Series(values, index=series.index, dtype=series.dtype)


def names_columns(columns: Columns | None) -> bool:
    """Whether a model was fitted to a table or to a mixed frame, whose columns it reads by name."""
    return columns is not None and not columns.n_given


def _by_column(X: Any, names: list[Any]) -> Any:
    """A frame that has columns of these names, or an array that has as many."""
    X = as_given(X)
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if not hasattr(X, "iloc"):
        X = densify(X)
    elif all(isinstance(name, int) for name in names):
        # A fit to arrays knows the columns by their order alone.
        X = X.to_numpy(np.float64, na_value=np.nan)
    elif not set(names) <= set(X.columns):
        # Recipes have names of text.
        X = X.rename(columns=str)
    if not hasattr(X, "iloc") and (X.ndim != 2 or X.shape[1] != len(names)):
        raise ValueError(
            f"X has shape {X.shape}, and the model was fitted to {len(names)} columns: give rows "
            "with these columns, of a table or mixed frame as a data frame or a table."
        )
    return X


def _framed_rows(rows: Rows, y: ArrayLike, names: list[Any]) -> tuple[Any, AnyArray]:
    """Some rows of a table as a frame: their encoded numbers are not the columns."""
    y = np.asarray(y)
    count = rows.shape[0]
    places = np.arange(count)
    if y.ndim and len(y) == count:
        places = some_of(places, MOST_ROWS, Words(0, 0, Stream.REPORT))
        y = y[places]
    return pa.Table.from_batches(rows.table.picked(names, places)).to_pandas(), y


def framed(table: Table, target: object, names: list[Any]) -> tuple[Any, AnyArray]:
    """Some rows of a table whose target is known, as a frame."""
    if not isinstance(target, str):
        raise ValueError("With a table as X, y is the name of its target column.")
    table.check_names([target, *names])
    values, weights = known_targets(table, target)
    known = np.arange(len(values)) if weights is None else np.flatnonzero(weights > 0)
    known = some_of(known, MOST_ROWS, Words(0, 0, Stream.REPORT))
    return pa.Table.from_batches(table.picked(names, known)).to_pandas(), values[known]
