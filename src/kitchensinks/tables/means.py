"""The mean target of each category: sums over the rows of a table in one walk, memory bounded.

A row that is fitted must not see its own target, so it gets the means of the rows outside its
fold; every other row gets those of all rows. A mean of few rows is shrunk towards that of all, by
the empirical-Bayes rule of scikit-learn's TargetEncoder: with n rows of variance v in a category,
and variance V of all targets, its own mean counts λ = V·n / (V·n + v). Weights count as copies of
rows, the least of them as one row (and no less than a hundredth of their mean). Copies of a row
are in its fold, and count as its weight.
"""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kitchensinks.numerics.arrays import Floats, Ints
from kitchensinks.numerics.words import Stream, Words
from kitchensinks.tables.columns import Columns
from kitchensinks.tables.content import table_keys
from kitchensinks.tables.encoders import Category, Encoder, Means, Text, words_of
from kitchensinks.tables.keys import find_copies
from kitchensinks.tables.table import Table

FOLDS = 5
# Sums that are held for one column and fold; categories beyond them count as unknown.
_MOST_SUMS = 2**20
# Text is a category where its different values have at least this many rows each on average.
_REPEATED = 10
# It may be one where they have so many.
MAYBE_REPEATED = 2


class Folds(NamedTuple):
    """Rows that are fitted: the fold `own` (n,) of each, and a recipe for the rows of each fold.

    Without recipes all rows have the same.
    """

    recipes: tuple[Columns, ...]
    own: NDArray[np.int8]


NO_FOLDS = Folds((), np.zeros(0, dtype=np.int8))


def fold_of(places: Ints) -> Ints:
    """The fold of each row, by its number: five neighbours are in five folds, in random order."""
    run = (places // FOLDS).astype(np.uint64) + Words(0, 0, Stream.TARGET_FOLDS).raw(1)
    run *= np.uint64(0x9E3779B97F4A7C15)
    run ^= run >> np.uint64(32)
    run *= np.uint64(0xBF58476D1CE4E5B9)
    shift = (run >> np.uint64(33)).astype(np.int64)
    return np.asarray((places + shift) % FOLDS)


@dataclass
class Tally:
    """Sums of w, w·y and w·y² by fold and category: sums (folds, m, 1 + 2·outputs)."""

    sums: Floats
    most: int
    known: dict[str, int] = field(default_factory=dict)

    @classmethod
    def empty(cls, n_sums: int) -> "Tally":
        return cls(np.zeros((FOLDS, 0, n_sums)), max(64, _MOST_SUMS // n_sums))

    def add(self, words: Any, fold: Ints, terms: Floats) -> None:
        """Rows with their words (an Arrow array), folds (n,) and terms (n, 1 + 2·outputs)."""
        coded = words.fill_null("").dictionary_encode()
        words = coded.dictionary.to_pylist()
        place = np.array([self._place(word) for word in words], dtype=np.int64)
        own = place[coded.indices.to_numpy(zero_copy_only=False)]
        kept = own >= 0
        count = len(self.known)
        self.sums = np.pad(self.sums, [(0, 0), (0, count - self.sums.shape[1]), (0, 0)])
        cell = (fold * count + own)[kept]
        for k, term in enumerate(terms[kept].T):
            found = np.bincount(cell, term, FOLDS * count)
            self.sums[:, :, k] += found.reshape(FOLDS, count)

    def _place(self, word: str) -> int:
        if word not in self.known and len(self.known) < self.most:
            self.known[word] = len(self.known)
        return self.known.get(word, -1)


def shrunk(sums: Floats, total: Floats) -> Floats:
    """λ·(own mean) + (1 − λ)·(mean of all), and the latter: (m + 1, outputs).

    sums (m, 1 + 2·outputs) of each category, total (1 + 2·outputs,) of all rows.
    """
    outputs = len(total) // 2
    level = total[1 : 1 + outputs] / (total[0] or 1.0)
    variance = np.maximum(total[1 + outputs :] / (total[0] or 1.0) - level**2, 0.0)
    weight = sums[:, :1]
    with np.errstate(invalid="ignore", divide="ignore"):
        own = sums[:, 1 : 1 + outputs] / weight
        spread = np.maximum(sums[:, 1 + outputs :] / weight - own**2, 0.0)
        share = variance * weight / (variance * weight + spread)
    # No rows at all, or none that differ: the mean of all.
    unsure = np.isnan(share)
    means = np.where(unsure, level, share * own + (1.0 - share) * level)
    return np.vstack([means, level])


def text_columns(columns: Columns) -> list[str]:
    """Names of the columns that can become mean targets: categories and text."""
    return [e.name for e in columns.encoders if isinstance(e, Category | Text)]


def learn_means(
    table: Table,
    columns: Columns,
    targets: Floats,
    weights: Floats | None,
    labels: tuple[str, ...],
    free: set[str] | None = None,
    repeated: int = _REPEATED,
) -> tuple[Columns, Folds]:
    """The recipe with categories as mean targets of all rows; and of the rows outside each fold.

    targets (n, outputs), each with a label. Free text stays as it is: the columns that `free`
    names, or where it is None those whose values have fewer than `repeated` rows each. Rows
    without weight change nothing: they are not numbered.
    """
    names = text_columns(columns)
    if weights is None:
        weights = np.ones(len(targets))
    counted = np.flatnonzero(weights > 0)
    group, total_of = np.arange(len(counted)), weights[counted]
    found = find_copies(table_keys(table, columns, 0)[counted], targets[counted], total_of)
    if found is not None and found.made:
        group, total_of = found.group, found.total
    copies = weights / max(total_of.min(), 0.01 * total_of.mean())
    centre = np.average(targets, axis=0, weights=copies)
    n_sums = 1 + 2 * len(centre)
    tallies = {name: Tally.empty(n_sums) for name in names}
    own_fold = np.zeros(len(targets), dtype=np.int8)
    own_fold[counted] = fold_of(group)
    total, done = np.zeros((FOLDS, n_sums)), 0
    for batch in table.batches(names):
        kept = np.flatnonzero(weights[done : done + batch.num_rows] > 0)
        places, done = done + kept, done + batch.num_rows
        own, centred = copies[places, None], targets[places] - centre
        terms = np.hstack([own, own * centred, own * centred**2])
        fold = own_fold[places].astype(np.int64)
        for k in range(n_sums):
            total[:, k] += np.bincount(fold, terms[:, k], FOLDS)
        for name, tally in tallies.items():
            tally.add(words_of(batch.column(name).take(kept)), fold, terms)
    if free is None:
        free = {n for n, one in tallies.items() if repeated * len(one.known) > len(total_of)}
    recipes = []
    for out in (None, *range(FOLDS)):
        rest = [k for k in range(FOLDS) if k != out]
        encoders = tuple(
            _means(e, tallies, rest, total, centre, free, labels) for e in columns.encoders
        )
        recipes.append(replace(columns, encoders=encoders))
    return recipes[0], Folds(tuple(recipes[1:]), own_fold)


def _means(
    encoder: Encoder,
    tallies: dict[str, Tally],
    folds: list[int],
    total: Floats,
    centre: Floats,
    free: set[str],
    labels: tuple[str, ...],
) -> Encoder:
    """The encoder of one column by the rows of some folds."""
    tally = tallies.get(encoder.name)
    if tally is None:
        return encoder
    if isinstance(encoder, Text) and encoder.name in free:
        return encoder
    levels = sorted(tally.known)
    order = [tally.known[word] for word in levels]
    table = shrunk(tally.sums[folds].sum(axis=0)[order], total[folds].sum(axis=0)) + centre
    return Means(encoder.name, False, tuple(levels), labels, table)
