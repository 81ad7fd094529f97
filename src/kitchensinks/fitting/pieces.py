"""Rows in one or several pieces, held where they are, and their features in walks over them."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from kitchensinks.features.blocks import BLOCK_ROWS, BlockFunction, FeatureBlocks
from kitchensinks.features.frozen import WALKED_ENTRIES, Frozen
from kitchensinks.numerics.arrays import Block, Matrix
from kitchensinks.problem.design import Design
from kitchensinks.tables.arrays import block_slices


class RowPieces:
    """The rows of one task, with features that are kept after the first walk or made each time."""

    def __init__(self, parts: list[Matrix], frozen: Frozen, memory: float, keep: bool) -> None:
        self.parts, self.frozen, self.memory, self.keep = parts, frozen, memory, keep
        self.blocks = [FeatureBlocks(part, frozen, memory) for part in parts]
        if keep:
            for block in self.blocks:
                block.memory_budget = max(memory, 2.0 * block.total_bytes)

    def __reduce__(self) -> Any:
        # Features are made anew where the rows go.
        return RowPieces, (self.parts, self.frozen, self.memory, self.keep)

    def __sizeof__(self) -> int:
        features = sum(int(block.total_bytes) for block in self.blocks) if self.keep else 0
        return features + sum(int(part.shape[0]) * int(part.shape[1]) * 8 for part in self.parts)

    def walk(self, work: BlockFunction | None = None) -> Iterator[Block]:
        """Blocks of features, or what `work` makes of (slice of all rows, features)."""
        done = 0
        for block in self.blocks:
            for own, features in block.walk() if self.keep else block.fresh():
                rows = slice(done + own.start, done + own.stop)
                yield rows, features if work is None else work(rows, features)
            done += block.n_rows

    @property
    def design(self) -> Design:
        n_rows = sum(block.n_rows for block in self.blocks)
        return Design(self.walk, n_rows, self.frozen.n_columns, self.frozen.dtype)

    def some(self, draws: slice) -> Iterator[Block]:
        """Blocks of rows with the features of some of the draws alone, made anew."""
        draw, scale = self.frozen.piece(draws), self.frozen.dtype.type(self.frozen.scale)
        for part, rows in self._blocks_for(draw.n_columns):
            features = draw.features(self.frozen.scaled(rows))
            features *= scale
            yield part, features

    def pieces(self) -> Iterator[tuple[slice, slice, Matrix]]:
        """All features, a bounded number of columns at a time: (rows, columns, features)."""
        # Features, and what they are made of.
        most = int(0.25 * self.memory / (2 * self.frozen.dtype.itemsize))
        for part, rows in self._blocks_for(1):
            for columns, features in self.frozen.walk(rows, min(WALKED_ENTRIES, most)):
                yield part, columns, features

    def _blocks_for(self, n_columns: int) -> Iterator[Block]:
        """Blocks of rows as they came, small enough for this many features of each row."""
        row_bytes = self.frozen.dtype.itemsize * (2 * n_columns + 3 * self.frozen.n_inputs)
        size = int(np.clip(0.25 * self.memory / row_bytes, 64, BLOCK_ROWS))
        done = 0
        for rows in self.parts:
            for part in block_slices(rows.shape[0], size):
                yield slice(done + part.start, done + part.stop), rows[part]
            done += rows.shape[0]
