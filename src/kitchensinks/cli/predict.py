"""`sinks predict`, `sinks score` and `sinks report`: a model and the rows of a table."""

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from kitchensinks.cli.fit import oddities
from kitchensinks.cli.options import keeps_inputs, writable
from kitchensinks.cli.pipes import is_pipe, opened_table
from kitchensinks.cli.scoring import score_blocks
from kitchensinks.cli.targets import check_some_known, comparable
from kitchensinks.cli.terminal import Terminal
from kitchensinks.cli.verbs import Predict, Report, Score
from kitchensinks.estimators.base import KitchenSink
from kitchensinks.estimators.progress import Meter
from kitchensinks.files.model import Saved, open_model
from kitchensinks.fitting.calibration import Residuals, check_coverage
from kitchensinks.numerics.arrays import AnyArray, Facts
from kitchensinks.numerics.threads import threads as with_threads
from kitchensinks.problem.targets import Classes
from kitchensinks.report.rows import framed
from kitchensinks.state import State
from kitchensinks.tables.arrays import block_slices
from kitchensinks.tables.arrow import pa
from kitchensinks.tables.disk import atomic
from kitchensinks.tables.table import Table
from kitchensinks.tables.unread import Unread
from kitchensinks.tables.view import Rows, known_targets

_ANSWERS = (".csv", ".csv.gz", ".parquet")
_REPORTS = (".html", ".json")
_BLOCK_ROWS = 8192


def predict(options: Predict, terminal: Terminal) -> Facts:
    """Predictions of every row into a file, in the order of the rows; returns the facts."""
    if is_pipe(options.out):
        terminal.leave_output()
    else:
        writable(options.out, _ANSWERS)
        keeps_inputs(options.out, options.data, options.model)
    state = _table_model(options.model).estimator.state_
    with opened_table(options.data, options.skip_bad_rows) as table:
        kept = list(dict.fromkeys(options.id_column or []))
        table.check_names(kept)
        answers = Answers(state, table, kept, options.coverage)
        start, done = time.monotonic(), 0
        with (
            _writer(options.out, answers.schema) as write,
            with_threads(options.threads),
            terminal.progress("Predicting") as meter,
        ):
            for batch in table.batches(answers.needed()):
                write(answers.of(batch, done))
                done += batch.num_rows
                meter.seen(done, table.n_rows)
    seconds = time.monotonic() - start
    answers.unread.tell()
    for text in oddities(table, None):
        terminal.note(text)
    out = "standard output" if is_pipe(options.out) else str(options.out)
    terminal.show(f"{out}: {done:,} rows in {seconds:.1f} s, {done / seconds:,.0f} rows/s.")
    return {
        "out": out,
        "rows": done,
        "bad_rows": table.bad_rows.count,
        "columns": list(answers.schema.names),
        "seconds": seconds,
        "rows_per_second": done / seconds,
    }


def score(options: Score, terminal: Terminal) -> Facts:
    """How well a model predicts the rows of a table; returns the facts."""
    model, name = _with_target(options)
    state = model.state_
    with opened_table(options.data, options.skip_bad_rows) as table:
        table.check_names([name])
        rows = Rows(table, model.columns_)
        truths, weights = known_targets(table, name)
        truths = comparable(truths, state.targets, name)
        check_some_known(truths, state.targets, name)

        def blocks(meter: Meter) -> Iterator[tuple[AnyArray, AnyArray]]:
            for part in block_slices(len(rows), _BLOCK_ROWS):
                known = slice(None) if weights is None else weights[part] > 0
                yield rows[part][known], truths[part][known]
                meter.seen(part.stop, len(rows))

        with with_threads(options.threads), terminal.progress("Scoring") as meter:
            text, facts = score_blocks(state, blocks(meter))
    for note in oddities(table, weights):
        terminal.note(note)
    terminal.show(f"{options.model} on {table.label}: {text}.")
    return {"model": str(options.model), "data": options.data, "target": name, **facts}


def report(options: Report, terminal: Terminal) -> Facts:
    """Write the page, or the facts; returns them in part."""
    out = writable(options.out, _REPORTS)
    keeps_inputs(out, options.data, options.model)
    model, name = _with_target(options)
    model.set_params(n_jobs=options.threads)
    with opened_table(options.data, options.skip_bad_rows) as table:
        rows, truths = framed(table, name, model.columns_.inputs)
    terminal.note(f"{len(truths):,} of {table.n_rows:,} rows with a known {name!r} are looked at.")
    with warnings.catch_warnings(), terminal.progress("Reporting"):
        # The page tells of rows outside of the fitted range.
        warnings.simplefilter("ignore")
        found = model.report(rows, comparable(truths, model.state_.targets, name), options.compare)
    found.save(out)
    for note in oddities(table, None):
        terminal.note(note)
    scores = {one.name: one.value for one in found.score}
    told = ", ".join(f"{key} {value:.4g}" for key, value in scores.items() if value is not None)
    terminal.show(f"{out}: {told}, on {found.rows:,} rows.")
    size = out.stat().st_size
    return {"out": str(out), "bytes": size, "rows": found.rows, "target": name, "score": scores}


def _table_model(path: Path) -> Saved:
    """A model that knows the columns of its table."""
    saved = open_model(path)
    columns = saved.estimator.columns_
    if columns is None or columns.n_given:
        raise ValueError(
            f"{path} was fitted to numbers alone, and reads no tables: use it from Python with "
            "ks.load, or fit it to ks.open_table(...) or with `sinks fit`."
        )
    targets = saved.estimator.state_.targets
    if not isinstance(targets, Classes) and targets.n_outputs > 1:
        raise ValueError(
            f"{path} predicts {targets.n_outputs} numbers for each row, and the command handles "
            "one: use it from Python with ks.load."
        )
    return saved


def _with_target(options: Score | Report) -> tuple[KitchenSink, str]:
    """The model, and the column of true values: the one given, or that of `sinks fit`."""
    saved = _table_model(options.model)
    notes = saved.notes if isinstance(saved.notes, dict) else {}
    name: str | None = options.target or notes.get("target")
    if name is None:
        raise ValueError(
            "The model was saved from Python, and its file does not name the target column: give "
            "--target COLUMN."
        )
    return saved.estimator, name


class Answers:
    """Record batches of answers: the ids, the prediction, then probabilities or an interval.

    kept: the columns of the table that stand beside the answers, as ids do.
    coverage: that of the intervals of numbers, or None for no interval.
    """

    def __init__(
        self, state: State, table: Table, kept: list[str], coverage: float | None = None
    ) -> None:
        assert state.columns is not None
        self.state, self.kept, self.unread = state, kept, Unread()
        self.ends = None if coverage is None else _ends(state, coverage)
        self.rows = Rows(table, state.columns)
        fields = [table.schema.field(name) for name in kept]
        if isinstance(state.targets, Classes):
            labels = state.targets.labels.tolist()
            # The Arrow type of the labels, text or numbers.
            fields.append(pa.field("prediction", pa.array(labels).type))
            fields += [pa.field(f"probability_{label}", pa.float64()) for label in labels]
        else:
            names = ["prediction"] if self.ends is None else ["prediction", "lower", "upper"]
            fields += [pa.field(name, pa.float64()) for name in names]
        for field in fields[len(kept) :]:
            if field.name in kept:
                raise ValueError(
                    f"--id {field.name!r} is also the name of a column of answers: rename it."
                )
        self.schema = pa.schema(fields)

    def needed(self) -> list[str]:
        inputs = self.rows.columns.inputs
        return [*inputs, *(name for name in self.kept if name not in inputs)]

    def of(self, batch: Any, first: int) -> Any:
        """Answers to a batch of the table that starts at row `first`."""
        numbers = self.rows._numbers(batch, first + np.arange(batch.num_rows), self.unread)
        scores = self.state.model.scores(numbers)
        columns: list[Any] = [batch.column(name) for name in self.kept]
        answers = self.state.answer("predict", scores)
        columns.append(pa.array(answers.tolist()))
        columns += [pa.array(answers + end) for end in self.ends or ()]
        if isinstance(self.state.targets, Classes):
            columns += [pa.array(chance) for chance in self.state.probabilities(scores).T]
        return pa.record_batch(columns, schema=self.schema)


def _ends(state: State, coverage: float) -> tuple[float, float]:
    """What is added to predictions to have the ends of their intervals."""
    if isinstance(state.targets, Classes):
        raise ValueError(
            f"--coverage {coverage:g} is for models of numbers, and this one is a classifier, "
            "whose answers have probabilities: leave it out, or fit with --task regression if the "
            "targets are numbers."
        )
    wanted = check_coverage(coverage)
    if state.loss.link is not None:
        raise ValueError(
            f"--coverage {coverage:g} is not for models with the {state.loss.name} loss, whose "
            "targets vary more where predictions are larger: intervals have one width for all "
            "rows. Leave it out."
        )
    if not isinstance(state.calibration, Residuals):
        raise ValueError(
            f"--coverage {coverage:g} needs residuals of rows that the weights have not seen, and "
            f"this model, fitted by {state.fitted.evidence.solver}, has none: leave it out, or fit "
            "again with `sinks fit` and no --constraint."
        )
    lower, upper = state.calibration.offsets(wanted)
    return float(lower[0]), float(upper[0])


@contextmanager
def _writer(out: Path, schema: object) -> Iterator[Callable[[Any], None]]:
    """A function that writes record batches in the format of the file name; CSV to a pipe."""
    name = out.name.lower()
    if is_pipe(out):
        with pa.csv.CSVWriter(pa.PythonFile(sys.stdout.buffer, mode="w"), schema) as file:
            yield file.write_batch
        sys.stdout.buffer.flush()
        return
    if name.endswith(".parquet"):
        with atomic(out) as temporary, pa.parquet.ParquetWriter(temporary, schema) as file:
            yield file.write_batch
        return
    packed = "gzip" if name.endswith(".gz") else None
    with (
        atomic(out) as temporary,
        pa.output_stream(temporary, compression=packed) as stream,
        pa.csv.CSVWriter(stream, schema) as file,
    ):
        yield file.write_batch
