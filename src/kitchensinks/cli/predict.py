"""`sinks predict` and `sinks score`: rows through a model, batch by batch."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from kitchensinks.cli.options import writable
from kitchensinks.cli.scoring import scorer
from kitchensinks.cli.targets import like_classes
from kitchensinks.cli.terminal import Terminal
from kitchensinks.estimators import KitchenSinkClassifier
from kitchensinks.files.model import Saved, open_model
from kitchensinks.numerics.threads import threads as with_threads
from kitchensinks.tables.disk import atomic
from kitchensinks.tables.table import Table, arrow, open_table
from kitchensinks.tables.view import Rows, known_targets

ENDINGS = (".csv", ".csv.gz", ".parquet")
_BLOCK_ROWS = 8192


def predict(
    model_path: Path,
    data: str,
    out: Path,
    id_column: str | None,
    threads: int | None,
    skip_bad_rows: bool,
    terminal: Terminal,
) -> dict[str, Any]:
    """Predictions of every row into a file, in the order of the rows; returns the facts."""
    writable(out, ENDINGS)
    saved = table_model(model_path)
    model = saved.estimator
    table = open_table(data, skip_bad_rows)
    if id_column is not None:
        table.check_names([id_column])
    answers = Answers(model, table, id_column)
    start, done = time.monotonic(), 0
    with (
        atomic(out) as temporary,
        writer(temporary, out.name, answers.schema) as write,
        with_threads(threads),
        terminal.progress("Predicting") as meter,
    ):
        for batch in table.batches(answers.needed()):
            write(answers.of(batch, done))
            done += batch.num_rows
            meter.seen(done, table.n_rows)
    seconds = time.monotonic() - start
    if table.bad_rows.count:
        terminal.note(f"{table.bad_rows}.")
    terminal.show(f"{out}: {done:,} rows in {seconds:.1f} s, {done / seconds:,.0f} rows/s.")
    return {
        "out": str(out),
        "rows": done,
        "bad_rows": table.bad_rows.count,
        "columns": list(answers.schema.names),
        "seconds": seconds,
        "rows_per_second": done / seconds,
    }


def score(
    model_path: Path,
    data: str,
    target: str | None,
    threads: int | None,
    skip_bad_rows: bool,
    terminal: Terminal,
) -> dict[str, Any]:
    """How well a model predicts the rows of a table; returns the facts."""
    saved = table_model(model_path)
    model = saved.estimator
    name = target or saved.notes["target"]
    table = open_table(data, skip_bad_rows)
    table.check_names([name])
    rows = Rows(table, model.columns_)
    truths, weights = known_targets(table, name)
    truths = _comparable(model, truths, name)
    total, add = scorer(model)
    with with_threads(threads), terminal.progress("Scoring") as meter:
        done = 0
        while done < len(rows):
            stop = min(done + _BLOCK_ROWS, len(rows))
            block, own = rows[done:stop], truths[done:stop]
            if weights is not None:
                known = weights[done:stop] > 0
                block, own = block[known], own[known]
            add(block, own)
            done = stop
            meter.seen(done, len(rows))
    for text in _notes(table, weights):
        terminal.note(text)
    terminal.show(f"{model_path} on {table.label}: {total.text()}.")
    return {"model": str(model_path), "data": data, "target": name, **total.facts()}


def _notes(table: Table, weights: Any) -> Iterator[str]:
    if weights is not None:
        yield f"The target is missing in {int((weights == 0).sum()):,} rows: left out."
    if table.bad_rows.count:
        yield f"{table.bad_rows}."


def _comparable(model: Any, truths: np.ndarray, name: str) -> np.ndarray:
    if isinstance(model, KitchenSinkClassifier):
        return like_classes(truths, model.classes_, name)
    if truths.dtype.kind not in "fiub":
        raise ValueError(
            f"Column {name!r} holds text, such as {truths.tolist()[0]!r}; the model predicts "
            "numbers. Name the column of truths with --target."
        )
    return truths.astype(np.float64)


def table_model(path: Path) -> Saved:
    """A model that knows the columns of its table."""
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist: need a model that `sinks fit` wrote.")
    saved = open_model(path)
    if saved.estimator.columns_ is None or not isinstance(saved.notes, dict):
        raise ValueError(
            f"{path} was fitted to an array, and knows no column names: use it from Python with "
            "ks.load, or fit it with `sinks fit`."
        )
    return saved


class Answers:
    """Record batches of predictions: the id, then the prediction, then a chance for each class."""

    def __init__(self, model: Any, table: Table, id_name: str | None) -> None:
        pa = arrow()
        self.model, self.id_name = model, id_name
        self.rows = Rows(table, model.columns_)
        fields = [] if id_name is None else [table.schema.field(id_name)]
        if isinstance(model, KitchenSinkClassifier):
            # From text or numbers to Arrow's type for them.
            fields.append(pa.field("prediction", pa.array(model.classes_.tolist()).type))
            names = [f"probability_{label}" for label in model.classes_.tolist()]
            fields += [pa.field(name, pa.float64()) for name in names]
        else:
            fields.append(pa.field("prediction", pa.float64()))
        if self.id_name in [field.name for field in fields[1:]]:
            raise ValueError(
                f"--id {self.id_name!r} is also the name of a column of answers: rename it."
            )
        self.schema = pa.schema(fields)

    def needed(self) -> list[str]:
        """Columns of the table that are read."""
        inputs = self.model.columns_.inputs
        more = [] if self.id_name is None or self.id_name in inputs else [self.id_name]
        return [*inputs, *more]

    def of(self, batch: Any, first: int) -> Any:
        """Answers to a batch of the table that starts at row `first`."""
        pa = arrow()
        numbers = self.rows._numbers(batch, first + np.arange(batch.num_rows))
        scores = self.model.model_.scores(numbers)
        columns: list[Any] = []
        if self.id_name is not None:
            columns.append(batch.column(self.id_name))
        if isinstance(self.model, KitchenSinkClassifier):
            columns.append(pa.array(self.model._winners(scores).tolist()))
            columns += [pa.array(chance) for chance in self.model._probabilities(scores).T]
        else:
            columns.append(pa.array(scores[:, 0]))
        return pa.record_batch(columns, schema=self.schema)


@contextmanager
def writer(temporary: Path, name: str, schema: Any) -> Iterator[Callable[[Any], None]]:
    """What writes a record batch, in the format that the name ends in."""
    pa = arrow()
    if name.lower().endswith(".parquet"):
        from pyarrow import parquet

        with parquet.ParquetWriter(temporary, schema) as file:
            yield file.write_batch
        return
    from pyarrow import csv

    packed = "gzip" if name.lower().endswith(".gz") else None
    with (
        pa.output_stream(temporary, compression=packed) as stream,
        csv.CSVWriter(stream, schema) as file,
    ):
        yield file.write_batch
