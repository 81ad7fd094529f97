"""Locality-sensitive hashing by the arg-max of maxout units (maxout paper, Remark 1)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kitchensinks.estimators.inputs import TakesSparse, float_rows
from kitchensinks.features.bases import Draw, Maxout
from kitchensinks.features.bases.base import check_count
from kitchensinks.features.bases.projections import project
from kitchensinks.numerics.threads import looped
from kitchensinks.state import seed_of
from kitchensinks.tables import block_slices

Floats = NDArray[np.float64]
Packed = NDArray[np.uint64]
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
    n_units : m, the length of a code.
    pool : q, the number of letters, 2 or more. 2 is the sign of a projection (SimHash).
    projection : "gaussian", "orthogonal" or "hadamard", as for ``ks.Maxout``: the same units from
        the same seed.
    random_state : int, RandomState or None; an int names the units for good.

    Attributes
    ----------
    codes_ : packed codes of the rows of `fit`, (n, planes, words) of uint64.
    draw_, seed_ : the frozen units.

    Examples
    --------
    >>> import numpy as np
    >>> import kitchensinks as ks
    >>> from kitchensinks.features.bases.maxout import same_argmax
    >>> rows = np.array([[1.0, 0.0], [0.6, 0.8], [-1.0, 0.0]])
    >>> hash = ks.MaxoutHash(n_units=20_000, pool=4, random_state=0).fit(rows)
    >>> distance = hash.distances(rows[:1])[0]
    >>> bool(np.abs(distance - (1 - same_argmax([1.0, 0.6, -1.0], 4))).max() < 0.01)
    True
    >>> hash.kneighbors(rows[:1], n_neighbors=2, return_distance=False).tolist()
    [[0, 1]]
    """

    n_units: int = 1024
    pool: int = 8
    projection: str = "gaussian"
    random_state: Any = None

    _kept_dtypes = ()

    def fit(self, X: Any, y: Any = None) -> "MaxoutHash":
        """Draw the units, and keep the codes of the rows X (n, d); y is not used."""
        check_count("n_units", self.n_units)
        if check_count("pool", self.pool) < 2:
            raise ValueError(
                f"pool={self.pool}: a unit of one direction gives every row the same letter. "
                "Need 2 or more."
            )
        X = float_rows(self, X, reset=True)
        self.seed_ = seed_of(self.random_state)
        basis = Maxout(self.pool, projection=self.projection)
        self.draw_: Draw = basis.draw(self.seed_, X.shape[1], self.n_units, X.dtype)
        self._n_features_out = self.n_units
        self.codes_ = self._packed(X)
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """C(x): letters 0, …, q − 1, shape (n, n_units), of uint8 (uint16 where q > 256)."""
        check_is_fitted(self)
        X = float_rows(self, X, reset=False)
        out = np.empty((X.shape[0], self.n_units), dtype=_letters(self.pool))
        for part in self._parts(X):
            out[part] = self._letters(X[part])
        return out

    def distances(self, X: Any, Y: Any = None) -> Floats:
        """Share of places where codes differ, (n, others): an estimate of 1 − κ_q(ρ).

        Y (others, d), or None for the rows of `fit`.
        """
        check_is_fitted(self)
        near = self._packed(float_rows(self, X, reset=False))
        far = self.codes_ if Y is None else self._packed(float_rows(self, Y, reset=False))
        return different_letters(near, far) / self.n_units

    def kneighbors(self, X: Any = None, n_neighbors: int = 10, return_distance: bool = True) -> Any:
        """The rows of `fit` with the nearest codes: (distances, places), each (n, n_neighbors).

        Nearest first; of rows equally near, the one with the lower place. With X=None the rows of
        `fit` themselves are asked for, and a row is not its own neighbour.
        """
        check_is_fitted(self)
        check_count("n_neighbors", n_neighbors)
        own = X is None
        queries = self.codes_ if own else self._packed(float_rows(self, X, reset=False))
        n_kept = len(self.codes_)
        if n_neighbors > n_kept - own:
            raise ValueError(
                f"n_neighbors={n_neighbors}: fit has seen {n_kept} rows, so there are at most "
                f"{n_kept - own} neighbours. Ask for fewer or fit more rows."
            )
        distance = np.empty((len(queries), n_neighbors))
        places = np.empty((len(queries), n_neighbors), dtype=np.int64)
        for part in block_slices(len(queries), max(1, _BLOCK_ENTRIES // n_kept)):
            counts = different_letters(queries[part], self.codes_)
            if own:
                counts[np.arange(len(counts)), np.arange(part.start, part.stop)] = self.n_units + 1
            # One number that orders by distance, then by place.
            keys = counts * n_kept + np.arange(n_kept)
            keys = np.sort(np.partition(keys, n_neighbors - 1, axis=1)[:, :n_neighbors], axis=1)
            distance[part], places[part] = keys // n_kept / self.n_units, keys % n_kept
        return (distance, places) if return_distance else places

    def _parts(self, X: Any) -> Any:
        return block_slices(X.shape[0], max(16, _BLOCK_ENTRIES // max(self.n_units, X.shape[1])))

    def _letters(self, rows: Any) -> NDArray[Any]:
        """Which of the q directions of each unit is largest; the first of equal ones."""
        theta = self.draw_.theta
        rows = rows.astype(self.draw_.dtype, copy=False)
        best = project(rows, theta["plane0"])
        letters = np.zeros(best.shape, dtype=_letters(self.pool))
        for j in range(1, self.pool):
            value = project(rows, theta[f"plane{j}"])
            letters[value > best] = j
            np.maximum(best, value, out=best)
        return letters

    def _packed(self, X: Any) -> Packed:
        packed = [pack(self._letters(X[part]), self.pool) for part in self._parts(X)]
        return np.concatenate(packed)


def _letters(pool: int) -> Any:
    return np.uint8 if pool <= 256 else np.uint16 if pool <= 2**16 else np.uint32


def pack(letters: NDArray[Any], pool: int) -> Packed:
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
def _different_letters(codes: Any, others: Any, out: Any, begin: int, end: int) -> None:
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
                # Count bits: in pairs, nibbles and bytes, then add up the bytes.
                word = differ[w]
                word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
                pairs = word & np.uint64(0x3333333333333333)
                word = pairs + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
                word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
                total += np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))
            out[i, j] = total


def different_letters_plain(codes: Packed, others: Packed) -> NDArray[np.int64]:
    """The same in NumPy."""
    out = np.empty((len(codes), len(others)), dtype=np.int64)
    for i, code in enumerate(codes):
        different = np.bitwise_or.reduce(code ^ others, axis=1)
        out[i] = np.bitwise_count(different).sum(axis=1, dtype=np.int64)
    return out
