"""The feature matrix on a cluster: row vectors stay in parts where their rows are, and only
vectors of K numbers are sent.

Every part is a function of the rows and of weights, so that Dask can recompute what is lost with a
worker from its partition.
"""

from collections.abc import Callable
from operator import itemgetter
from typing import Any

import numpy as np
from dask import delayed

from kitchensinks.execution.cluster import Task, persist, tree
from kitchensinks.execution.partitions import Partitions
from kitchensinks.fitting.pieces import RowPieces
from kitchensinks.numerics.arrays import AnyArray, DType
from kitchensinks.problem.design import Design, Merge, RowVector
from kitchensinks.problem.losses import Array

# A vector is sent in pieces of this many bytes, so that no task is large.
PIECE = 2**16


class Vector:
    """A row vector in parts; `shape` is that of the whole."""

    def __init__(self, parts: list[Task], shape: tuple[int, ...] = ()) -> None:
        self.parts, self.shape = parts, shape


class PartitionedDesign(Design):
    """`Design` whose rows are tasks, each of which gives `RowPieces`."""

    def __init__(
        self, tasks: list[Task], partitions: Partitions, n_rows: int, n_columns: int, dtype: DType
    ) -> None:
        super().__init__(lambda: iter(()), n_rows, n_columns, dtype)
        self.tasks, self.partitions = Vector(tasks), partitions

    def each(self, function: Callable[..., Any], *vectors: RowVector, **shared: Any) -> Any:
        return Vector(persist(*_mapped(function, vectors, shared)))

    def reduce(
        self,
        function: Callable[..., Any],
        *vectors: RowVector,
        merge: Merge = np.add,
        **shared: Any,
    ) -> Any:
        (found,) = self.partitions.compute(tree(_mapped(function, vectors, shared), merge))
        return found

    def visit(
        self, weights: Array, respond: Callable[..., Any], *vectors: RowVector, **shared: Any
    ) -> Any:
        self.passes += 1
        given = {"weights": weights.astype(self.dtype), "respond": respond, "shared": shared}
        nodes = _mapped(_visit, (self.tasks, *vectors), given)
        picked = [[delayed(itemgetter(place))(node) for node in nodes] for place in range(3)]
        image, *kept = persist(tree(picked[0], np.add), *picked[1], *picked[2])
        (found,) = self.partitions.compute(image)
        half = len(nodes)
        return found, Vector(kept[:half]), Vector(kept[half:])

    def scores(self, weights: Array) -> Any:
        self.passes += 1
        return self.each(_product, self.tasks, name="scores", weights=weights.astype(self.dtype))

    def adjoint(self, dual: RowVector) -> Array:
        self.passes += 1
        return np.asarray(self.reduce(_product, self.tasks, dual, name="adjoint"))

    def band(self, curvature: RowVector, centre: Array, dual: RowVector) -> tuple[Array, Array]:
        self.passes += 1
        rows = self.tasks, curvature, dual
        gram, image = self.reduce(_band, *rows, merge=_add_both, centre=centre)
        return gram, image


def _mapped(
    function: Callable[..., Any], vectors: tuple[Vector, ...], shared: dict[str, Any]
) -> list[Task]:
    """One task for each part; what they share is sent once."""
    sent = {name: _sent(value) for name, value in shared.items()}
    call = delayed(function, pure=False)
    return [call(*parts, **sent) for parts in zip(*(v.parts for v in vectors), strict=True)]


def _sent(value: object) -> Any:
    if not isinstance(value, np.ndarray) or value.nbytes <= PIECE:
        return value
    flat = value.ravel()
    pieces = np.array_split(flat, -(-flat.nbytes // PIECE))
    return delayed(_whole, pure=False)([delayed(piece) for piece in pieces], value.shape)


def _whole(pieces: list[AnyArray], shape: tuple[int, ...]) -> AnyArray:
    return np.concatenate(pieces).reshape(shape)


# -- what runs on the workers ------------------------------------------------------------


def _visit(
    rows: RowPieces, *vectors: RowVector, weights: Array, respond: Any, shared: dict[str, Any]
) -> Any:
    return rows.design.visit(weights, respond, *vectors, **shared)


def _product(rows: RowPieces, *vectors: Array, name: str, **shared: Array) -> Array:
    return np.asarray(getattr(rows.design, name)(*vectors, **shared))


def _band(rows: RowPieces, curvature: Array, dual: Array, centre: Array) -> tuple[Array, Array]:
    return rows.design.band(curvature, centre, dual)


def _add_both(mine: tuple[Array, Array], theirs: tuple[Array, Array]) -> tuple[Array, Array]:
    return mine[0] + theirs[0], mine[1] + theirs[1]
