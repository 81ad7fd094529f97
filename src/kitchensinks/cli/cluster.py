"""`sinks fit` with --scheduler or --dask: the same steps on rows that Dask reads."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from kitchensinks.cli.fit import Step
from kitchensinks.cli.targets import task_of
from kitchensinks.cli.terminal import Terminal
from kitchensinks.cli.verbs import Fit
from kitchensinks.estimators.base import KitchenSink
from kitchensinks.execution.cluster import connected
from kitchensinks.execution.fits import fit_collections, score_collections
from kitchensinks.numerics.arrays import Facts, Floats
from kitchensinks.numerics.threads import threads
from kitchensinks.tables.arrow import pa
from kitchensinks.tables.columns import Columns
from kitchensinks.tables.delimited import delimiter_of
from kitchensinks.tables.keys import row_keys
from kitchensinks.tables.spelling import nearest
from kitchensinks.tables.table import open_table

# Rows of the sample that task and column recipe are learned from.
_SAMPLE_ROWS = 32_000


@contextmanager
def connected_source(options: Fit, where: str, terminal: Terminal) -> Iterator["ClusterSource"]:
    """The rows that the options name, on the workers of a scheduler."""
    if options.skip_bad_rows:
        raise ValueError(
            "--skip-bad-rows is not supported with Dask: mend the files, or fit without a cluster."
        )
    with connected(where) as client:
        address = client.scheduler.address
        terminal.note(f"Dask at {address}; dashboard: {client.dashboard_link}")
        yield ClusterSource.read(options, address)


@dataclass(frozen=True, eq=False)
class ClusterSource:
    """As `FileSource`, of a Dask collection of the rows with a target; `few`: some, in memory."""

    options: Fit
    task: str
    n_rows: int
    table: Any
    few: Any
    address: str

    @classmethod
    def read(cls, options: Fit, address: str) -> "ClusterSource":
        """Parquet or CSV, from any location that fsspec supports."""
        table = _opened(options.data)
        names = [str(name) for name in table.columns]
        for name in options.excluded:
            if name not in names:
                raise ValueError(f"There is no column {name!r}{nearest(name, names, 'there are')}")
        table = table[table[options.target].notnull()]
        n_rows = len(table)
        if n_rows == 0:
            raise ValueError(f"There are no rows with a {options.target!r} in {options.data}.")
        share = min(1.0, _SAMPLE_ROWS / n_rows)
        few = table.sample(frac=share, random_state=options.seed).compute()
        number = few[options.target].dtype.kind in "fiub"
        targets = few[options.target].to_numpy(dtype=None if number else str)
        task = task_of(targets, options.task, options.target, options.loss)
        return cls(options, task, n_rows, table, few, address)

    @cached_property
    def columns(self) -> Columns:
        with threads(self.options.threads):
            return Columns.learn(open_table(self.few), **self.options.recipe)

    @cached_property
    def X(self) -> Any:
        """The columns as numbers, by a recipe learned from the sample."""
        inputs = self.columns.inputs
        empty = _numbers(self.few[:0][inputs], self.columns)
        return self.table[inputs].map_partitions(_numbers, self.columns, meta=empty)

    @property
    def y(self) -> Any:
        return self.table[self.options.target]

    def notes(self) -> list[str]:
        return [
            f"{self.options.data}: {self.n_rows:,} rows in {self.X.npartitions} partitions, "
            f"{len(self.columns.inputs)} columns as {self.columns.width} numbers; "
            f"{self.task} of {self.options.target!r}."
        ]

    def identity(self) -> dict[str, str]:
        known = {"data": self.options.data, "rows": str(self.n_rows)}
        return {**known, "target": self.options.target, "recipe": self.columns.fingerprint()}

    def fit(self, model: KitchenSink, step: Step) -> None:
        spec = replace(model._spec(), columns=self.columns, progress=step.meter.told)
        weights = self._side(False) if step.held_out else None
        model.state_ = fit_collections(spec, self.X, self.y, weights, step.checkpoint)
        model.n_features_in_ = self.columns.width

    def score(self, model: KitchenSink) -> tuple[str, Facts]:
        spec, state = model._spec(), model.state_.small()
        score = score_collections(spec, state, self.X, self.y, self._side(True))
        if self.task == "regression":
            return f"R² {score:.4f}", {"r2": score}
        return f"error {100 * (1.0 - score):.2f} %", {"accuracy": score, "error": 1.0 - score}

    def facts(self) -> Facts:
        return {"bad_rows": 0, "scheduler": self.address}

    def _side(self, held_out: bool) -> Any:
        """Weights that are one for the rows held out, or for the others."""
        seed, share = self.options.seed, self.options.validation
        return self.X.map_partitions(_side, seed, share, held_out, meta=(None, "f8"))


def _opened(data: str) -> Any:
    """The Dask DataFrame of files, with the separator that the same files have without Dask."""
    from dask import dataframe
    from fsspec import open_files

    name = data.lower().rstrip("*")
    if not name.removesuffix(".gz").endswith((".csv", ".tsv")):
        return dataframe.read_parquet(data)
    files = open_files(data, "rb", compression="infer")
    if not files:
        raise ValueError(f"There are no files {data}.")
    with files[0] as file:
        header = file.readline().decode(errors="replace")
    whole = {"blocksize": None} if name.endswith(".gz") else {}
    return dataframe.read_csv(data, sep=delimiter_of(name, header), **whole)


# -- what runs on the workers ------------------------------------------------------------


def _numbers(frame: Any, columns: Columns) -> Any:
    """The columns of a partition as numbers, by a recipe learned from the sample."""
    import pandas

    numbers = columns.apply(pa.Table.from_pandas(frame, preserve_index=False))
    return pandas.DataFrame(numbers, columns=columns.outputs, index=frame.index)


def _side(frame: Any, seed: int, share: float, held_out: bool) -> Any:
    """One for the rows that are held out, or for the others: by their keys, wherever they are."""
    import pandas

    rows: Floats = frame.to_numpy(np.float64)
    held = row_keys(rows, seed) < np.uint64(share * 2.0**64)
    return pandas.Series((held == held_out).astype(np.float64), index=frame.index)
