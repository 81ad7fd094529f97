"""A number for every row, from its content and a seed.

Rows are chosen (to be held out, or to be looked at more closely) by their keys and not by their
place: the choice is the same whatever their order, a copy of a row goes where the row goes, and
rows of weight zero change nothing.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kitchensinks.numerics.words import Words
from kitchensinks.tables.arrays import block_slices, densify

_BLOCK_ENTRIES = 2**22


def row_keys(rows: Any, seed: int) -> np.ndarray:
    """A pseudo-random 64-bit key of each row, shape (n,): equal rows have equal keys."""
    n_rows, n_inputs = rows.shape
    words = Words(seed, 0, stream=6)
    multiplier = words.raw(n_inputs) | np.uint64(1)
    keys = np.empty(n_rows, dtype=np.uint64)
    for part in block_slices(n_rows, max(1, _BLOCK_ENTRIES // n_inputs)):
        # Adding zero makes −0.0 and 0.0 the same bits.
        bits = (densify(rows[part]).astype(np.float64) + 0.0).view(np.uint64)
        bits ^= bits >> np.uint64(32)
        bits *= np.uint64(0x9E3779B97F4A7C15)
        bits ^= bits >> np.uint64(29)
        total = bits @ multiplier
        total ^= total >> np.uint64(31)
        total *= np.uint64(0xBF58476D1CE4E5B9)
        keys[part] = total ^ (total >> np.uint64(32))
    return keys


def lowest_keys(keys: np.ndarray, weights: np.ndarray | None, count: int) -> np.ndarray:
    """Which rows belong to the `count` lowest different keys of rows of positive weight."""
    counted = keys if weights is None else keys[weights > 0]
    different = np.unique(counted)
    if count >= len(different):
        return np.ones(len(keys), dtype=bool)
    return keys <= different[count - 1]


def hold_out(keys: np.ndarray, weights: np.ndarray | None, share: float) -> np.ndarray:
    """Which rows to hold out: a share of the different rows, at least one and never all."""
    counted = keys if weights is None else keys[weights > 0]
    different = len(np.unique(counted))
    if different < 2:
        return np.zeros(len(keys), dtype=bool)
    count = min(max(1, round(share * different)), different - 1)
    return lowest_keys(keys, weights, count)


@dataclass(frozen=True, eq=False)
class RowSample:
    """The rows of the lowest keys, at most `limit` different ones.

    Copies of a row are one entry with their weights added, so the sample is the same whatever the
    order of the rows, and samples of parts merge into the sample of the whole. `notes` (m, any)
    go with the rows (m, d): rows that differ in them are different.
    """

    limit: int
    seed: int
    keys: NDArray[np.uint64]
    rows: NDArray[Any]
    notes: NDArray[Any]
    weights: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        rows: Any,
        weights: Any,
        limit: int,
        seed: int,
        notes: NDArray[Any] | None = None,
        highest: int | None = None,
    ) -> "RowSample":
        """The sample of a block of rows (n, d) with weights (n,) or None for ones.

        highest: rows with keys above it are known to be of no use.
        """
        keys = row_keys(rows, seed)
        if notes is None:
            notes = np.zeros((len(keys), 0))
        else:
            # Mixed and not only moved: where rows have been held out by their keys, the gap that
            # they leave would otherwise fall on the lowest keys of some notes alone.
            keys += np.uint64(0x9E3779B97F4A7C15) * row_keys(notes, seed)
            keys ^= keys >> np.uint64(31)
            keys *= np.uint64(0xBF58476D1CE4E5B9)
            keys ^= keys >> np.uint64(32)
        counted = np.arange(len(keys)) if weights is None else np.flatnonzero(weights > 0)
        if highest is not None:
            counted = counted[keys[counted] <= np.uint64(highest)]
        own = np.ones(len(counted)) if weights is None else weights[counted]
        different, first, total = _distinct(keys[counted], own, limit)
        first = counted[first]
        return cls(limit, seed, different, densify(rows[first]), notes[first], total)

    @property
    def highest(self) -> int | None:
        """The key above which no row can come in, or None while any can."""
        return int(self.keys[-1]) if len(self.keys) == self.limit else None

    def merge(self, *others: "RowSample") -> "RowSample":
        """The sample of all parts together."""
        parts = (self, *others)
        keys, first, total = _distinct(
            np.concatenate([part.keys for part in parts]),
            np.concatenate([part.weights for part in parts]),
            self.limit,
        )
        rows = np.concatenate([part.rows for part in parts])[first]
        notes = np.concatenate([part.notes for part in parts])[first]
        return RowSample(self.limit, self.seed, keys, rows, notes, total)


def _distinct(keys: Any, weights: Any, limit: int) -> tuple[Any, Any, Any]:
    """The lowest different keys, where each comes first, and the weights of all its copies."""
    different, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return different[:limit], first[:limit], np.bincount(inverse, weights)[:limit]
