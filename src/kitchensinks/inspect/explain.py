"""Which columns a single prediction comes from: Shapley values of the columns."""

import copy
from dataclasses import dataclass, fields
from functools import lru_cache
from math import comb
from typing import Any

import numpy as np

from kitchensinks.estimators.base import KitchenSink
from kitchensinks.estimators.inputs import known_rows
from kitchensinks.numerics.arrays import AnyArray, Bools, Floats, Ints, Matrix, Seed
from kitchensinks.numerics.checks import check_count
from kitchensinks.numerics.threads import threads
from kitchensinks.numerics.warned import warn
from kitchensinks.numerics.words import Stream, Words
from kitchensinks.problem.targets import Classes
from kitchensinks.state import State, seed_of
from kitchensinks.state.importance import ColumnPlaces
from kitchensinks.tables.arrays import as_given, densify
from kitchensinks.tables.arrow import pa
from kitchensinks.tables.keys import Keys, row_keys
from kitchensinks.tables.table import Table
from kitchensinks.tables.view import Given, Rows

# Up to this many columns, all subsets of them are evaluated.
_EXACT_COLUMNS = 8
# Most background rows that are used.
_BACKGROUND_ROWS = 100
# Entries of rows that are evaluated at a time.
_ENTRIES = 2**22
# Rows, and columns of each, that the repr of an explanation shows.
_SHOWN = 3


@dataclass(frozen=True, eq=False)
class Explanation:
    """Contributions of the columns that sum to each prediction.

    base + Σ_j contributions_j = predictions, for every row and output. Where the package shap is
    installed, it is a ``shap.Explanation`` too, which the plots of that package take.

    Attributes
    ----------
    contributions, errors : (rows, columns), with outputs as a last axis where there are several;
        errors are the standard errors of the sampling, zero where nothing was sampled.
    base : the mean prediction of the background rows, (outputs,) where there are several.
    predictions : (rows,) or (rows, outputs).
    columns : names of the columns, or their places.
    data : the rows as they were given, (rows, columns).
    method : which answer of the model is explained.
    outputs : names of the outputs where there are several, or None.
    compared : which rows the background is, in words.
    """

    contributions: Floats
    errors: Floats
    base: Any
    predictions: Floats
    columns: list[Any]
    data: AnyArray
    method: str
    outputs: list[Any] | None = None
    compared: str = "given rows"

    def __repr__(self) -> str:
        """The largest contributions to the first predictions.

        >>> Explanation(np.array([[1.0, -2.0]]), np.zeros((1, 2)), 5.0, np.array([4.0]), ["a", "b"],
        ...             np.zeros((1, 2)), "predict")
        <Explanation of predict: 1 × 2 contributions, base 5 (the mean of given rows)
        row 0: 4 = base, b -2, a +1>
        """
        count, width = self.contributions.shape[:2]
        base, answers, what = self.base, self.predictions, self.method
        if self.outputs is not None:
            base, answers, what = base[0], answers[:, 0], f"{what} of {self.outputs[0]}"
        told = f"{count} × {width} contributions, base {base:.6g} (the mean of {self.compared})"
        lines = [f"<Explanation of {what}: {told}"]
        for row in range(min(count, _SHOWN)):
            parts = [f"{name} {part:+.6g}" for name, part in self.largest(row, _SHOWN)]
            parts += ["…"] if width > _SHOWN else []
            lines.append(f"row {row}: {answers[row]:.6g} = base, {', '.join(parts)}")
        return "\n".join([*lines, "…"] if count > _SHOWN else lines) + ">"

    def largest(
        self, row: int = 0, count: int = 5, output: object = None
    ) -> list[tuple[Any, float]]:
        """The columns with the largest contributions to one prediction, of either sign.

        output: a class by its label, or the place of an output; None is the first.
        """
        if not -len(self.contributions) <= row < len(self.contributions):
            raise IndexError(
                f"row={row}: need the place of one of the {len(self.contributions)} rows that are "
                "explained, counted from 0."
            )
        place, own = self._place(output), self.contributions[row]
        own = own if self.outputs is None else own[:, place]
        order = np.argsort(-np.abs(own), kind="stable")[:count]
        return [(self.columns[place], float(own[place])) for place in order]

    def _place(self, output: object) -> int:
        """The place of an output that is given by its label or its place."""
        names = self.outputs
        if hasattr(output, "__len__") and not isinstance(output, str | bytes):
            raise TypeError(
                f"output is of type {type(output).__name__}: need one label or one place."
            )
        whole = isinstance(output, int | np.integer) and not isinstance(output, bool)
        if names is None:
            # Of two classes 0 could be meant as the label of the first.
            if output is None or (whole and output == 0 and self.method == "predict"):
                return 0
            raise ValueError(
                f"output={output!r}: there is one output, for two classes the answer for the "
                "second. Leave it out."
            )
        if output is None or output in names:
            return 0 if output is None else names.index(output)
        if isinstance(output, int | np.integer) and -len(names) <= output < len(names):
            return int(output)
        known = ", ".join(str(name) for name in names)
        raise ValueError(f"output={output!r}: need one of {known}, or a place among them.")

    @classmethod
    def of(cls, *given: Any) -> "Explanation":
        """From its fields; a ``shap.Explanation`` too where that package is installed."""
        return _kind()(*given)


@lru_cache
def _kind() -> type[Explanation]:
    """The class of explanations: shap's too if that package is installed."""
    try:
        import shap
    except ImportError:
        return Explanation

    class ShapExplanation(Explanation, shap.Explanation):
        """Results of its methods, such as a row ``found[0]``, are shap's own."""

        def __init__(self, *given: Any) -> None:
            found = Explanation(*given)
            base = np.broadcast_to(found.base, (len(found.predictions), *np.shape(found.base)))
            shap.Explanation.__init__(
                self,
                values=found.contributions,
                base_values=base.copy(),
                data=found.data,
                feature_names=[str(name) for name in found.columns],
                output_names=found.outputs,
                error_std=found.errors,
            )
            # Both have the attribute `data`, which is the same.
            self.__dict__.update({key: own for key, own in vars(found).items() if key != "data"})

        def __deepcopy__(self, memo: dict[int, Any]) -> Any:
            return copy.deepcopy(copy.copy(self), memo)

        def __reduce__(self) -> tuple[Any, ...]:
            return Explanation.of, tuple(getattr(self, one.name) for one in fields(self))

    return ShapExplanation


def explain(
    model: object,
    X: Given,
    background: object = None,
    method: str | None = None,
    n_permutations: int = 2,
    random_state: Seed = 0,
) -> Explanation:
    """Contributions of the columns of X to each prediction; they sum to it.

    Shapley values (Štrumbelj and Kononenko 2014; Lundberg and Lee 2017). With v(S) the mean
    prediction over background rows that have the columns S of the row explained,

        contribution_j = mean over orders of the columns of v(before j, and j) − v(before j).

    With 8 columns or fewer the mean is over all orders. With more, each background row gets
    `n_permutations` random orders, each also backwards, which all end in the same two predictions:
    the sum is exact whatever is sampled, and the standard error of each contribution is estimated
    from the orders of the same background row. A column of text, dates or categories counts as one
    column, however many numbers the model makes of it.

    Parameters
    ----------
    model : a fitted KitchenSinkClassifier or KitchenSinkRegressor.
    X : the rows to explain, such as `predict` takes.
    background : rows that predictions are compared with; of more than 100, 100 are used, chosen by
        their content. None: the fitted rows that the model remembers, because a
        prediction is read against those it was learned from. A model from a file remembers none:
        then the rows of X are used, with a warning. ``compared`` says which rows these were.
    method : what is explained: "predict" (the default of a regressor), "predict_proba" (the default
        of a classifier; with two classes, the probability of the second) or "decision_function".
    n_permutations : pairs of orders for each background row; 2 (the default) is the least that has
        standard errors, and four times as many halve them. One row takes
        2·n_permutations·columns·background predictions.
    random_state : names the orders, which are the same for all rows; 0, so that an explanation is
        the same each time.

    Examples
    --------
    >>> import kitchensinks as ks
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = ks.KitchenSinkRegressor(ks.Fourier(), n_components=300, random_state=0).fit(X, y)
    >>> found = ks.explain(model, X[:3], background=X)
    >>> [name for name, _ in found.largest(row=0, count=2)]
    ['bmi', 's5']
    >>> total = found.base + found.contributions.sum(axis=1)
    >>> total.round(), model.predict(X[:3]).round()
    (array([212.,  86., 182.]), array([212.,  86., 182.]))
    """
    if not isinstance(model, KitchenSink):
        raise TypeError(
            f"explain takes a KitchenSinkClassifier or KitchenSinkRegressor, not "
            f"{type(model).__name__}: the explainers of the package shap take any model."
        )
    check_count("n_permutations", n_permutations)
    if n_permutations < 2:
        raise ValueError("n_permutations=1: need 2 or more, to estimate the error.")
    state, groups = model._state(), ColumnPlaces.of(model, model.columns_)
    method = _method(state, method)
    with threads(model.n_jobs):
        rows = densify(known_rows(model, state, X)[:])
        chosen, compared = _background(model, state, background, rows)
        value = _Value(state, method, chosen, groups)
        ends = value.at(rows)
        if len(groups.names) <= _EXACT_COLUMNS:
            found = [value.exactly(row, end) for row, end in zip(rows, ends, strict=True)]
        else:
            seed = seed_of(random_state)
            orders = value.orders(seed, n_permutations)
            found = [value.sampled(row, end, orders) for row, end in zip(rows, ends, strict=True)]
    shape = (len(rows), len(groups.names), ends.shape[1])
    contributions, errors = (np.array([one[k] for one in found]).reshape(shape) for k in (0, 1))
    base, outputs = value.base, None
    if len(base) > 1:
        own = state.targets
        outputs = list(own.labels if isinstance(own, Classes) else range(len(base)))
    else:
        contributions, errors, ends = contributions[..., 0], errors[..., 0], ends[:, 0]
        base = float(base[0])
    parts = contributions, errors, base, ends, groups.names, _given(X, groups)
    return Explanation.of(*parts, method, outputs, compared)


def _method(state: State, method: str | None) -> str:
    classes = isinstance(state.targets, Classes)
    known = ("predict_proba", "decision_function") if classes else ("predict",)
    if method is None:
        return known[0]
    if method not in known:
        raise ValueError(f"method={method!r}: need {' or '.join(map(repr, known))} for this model.")
    return method


def _background(
    model: KitchenSink, state: State, given: object, explained: AnyArray
) -> tuple[AnyArray, str]:
    """At most a hundred of the background rows, as numbers, and which rows they are."""
    weights: Floats | None = None
    if given is not None:
        rows, which = known_rows(model, state, given)[:], "given rows"
    elif state.sample is not None:
        rows, weights, which = state.sample.rows, state.sample.weights, "fitted rows"
    elif state.kept is not None:
        (rows, _, weights), which = state.kept.batch, "fitted rows"
    else:
        rows, which = explained, "of the rows explained"
        why = "background=None, and this model remembers no fitted rows"
        if (explained == explained[:1]).all():
            raise ValueError(f"{why}: give some training rows to compare these with as background.")
        warn(
            f"{why}: the rows of X are compared with each other. Give training rows as background "
            "to compare with those.",
        )
    places = _spread(row_keys(rows, state.law.features.seed), weights)
    count = len(np.unique(places))
    told = f"{count} {which}" if count == len(places) else f"{count} different {which} by weight"
    return densify(rows[places]), told


def _spread(keys: Keys, weights: Floats | None) -> Ints:
    """Places of all rows, or of a hundred in even steps of weight along the order of their keys.

    Keys are random and depend on the content of a row alone.
    """
    weights = np.ones(len(keys)) if weights is None else weights
    if len(keys) <= _BACKGROUND_ROWS and np.ptp(weights) == 0.0:
        return np.arange(len(keys))
    order = np.argsort(keys, kind="stable")
    total = np.cumsum(weights[order])
    steps = (np.arange(_BACKGROUND_ROWS) + 0.5) / _BACKGROUND_ROWS
    return np.asarray(order[np.searchsorted(total, steps * total[-1])])


def _given(X: Given, groups: ColumnPlaces) -> AnyArray:
    """The rows as given, by the columns of the groups; numbers if columns have no names."""
    table = X.table if isinstance(X, Rows) else X
    if isinstance(table, Table) and set(groups.names) <= set(table.names):
        X = pa.Table.from_batches(table.batches(groups.names))
    X = as_given(X)
    if hasattr(X, "columns") and not isinstance(X, Rows) and not _by_order(groups):
        known = set(groups.names) <= set(X.columns)
        X = X if known else X.rename(columns=str)
        return np.column_stack([np.asarray(X[name], dtype=object) for name in groups.names])
    return densify(X)


def _by_order(groups: ColumnPlaces) -> bool:
    """Whether the fit had arrays, whose columns have no names."""
    return all(isinstance(name, int) for name in groups.names)


@dataclass
class _Value:
    """v(S): the mean prediction over background rows that have some columns of another row."""

    state: State
    method: str
    background: AnyArray
    groups: ColumnPlaces

    def __post_init__(self) -> None:
        self.starts = self.at(self.background)
        self.base = self.starts.mean(axis=0)

    def at(self, rows: Matrix) -> Floats:
        """What is explained, at rows of numbers, (n, outputs)."""
        answers = self.state.answer(self.method, self.state.model.scores(rows))
        answers = np.asarray(answers, dtype=np.float64).reshape(len(answers), -1)
        two = self.method == "predict_proba" and answers.shape[1] == 2
        return answers[:, 1:] if two else answers

    def _mixed(self, known: Bools, row: AnyArray, others: AnyArray) -> Floats:
        """Answers at `others` (n, d) with the columns known (n, any, columns) of the row.

        Returns (n, any, outputs).
        """
        n_rows, n_sets, _ = known.shape
        out = np.empty((n_rows, n_sets, self.starts.shape[1]))
        size = max(1, _ENTRIES // max(1, n_sets * len(row)))
        for first in range(0, n_rows, size):
            part = slice(first, first + size)
            mixed = np.repeat(others[part][:, None], n_sets, axis=1)
            for number, group in enumerate(self.groups.places):
                mixed[:, :, group] = np.where(
                    known[part, :, number, None], row[group], mixed[:, :, group]
                )
            out[part] = self.at(mixed.reshape(-1, len(row))).reshape(len(mixed), n_sets, -1)
        return out

    def exactly(self, row: AnyArray, end: Floats) -> tuple[Floats, Floats]:
        """Contributions (columns, outputs), by all subsets of the columns, and no error."""
        count = len(self.groups.names)
        subsets = np.arange(2**count)
        known = (subsets[:, None] >> np.arange(count)) % 2 == 1
        inner = np.broadcast_to(known[1:-1], (len(self.background), 2**count - 2, count))
        values = np.empty((2**count, len(end)))
        values[0], values[-1] = self.base, end
        values[1:-1] = self._mixed(inner, row, self.background).mean(axis=0)
        size = known.sum(axis=1)
        weights = np.array([1.0 / (count * comb(count - 1, int(n))) for n in range(count)])
        found = np.empty((count, len(end)))
        for column in range(count):
            without = subsets[~known[:, column]]
            steps = values[without + 2**column] - values[without]
            found[column] = weights[size[without]] @ steps
        return found, np.zeros_like(found)

    def orders(self, seed: int, count: int) -> Ints:
        """The place of each column in random orders, (background, orders, columns)."""
        width = len(self.groups.names)
        words = Words(seed, 0, Stream.EXPLANATION).raw(len(self.background) * count * width)
        return np.argsort(words.reshape(len(self.background), count, width), axis=2, kind="stable")

    def sampled(self, row: AnyArray, end: Floats, orders: Ints) -> tuple[Floats, Floats]:
        """Contributions (columns, outputs) and their standard errors, by some orders."""
        n_rows, count, width = orders.shape
        steps = np.arange(1, width)
        total = np.zeros((n_rows, count, width, len(end)))
        for rank in (orders, width - 1 - orders):
            known = rank[:, :, None, :] < steps[:, None]
            inner = self._mixed(known.reshape(n_rows, -1, width), row, self.background)
            values = np.empty((n_rows, count, width + 1, len(end)))
            values[:, :, 0], values[:, :, -1] = self.starts[:, None], end
            values[:, :, 1:-1] = inner.reshape(n_rows, count, width - 1, -1)
            own = np.take_along_axis(np.diff(values, axis=2), rank[..., None], axis=2)
            total += 0.5 * own
        found = total.mean(axis=(0, 1))
        variance = total.var(axis=1, ddof=1).sum(axis=0) / count
        return found, np.sqrt(variance) / n_rows
