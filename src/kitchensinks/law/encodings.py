"""Mixed tables: how categories become numbers, chosen by the error that each way leaves.

A category becomes the mean target of its rows (out of fold for the rows that are fitted, so that
no row sees its own target), an indicator of its own, or, where categories were declared in an
order, its place in it: whichever has the lowest leave-one-out error after a short run of learning
scales. A missing category is a category; a missing number is the median, with an indicator.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kitchensinks.law.learned import Learned
from kitchensinks.law.maps import short_runs
from kitchensinks.law.task import POOL, Task
from kitchensinks.law.values import Request
from kitchensinks.numerics.words import Words
from kitchensinks.problem.targets import Batch
from kitchensinks.tables.columns import Columns
from kitchensinks.tables.encoders import Category, Places, Text, words_of
from kitchensinks.tables.means import NO_FOLDS, learn_means
from kitchensinks.tables.table import Table, arrow
from kitchensinks.tables.view import Rows

Floats = NDArray[np.float64]

# Indicators are not looked at where they would be more than this, nor with fewer rows than this.
_MOST_COLUMNS, _FEWEST_ROWS = 500, 500
# Errors of short runs that differ by less are no reason for more columns.
_EQUAL = 1.03


def encode(
    rows: Rows,
    targets: NDArray[Any],
    weights: Floats | None,
    kind: str,
    like: Columns | None = None,
) -> Rows:
    """The rows of a fit with their categories as numbers, in the way that suits the targets.

    targets (n,) or (n, outputs): labels for kind "classification", numbers for "regression".
    Weights count as copies of a row; rows without weight change nothing. like: a recipe whose way
    is to be taken. Means are, where no other is clearly better: they are the fewest columns.
    """
    if rows.folded is not None:
        return rows
    texts = [e for e in rows.columns.encoders if isinstance(e, Category | Text)]
    plain = rows.encoded(rows.columns, NO_FOLDS)
    if not texts or targets.ndim > 1:
        return plain
    coded, labels = _coded(targets, weights, kind)
    means, folded = learn_means(rows.table, rows.columns, coded, weights, labels)
    tried = [rows.encoded(means, folded)]
    orders = _orders(rows.table, [e.name for e in texts])
    if orders:
        recipes = tuple(_placed(one, orders) for one in folded.recipes)
        tried.append(rows.encoded(_placed(means, orders), folded._replace(recipes=recipes)))
    counted = np.arange(len(rows)) if weights is None else np.flatnonzero(weights > 0)
    if len(counted) >= _FEWEST_ROWS and plain.shape[1] <= _MOST_COLUMNS:
        tried.append(plain)
    if like is not None:
        return next((one for one in tried if _kinds(one.columns) == _kinds(like)), tried[0])
    constant = not np.ptp(coded[counted], axis=0).any()
    if len(counted) < _FEWEST_ROWS or len(tried) == 1 or constant:
        return tried[0]
    if len(counted) > POOL:
        counted = np.sort(counted[Words(0, 0, stream=9).permutation(len(counted))[:POOL]])
    own = None if weights is None else weights[counted]
    errors = []
    classes = kind == "classification"
    for one in tried:
        batch = Batch(one[counted], coded[counted], own)
        task = Task(batch, Request(seed=0, classes=classes), Learned())
        errors.append(short_runs(task, "laplacian", ("squash",))[0][0])
    return tried[0 if errors[0] <= _EQUAL * min(errors) else int(np.argmin(errors))]


def _kinds(columns: Columns) -> list[type]:
    return [type(encoder) for encoder in columns.encoders]


def _coded(targets: Any, weights: Floats | None, kind: str) -> tuple[Floats, tuple[str, ...]]:
    """Targets whose means are taken (n, outputs), and what each is."""
    if kind == "regression":
        return targets[:, None].astype(np.float64), ("mean",)
    classes = np.unique(targets if weights is None else targets[weights > 0])
    # Of two classes one says all.
    classes = classes[1:] if len(classes) == 2 else classes
    return (targets[:, None] == classes).astype(np.float64), tuple(f"is {c}" for c in classes)


def _orders(table: Table, names: list[str]) -> dict[str, list[str]]:
    """The categories of the columns that were declared with an order of them."""
    types = {name: table.schema.field(name).type for name in names}
    ordered = [n for n, t in types.items() if arrow().types.is_dictionary(t) and t.ordered]
    if not ordered:
        return {}
    first = next(table.batches(ordered))
    words = {name: words_of(first.column(name).dictionary) for name in ordered}
    return {name: found.fill_null("").to_pylist() for name, found in words.items()}


def _placed(columns: Columns, orders: dict[str, list[str]]) -> Columns:
    """The recipe with categories as their places; the middle for one that has none."""
    encoders = list(columns.encoders)
    for k, encoder in enumerate(encoders):
        words = orders.get(encoder.name)
        if words is not None:
            places = np.append(np.arange(len(words)), 0.5 * (len(words) - 1))
            encoders[k] = Places(encoder.name, False, tuple(words), ("place",), places[:, None])
    return replace(columns, encoders=tuple(encoders))
