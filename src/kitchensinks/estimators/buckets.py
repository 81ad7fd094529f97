"""Hash tables of buckets: rows with equal letters are found without a look at all rows."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kitchensinks.features.bases.maxout import same_argmax
from kitchensinks.numerics.arrays import AnyArray, Ints
from kitchensinks.numerics.signs import popcount
from kitchensinks.numerics.threads import looped

Packed = NDArray[np.uint64]


def _tables(same: float, recall: float) -> int:
    return math.ceil(math.log1p(-recall) / math.log1p(-same))


@dataclass(frozen=True)
class Shape:
    """Tables, and letters of a key of each: two rows of cosine ρ meet in a table with probability
    κ_q(ρ)^letters (maxout paper, Remark 1), and in some table with `chance(ρ)`."""

    n_tables: int
    n_letters: int
    pool: int

    @classmethod
    def of(cls, n_units: int, pool: int, near: float, recall: float) -> "Shape":
        """The longest keys with which rows of cosine `near` meet with probability `recall`.

        A key of L letters needs T = ⌈log(1 − recall)/log(1 − κ_q(near)^L)⌉ tables, and all keys
        together T·L different units. Longer keys leave fewer other rows in a bucket.

        >>> Shape.of(n_units=256, pool=8, near=0.9, recall=0.9)
        Shape(n_tables=25, n_letters=6, pool=8)
        """
        same = float(same_argmax(near, pool))
        found = None
        # A key is one word of 64 bits.
        for n_letters in range(1, int(64 / math.log2(pool)) + 1):
            n_tables = _tables(same**n_letters, recall)
            if n_tables * n_letters <= n_units:
                found = cls(n_tables, n_letters, pool)
        if found is None:
            need = _tables(same, recall)
            raise ValueError(
                f"near={near!r} and recall={recall!r} need {need} tables, and n_units={n_units}: "
                "need a unit or more for each. Raise n_units, or lower recall."
            )
        return found

    @classmethod
    def for_rows(cls, n_rows: int, pool: int, near: float, far: float, recall: float) -> "Shape":
        """Tables whose buckets hold about one row of cosine `far` each, whatever the rows.

        L = ⌈log n/log(1/κ_q(far))⌉ and T as above, of order n^ρ with ρ = log κ_q(near)/log κ_q(far)
        below 1: the work of a query grows slower than the rows.

        >>> [Shape.for_rows(n, 16, 0.9, 0.4, 0.9).n_tables for n in (10**3, 10**4, 10**5)]
        [28, 47, 79]
        """
        same, other = (float(same_argmax(one, pool)) for one in (near, far))
        n_letters = max(1, math.ceil(math.log(max(2, n_rows)) / -math.log(other)))
        n_letters = min(n_letters, int(64 / math.log2(pool)))
        n_tables = _tables(same**n_letters, recall)
        return cls(n_tables, n_letters, pool)

    def chance(self, cosine: ArrayLike) -> NDArray[np.float64]:
        """1 − (1 − κ_q(ρ)^L)^T, the probability that rows of cosine ρ share a bucket."""
        together = same_argmax(cosine, self.pool) ** self.n_letters
        with np.errstate(divide="ignore"):
            return np.asarray(-np.expm1(self.n_tables * np.log1p(-together)))

    def keys(self, letters: AnyArray) -> Packed:
        """One word for each row and table, (n_tables, n), of letters (n, m): digits of base q."""
        used = letters[:, : self.n_tables * self.n_letters].astype(np.uint64)
        used = used.reshape(len(letters), self.n_tables, self.n_letters)
        digits = np.uint64(self.pool) ** np.arange(self.n_letters, dtype=np.uint64)
        return np.ascontiguousarray((used * digits).sum(axis=2, dtype=np.uint64).T)


@dataclass(frozen=True, eq=False)
class Buckets:
    """For each table the keys in order, (n_tables, n), and the rows that have them."""

    keys: Packed
    rows: Ints

    @classmethod
    def of(cls, keys: Packed) -> "Buckets":
        rows = np.argsort(keys, axis=1, kind="stable")
        return cls(np.take_along_axis(keys, rows, axis=1), rows)

    def ranges(self, keys: Packed) -> tuple[Ints, Ints]:
        """First and last place of the bucket of each key, (n_tables, queries) each."""
        pairs = list(zip(self.keys, keys, strict=True))
        low = [np.searchsorted(own, asked, side="left") for own, asked in pairs]
        high = [np.searchsorted(own, asked, side="right") for own, asked in pairs]
        return np.stack(low).astype(np.int64), np.stack(high).astype(np.int64)

    def nearest(
        self, keys: Packed, queries: Packed, codes: Packed, count: int, own: bool
    ) -> tuple[Ints, Ints, Ints]:
        """The `count` nearest codes in the buckets of each query: numbers of different letters and
        places, (queries, count), −1 where buckets hold fewer, and the rows compared, (queries,).

        own: queries are the rows themselves, and none is its own neighbour.
        """
        low, high = self.ranges(keys)
        distance = np.full((len(queries), count), -1, dtype=np.int64)
        places = np.full((len(queries), count), -1, dtype=np.int64)
        compared = np.zeros(len(queries), dtype=np.int64)
        _nearest(queries, codes, low, high, self.rows, own, distance, places, compared)
        return distance, places, compared


@looped(lambda queries, *_: len(queries))
def _nearest(
    queries: AnyArray,
    codes: AnyArray,
    low: AnyArray,
    high: AnyArray,
    rows: AnyArray,
    own: bool,
    distance: AnyArray,
    places: AnyArray,
    compared: AnyArray,
    begin: int,
    end: int,
) -> None:
    """Rows of all buckets of a query once each, the nearest kept in order of distance and place."""
    n_planes, n_words = codes.shape[1], codes.shape[2]
    count = distance.shape[1]
    asked = np.full(len(codes), -1, dtype=np.int64)
    for i in range(begin, end):
        if own:
            asked[i] = i
        held = 0
        for t in range(low.shape[0]):
            for p in range(low[t, i], high[t, i]):
                row = rows[t, p]
                if asked[row] == i:
                    continue
                asked[row] = i
                compared[i] += 1
                total = np.int64(0)
                for w in range(n_words):
                    word = queries[i, 0, w] ^ codes[row, 0, w]
                    for plane in range(1, n_planes):
                        word |= queries[i, plane, w] ^ codes[row, plane, w]
                    total += np.int64(popcount(word))
                place = held
                while place > 0 and (
                    distance[i, place - 1] > total
                    or (distance[i, place - 1] == total and places[i, place - 1] > row)
                ):
                    if place < count:
                        distance[i, place] = distance[i, place - 1]
                        places[i, place] = places[i, place - 1]
                    place -= 1
                if place < count:
                    distance[i, place] = total
                    places[i, place] = row
                    held = min(held + 1, count)
