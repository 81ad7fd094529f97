"""Encodings of categories as numbers, chosen by held-out error.

A category becomes the mean target of its rows (out of fold for the rows that are fitted, so that
no row sees its own target), an indicator of its own, or, where categories were declared in an
order, its rank: whichever has the lowest held-out error after a short run of learning scales. A
missing category is a category; a missing number is the median, with an indicator.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from kitchensinks.law import constants
from kitchensinks.law.copies import one_of_each
from kitchensinks.law.learned import Learned
from kitchensinks.law.maps import short_run
from kitchensinks.law.searches import first_best
from kitchensinks.law.splits import some_of
from kitchensinks.law.task import LearningRows
from kitchensinks.law.values import Request
from kitchensinks.numerics.arrays import AnyArray, Floats
from kitchensinks.numerics.threads import in_order
from kitchensinks.numerics.words import Stream, Words
from kitchensinks.problem.targets import Batch
from kitchensinks.tables.arrow import pa
from kitchensinks.tables.columns import Columns
from kitchensinks.tables.encoders import Places, Text
from kitchensinks.tables.means import MAYBE_REPEATED, NO_FOLDS, learn_means, text_columns
from kitchensinks.tables.table import Table
from kitchensinks.tables.view import Rows
from kitchensinks.tables.words import words_of


def encode(
    rows: Rows,
    targets: AnyArray,
    weights: Floats | None,
    kind: str,
    like: Columns | None = None,
    exportable: bool = False,
) -> Rows:
    """The rows of a fit with their categories as numbers, in the way that suits the targets.

    targets (n,) or (n, outputs): labels for kind "classification", numbers for "regression".
    Weights count as copies of a row; rows without weight change nothing. Means are the default,
    because they add the fewest columns. like: a recipe whose encoding is taken again. exportable:
    only encodings that ONNX has, where there is one. Threads are those of the caller.
    """
    if rows.folded is not None:
        return rows
    if targets.ndim > 1 or not text_columns(rows.columns):
        return Rows(rows.table, rows.columns, NO_FOLDS)
    coded, labels = _coded(targets, weights, kind)
    batch = Batch(rows, coded, weights)
    ways = _ways(batch, labels, like)
    if exportable:
        ways = [way for way in ways if not free_text(way.columns)] or ways
    if like is not None:
        return next((way for way in ways if _kinds(way.columns) == _kinds(like)), ways[0])
    if len(ways) == 1 or not _many(batch) or not np.ptp(batch.counted_targets, axis=0).any():
        return ways[0]
    return _best(ways, batch, Request(seed=0, classes=kind == "classification"))


def free_text(columns: Columns) -> list[str]:
    """The columns whose encoding ONNX does not have."""
    return [encoder.name for encoder in columns.encoders if not encoder.exportable]


def _best(ways: list[Rows], batch: Batch, request: Request) -> Rows:
    """The encoding with the lowest held-out error after a short run of learning scales; the
    first where it is as good."""
    words = Words(0, 0, Stream.ENCODING_SAMPLE)
    places = some_of(batch.counted_places, constants.SAMPLED, words)

    def error(way: Rows) -> float:
        sample, _ = one_of_each(batch._replace(rows=way).part(places), request.seed)
        task = LearningRows(sample, request, Learned())
        return short_run(task, ("laplacian", "squash")).run_error

    errors = list(in_order(error, ways))
    equal = errors[0] <= constants.EQUAL_ENCODINGS * min(errors)
    return ways[0 if equal else first_best(errors)]


def _many(batch: Batch) -> bool:
    """Whether there are enough rows to compare encodings."""
    return batch.counted >= constants.FEW_ROWS


def _ways(batch: Batch, labels: tuple[str, ...], like: Columns | None) -> list[Rows]:
    """The rows with categories as means, as places where they have an order, and as indicators
    where there are many rows and few enough indicators."""
    rows, many = batch.rows, _many(batch)
    given = rows.table, rows.columns, batch.targets, batch.weights, labels
    free = None if like is None else {e.name for e in like.encoders if isinstance(e, Text)}
    means, folded = learn_means(*given, free)
    ways = [Rows(rows.table, means, folded)]
    if many and free is None and any(isinstance(e, Text) for e in means.encoders):
        # Words that are repeated a few times may be categories or text: a trial decides.
        other, folds = learn_means(*given, repeated=MAYBE_REPEATED)
        if _kinds(other) != _kinds(means):
            ways.append(Rows(rows.table, other, folds))
    orders = _orders(rows.table, text_columns(rows.columns))
    if orders:
        recipes = tuple(_placed(one, orders) for one in folded.recipes)
        ways.append(Rows(rows.table, _placed(means, orders), folded._replace(recipes=recipes)))
    if many and rows.columns.width <= constants.MOST_INDICATORS:
        ways.append(Rows(rows.table, rows.columns, NO_FOLDS))
    return ways


def _kinds(columns: Columns) -> list[type]:
    return [type(encoder) for encoder in columns.encoders]


def _coded(targets: Any, weights: Floats | None, kind: str) -> tuple[Floats, tuple[str, ...]]:
    """Targets whose means are taken (n, outputs), and what each is."""
    if kind == "regression":
        coded = targets[:, None].astype(np.float64)
        largest = float(np.abs(coded).max(initial=0.0))
        if largest > 0.0 and not 1e-75 < largest < 1e75:
            # Means are inputs, whose squares have to be finite; their unit does not matter.
            coded /= largest
        return coded, ("mean",)
    classes = np.unique(targets if weights is None else targets[weights > 0])
    # One indicator is enough for two classes.
    classes = classes[1:] if len(classes) == 2 else classes
    return (targets[:, None] == classes).astype(np.float64), tuple(f"is {c}" for c in classes)


def _orders(table: Table, names: list[str]) -> dict[str, list[str]]:
    """The categories of the columns that were declared with an order of them."""
    types = {name: table.schema.field(name).type for name in names}
    ordered = [n for n, t in types.items() if pa.types.is_dictionary(t) and t.ordered]
    if not ordered:
        return {}
    # Each batch may have a dictionary of its own: categories that earlier ones lack come last.
    words: dict[str, dict[str, None]] = {name: {} for name in ordered}
    for batch in table.batches(ordered):
        for name in ordered:
            own = words_of(batch.column(name).dictionary).fill_null("")
            words[name] |= dict.fromkeys(own.to_pylist())
    return {name: list(found) for name, found in words.items()}


def _placed(columns: Columns, orders: dict[str, list[str]]) -> Columns:
    """The recipe with categories as their ranks; unknown ones have the middle rank."""
    encoders = list(columns.encoders)
    for k, encoder in enumerate(encoders):
        words = orders.get(encoder.name)
        if words is not None:
            places = np.append(np.arange(len(words)), 0.5 * (len(words) - 1))
            encoders[k] = Places(encoder.name, False, tuple(words), ("place",), places[:, None])
    return replace(columns, encoders=tuple(encoders))
