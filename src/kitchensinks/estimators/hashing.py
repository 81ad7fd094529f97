"""Locality-sensitive hashing by the arg-max of maxout units (maxout paper, Remark 1)."""

from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kitchensinks.estimators.buckets import Buckets, Packed, Shape
from kitchensinks.estimators.inputs import TakesSparse, float_rows
from kitchensinks.features.bases import Draw, Maxout
from kitchensinks.features.bases.projections import project
from kitchensinks.numerics.arrays import AnyArray, Floats, Matrix, Seed
from kitchensinks.numerics.checks import check_count
from kitchensinks.numerics.signs import popcount
from kitchensinks.numerics.threads import looped
from kitchensinks.state import seed_of
from kitchensinks.tables.arrays import block_slices, densify
from kitchensinks.tables.view import Given

# Entries of the projections, or of the distances, of one block of rows.
_BLOCK_ENTRIES = 2**22


@dataclass(eq=False, repr=False)
class MaxoutHash(TakesSparse, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """q-ary codes C(x) = (arg max_j ω_j¹·x, …, arg max_j ω_jᵐ·x), and neighbours by code.

    E[share of places where C(x) and C(z) differ] = 1 − κ_q(ρ), with ρ the cosine of x and z and
    κ_q = ``kitchensinks.features.bases.maxout.same_argmax``: the normalised Hamming distance
    rises with the angle, and its deviation is √(κ(1 − κ)/m). Lengths of rows play no part.

    Codes are kept as bit planes: plane p holds bit p of all m indices, 64 in a word. That takes
    exactly ⌈log₂ q⌉ bits an index (a byte an index takes 8; fields of ⌈log₂ q⌉ bits within a word
    waste its rest), and compares 64 indices by ⌈log₂ q⌉ exclusive-ors and one count of bits.

    Parameters
    ----------
    n_units : m, the length of a code: 1024 tell a distance to about 1/√m = 3 %; or "auto" with
        `near`: as many as the tables need for a query to be compared with about the same number
        of rows, however many there are.
    pool : q, the number of letters, 2 or more. 2 is the sign of a projection (SimHash); 8 is that
        of the maxout paper's Figure 1, and has three bits.
    projection : "gaussian" (the default: independent directions), "orthogonal" or "hadamard", as
        for ``ks.Maxout``: the same units from the same seed.
    random_state : int, RandomState or None; an int names the units for good. None is another draw
        each time, as everywhere in scikit-learn.
    near, recall : None, where `kneighbors` compares a query with every row, which is exact; or a
        cosine, and the probability with which rows of that cosine or more are found (0.9). Rows
        then stand in tables of buckets, and a query is compared with the rows of its own buckets
        alone. The number of tables T and the length of their keys L follow from the exact κ_q: L is
        the largest with T·L ≤ n_units and 1 − (1 − κ_q(near)^L)^T ≥ recall. With n_units="auto", L
        grows with the logarithm of the rows, T like a power of them below 1, and m = T·L.

    Attributes
    ----------
    codes_ : packed codes of the rows of `fit`, (n, planes, words) of uint64.
    draw_, seed_ : the frozen units.
    tables_ : with `near`, ``n_tables``, ``n_letters`` and ``chance(cosine)``, the probability that
        two rows share a bucket; else None.

    Examples
    --------
    >>> import numpy as np
    >>> import kitchensinks as ks
    >>> from kitchensinks.features.bases.maxout import same_argmax
    >>> rows = np.array([[1.0, 0.0], [0.6, 0.8], [-1.0, 0.0]])
    >>> hash = ks.MaxoutHash(n_units=20_000, pool=4, random_state=0).fit(rows)
    >>> distance = hash.distances(rows[:1])[0]
    >>> distance.round(1), (1 - same_argmax([1.0, 0.6, -1.0], 4)).round(1)
    (array([0. , 0.5, 1. ]), array([0. , 0.5, 1. ]))
    >>> hash.kneighbors(rows[:1], n_neighbors=2, return_distance=False).tolist()
    [[0, 1]]
    """

    n_units: int | str = 1024
    pool: int = 8
    projection: str = "gaussian"
    random_state: Seed = None
    near: float | None = None
    recall: float = 0.9

    seed_: int = field(init=False)
    n_units_: int = field(init=False)
    draw_: Draw = field(init=False)
    codes_: AnyArray = field(init=False)
    tables_: Shape | None = field(init=False)
    buckets_: Buckets | None = field(init=False)

    _kept_dtypes = ()

    def fit(self, X: Any, y: ArrayLike | None = None) -> "MaxoutHash":
        """Draw the units, and keep the codes of the rows X (n, d); y is not used."""
        if self.n_units != "auto":
            check_count("n_units", self.n_units)
        elif self.near is None:
            raise ValueError(
                "n_units='auto' follows from near: give a cosine, such as near=0.9, or a number "
                "of units."
            )
        if check_count("pool", self.pool) < 2:
            raise ValueError(
                f"pool={self.pool}: a unit of one direction gives every row the same letter. "
                "Need 2 or more."
            )
        self._check_tables()
        X = float_rows(self, X, reset=True)
        self.tables_ = self._tables(X)
        if isinstance(self.n_units, str):
            assert self.tables_ is not None, "checked before"
            self.n_units_ = self.tables_.n_tables * self.tables_.n_letters
        else:
            self.n_units_ = self.n_units
        self.seed_ = seed_of(self.random_state)
        basis = Maxout(self.pool, projection=self.projection)
        self.draw_ = basis.draw(self.seed_, X.shape[1], self.n_units_, X.dtype)
        self._n_features_out = self.n_units_
        self.codes_, keys = self._coded(X)
        self.buckets_ = None if keys is None else Buckets.of(keys)
        return self

    def _check_tables(self) -> None:
        for name, low in (("near", -1.0), ("recall", 0.0)):
            value = getattr(self, name)
            if name == "near" and value is None:
                return
            if isinstance(value, bool) or not isinstance(value, Real) or not low < float(value) < 1:
                raise ValueError(f"{name}={value!r}: need a number above {low:g} and below 1.")

    def _tables(self, X: Given) -> Shape | None:
        if self.near is None:
            return None
        near, recall = float(self.near), float(self.recall)
        if isinstance(self.n_units, str):
            return Shape.for_rows(X.shape[0], self.pool, near, _typical_cosine(X), recall)
        return Shape.of(self.n_units, self.pool, near, recall)

    def transform(self, X: Given) -> AnyArray:
        """C(x): letters 0, …, q − 1, shape (n, n_units), of uint8 (uint16 where q > 256)."""
        check_is_fitted(self)
        X = float_rows(self, X, reset=False)
        out = np.empty((X.shape[0], self.n_units_), dtype=_letter_dtype(self.pool))
        for part in self._parts(X):
            out[part] = self._letters(X[part])
        return out

    def distances(self, X: Given, Y: Given | None = None) -> Floats:
        """Share of places where codes differ, (n, others): an estimate of 1 − κ_q(ρ).

        Y (others, d), or None for the rows of `fit`.
        """
        check_is_fitted(self)
        near, _ = self._coded(float_rows(self, X, reset=False))
        far = self.codes_ if Y is None else self._coded(float_rows(self, Y, reset=False))[0]
        return different_letters(near, far) / self.n_units_

    def kneighbors(
        self, X: Given = None, n_neighbors: int = 10, return_distance: bool = True
    ) -> Any:
        """The rows of `fit` with the nearest codes: (distances, places), each (n, n_neighbors).

        Nearest first; of rows equally near, the one with the lower place. With X=None the rows of
        `fit` themselves are asked for, and a row is not its own neighbour. With `near`, rows of
        the query's buckets alone are compared; a query whose buckets hold fewer than n_neighbors
        rows is compared with all.
        """
        check_is_fitted(self)
        check_count("n_neighbors", n_neighbors)
        own = X is None
        queries, keys = (
            (self.codes_, None) if own else self._coded(float_rows(self, X, reset=False))
        )
        n_kept = len(self.codes_)
        if n_neighbors > n_kept - own:
            raise ValueError(
                f"n_neighbors={n_neighbors}: fit has seen {n_kept} rows, so there are at most "
                f"{n_kept - own} neighbours. Ask for fewer or fit more rows."
            )
        if self.buckets_ is None:
            counts, places = self._scan(queries, n_neighbors, np.arange(n_kept) if own else None)
        else:
            asked = self._own_keys() if keys is None else keys
            counts, places, _ = self.buckets_.nearest(asked, queries, self.codes_, n_neighbors, own)
            few = np.flatnonzero(places[:, -1] < 0)
            counts[few], places[few] = self._scan(queries[few], n_neighbors, few if own else None)
        return (counts / self.n_units_, places) if return_distance else places

    def compared(self, X: Given) -> NDArray[np.int64]:
        """How many rows of `fit` are in the buckets of each row of X, (n,); all without `near`."""
        check_is_fitted(self)
        queries, keys = self._coded(float_rows(self, X, reset=False))
        if self.buckets_ is None or keys is None:
            return np.full(len(queries), len(self.codes_))
        return self.buckets_.nearest(keys, queries, self.codes_, 1, False)[2]

    def _scan(
        self, queries: Packed, count: int, own: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The nearest of all codes: different letters and places, (queries, count).

        own: the place of each query among the rows, which is left out.
        """
        n_kept = len(self.codes_)
        distance = np.empty((len(queries), count), dtype=np.int64)
        places = np.empty((len(queries), count), dtype=np.int64)
        for part in block_slices(len(queries), max(1, _BLOCK_ENTRIES // n_kept)):
            counts = different_letters(queries[part], self.codes_)
            if own is not None:
                counts[np.arange(len(counts)), own[part]] = self.n_units_ + 1
            # One number that orders by distance, then by place.
            keys = counts * n_kept + np.arange(n_kept)
            keys = np.sort(np.partition(keys, count - 1, axis=1)[:, :count], axis=1)
            distance[part], places[part] = keys // n_kept, keys % n_kept
        return distance, places

    def _own_keys(self) -> Packed:
        """The keys of the rows of `fit`, in the order of the rows."""
        assert self.buckets_ is not None, "keys without tables"
        keys = np.empty_like(self.buckets_.keys)
        np.put_along_axis(keys, self.buckets_.rows, self.buckets_.keys, axis=1)
        return keys

    def _parts(self, X: Given) -> Any:
        return block_slices(X.shape[0], max(16, _BLOCK_ENTRIES // max(self.n_units_, X.shape[1])))

    def _letters(self, rows: Matrix) -> AnyArray:
        """Which of the q directions of each unit is largest; the first of equal ones."""
        theta = self.draw_.theta
        rows = rows.astype(self.draw_.dtype, copy=False)
        best = project(rows, theta["plane0"])
        letters = np.zeros(best.shape, dtype=_letter_dtype(self.pool))
        for j in range(1, self.pool):
            value = project(rows, theta[f"plane{j}"])
            letters[value > best] = j
            np.maximum(best, value, out=best)
        return letters

    def _coded(self, X: Given) -> tuple[Packed, Packed | None]:
        """Packed codes, and the keys of the tables where there are any."""
        codes, keys = [], []
        for part in self._parts(X):
            letters = self._letters(X[part])
            codes.append(pack(letters, self.pool))
            if self.tables_ is not None:
                keys.append(self.tables_.keys(letters))
        return np.concatenate(codes), np.concatenate(keys, axis=1) if keys else None


def _typical_cosine(X: Given) -> float:
    """The mean cosine of pairs of rows from the two halves of X."""
    half = X.shape[0] // 2
    count = min(half, 500)
    if count == 0:
        return 0.0
    places = np.linspace(0, half - 1, count).astype(int)
    one, other = (densify(X[places + shift]).astype(np.float64) for shift in (0, half))
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    products = np.einsum("ij,ij->i", one, other)
    cosines = np.divide(products, lengths, out=np.zeros(count), where=lengths > 0)
    return float(np.clip(cosines.mean(), -0.9, 0.9))


def _letter_dtype(pool: int) -> Any:
    return np.uint8 if pool <= 256 else np.uint16 if pool <= 2**16 else np.uint32


def pack(letters: AnyArray, pool: int) -> Packed:
    """Letters 0, …, q − 1 (n, m) as bit planes, (n, ⌈log₂ q⌉, ⌈m/64⌉) of uint64.

    >>> pack(np.array([[0, 1, 2, 3]]), 4).tolist()
    [[[10], [12]]]
    """
    n_rows, n_units = letters.shape
    planes, n_words = (pool - 1).bit_length(), -(-n_units // 64)
    bits = np.zeros((n_rows, planes, 64 * n_words), dtype=np.uint8)
    for plane in range(planes):
        bits[:, plane, :n_units] = (letters >> plane) & 1
    octets = np.packbits(bits, axis=2, bitorder="little")
    return octets.view("<u8").astype(np.uint64, copy=False)


def different_letters(codes: Packed, others: Packed) -> NDArray[np.int64]:
    """Number of places where two packed codes differ, for every pair, shape (codes, others).

    >>> codes = pack(np.array([[0, 1, 2, 3], [0, 1, 3, 0]]), 4)
    >>> different_letters(codes, codes).tolist()
    [[0, 2], [2, 0]]
    """
    out = np.empty((len(codes), len(others)), dtype=np.int64)
    _different_letters(np.ascontiguousarray(codes), np.ascontiguousarray(others), out)
    return out


@looped(lambda codes, *_: len(codes))
def _different_letters(
    codes: AnyArray, others: AnyArray, out: AnyArray, begin: int, end: int
) -> None:
    """Σ over words of the number of bits of OR_p (a_p XOR b_p)."""
    n_planes, n_words = codes.shape[1], codes.shape[2]
    for i in range(begin, end):
        # Loops over words alone run several words at once: four times as fast as one loop.
        differ = np.empty(n_words, dtype=np.uint64)
        for j in range(others.shape[0]):
            for w in range(n_words):
                differ[w] = codes[i, 0, w] ^ others[j, 0, w]
            for p in range(1, n_planes):
                for w in range(n_words):
                    differ[w] |= codes[i, p, w] ^ others[j, p, w]
            total = np.int64(0)
            for w in range(n_words):
                total += np.int64(popcount(differ[w]))
            out[i, j] = total
