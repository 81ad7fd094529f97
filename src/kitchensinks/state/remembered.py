"""Rows that a fit remembers: a sample of them, or all.

A sample calibrates, and chooses the ridge of rows that come in batches. All rows are kept by fits
that leave no sums to which more rows could be added: bins and two stages. The rows are the smallest
exact summary of bins, because a row has products of every pair of G grids, and d numbers.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from kitchensinks.fitting.squared import RidgeCandidates
from kitchensinks.numerics.arrays import AnyArray
from kitchensinks.problem.losses import Array
from kitchensinks.problem.targets import Batch
from kitchensinks.solvers.path import Leaving
from kitchensinks.tables.arrays import block_slices
from kitchensinks.tables.keys import Copies, RowSample, find_copies, row_keys
from kitchensinks.tables.view import Rows

# The most entries of rows that are kept: 128 MB in float64.
KEPT_ENTRIES = 2**24


class Limits(NamedTuple):
    """The largest number of rows and of entries in a sample."""

    rows: int
    entries: int


# The sample that calibrates probabilities and intervals, and chooses the ridge of a stream.
REMEMBERED = Limits(2000, 2**21)
# The sample of other losses than the squared one, with which predictions are compared.
COMPARED = Limits(100, 2**21)


def sample_of(
    batch: Batch, seed: int, sample: RowSample | None = None, limits: Limits = REMEMBERED
) -> RowSample:
    """A sample of rows, with targets as notes, added to `sample`."""
    fitting = limits.entries // batch.rows.shape[1]
    limit = min(limits.rows, max(100, fitting))
    for part in block_slices(len(batch.targets), max(1, fitting)):
        own = batch.part(part)
        highest = None if sample is None else sample.highest
        found = RowSample.of(own.rows, own.weights, limit, seed, own.targets, highest)
        sample = found if sample is None else sample.merge(found)
    assert sample is not None
    return sample


def remembered(
    batch: Batch, seed: int, squared: bool, sample: RowSample | None = None
) -> RowSample:
    """The sample that a fit keeps, of squared loss or another, added to `sample`."""
    return sample_of(batch, seed, sample, REMEMBERED if squared else COMPARED)


def batch_of(sample: RowSample) -> Batch:
    """The rows that `sample_of` has taken, as a fit in memory has them."""
    return Batch(sample.rows, sample.notes, sample.weights)


def copies_in(sample: RowSample) -> Copies | None:
    """The copies among the remembered rows, or None; an entry has the weight of all its copies."""
    keys = row_keys(sample.rows, sample.seed)
    places = np.repeat(np.arange(len(keys)), sample.counts)
    return find_copies(keys[places], sample.notes[places])


def leaving_of(sample: RowSample) -> Leaving:
    """What is left out with each row of the sample, as `Leaving.of` defines it for all rows.

    A row of the sample has the weight of all its copies. Where rows are equal by chance, each is
    left out alone.
    """
    if copies_in(sample) is None:
        return Leaving(sample.weights / sample.counts, sample.notes)
    return Leaving.together(row_keys(sample.rows, sample.seed), sample.notes, sample.weights)


def left_out_errors(sample: RowSample, features: AnyArray, candidates: RidgeCandidates) -> Array:
    """Leave-one-out errors of a ridge path on the rows remembered, (alphas, outputs).

    features (m, K): of the rows.
    """
    squares = candidates.path.left_out_squares(
        features, sample.notes, sample.weights, leaving_of(sample), candidates.alphas
    )
    return np.asarray(squares / sample.weights.sum())


class Kept(NamedTuple):
    """All rows of a fit, with encoded targets.

    looked: the law was learned from this many of the first rows of a stream; None if it is final.
    """

    batch: Batch
    looked: int | None = None


def is_kept(*batches: Batch) -> bool:
    """Whether the rows of all batches are few enough to be kept.

    >>> is_kept(Batch(np.zeros((3, 2)), np.zeros((3, 1))))
    True
    """
    size = 0
    for rows, _, _ in batches:
        size += 2 * rows.nnz if sparse.issparse(rows) else rows.shape[0] * rows.shape[1]
    return bool(size <= KEPT_ENTRIES)


def own_copy(batch: Batch) -> Batch:
    """A copy of the rows if they are few enough to be kept, else the rows themselves."""
    if not is_kept(batch):
        return batch
    rows = batch.rows[:] if isinstance(batch.rows, Rows) else batch.rows.copy()
    weights = None if batch.weights is None else batch.weights.copy()
    return Batch(rows, batch.targets.copy(), weights)
