"""The feature matrix as solvers see it: products with its blocks, and functions of its rows.

A row vector has one or more entries for each row: targets, weights, scores, slopes. Solvers that
use row vectors only through `each`, `reduce`, `visit`, `adjoint` and `band` run wherever the rows
are: here such a vector is an array, on a cluster its parts stay on the workers.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kitchensinks.numerics import narrow
from kitchensinks.numerics.arrays import AnyArray, Bools, DType
from kitchensinks.problem.losses import Array
from kitchensinks.tables.arrays import block_slices

# Features of some rows, or columns that they are multiplied with, float32 or float64.
FloatBlock = NDArray[np.floating[Any]]
# An array, or its parts on the workers of a cluster.
RowVector = Any
Merge = Callable[[Any, Any], Any]

# Rows multiplied at a time: few enough that float32 sums stay accurate.
SLICE_ROWS = 1024
# Entries multiplied at a time: few enough to stay in cache between Z·β and Z'·a.
SLICE_ENTRIES = 2**20

# From this many columns, compiled loops compute products in less time than BLAS.
FEWEST_NARROW = 4
# Beyond this many columns, BLAS is faster again.
MOST_NARROW = 30
# Entries that the compiled loops take at a time: a megabyte of float32.
NARROW_ENTRIES = 2**18


class Design:
    """The feature matrix Z (rows, K), seen only through products with its blocks.

    `blocks(work=)` starts a new traversal: pairs of a slice of the rows and work(slice, block of
    Z), several blocks at a time, or the block itself with work=None. Products run in the dtype of
    the blocks, float32 or float64, and are summed in float64.
    """

    def __init__(
        self,
        blocks: Callable[..., Iterator[tuple[slice, Any]]],
        n_rows: int,
        n_columns: int,
        dtype: type[np.floating[Any]] | DType = np.float64,
    ) -> None:
        self.blocks = blocks
        self.n_rows = n_rows
        self.n_columns = n_columns
        self.dtype = np.dtype(dtype)
        self.passes = 0

    def traverse(self, work: Callable[[slice, FloatBlock], Any]) -> Iterator[Any]:
        """work(rows, block) of every block, in order, in several threads."""
        self.passes += 1
        for _, answer in self.blocks(work=work):
            yield answer

    def sweep(self, weights: Array, respond: Callable[[slice, Array], Array]) -> Array:
        """Σ over slices of Z'·respond(rows, Z·weights): both products in one traversal.

        `respond` may be called from several threads at once, each time for other rows.
        """
        narrowed = weights.astype(self.dtype)

        def products(rows: slice, block: FloatBlock) -> Array:
            if _is_narrow(block, narrowed):
                return _narrow_sweep(rows, block, narrowed, respond)
            image: Any = 0.0
            for own, part in _slices(rows, block):
                answer = respond(own, _product(part, narrowed).astype(np.float64))
                image = image + _image(part, answer.astype(self.dtype))
            return np.asarray(image)

        total: Array | None = None
        for image in self.traverse(products):
            total = image if total is None else total + image
        if total is None:
            raise ValueError("blocks() gave no rows: need at least one block of features.")
        return total

    def each(self, function: Callable[..., Any], *vectors: RowVector, **shared: Any) -> Any:
        """The row vector function(*vectors, **shared) of a function that acts on each row."""
        return function(*vectors, **shared)

    def reduce(
        self,
        function: Callable[..., Any],
        *vectors: RowVector,
        merge: Merge = np.add,
        **shared: Any,
    ) -> Any:
        """function(*vectors, **shared) of all rows; `merge` combines the results of parts."""
        return function(*vectors, **shared)

    def visit(
        self, weights: Array, respond: Callable[..., Any], *vectors: RowVector, **shared: Any
    ) -> Any:
        """Z'·answer and row vectors, (answer, *vectors) = respond(Z·weights, *vectors, **shared).

        One traversal; `respond` acts on each row.
        """
        found: dict[int, Any] = {}

        def answer(rows: slice, raw: Array) -> Array:
            given, *others = respond(raw, *(vector[rows] for vector in vectors), **shared)
            found[rows.start] = others
            return np.asarray(given)

        image = self.sweep(weights, answer)
        ordered = [found[start] for start in sorted(found)]
        return image, *map(np.concatenate, zip(*ordered, strict=True))

    def scores(self, weights: Array) -> Array:
        """Z·weights, of shape (rows, outputs)."""
        narrowed = weights.astype(self.dtype)
        scores = np.empty((self.n_rows, weights.shape[1]))

        def fill(rows: slice, block: FloatBlock) -> None:
            scores[rows] = _product(block, narrowed)

        for _ in self.traverse(fill):
            pass
        return scores

    def adjoint(self, dual: Array) -> Array:
        """Z'·dual, of shape (K, columns of dual)."""
        narrow = dual.astype(self.dtype)

        def product(rows: slice, block: FloatBlock) -> Array:
            image: Any = 0.0
            for own, part in _slices(rows, block):
                image = image + _image(part, narrow[own])
            return np.asarray(image)

        return np.asarray(sum(self.traverse(product), np.zeros((self.n_columns, dual.shape[1]))))

    def squares(self, shares: Array) -> Array:
        """Σ_i shares_i·z_i² of each column, of shape (K,)."""
        narrow = shares.astype(self.dtype)

        def product(rows: slice, block: FloatBlock) -> Array:
            return np.asarray(narrow[rows] @ np.square(block), dtype=np.float64)

        return np.asarray(sum(self.traverse(product), np.zeros(self.n_columns)))

    def band(self, curvature: Array, centre: Array, dual: Array) -> tuple[Array, Array]:
        """Σ curvature·(z - centre)(z - centre)' over rows of positive curvature, and Z'·dual.

        curvature (rows, 1). One traversal; the rows that count are gathered into blocks of four
        slices.
        """
        gram = np.zeros((self.n_columns, self.n_columns))
        image = np.zeros((self.n_columns, dual.shape[1]))
        root, centre = np.sqrt(curvature).astype(self.dtype), centre.astype(self.dtype)
        narrow = dual.astype(self.dtype)
        waiting: list[FloatBlock] = []
        self.passes += 1
        slices = (own for rows, block in self.blocks() for own in _slices(rows, block))
        for rows, part in slices:
            image += part.T @ narrow[rows]
            counted = curvature[rows, 0] > 0.0
            waiting.append((part[counted] - centre) * root[rows][counted])
            if sum(map(len, waiting)) > 4 * SLICE_ROWS:
                block = np.vstack(waiting)
                gram += block.T @ block
                waiting = []
        if waiting:
            block = np.vstack(waiting)
            gram += block.T @ block
        return gram, image


class ProductDesign(Design):
    """Features in memory with products of all rows at once, `times` and `transposed`.

    Dense blocks of rows are made for solvers that need them.
    """

    def __init__(self, n_rows: int, n_columns: int) -> None:
        super().__init__(self._dense_blocks, n_rows, n_columns)

    @abstractmethod
    def times(self, vector: Array) -> Array:
        """Z·vector, shape (rows, outputs)."""

    @abstractmethod
    def transposed(self, vector: Array) -> Array:
        """Z'·vector, shape (K, outputs)."""

    @abstractmethod
    def entries(self) -> tuple[AnyArray, Array, float]:
        """The columns of each row's entries (rows, most), −1 for none, and their values in units of
        the number that follows; without values all are one."""

    @abstractmethod
    def norms(self) -> Array:
        """‖z‖² of each row."""

    @abstractmethod
    def dense(self, rows: slice) -> Array:
        """Some rows of Z as a dense array."""

    def inner(self, coefficients: Array, fitted: Bools) -> Array:
        """ZZ'·coefficients (rows, outputs) of the fitted rows; zero for the others."""
        self.passes += 1
        product = self.times(self.transposed(coefficients))
        product[~fitted] = 0.0
        return product

    def sweep(self, weights: Array, respond: Callable[[slice, Array], Array]) -> Array:
        self.passes += 1
        return self.transposed(respond(slice(0, self.n_rows), self.times(weights)))

    def scores(self, weights: Array) -> Array:
        self.passes += 1
        return self.times(weights)

    def adjoint(self, dual: Array) -> Array:
        self.passes += 1
        return self.transposed(dual)

    def _dense_blocks(
        self, work: Callable[[slice, FloatBlock], Any] | None = None
    ) -> Iterator[tuple[slice, Any]]:
        for rows in block_slices(self.n_rows, SLICE_ROWS):
            block = self.dense(rows)
            yield rows, block if work is None else work(rows, block)


class SparseFeatures(ProductDesign):
    """Any sparse features, as a CSR matrix.

    >>> from scipy.sparse import eye_array
    >>> SparseFeatures(eye_array(2, format="csr")).adjoint(np.array([[3.0], [4.0]])).ravel()
    array([3., 4.])
    """

    def __init__(self, matrix: Any) -> None:
        super().__init__(*matrix.shape)
        self.matrix = matrix

    def times(self, vector: Array) -> Array:
        return np.asarray(self.matrix @ vector)

    def transposed(self, vector: Array) -> Array:
        return np.asarray(self.matrix.T @ vector)

    def squares(self, shares: Array) -> Array:
        return np.asarray(self.matrix.multiply(self.matrix).T @ shares)

    def entries(self) -> tuple[AnyArray, Array, float]:
        matrix = self.matrix.tocsr()
        counts = np.diff(matrix.indptr)
        used = np.arange(counts.max(initial=1)) < counts[:, None]
        places = np.full(used.shape, -1, dtype=matrix.indices.dtype)
        values = np.zeros(used.shape)
        places[used], values[used] = matrix.indices, matrix.data
        return places, values, 1.0

    def norms(self) -> Array:
        return np.asarray(self.matrix.multiply(self.matrix).sum(axis=1)).ravel()

    def dense(self, rows: slice) -> Array:
        return np.asarray(self.matrix[rows].toarray(), dtype=np.float64)


def _product(block: FloatBlock, columns: FloatBlock) -> FloatBlock:
    """block·columns: two or three columns are faster one by one."""
    if columns.shape[1] in (2, 3):
        return np.column_stack([block @ column for column in columns.T])
    return np.asarray(block @ columns)


def _image(block: FloatBlock, answer: FloatBlock) -> Array:
    """block'·answer in float64: many columns are faster as (answer'·block)'."""
    if answer.shape[1] <= 3:
        return _product(block.T, answer).astype(np.float64)
    return (answer.T @ block).T.astype(np.float64)


def _is_narrow(block: FloatBlock, columns: FloatBlock) -> bool:
    """Whether compiled loops take less time than BLAS: few columns, and many features."""
    few = FEWEST_NARROW <= columns.shape[1] <= MOST_NARROW
    return few and block.size >= NARROW_ENTRIES and block.flags.c_contiguous


def _narrow_sweep(
    rows: slice, block: FloatBlock, columns: FloatBlock, respond: Callable[[slice, Array], Array]
) -> Array:
    """Z'·respond(rows, Z·columns) of a block; rows stay in cache between both products.

    The answer may have more columns than the weights: certificates ask for two for each output.
    """
    count, filled = columns.shape[1], narrow.filled(columns.T, block.dtype)
    total: Any = 0.0
    part, waiting = np.zeros((0, 0), block.dtype), 0
    for own, few in _slices(rows, block, NARROW_ENTRIES):
        answer = respond(own, narrow.times(few, filled)[:, :count].astype(np.float64))
        if not waiting:
            part = narrow.filled(np.zeros((answer.shape[1], block.shape[1])), block.dtype)
        narrow.add_image(few, answer, part)
        waiting += len(few)
        if waiting >= SLICE_ROWS or own.stop == rows.start + len(block):
            total, waiting = total + part[: answer.shape[1]].astype(np.float64), 0
    return np.asarray(total).T


def _slices(
    rows: slice, block: FloatBlock, entries: int = SLICE_ENTRIES
) -> Iterator[tuple[slice, FloatBlock]]:
    """A block in slices of at most SLICE_ROWS rows and about `entries` entries, and of at least 64
    rows (16 for the compiled loops, whose slices are a quarter as large)."""
    least = 64 if entries == SLICE_ENTRIES else 16
    size = max(least, min(SLICE_ROWS, entries // block.shape[1]))
    for start in range(0, len(block), size):
        part = block[start : start + size]
        first = rows.start + start
        yield slice(first, first + len(part)), part
