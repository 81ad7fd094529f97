"""Rows, through the scaler and the draw, as blocks of features of bounded size."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kitchensinks.bases import Draw
from kitchensinks.rows import block_slices
from kitchensinks.standardise import Scaler

# Rows of a block: enough for the products to run at full speed, few enough that
# float32 products summed within a block keep their digits.
BLOCK_ROWS = 8192
_SMALLEST_BLOCK = 256


@dataclass
class FeatureBlocks:
    """Blocks (slice of rows, scaled features) of rows held in memory.

    Every walk makes the features anew, unless all of them fit into `memory_budget` bytes:
    then `walk` keeps them after the first time. A block that `fresh` yields may be
    overwritten by the caller; one that `walk` yields may not.
    """

    rows: Any
    scaler: Scaler | None
    draw: Draw
    memory_budget: float
    block_rows: int = BLOCK_ROWS
    _kept: list[Any] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        entry = self.draw.dtype.itemsize
        row_bytes = entry * (2 * self.draw.n_columns + 3 * self.draw.n_inputs)
        if self.draw.basis.sparse:
            row_bytes = 48 * self.draw.n_components + 3 * entry * self.draw.n_inputs
        fitting = int(0.25 * self.memory_budget / max(1, row_bytes))
        self.block_rows = min(self.block_rows, max(_SMALLEST_BLOCK, fitting))
        held = self.n_rows * (
            12 * self.draw.n_components if self.draw.basis.sparse else entry * self.draw.n_columns
        )
        self.cached = held <= 0.5 * self.memory_budget

    @property
    def n_rows(self) -> int:
        return int(self.rows.shape[0])

    @property
    def n_columns(self) -> int:
        return self.draw.n_columns

    def scaled_rows(self, rows: Any) -> np.ndarray:
        """Rows as the draw takes them."""
        if self.scaler is None:
            return rows
        return self.scaler.apply(rows, self.draw.dtype)

    def of(self, rows: Any) -> Any:
        """Features of the rows given."""
        return self.draw.scaled_features(self.scaled_rows(rows))

    def pick(self, places: np.ndarray) -> Any:
        """Features of the rows at the places given."""
        return self.of(self.rows[places])

    def fresh(self) -> Iterator[tuple[slice, Any]]:
        """Blocks of newly made features."""
        for part in block_slices(self.n_rows, self.block_rows):
            yield part, self.of(self.rows[part])

    def walk(self) -> Iterator[tuple[slice, Any]]:
        """Blocks of features, kept in memory after the first walk where they fit."""
        if self._kept is not None:
            parts = block_slices(self.n_rows, self.block_rows)
            yield from zip(parts, self._kept, strict=True)
            return
        kept: list[Any] = []
        for part, block in self.fresh():
            if self.cached:
                kept.append(block)
            yield part, block
        if self.cached:
            self._kept = kept
