"""`sinks fit` with --scheduler or --dask: the same steps on rows that Dask reads."""

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kitchensinks.cli.choose import NAMES, Choice, basis_named
from kitchensinks.cli.fit import FitOptions, chosen, estimator, facts_of, finished
from kitchensinks.cli.targets import task_of
from kitchensinks.cli.terminal import Terminal
from kitchensinks.cli.work import Work
from kitchensinks.estimators.resume import identity_of
from kitchensinks.execution.cluster import connected
from kitchensinks.execution.fits import fit_collections, score_collections
from kitchensinks.files.checkpoint import Checkpoint
from kitchensinks.law import Learned
from kitchensinks.state import Spec, State
from kitchensinks.tables.columns import Columns
from kitchensinks.tables.keys import row_keys
from kitchensinks.tables.table import nearest, open_table

# Rows that the bases are tried on, and that tell the task.
_SAMPLE_ROWS = 32_000
# Bases with sparse features are not supported for Dask collections.
_DENSE = tuple(name for name in NAMES if (b := basis_named(name)) is None or not b.sparse)


@dataclass(frozen=True)
class Source:
    """Numbers X and targets y as Dask has them, and a sample of both that is here."""

    X: Any
    y: Any
    columns: Columns
    task: str
    n_rows: int
    sample: tuple[np.ndarray, np.ndarray]

    def held(self, options: FitOptions, side: bool) -> Any:
        """Weights that are one for the rows held out, or for the others."""
        return self.X.map_partitions(
            _side, options.seed, options.validation, side, meta=(None, "f8")
        )


def fit_on_cluster(
    options: FitOptions, where: str, work: Work, terminal: Terminal
) -> dict[str, Any]:
    """Connect, read, choose, validate, fit, write; returns the facts."""
    with connected(where) as client:
        terminal.note(f"Dask at {client.scheduler.address}; dashboard: {client.dashboard_link}")
        source = _read(options)
        terminal.note(
            f"{options.data}: {source.n_rows:,} rows in {source.X.npartitions} partitions, "
            f"{len(source.columns.inputs)} columns as {source.columns.width} numbers; "
            f"{source.task} of {options.target!r}."
        )
        choice = _choose(options, source, work, terminal)
        model = estimator(options, source.task, choice)
        parameters = model.get_params(deep=False)
        spec = Spec.of(source.task, **parameters)

        def fitted(title: str, weights: Any, checkpoint: Checkpoint | None) -> State:
            with terminal.progress(title) as meter:
                told = replace(spec, progress=meter.told)
                facts, columns = identity_of(spec, parameters), source.columns
                return fit_collections(
                    told, source.X, source.y, weights, checkpoint, facts, columns
                )

        validation = None
        if options.validation > 0:
            kept, held = (source.held(options, side) for side in (False, True))
            title = "Fitting without the held-out rows"
            state = fitted(title, kept, work.checkpoint("held-out"))
            score = score_collections(spec, state.small(), source.X, source.y, held)
            name = "r2" if source.task == "regression" else "accuracy"
            validation = {name: score, "error": None if name == "r2" else 1.0 - score}
            terminal.note(f"Held out: {'R²' if name == 'r2' else name} {score:.4f}.")
            if isinstance(spec.basis, Learned):
                # The score is that of this law: all rows are fitted with it again.
                spec = replace(spec, basis=state.law, n_components=None)
        start = time.monotonic()
        # The model takes tables, by the recipe of their columns.
        model.state_ = fitted("Fitting all rows", None, work.checkpoint("all-rows"))
        model.n_features_in_ = source.columns.width
        facts = facts_of(options, source.task, choice, model)
        facts |= {"rows": source.n_rows, "bad_rows": 0, "scheduler": client.scheduler.address}
        facts |= {"columns": len(source.columns.inputs), "inputs": source.columns.width}
        return finished(options, facts, model, validation, start, work, terminal)


def _read(options: FitOptions) -> Source:
    """Parquet or CSV, wherever fsspec reads them from."""
    from dask import dataframe

    lines = options.data.lower().rstrip("*").endswith((".csv", ".csv.gz", ".tsv"))
    read = dataframe.read_csv if lines else dataframe.read_parquet
    given = {"blocksize": None} if lines and options.data.endswith(".gz") else {}
    table = read(options.data, **given)
    names = [str(name) for name in table.columns]
    for name in (options.target, *options.drop):
        if name not in names:
            raise ValueError(f"There is no column {name!r}{nearest(name, names)}")
    table = table[table[options.target].notnull()]
    n_rows = len(table)
    if n_rows == 0:
        raise ValueError(f"There are no rows with a {options.target!r} in {options.data}.")
    share = min(1.0, _SAMPLE_ROWS / n_rows)
    few = table.sample(frac=share, random_state=options.seed).compute()
    number = few[options.target].dtype.kind in "fiub"
    targets = few[options.target].to_numpy(dtype=None if number else str)
    task = task_of(targets, options.task, options.target)
    # Found out now, and not after a basis has been chosen.
    plain = estimator(options, task, Choice("fourier", basis_named("fourier"), "", ()))
    Spec.of(task, **plain.get_params(deep=False))
    columns = Columns.learn(open_table(few), [options.target, *options.drop], options.seed)
    X = table[columns.inputs].map_partitions(
        _numbers, columns, meta=_numbers(few[:0][columns.inputs], columns)
    )
    sample = _numbers(few[columns.inputs], columns).to_numpy(), targets
    return Source(X, table[options.target], columns, task, n_rows, sample)


def _choose(options: FitOptions, source: Source, work: Work, terminal: Terminal) -> Choice:
    rows, targets = source.sample
    kept = ~_held(rows, options.seed, options.validation)
    identity = {"data": options.data, "rows": str(source.n_rows), "target": options.target}
    return chosen(options, rows[kept], targets[kept], source.task, identity, work, terminal, _DENSE)


# -- what runs on the workers ------------------------------------------------------------


def _numbers(frame: Any, columns: Columns) -> Any:
    """The columns of a partition as numbers, by a recipe learned from the sample."""
    import pandas
    from pyarrow import RecordBatch, Table

    table = Table.from_pandas(frame, preserve_index=False)
    arrays = [column.combine_chunks() for column in table.columns]
    batch = RecordBatch.from_arrays(arrays, names=table.column_names)
    return pandas.DataFrame(columns.apply(batch), columns=columns.outputs, index=frame.index)


def _held(rows: np.ndarray, seed: int, share: float) -> np.ndarray:
    """Which rows are held out: by their keys, wherever they are."""
    return row_keys(rows, seed) < np.uint64(share * 2.0**64)


def _side(frame: Any, seed: int, share: float, side: bool) -> Any:
    import pandas

    held = _held(frame.to_numpy(np.float64), seed, share) if len(frame) else np.zeros(0, bool)
    return pandas.Series((held == side).astype(np.float64), index=frame.index)
