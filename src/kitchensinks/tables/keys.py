"""A number for every row, from its content and a seed.

Rows are chosen (to be held out, or to be looked at more closely) by their keys and not by their
place: the choice is the same whatever their order, a copy of a row goes where the row goes, and
rows of weight zero change nothing.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kitchensinks.numerics.words import Stream, Words
from kitchensinks.tables.arrays import block_slices, densify

Keys = NDArray[np.uint64]
Floats = NDArray[np.float64]

# Entries of rows whose keys are computed together.
_BLOCK_ENTRIES = 2**22
# Rows that the law of a basis (a median distance, quantiles) is resolved on.
SAMPLE_ROWS = 2000
# A sample of very wide rows has at most this many entries.
_SAMPLE_ENTRIES = 2**24
# A sample has at least this many rows, however wide they are.
_FEWEST_SAMPLED = 100


def row_keys(rows: Any, seed: int) -> Keys:
    """A pseudo-random 64-bit key of each row, shape (n,): equal rows have equal keys.

    Σ_j mixed(bits of x_j)·a_j mod 2⁶⁴ with odd random a_j, mixed once more. A zero adds nothing,
    so that only the stored entries of sparse rows are read.
    """
    n_rows, n_inputs = rows.shape
    multiplier = Words(seed, 0, Stream.ROW_KEYS).raw(n_inputs) | np.uint64(1)
    if sparse.issparse(rows):
        return _sparse_keys(rows.tocsr(), multiplier)
    keys = np.empty(n_rows, dtype=np.uint64)
    for part in block_slices(n_rows, max(1, _BLOCK_ENTRIES // n_inputs)):
        keys[part] = _finished(_mixed(np.asarray(rows[part])) @ multiplier)
    return keys


def _sparse_keys(rows: Any, multiplier: Keys) -> Keys:
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    ends = np.zeros(rows.nnz + 1, dtype=np.uint64)
    np.cumsum(_mixed(rows.data) * multiplier[rows.indices], out=ends[1:])
    return _finished(ends[rows.indptr[1:]] - ends[rows.indptr[:-1]])


def _mixed(values: NDArray[Any]) -> Keys:
    """The bits of each number, mixed: 0 for zero, of either sign."""
    bits = (values.astype(np.float64) + 0.0).view(np.uint64)
    bits ^= bits >> np.uint64(32)
    bits *= np.uint64(0x9E3779B97F4A7C15)
    bits ^= bits >> np.uint64(29)
    return bits


def _finished(total: Keys) -> Keys:
    """Every bit of a key depends on every bit of the sum."""
    total ^= total >> np.uint64(31)
    total *= np.uint64(0xBF58476D1CE4E5B9)
    total ^= total >> np.uint64(32)
    return total


def lowest_keys(keys: Keys, weights: Floats | None, count: int) -> NDArray[np.bool_]:
    """Which rows belong to the `count` lowest different keys of rows of positive weight."""
    different = _counted(keys, weights)
    if count >= len(different):
        return np.ones(len(keys), dtype=bool)
    return np.asarray(keys <= different[count - 1])


def hold_out(keys: Keys, weights: Floats | None, share: float, fold: int = 0) -> NDArray[np.bool_]:
    """Which rows to hold out: a share of the distinct rows, at least one and never all.

    fold: which of several such shares, that have no row in common.
    """
    different = _counted(keys, weights)
    if len(different) < 2:
        return np.zeros(len(keys), dtype=bool)
    count = min(max(1, round(share * len(different))), len(different) - 1)
    own = different[fold * count : (fold + 1) * count]
    if not len(own):
        return np.zeros(len(keys), dtype=bool)
    return np.asarray((keys >= own[0]) & (keys <= own[-1]))


def _counted(keys: Keys, weights: Floats | None) -> Keys:
    """The different keys of rows of positive weight, in rising order."""
    return np.unique(keys if weights is None else keys[weights > 0])


def sample_size(n_inputs: int, most: int = SAMPLE_ROWS) -> int:
    """How many rows of this width a sample may have: `most`, or fewer where rows are very wide.

    >>> sample_size(10), sample_size(2**16), sample_size(2**30)
    (2000, 256, 100)
    """
    return min(most, max(_FEWEST_SAMPLED, _SAMPLE_ENTRIES // n_inputs))


@dataclass(frozen=True, eq=False)
class RowSample:
    """The rows of the lowest keys, at most `limit` different ones.

    Copies of a row are one entry with their weights added, so the sample is the same whatever the
    order of the rows, and samples of parts merge into the sample of the whole. `notes` (m, any)
    go with the rows (m, d): rows that differ in them are different.
    """

    limit: int
    seed: int
    keys: Keys
    rows: NDArray[Any]
    notes: NDArray[Any]
    weights: Floats

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

        highest: rows with larger keys are left out, because an earlier sample has no room for them.
        """
        keys = row_keys(rows, seed)
        if notes is None:
            notes = np.zeros((len(keys), 0))
        else:
            # Mixed and not only moved: where rows have been held out by their keys, the gap that
            # they leave would otherwise fall on the lowest keys of some notes alone.
            keys += np.uint64(0x9E3779B97F4A7C15) * row_keys(notes, seed)
            keys = _finished(keys)
        counted = np.arange(len(keys)) if weights is None else np.flatnonzero(weights > 0)
        if highest is not None:
            counted = counted[keys[counted] <= np.uint64(highest)]
        own = np.ones(len(counted)) if weights is None else weights[counted]
        different, first, total = _distinct(keys[counted], own, limit)
        first = counted[first]
        return cls(limit, seed, different, densify(rows[first]), notes[first], total)

    @property
    def shares(self) -> Floats:
        """The weights, up to one."""
        return np.asarray(self.weights / self.weights.max())

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
