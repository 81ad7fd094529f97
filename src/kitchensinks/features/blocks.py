"""Features of rows in blocks of bounded size, recomputed or cached between passes."""

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kitchensinks.features.bases.base import Basis
from kitchensinks.features.frozen import Frozen
from kitchensinks.numerics.arrays import AnyArray, Block, Floats, Matrix, Part
from kitchensinks.numerics.threads import in_order, row_tiles
from kitchensinks.tables.arrays import block_slices

BlockFunction = Callable[[slice, Any], Any]

# Most directions that are made orthogonal together; structured ones take less memory.
_TOGETHER = 1024
# Rows of a block: enough for products to run at full speed, few enough that sums of float32
# products within a block stay accurate.
BLOCK_ROWS = 4096
# Sparse features with at most this many columns may be converted to dense ones.
FEW_COLUMNS = 2000
# Largest block with many sparse columns, in bytes.
_SPARSE_BYTES = 2**27
# Largest other block, in bytes, or half of a Gram with its copies if that is larger. Blocks of half
# the size take a tenth longer (measured).
_DENSE_BYTES = 2**20
# Bytes for each entry of a K × K matrix: half of a Gram with its copies.
_HALF_GRAM = 24
# Fewest rows of a block: a memory budget that cannot hold them is too small.
_SMALLEST_BLOCK = 64
# Runs of consecutive rows that the pilot mean of the features is computed from.
_PILOT_RUNS = 8
# Rows of such a run.
_PILOT_RUN = 32


@dataclass
class FeatureBlocks:
    """Features of rows, in memory or in a file, as blocks (slice of rows, features).

    Every pass computes the features again, unless all of them fit into half of `memory_budget`
    bytes: then `walk` caches them. A caller may overwrite a block that `fresh` yields, but not one
    that `walk` yields. columns (draws, n): the bins of the rows, where they are known already: of
    all draws, or of the one part of a union that has bins.
    """

    rows: Matrix
    frozen: Frozen
    memory_budget: float
    columns: AnyArray | None = None
    _kept: list[Any] | None = field(default=None, repr=False)

    @property
    def n_rows(self) -> int:
        return int(self.rows.shape[0])

    @property
    def n_columns(self) -> int:
        return self.frozen.n_columns

    @property
    def sparse(self) -> bool:
        return self.frozen.basis.sparse

    @property
    def total_bytes(self) -> float:
        entry = self.frozen.dtype.itemsize
        if self.sparse:
            return (entry + 4.0) * self.n_rows * self.frozen.n_components
        return float(entry) * self.n_rows * self.n_columns

    @property
    def cached(self) -> bool:
        """Whether all features can be cached between passes."""
        return self.total_bytes <= 0.5 * self.memory_budget

    @property
    def _row_bytes(self) -> int:
        entry = self.frozen.dtype.itemsize
        # Sparse: names and columns of bins, before they become a matrix. Dense, or converted to
        # dense because there are few columns: features and a copy.
        filled = not self.sparse or self.n_columns <= FEW_COLUMNS
        made = 48 * self.frozen.n_components if self.sparse else 0
        made += 2 * entry * self.n_columns if filled else 0
        return max(1, entry * 3 * self.frozen.n_inputs + made)

    @property
    def least_bytes(self) -> float:
        return float(min(_SMALLEST_BLOCK, self.n_rows) * self._row_bytes)

    def check_draw(self) -> None:
        """Raise an error where the budget cannot hold the numbers of one block of draws."""
        frozen = self.frozen
        needed = 8.0 * drawn_entries(frozen.basis, frozen.n_inputs)
        # Any budget allows a block of _TOGETHER directions: the error is for bases that draw more,
        # as large pools do.
        usual = 8.0 * _TOGETHER * frozen.n_inputs
        if needed > max(self.memory_budget, usual):
            raise ValueError(
                f"memory_budget={self.memory_budget / 1e6:.3g}MB cannot hold one block of draws: "
                f"need memory_budget='{math.ceil(needed / 1e6)}MB' or more, or fewer numbers for "
                "each draw (such as a smaller pool)."
            )

    @property
    def _whole(self) -> int:
        """Rows of a block, from the shapes alone."""
        many = self.sparse and self.n_columns > FEW_COLUMNS
        largest = _SPARSE_BYTES if many else max(_DENSE_BYTES, _HALF_GRAM * self.n_columns**2)
        whole = BLOCK_ROWS
        while whole > _SMALLEST_BLOCK and whole * self._row_bytes > largest:
            whole //= 2
        # Blocks of about equal size, so that threads finish together.
        return -(-self.n_rows // max(1, row_tiles(self.n_rows, whole)))

    @property
    def steady_bytes(self) -> float:
        """The smallest budget with blocks of the usual size: two such blocks."""
        return 2.0 * min(self._whole, self.n_rows) * self._row_bytes

    @property
    def block_rows(self) -> int:
        """Rows of a block: determined by the shapes alone if two such blocks fit into the budget.

        Block boundaries change sums by rounding. All budgets that are large enough, and with them
        any amount of free memory, therefore give the same bits. A direct fit refuses smaller
        budgets; other solvers use smaller blocks.
        """
        if self.steady_bytes <= self.memory_budget:
            return self._whole
        fitting = int(0.1 * self.memory_budget / self._row_bytes)
        return min(self._whole, max(_SMALLEST_BLOCK, fitting))

    def of(self, rows: Matrix, out: AnyArray | None = None) -> Any:
        """Features of other rows; `out` is memory that dense ones may be written to."""
        return self.frozen.features(rows, out)

    def pick(self, places: Part) -> Matrix:
        return self.of(self.rows[places])

    def pilot(self) -> Floats:
        """An approximate mean of the features: sums about it lose fewer digits."""
        # Runs of consecutive rows, so that few parts of a file are read.
        starts = np.linspace(0, max(0, self.n_rows - _PILOT_RUN), _PILOT_RUNS).astype(np.int64)
        places = np.unique(starts[:, None] + np.arange(min(_PILOT_RUN, self.n_rows)))
        features = self.pick(places)
        mean = features.mean(axis=0) if self.sparse else features.mean(axis=0, dtype=np.float64)
        return np.asarray(mean, dtype=np.float64).ravel()

    def scaled(self) -> Iterator[Any]:
        """Blocks of scaled rows, the input of the draw."""
        for part in block_slices(self.n_rows, self.block_rows):
            yield self.frozen.scaled(self.rows[part])

    def fresh(self, start: int = 0, work: BlockFunction | None = None) -> Iterator[Block]:
        """Blocks of newly computed features, from the block that begins at row `start` on.

        With `work`, the results of work(slice of rows, features), in several threads. The memory of
        a block is reused, so that `work` must not return a view of it.
        """
        if work is None:
            return ((part, self.of(rows)) for part, rows in self._read(start))
        spare: list[AnyArray] = []

        def make(block: Block) -> Block:
            part, rows = block
            if self.sparse:
                return part, work(part, self.of(rows))
            out = self._room(spare)
            answer = work(part, self.of(rows, out[: rows.shape[0]]))
            spare.append(out)
            return part, answer

        return self._made(make, start)

    def _room(self, spare: list[AnyArray]) -> AnyArray:
        """Reused memory for a block: new pages would add a tenth to the time of its products."""
        with suppress(IndexError):
            return spare.pop()
        rows = min(self.n_rows, self.block_rows)
        return np.empty((rows, self.n_columns), dtype=self.frozen.dtype)

    def _read(self, start: int) -> Iterator[Block]:
        """Blocks of rows, from the one that begins at row `start` on."""
        parts = (part for part in block_slices(self.n_rows, self.block_rows) if part.start >= start)
        return ((part, self.rows[part]) for part in parts)

    def _made(self, make: Callable[[Block], Block], start: int = 0) -> Iterator[Block]:
        """`make` of every block of rows, in several threads."""
        if self.n_rows <= self.block_rows:
            return map(make, self._read(start))
        _ = self.frozen.held and self.frozen.draw  # cached before threads access it
        return in_order(make, self._read(start), self._at_once)

    @property
    def _at_once(self) -> int:
        """Blocks that may be in progress at once, each with a K × K product."""
        entry, columns = self.frozen.dtype.itemsize, self.n_columns
        rows = self.block_rows * (self.frozen.n_components if self.sparse else columns)
        each = entry * (2.0 * rows + (0.0 if self.sparse else float(columns) ** 2))
        return max(1, int(0.5 * self.memory_budget / max(1.0, each)))

    def walk(self, work: BlockFunction | None = None) -> Iterator[Block]:
        """Blocks of features, cached in memory after the first pass if they fit.

        With `work`, the results of work(slice of rows, features), in several threads.
        """
        if self._kept is not None:
            kept_blocks = zip(block_slices(self.n_rows, self.block_rows), self._kept, strict=True)
            if work is None:
                yield from kept_blocks
            else:
                each = in_order if len(self._kept) > 1 else map
                yield from each(lambda pair: (pair[0], work(*pair)), kept_blocks)
            return
        if not self.cached and work is not None:
            yield from self.fresh(0, work)
            return
        kept: list[Any] = []

        def make(block: Block) -> Block:
            part, rows = block
            features = self.of(rows)
            return part, (features, features if work is None else work(part, features))

        for part, (block, answer) in self._made(make):
            if self.cached:
                kept.append(block)
            yield part, answer
        if self.cached:
            self._kept = kept


def parts_of(basis: Basis) -> list[Basis]:
    """The bases that a basis consists of; itself if it is not a compound."""
    own: list[Basis] = []
    for value in basis.get_params(deep=False).values():
        listed = value if isinstance(value, list | tuple) else [value]
        own += [part for part in listed if isinstance(part, Basis)]
    return [one for part in own for one in parts_of(part)] or [basis]


def drawn_entries(basis: Basis, n_inputs: int) -> int:
    """How many numbers one block of draws takes, of all parts together."""
    return sum(
        one.block_entries(n_inputs, min(one.block_size(n_inputs), _TOGETHER))
        for one in parts_of(basis)
    )
