"""Hashes of rows: a pseudo-random key from the content of a row and a seed.

Rows are sampled and held out by their keys and not by their position. The choice therefore does not
depend on the order of the rows, copies of a row stay together, and rows of weight zero change
nothing. Where columns have few values, equal rows are held out one by one, in their order.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kitchensinks.numerics.arrays import AnyArray, Bools, Floats, Ints, Matrix
from kitchensinks.numerics.words import Stream, Words
from kitchensinks.tables.arrays import block_slices, densify

Keys = NDArray[np.uint64]

# Entries of rows that are read at a time.
_BLOCK_ENTRIES = 2**22
# Entries that are hashed at a time: few enough to stay in cache.
_MIXED_ENTRIES = 2**15
# Rows that the law of a basis (a median distance, quantiles) is resolved on.
SAMPLE_ROWS = 2000
# A sample of very wide rows has at most this many entries.
_SAMPLE_ENTRIES = 2**24
# A sample has at least this many rows, however wide they are.
_FEWEST_SAMPLED = 100
# Equal rows are copies if the variance of their targets is below this share of the total variance.
# Otherwise content merely repeats, as it does where columns have few values.
_SAME_TARGETS = 0.1
# With fewer distinct rows, equal rows are due to columns with few values.
_FEWEST_DIFFERENT = 30
# So they are where distinct rows occur more often than this on average.
_MOST_EACH = 10.0
# Copies of so few distinct rows that each is there this often are due to columns with few values.
_SOME_EACH = 4
# Counts of rows that repeat by themselves vary as those of Poisson do, or more. Those that vary
# less by so many standard errors were made.
_LESS_THAN_CHANCE = 3.0


def row_keys(rows: Matrix, seed: int) -> Keys:
    """A pseudo-random 64-bit key of each row, shape (n,): equal rows have equal keys.

    Σ_j mixed(bits of x_j)·a_j mod 2⁶⁴ with odd random a_j, mixed once more. A zero adds nothing,
    so that only the stored entries of sparse rows are read.
    """
    n_rows, n_inputs = rows.shape
    multiplier = Words(seed, 0, Stream.ROW_KEYS).raw(n_inputs) | np.uint64(1)
    if sparse.issparse(rows):
        return _sparse_keys(rows.tocsr(), multiplier)
    keys = np.empty(n_rows, dtype=np.uint64)
    size = max(1, _MIXED_ENTRIES // n_inputs)
    numbers, scratch = np.empty((size, n_inputs)), np.empty((size, n_inputs), np.uint64)
    for part in block_slices(n_rows, max(1, _BLOCK_ENTRIES // n_inputs)):
        block, found = np.asarray(rows[part]), keys[part]
        for own in block_slices(len(block), size):
            count = own.stop - own.start
            bits = _bits(block[own], numbers[:count], scratch[:count])
            found[own] = mixed(bits @ multiplier)
    return keys


def _sparse_keys(rows: Matrix, multiplier: Keys) -> Keys:
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    ends = np.zeros(rows.nnz + 1, dtype=np.uint64)
    bits = _bits(rows.data, np.empty(rows.nnz), np.empty(rows.nnz, np.uint64))
    np.cumsum(bits * multiplier[rows.indices], out=ends[1:])
    return mixed(ends[rows.indptr[1:]] - ends[rows.indptr[:-1]])


def _bits(values: AnyArray, numbers: Floats, scratch: Keys) -> Keys:
    """The bits of each number, mixed: 0 for zero, of either sign.

    numbers, scratch: memory of the shape of the values, which is written over and returned.
    """
    np.add(values, 0.0, out=numbers, dtype=np.float64, casting="unsafe")
    bits = numbers.view(np.uint64)
    np.right_shift(bits, np.uint64(32), out=scratch)
    bits ^= scratch
    bits *= np.uint64(0x9E3779B97F4A7C15)
    np.right_shift(bits, np.uint64(29), out=scratch)
    bits ^= scratch
    return bits


def joined(keys: Keys, others: Keys) -> Keys:
    """One key of two.

    The sum is mixed, because rows that were held out by their keys leave a gap that would otherwise
    stay a gap in the sums.
    """
    return mixed(keys + np.uint64(0x9E3779B97F4A7C15) * others)


def mixed(total: Keys) -> Keys:
    """Mix in place, so that every bit of a key depends on every bit of the sum."""
    total ^= total >> np.uint64(31)
    total *= np.uint64(0xBF58476D1CE4E5B9)
    total ^= total >> np.uint64(32)
    return total


class Copies(NamedTuple):
    """Distinct rows and their copies: the index of the first copy (m,), in rising order, the total
    weight of the copies (m,), and the number of the distinct row that each row equals (n,)."""

    first: NDArray[np.intp]
    total: Floats
    group: NDArray[np.intp]

    @property
    def each(self) -> float:
        """The mean number of copies of a distinct row."""
        return len(self.group) / len(self.first)

    @property
    def made(self) -> bool:
        """Whether rows were duplicated: few values in few columns give equal rows as well.

        Keeping all rows of a category in one fold would leave none to compute its mean from.
        """
        few = len(self.first) >= _FEWEST_DIFFERENT and self.each <= _MOST_EACH
        return few or self.evenly

    @property
    def evenly(self) -> bool:
        """Whether all rows are there about equally often, as after a table was repeated.

        The variance of m Poisson counts over their mean is 1 with a standard error of √(2/m).
        """
        count = np.bincount(self.group)
        dispersion = float(count.var() / count.mean())
        return dispersion < 1.0 - _LESS_THAN_CHANCE * math.sqrt(2.0 / len(count))

    @property
    def share(self) -> float:
        """The share of the rows that are copies of earlier ones."""
        return 1.0 - len(self.first) / len(self.group)


def find_copies(keys: Keys, targets: Floats, weights: Floats | None = None) -> Copies | None:
    """Which rows are copies of others, or None where none is.

    keys (n,): equal for equal rows; targets (n, outputs); weights (n,), all positive. Copies reveal
    each other's targets. Where the targets of equal rows differ, each row is an observation of its
    own. So it is where columns have few values (`_few`).

    >>> keys, targets = np.array([7, 8, 7], dtype=np.uint64), np.array([[1.0], [2.0], [1.0]])
    >>> find_copies(keys, targets).total
    array([2., 1.])
    >>> find_copies(keys, np.array([[1.0], [2.0], [3.0]])) is None
    True
    >>> find_copies(np.repeat(keys[:2], 5), np.repeat(targets[:2], 5, axis=0)) is None
    True
    """
    found, first, group = np.unique(keys, return_index=True, return_inverse=True)
    if len(found) == len(keys) or _few(len(found), len(keys)):
        return None
    count = np.bincount(group)
    shared = count[group] > 1
    inside, variance = 0.0, 0.0
    for column in targets.T:
        centred = column - column.mean()
        mean = np.bincount(group, centred) / count
        inside += float(np.sum((centred - mean[group])[shared] ** 2))
        variance += float(np.mean(centred**2))
    if inside / float(np.sum(count - 1)) > _SAME_TARGETS * variance:
        return None
    # Numbered by their first rows: without a copy, each row is its own number.
    order = np.argsort(first)
    group = np.argsort(order)[group]
    return Copies(first[order], np.bincount(group, weights).astype(np.float64), group)


def _few(n_different: int, n_rows: int) -> bool:
    """Whether rows are equal because columns have few values.

    So they are where rows occur more often, on average, than there are different ones. Nothing
    would be known of a content if all its rows were held out together.
    """
    return n_rows > n_different * max(n_different, _SOME_EACH)


def lowest_keys(keys: Keys, weights: Floats | None, count: int) -> Bools:
    """Which rows have one of the `count` lowest distinct keys of rows of positive weight."""
    different = _counted(keys, weights)
    if count >= len(different):
        return np.ones(len(keys), dtype=bool)
    return np.asarray(keys <= different[count - 1])


def hold_out(keys: Keys, weights: Floats | None, share: float, fold: int = 0) -> Bools:
    """Which rows to hold out: a share of the distinct rows, at least one and never all.

    Copies stay together, unless columns have few values (`_few`). fold: which of several disjoint
    shares.

    >>> keys = np.repeat(np.array([3, 5], dtype=np.uint64), [4, 6])
    >>> held = hold_out(keys, None, 0.2)
    >>> int(held.sum()), bool(hold_out(keys[3:5], None, 0.2)[0])
    (2, True)
    """
    different = _counted(keys, weights)
    n_rows = len(keys) if weights is None else int(np.count_nonzero(weights > 0))
    if _few(len(different), n_rows):
        counted = np.ones(len(keys), dtype=bool) if weights is None else weights > 0
        numbers = np.zeros_like(keys)
        numbers[counted] = _numbered(keys[counted])
        keys = joined(keys, numbers)
        different = _counted(keys, weights)
    count = min(max(1, round(share * len(different))), max(0, len(different) - 1))
    own = different[fold * count : (fold + 1) * count]
    if not len(own):
        return np.zeros(len(keys), dtype=bool)
    return np.asarray((keys >= own[0]) & (keys <= own[-1]))


def _numbered(keys: Keys) -> Keys:
    """How many rows before each row have its key."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    numbers = np.empty(len(keys), dtype=np.uint64)
    numbers[order] = np.arange(len(keys)) - np.searchsorted(ordered, ordered)
    return numbers


def _counted(keys: Keys, weights: Floats | None) -> Keys:
    """The distinct keys of rows of positive weight, in rising order.

    NumPy's `unique` hashes whole numbers, which takes a hundred times as long for 2·10⁶ keys.
    """
    own = np.sort(keys if weights is None else keys[weights > 0])
    first = np.concatenate([np.ones(min(1, len(own)), dtype=bool), own[1:] != own[:-1]])
    return np.asarray(own[first])


def sample_size(n_inputs: int) -> int:
    """How many rows of this width a sample may have: fewer where rows are very wide.

    >>> sample_size(10), sample_size(2**16), sample_size(2**30)
    (2000, 256, 100)
    """
    return min(SAMPLE_ROWS, max(_FEWEST_SAMPLED, _SAMPLE_ENTRIES // n_inputs))


@dataclass(frozen=True, eq=False)
class RowSample:
    """The distinct rows with the lowest keys, at most `limit` of them.

    Copies of a row are one entry with their total weight and number. The sample therefore does not
    depend on the order of the rows, and samples of parts merge into the sample of the whole.
    `notes` (m, any) accompany the rows (m, d): rows that differ in them are distinct.
    """

    limit: int
    seed: int
    keys: Keys
    rows: AnyArray
    notes: AnyArray
    weights: Floats
    counts: Ints

    @classmethod
    def of(
        cls,
        rows: Matrix,
        weights: Any,
        limit: int,
        seed: int,
        notes: AnyArray | None = None,
        highest: int | None = None,
    ) -> "RowSample":
        """The sample of a block of rows (n, d) with weights (n,) or None for ones.

        highest: rows with larger keys are skipped, because an earlier sample is full of lower ones.
        """
        keys = row_keys(rows, seed)
        if notes is None:
            notes = np.zeros((len(keys), 0))
        else:
            keys = joined(keys, row_keys(notes, seed))
        counted = np.arange(len(keys)) if weights is None else np.flatnonzero(weights > 0)
        if highest is not None:
            counted = counted[keys[counted] <= np.uint64(highest)]
        own = np.ones(len(counted)) if weights is None else weights[counted]
        ones = np.ones(len(counted), dtype=np.int64)
        different, first, total, count = _distinct(keys[counted], own, ones, limit)
        first = counted[first]
        return cls(limit, seed, different, densify(rows[first]), notes[first], total, count)

    @property
    def shares(self) -> Floats:
        """The weights, divided by the largest."""
        return np.asarray(self.weights / self.weights.max())

    @property
    def highest(self) -> int | None:
        """The largest key that can still enter the sample, or None while any can."""
        return int(self.keys[-1]) if len(self.keys) == self.limit else None

    def merge(self, *others: "RowSample") -> "RowSample":
        """The sample of all parts together."""
        parts = (self, *others)
        keys, first, total, count = _distinct(
            np.concatenate([part.keys for part in parts]),
            np.concatenate([part.weights for part in parts]),
            np.concatenate([part.counts for part in parts]),
            self.limit,
        )
        rows = np.concatenate([part.rows for part in parts])[first]
        notes = np.concatenate([part.notes for part in parts])[first]
        return RowSample(self.limit, self.seed, keys, rows, notes, total, count)


def _distinct(keys: Any, weights: Any, counts: Any, limit: int) -> tuple[Any, Any, Any, Any]:
    """The lowest distinct keys, the index of the first copy, total weight and number of copies."""
    different, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    total, count = np.bincount(inverse, weights), np.bincount(inverse, counts).astype(np.int64)
    return different[:limit], first[:limit], total[:limit], count[:limit]
