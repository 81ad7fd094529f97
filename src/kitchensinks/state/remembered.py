"""Rows that a fit remembers, whichever batches or partitions they come in."""

from typing import NamedTuple

import numpy as np

from kitchensinks.fitting.squared import RidgeCandidates
from kitchensinks.numerics.arrays import AnyArray
from kitchensinks.problem.losses import Array
from kitchensinks.problem.targets import Batch
from kitchensinks.solvers.path import Leaving
from kitchensinks.tables import block_slices
from kitchensinks.tables.keys import Copies, RowSample, find_copies, row_keys


class Limits(NamedTuple):
    """The most rows of a sample, and the most entries of them."""

    rows: int
    entries: int


# Rows that are remembered to calibrate probabilities and intervals, and to choose the ridge of a
# stream.
REMEMBERED = Limits(2000, 2**21)


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


def batch_of(sample: RowSample) -> Batch:
    """The rows that `sample_of` has taken, as a fit in memory has them."""
    return Batch(sample.rows, sample.notes, sample.weights)


def copies_in(sample: RowSample) -> Copies | None:
    """The copies among the remembered rows, or None; an entry has the weight of all its copies."""
    keys = row_keys(sample.rows, sample.seed)
    places = np.repeat(np.arange(len(keys)), sample.counts)
    return find_copies(keys[places], sample.notes[places])


def leaving_of(sample: RowSample) -> Leaving:
    """What leaves with each remembered row, as `Leaving.of` all rows says.

    Where content repeats by itself, each row leaves alone.
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
