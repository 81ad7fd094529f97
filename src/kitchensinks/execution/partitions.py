"""Dask arrays and DataFrames as lists of partitions, each checked where it is computed."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from dask import delayed
from dask.optimization import cull
from numpy.typing import ArrayLike, DTypeLike
from scipy import sparse
from sklearn.utils import check_array

from kitchensinks.execution.cluster import ClusterError, Task, Told, compute
from kitchensinks.numerics.arrays import Matrix, SampleWeight
from kitchensinks.numerics.warned import warn
from kitchensinks.tables.arrays import FROM_0, advice, check_size
from kitchensinks.tables.view import Given


class PartitionError(ValueError):
    """Something is wrong with one partition, which the message names."""


class Partition(NamedTuple):
    """One partition: its number, rows, targets and weights (tasks, or None)."""

    number: int
    rows: Any
    targets: Any
    weights: Any


@dataclass(frozen=True)
class Schema:
    """What every partition has to look like: columns by name with their dtypes, or by number.

    names is None for arrays; `dtype` is what the numbers are used as.
    """

    names: tuple[str, ...] | None
    given: tuple[str, ...]
    n_inputs: int
    dtype: str

    @classmethod
    def of(cls, X: Given) -> "Schema":
        if bad := without_numbers(X):
            raise ValueError(
                f"The columns {', '.join(bad)} hold no numbers. In a Dask collection, make "
                "indicators of text, dask.dataframe.get_dummies(X.categorize()), and days of "
                "dates, (X[name] - pandas.Timestamp(0)).dt.days, or leave them out, "
                "X.drop(columns=[...]). `sinks fit --scheduler` fits files with text."
            )
        names = tuple(map(str, X.columns)) if hasattr(X, "columns") else None
        dtypes = [X.dtype] if names is None else list(X._meta.dtypes)
        dtype = "float32" if all(one == np.float32 for one in dtypes) else "float64"
        width = X.shape[1] if names is None else len(names)
        return cls(names, tuple(map(str, dtypes)), width, dtype)

    def array(self, rows: Matrix) -> Any:
        """The rows of a partition as an array, dense or CSR, if they are as they should be."""
        if self.names is not None:
            names = tuple(map(str, getattr(rows, "columns", ())))
            if names != self.names:
                raise ValueError(
                    f"has the columns {', '.join(names)}, and the collection says "
                    f"{', '.join(self.names)}: need the same ones, in the same order, everywhere."
                )
            self._check_dtypes(tuple(map(str, rows.dtypes)), self.names)
            return rows.to_numpy(dtype=self.dtype)
        if getattr(rows, "ndim", 0) != 2 or rows.shape[1] != self.n_inputs:
            raise ValueError(
                f"has the shape {getattr(rows, 'shape', '?')}, and the collection says "
                f"{self.n_inputs} columns: need the same ones everywhere."
            )
        self._check_dtypes((str(rows.dtype),), ("X",))
        return rows.tocsr() if sparse.issparse(rows) else np.asarray(rows)

    def _check_dtypes(self, dtypes: tuple[str, ...], names: tuple[str, ...]) -> None:
        for name, dtype, given in zip(names, dtypes, self.given, strict=True):
            if dtype != given:
                raise ValueError(
                    f"has {name} as {dtype}, and the collection says {given}: need one dtype in "
                    "all partitions. Set the dtype where the rows are read, for example by "
                    "read_csv(dtype=...)."
                )


@contextmanager
def in_partition(number: int) -> Iterator[None]:
    """Errors begin with the number of the partition, and say that its own rows are counted."""
    try:
        yield
    except (ValueError, TypeError) as error:
        told = str(error).replace(FROM_0, f"{FROM_0} in this partition")
        raise PartitionError(f"Partition {number}: {told}") from error


@dataclass(frozen=True)
class Partitions:
    """Aligned partitions of rows, targets and weights."""

    parts: list[Partition]
    schema: Schema

    @classmethod
    def of(
        cls, X: Given, y: ArrayLike | None = None, sample_weight: SampleWeight = None
    ) -> "Partitions":
        X = whole_rows(X)
        schema = Schema.of(X)
        columns = [_tasks(X)]
        for name, other in (("y", y), ("sample_weight", sample_weight)):
            if other is None:
                columns.append([None] * len(columns[0]))
                continue
            X, other = _aligned(X, other, name)
            columns[0] = _tasks(X)
            columns.append(_tasks(other))
        return cls(
            [Partition(i, *part) for i, part in enumerate(zip(*columns, strict=True))], schema
        )

    def __str__(self) -> str:
        return f"{len(self.parts)} partition{'' if len(self.parts) == 1 else 's'}"

    def identity(self) -> dict[str, str]:
        """What tells these collections from others before any row is read."""
        columns = self.schema.names or [str(self.schema.n_inputs)]
        return {"partitions": str(len(self.parts)), "columns": ", ".join(columns)}

    def compute(self, *nodes: Task, told: Told | None = None) -> tuple[Any, ...]:
        """The values of tasks over these partitions; an error names the partition that fails."""
        try:
            return compute(*nodes, told=told)
        except (PartitionError, ClusterError):
            raise
        except Exception as error:
            raise self._named(error) from error

    def _named(self, error: Exception) -> Exception:
        """The error of the first partition that cannot be computed; else the error as it is."""
        for part in self.parts:
            found = _failure(part)
            if found is not None:
                files = ", ".join(_files(part.rows))
                return PartitionError(
                    f"Partition {part.number}{f' ({files})' if files else ''} cannot be read: "
                    f"{type(found).__name__}: {found}"
                )
        return error


def checked_rows(rows: Any, dtype: DTypeLike | None, missing: bool, limited: bool = True) -> Any:
    """Finite numbers, dense or CSR, in the dtype given, or in their own float32 or float64.

    limited: float64 rows must be so small that their squares are finite; missing: NaN may be there.
    """
    floats = [np.float64, np.float32] if dtype is None else dtype
    finite = "allow-nan" if missing else True
    with np.errstate(over="ignore"), advice(rows=rows):
        rows = check_array(
            rows, accept_sparse="csr", dtype=floats, input_name="X", ensure_all_finite=finite
        )
    if dtype is None and not (limited and rows.dtype == np.float64):
        return rows
    return check_size(rows, rows.dtype)


def shown_columns(X: Given) -> Any:
    """No rows of a collection, with all of its columns: enough to check their number and names."""
    if type(X).__name__ == "Series" or getattr(X, "ndim", 2) != 2:
        raise ValueError("X is a single column: need rows and columns, such as X[['a']] or (n, 1).")
    return X._meta if hasattr(X, "columns") else np.empty((0, X.shape[1]))


def without_numbers(X: Given) -> list[str]:
    """The columns of a collection that hold no numbers; none of an array."""
    dtypes = X._meta.dtypes if hasattr(X, "columns") else {}
    return [str(name) for name, dtype in dtypes.items() if dtype.kind not in "fiub"]


def whole_rows(X: Given) -> Any:
    """The collection, with all columns of a row in one chunk."""
    shown_columns(X)
    if hasattr(X, "numblocks") and X.numblocks[1] > 1:
        warn(
            f"X is chunked along its columns, {X.numblocks[1]} chunks: rechunked so that rows are "
            "whole. X.rechunk({1: -1}) before the call does the same once for all calls.",
        )
        return X.rechunk({1: -1})
    return X


def _aligned(X: Any, other: Any, name: str) -> tuple[Any, Any]:
    """Both with the same rows in the partition of the same number."""
    if not hasattr(other, "__dask_graph__"):
        raise ValueError(
            f"{name} is a {type(other).__name__} and X a Dask collection: need a Dask collection, "
            f"such as dask.array.from_array({name}, chunks=X.chunks[0])."
        )
    if hasattr(other, "numblocks") and other.ndim == 2:
        other = other.rechunk({1: -1})
    both_arrays = hasattr(X, "chunks") and hasattr(other, "chunks")
    if both_arrays and X.chunks[0] != other.chunks[0]:
        unknown = [any(map(math.isnan, part.chunks[0])) for part in (X, other)]
        if not all(unknown) or X.numblocks[0] != other.numblocks[0]:
            X, other = _with_sizes(X), _with_sizes(other)
            if X.shape[0] != other.shape[0]:
                raise ValueError(
                    f"X has {X.shape[0]} rows and {name} has {other.shape[0]}: need one entry for "
                    "each row."
                )
            other = other.rechunk({0: X.chunks[0]})
    if X.npartitions != other.npartitions:
        raise ValueError(
            f"X has {X.npartitions} partitions and {name} has {other.npartitions}: need the same "
            "rows in each. Take both from one DataFrame, or repartition them alike."
        )
    return X, other


def _with_sizes(array: Any) -> Any:
    """The array with the lengths of its chunks known; they are computed where they are not."""
    known = not any(map(math.isnan, array.chunks[0]))
    return array if known else array.copy().compute_chunk_sizes()


def _tasks(collection: Any) -> list[Task]:
    # As they are: optimised, a frame may join partitions that must stay beside those of another.
    tasks = collection.to_delayed(optimize_graph=False)
    return list(np.ravel(np.asarray(tasks, dtype=object)))


def _failure(part: Partition) -> Exception | None:
    """What keeps a partition from being computed, if anything does."""
    tasks = [task for task in part[1:] if task is not None]
    try:
        compute(*[delayed(attrgetter("shape"))(task) for task in tasks])
    except ClusterError:
        raise
    except Exception as error:
        return error
    return None


def _files(task: Task) -> list[str]:
    """Names of files among the arguments of the tasks that make a partition."""
    graph, _ = cull(dict(task.__dask_graph__()), [task.key])
    given = [[getattr(node, "args", ()), getattr(node, "kwargs", {})] for node in graph.values()]
    return sorted(set(_paths(given)))


def _paths(value: object) -> Iterator[str]:
    if isinstance(value, str):
        if "/" in value or "\\" in value:
            yield value
    elif isinstance(value, dict):
        yield from _paths(list(value.values()))
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _paths(one)
    elif hasattr(value, "args"):
        yield from _paths(list(value.args))
