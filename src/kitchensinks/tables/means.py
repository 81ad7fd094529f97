"""Target encoding: the mean target of each category, in one pass and with bounded memory.

A fitted row must not see its own target, so where its category has few rows it gets the means of
the rows outside its fold; every other row gets the means of all rows. The mean of few rows is
shrunk towards the overall mean by the empirical-Bayes rule of scikit-learn's TargetEncoder: with n
rows of variance v in a category, and variance V of all targets, its own mean has the weight
λ = V·n / (V·n + v). Sample weights count as numbers of copies, the smallest as one row (and no less
than a hundredth of their mean). Copies of a row are in the same fold, and their weights are added.
"""

import hashlib
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kitchensinks.numerics.arrays import Floats, Ints
from kitchensinks.numerics.words import Stream, Words
from kitchensinks.tables.arrow import ArrowArray
from kitchensinks.tables.columns import Columns
from kitchensinks.tables.encoders import Category, Encoder, Means, Number, Text
from kitchensinks.tables.keys import Keys, find_copies, mixed, row_keys
from kitchensinks.tables.table import Table
from kitchensinks.tables.words import words_of

FOLDS = 5
# From this many distinct rows on, a category has one mean for all of them. A row's own share in it
# is then below a thousandth, and means that differ by fold would blur the category (nursery: 0.5 %
# wrong in place of 0.2). With 300 in place of 1500, sixty levels of noise halve a weak R².
MANY_ROWS = 1500
# Most sums of one column and fold; further categories count as unknown.
_MOST_SUMS = 2**20
# Text is categorical if each distinct value has at least this many rows on average.
_REPEATED = 10
# With at least this many rows for each value, it may be categorical.
MAYBE_REPEATED = 2


class Folds(NamedTuple):
    """The fold `own` (n,) of each fitted row, and a recipe for the rows of each fold.

    Without recipes, all rows have the same one.
    """

    recipes: tuple[Columns, ...]
    own: NDArray[np.int8]


NO_FOLDS = Folds((), np.zeros(0, dtype=np.int8))


def fold_of(places: Ints) -> Ints:
    """The fold of each row by its index: five neighbours are in five folds, in random order."""
    run = (places // FOLDS).astype(np.uint64) + Words(0, 0, Stream.TARGET_FOLDS).raw(1)
    run *= np.uint64(0x9E3779B97F4A7C15)
    run ^= run >> np.uint64(32)
    run *= np.uint64(0xBF58476D1CE4E5B9)
    shift = (run >> np.uint64(33)).astype(np.int64)
    return np.asarray((places + shift) % FOLDS)


@dataclass
class Tally:
    """Sums by fold and category, (folds, m, 2 + 2·outputs): of w, w·y, w·y², and of the squared
    weight of each distinct row."""

    sums: Floats
    known: dict[str, int] = field(default_factory=dict)

    def add(self, words: ArrowArray, fold: Ints, terms: Floats) -> None:
        """Rows with their words (an Arrow array), folds (n,) and terms (n, 2 + 2·outputs)."""
        coded = words.fill_null("").dictionary_encode()
        words, most = coded.dictionary.to_pylist(), max(64, _MOST_SUMS // terms.shape[1])
        for word in words:
            if len(self.known) < most:
                self.known.setdefault(word, len(self.known))
        place = np.array([self.known.get(word, -1) for word in words], dtype=np.int64)
        own = place[coded.indices.to_numpy(zero_copy_only=False)]
        kept = own >= 0
        count = len(self.known)
        self.sums = np.pad(self.sums, [(0, 0), (0, count - self.sums.shape[1]), (0, 0)])
        cell = (fold * count + own)[kept]
        for k, term in enumerate(terms[kept].T):
            found = np.bincount(cell, term, FOLDS * count)
            self.sums[:, :, k] += found.reshape(FOLDS, count)


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
    # Without rows, or where all targets are equal: the overall mean.
    unsure = np.isnan(share)
    means = np.where(unsure, level, share * own + (1.0 - share) * level)
    return np.vstack([means, level])


def text_columns(columns: Columns) -> list[str]:
    """Names of the columns that can be target-encoded: categories and text."""
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
    """The recipe with target-encoded categories: by all rows, and by the rows outside each fold.

    targets (n, outputs), each with a label. Free text is not encoded: the columns in `free`, or, if
    it is None, those whose values have fewer than `repeated` rows each. Rows without weight
    have no influence: they are not numbered.
    """
    names = text_columns(columns)
    if weights is None:
        weights = np.ones(len(targets))
    counted = np.flatnonzero(weights > 0)
    group, total_of = np.arange(len(counted)), weights[counted]
    found = find_copies(table_keys(table, columns, 0)[counted], targets[counted], total_of)
    if found is not None and found.made:
        group, total_of = found.group, found.total
    unit = max(total_of.min(), 0.01 * total_of.mean())
    copies = weights / unit
    centre = np.average(targets, axis=0, weights=copies)
    squares = np.zeros(len(targets))
    squares[counted[np.unique(group, return_index=True)[1]]] = (total_of / unit) ** 2
    n_sums = 2 + 2 * len(centre)
    tallies = {name: Tally(np.zeros((FOLDS, 0, n_sums))) for name in names}
    own_fold = np.zeros(len(targets), dtype=np.int8)
    own_fold[counted] = fold_of(group)
    total, done = np.zeros((FOLDS, n_sums)), 0
    for batch in table.batches(names):
        kept = np.flatnonzero(weights[done : done + batch.num_rows] > 0)
        places, done = done + kept, done + batch.num_rows
        own, centred = copies[places, None], targets[places] - centre
        terms = np.hstack([own, own * centred, own * centred**2, squares[places, None]])
        fold = own_fold[places].astype(np.int64)
        for k in range(n_sums):
            total[:, k] += np.bincount(fold, terms[:, k], FOLDS)
        for name, tally in tallies.items():
            tally.add(words_of(batch.column(name).take(kept)), fold, terms)
    if free is None:
        free = {n for n, one in tallies.items() if repeated * len(one.known) > len(total_of)}

    def means(encoder: Encoder, folds: list[int]) -> Encoder:
        """The encoder of one column by the rows of some folds."""
        tally = tallies.get(encoder.name)
        if tally is None or (isinstance(encoder, Text) and encoder.name in free):
            return encoder
        if len(tally.known) < 2:
            # The means of folds without a row would differ, and say something of its own target.
            return encoder
        levels = sorted(tally.known)
        own = tally.sums[:, [tally.known[word] for word in levels]]
        sums, squared = own[..., :-1], own[..., -1].sum(axis=0)
        # Unequal weights w count as (Σw)²/Σw² rows.
        few = np.append(sums[..., 0].sum(axis=0) ** 2 < MANY_ROWS * squared, True)[:, None]
        outside = shrunk(sums[folds].sum(axis=0), total[folds, :-1].sum(axis=0))
        everyone = shrunk(sums.sum(axis=0), total[:, :-1].sum(axis=0))
        table = np.where(few, outside, everyone) + centre
        return Means(encoder.name, False, tuple(levels), labels, table)

    recipes = []
    for out in (None, *range(FOLDS)):
        rest = [k for k in range(FOLDS) if k != out]
        encoders = tuple(means(encoder, rest) for encoder in columns.encoders)
        recipes.append(replace(columns, encoders=encoders))
    return recipes[0], Folds(tuple(recipes[1:]), own_fold)


def table_keys(table: Table, columns: Columns, seed: int) -> Keys:
    """A key of each row, (n,), from the values of its columns before they become numbers.

    Σ_j h_j·a_j mod 2⁶⁴ with odd random a_j, mixed; h_j is the hash of a number or of trimmed text.

    >>> import pyarrow
    >>> from kitchensinks.tables.table import open_table
    >>> table = open_table(pyarrow.table({"a": [1.0, 2.0, 1.0], "b": ["x", "x", " x"]}))
    >>> keys = table_keys(table, Columns.learn(table), 0)
    >>> bool(keys[0] == keys[2]), bool(keys[0] == keys[1])
    (True, False)
    """
    factors = Words(seed, 0, Stream.ROW_KEYS).raw(len(columns.encoders)) | np.uint64(1)
    keys, done = np.empty(table.n_rows, dtype=np.uint64), 0
    for batch in table.batches(columns.inputs):
        total = np.zeros(batch.num_rows, dtype=np.uint64)
        for encoder, factor in zip(columns.encoders, factors, strict=True):
            total += factor * _of_column(encoder, batch.column(encoder.name))
        keys[done : done + len(total)] = total
        done += len(total)
    return mixed(keys)


def _of_column(encoder: Encoder, values: ArrowArray) -> Keys:
    if isinstance(encoder, Number):
        return row_keys(encoder.numbers(values)[:, None], 0)
    coded = words_of(values).fill_null("").dictionary_encode()
    found = (hashlib.blake2b(word.encode(), digest_size=8) for word in coded.dictionary.to_pylist())
    words = np.array([int.from_bytes(one.digest()) for one in found], dtype=np.uint64)
    return np.asarray(words[coded.indices.to_numpy(zero_copy_only=False)])
