"""Copies of rows: a copy that is held out while its row is fitted leaks the target.

Oversampling, joins and bootstraps make copies. A law is learned from distinct rows, each with the
weight of all its copies; the last fit has all rows.
"""

from dataclasses import replace
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from kitchensinks.law import constants
from kitchensinks.law.splits import some_of
from kitchensinks.law.values import Law
from kitchensinks.numerics.arrays import Floats, Matrix
from kitchensinks.numerics.words import Stream, Words
from kitchensinks.problem.targets import Batch
from kitchensinks.tables.arrays import densify
from kitchensinks.tables.keys import Copies, find_copies, row_keys, sample_size


def one_of_each(batch: Batch, seed: int) -> tuple[Batch, Copies | None]:
    """The batch with weight on distinct rows only, and its copies; or the batch itself and None.

    Of very many rows, a subsample is examined first: with probability `part` it also holds a copy
    of one of its rows. All rows are examined if the subsample suggests many copies.
    """
    counted = batch.counted_places
    part = constants.POOL / len(counted)
    if part < 1.0:
        some = some_of(counted, constants.POOL, Words(seed, 2**32, Stream.LAW_HOLD_OUT))
        few = _copies(batch, some, row_keys(batch.rows[some], seed))
        if few is None or few.share < part * constants.MANY_COPIES:
            return batch, None
    copies = _copies(batch, counted, row_keys(batch.rows, seed)[counted])
    if copies is None:
        return batch, None
    first, weights = counted[copies.first], np.zeros(len(batch.targets))
    if many(copies):
        weights[first] = copies.total
    else:
        # Few copies change no law, and trials without weights take less time.
        weights[first] = 1.0 if batch.weights is None else batch.weights[first]
    return batch._replace(weights=weights), copies


def _copies(batch: Batch, places: NDArray[np.intp], keys: NDArray[np.uint64]) -> Copies | None:
    weights = None if batch.weights is None else batch.weights[places]
    found = find_copies(keys, batch.targets[places], weights)
    return found if found is not None and found.made else None


def many(copies: Copies | None) -> TypeGuard[Copies]:
    """Whether so many rows are copies that they count as weights and a warning is due."""
    return copies is not None and copies.share >= constants.MANY_COPIES


def numbers(batch: Batch, copies: Copies | None) -> Floats | None:
    """Multiplicity of each distinct row before `one_of_each` removed the duplicates, (n,).

    None if copies do not count as weights.
    """
    if not many(copies):
        return None
    found = np.ones(len(batch.targets))
    found[batch.counted_places] = np.bincount(copies.group)
    return found


def which(batch: Batch, copies: Copies | None) -> NDArray[np.bool_] | None:
    """Which of the distinct rows that `one_of_each` returns had copies, (n,).

    None if few rows have copies, or if every row has equally many (the table was probably
    repeated).
    """
    count = numbers(batch, copies)
    if count is None or not np.ptp(count[batch.counted_places]):
        return None
    return np.asarray(count > 1.0)


def by_chance(rows: Matrix, places: NDArray[np.intp], copies: Copies, seed: int) -> bool:
    """Whether columns with few values, such as rounded numbers, explain that many rows are equal.

    They do not where all rows are there equally often, as after a table was repeated. Else two rows
    are equal by chance with the product of the probabilities that they are equal in each column, if
    columns are independent. places: of the rows whose copies these are.
    """
    count = np.bincount(copies.group).astype(np.float64)
    if not np.ptp(count):
        return False
    equal = float(np.sum(count * (count - 1.0))) / (len(copies.group) * (len(copies.group) - 1.0))
    words = Words(seed, 2**32 + 1, Stream.LAW_HOLD_OUT)
    some = densify(rows[some_of(places, sample_size(rows.shape[1]), words)])
    expected, size = 1.0, len(some)
    for column in some.T:
        own = np.unique(column, return_counts=True)[1].astype(np.float64)
        expected *= float(np.sum(own * (own - 1.0))) / (size * (size - 1.0))
        if expected < constants.BY_CHANCE * equal:
            return False
    return True


def counting(law: Law, copies: Copies | None) -> Law:
    """The law whose ridges λ = α·n count all rows, where they were chosen with one of each."""
    if copies is None:
        return law
    return replace(law, ridge=copies.each * law.ridge, second=copies.each * law.second)


def in_words(copies: Copies) -> str:
    """The warning about copies."""
    return (
        f"{copies.share:.0%} of the rows are copies of others: equal in all columns, and equal or "
        "close in their targets. They are kept together where rows are held out, and count as "
        "weights. If rows were repeated on purpose, give each of them once with sample_weight, "
        "which is as good and takes less time. If they are different observations, nothing needs "
        "to be done."
    )
