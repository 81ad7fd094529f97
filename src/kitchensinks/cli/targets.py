"""The target column: which task it makes, and whether there is anything to learn."""

import numpy as np
from numpy.typing import NDArray

from kitchensinks.numerics.arrays import AnyArray, Floats
from kitchensinks.numerics.warned import warn
from kitchensinks.problem.losses import LOSSES
from kitchensinks.problem.targets import Classes, Targets
from kitchensinks.tables.arrays import FROM_0
from kitchensinks.tables.arrow import pa
from kitchensinks.tables.keys import lowest_keys, row_keys
from kitchensinks.tables.kinds import family
from kitchensinks.tables.noticed import oddly_written, stray_words
from kitchensinks.tables.table import Table
from kitchensinks.tables.view import Rows, known_targets

TASKS = ("auto", "classification", "regression")
# Whole numbers with more distinct values than this are a quantity and not labels.
_MOST_LABELS = 20
# Rows that are looked at for oddly written numbers.
_LOOKED = 1000
# Text with more distinct values than this, and than a tenth of the rows, is no label; nor is it
# with more than half of them, unless it was named as one.
_MOST_CLASSES = 1000


def asked_task(task: str, loss: str) -> str:
    """The task that the options ask for: a loss of regression alone makes it one."""
    found = LOSSES.get(loss)
    return "regression" if task == "auto" and found and found.tasks == ("regression",) else task


def read_target(
    table: Table, name: str, task: str, loss: str = "squared"
) -> tuple[AnyArray, Floats | None, str]:
    """Values, weights (0 where the target is missing; None where it never is), and the task.

    loss: that was asked for, and may say which task it is.
    """
    table.check_names([name])
    if family(table.schema.field(name).type) == "date" and asked_task(task, loss) == "auto":
        raise ValueError(
            f"The target {name!r} holds dates: write numbers, such as days since a date, or give "
            "--task classification for classes."
        )
    values, weights = known_targets(table, name)
    known = values if weights is None else values[weights > 0]
    if values.dtype.kind == "U" and asked_task(task, loss) != "classification":
        _check_strays(known, name)
    asked, task = task, task_of(values, task, name, loss)
    different = np.unique(known)
    if len(different) < 2:
        raise ValueError(
            f"The target {name!r} has one value only, {different.tolist()[0]!r}: there is nothing "
            "to learn. Name another column with --target."
        )
    if task == "regression":
        numbers = values.astype(np.float64)
        if not np.isfinite(numbers).all():
            raise ValueError(f"The target {name!r} has infinite values: replace them.")
        return numbers, weights, task
    most = max(_MOST_CLASSES, len(known) // 10)
    likely = min(most, max(_MOST_LABELS, len(known) // 2)) if asked == "auto" else most
    if len(different) > likely:
        what = "write numbers as 1234.5" if values.dtype.kind == "U" else "give --task regression"
        what = "give --task classification for classes" if len(different) <= most else what
        raise ValueError(
            f"The target {name!r} has {len(different)} different values in {len(known)} rows, too "
            f"many to be classes. Name another column with --target, or {what}."
        )
    return values, weights, task


def _check_strays(words: AnyArray, name: str) -> None:
    """An error where a target of numbers is text because of a few words, or of commas and signs."""
    few, strays = len(np.unique(words)) <= _MOST_LABELS, stray_words(words)
    if few and strays:
        count = int(np.isin(words, strays).sum())
        warn(
            f"The target {name!r} holds numbers, and words such as {strays[0]!r} in {count:,} of "
            f"{len(words):,} rows: they are taken as classes of their own. Leave these rows empty "
            "to leave them out.",
        )
    if few:
        return
    if oddly_written(pa.array(words[:_LOOKED].tolist())):
        raise ValueError(
            f"The target {name!r} holds numbers with commas or signs of money or percent, such "
            f"as {str(words[0])!r}: write them as 1234.5."
        )
    if strays:
        row = int(np.flatnonzero(words == strays[0])[0])
        shown = ", ".join(map(repr, strays[:3])) + (", …" if len(strays) > 3 else "")
        raise ValueError(
            f"The target {name!r} holds numbers, and words: {shown} (first in row {row}, "
            f"{FROM_0}, of those with a target). For regression leave these empty or replace "
            "them; --task classification takes every value as a class."
        )


def sampled_places(rows: Rows, weights: Floats | None, count: int, seed: int) -> NDArray[np.intp]:
    """At most so many of the rows with a target, by their content."""
    chosen = lowest_keys(row_keys(rows, seed), weights, count)
    if weights is not None:
        chosen &= weights > 0
    return np.flatnonzero(chosen)[:count]


def task_of(values: AnyArray, task: str, name: str, loss: str = "squared") -> str:
    """Classification for text, booleans and few whole numbers; regression for other numbers.

    >>> task_of(np.array(["no", "yes"]), "auto", "y"), task_of(np.array([0.5, 2.0]), "auto", "y")
    ('classification', 'regression')
    """
    if task not in TASKS:
        raise ValueError(f"--task {task!r}: need one of {', '.join(TASKS)}.")
    number, asked = values.dtype.kind in "fiu", task
    task = asked_task(task, loss)
    if task == "regression" and not number:
        who = "regression" if task == asked else f"--loss {loss}"
        what = "--task classification" if task == asked else "another loss, such as logistic,"
        raise ValueError(
            f"The target {name!r} holds {'text' if values.dtype.kind == 'U' else 'booleans'}, "
            f"such as {values.tolist()[0]!r}: {who} needs numbers. Name another column with "
            f"--target, or give {what} for classes."
        )
    if task != "auto":
        return task
    if not number:
        return "classification"
    whole = bool(np.isfinite(values).all()) and bool((values == np.round(values)).all())
    return "classification" if whole and len(np.unique(values)) <= _MOST_LABELS else "regression"


def check_some_known(values: AnyArray, targets: Targets, name: str) -> None:
    """An error where no target of a table is a class that the model knows."""
    if isinstance(targets, Classes) and not np.isin(values, targets.labels).any():
        known = ", ".join(map(repr, targets.labels.tolist()[:5]))
        raise ValueError(
            f"Column {name!r} holds values such as {values.tolist()[0]!r}; the model predicts "
            f"{known}{', …' if len(targets.labels) > 5 else ''}. Name the column of the true "
            "values with --target, or fit a model to rows that have these classes."
        )


def comparable(values: AnyArray, targets: Targets, name: str) -> AnyArray:
    """Targets of another table in the dtype of the model's, so that they can be compared."""
    classes = targets.labels if isinstance(targets, Classes) else None
    if classes is not None and classes.dtype.kind == "U":
        if values.dtype.kind == "U":
            return values
        whole = values.dtype.kind == "f" and bool((values == np.round(values)).all())
        return (values.astype(np.int64) if whole else values).astype(str)
    if classes is not None and values.dtype.kind != "U":
        return values
    try:
        return values.astype(np.float64)
    except ValueError:
        known = "" if classes is None else f", such as {classes.tolist()[0]!r}"
        raise ValueError(
            f"Column {name!r} holds text, such as {values.tolist()[0]!r}; the model predicts "
            f"numbers{known}. Name the column of the true values with --target."
        ) from None
