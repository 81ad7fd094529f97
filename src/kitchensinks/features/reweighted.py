"""Features chosen from a larger pool by their leverage on the data."""

import math
import numbers
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.base import BaseEstimator

from kitchensinks.features.bases import Basis, Draw
from kitchensinks.features.bases.base import check_count
from kitchensinks.features.leverage import Operator, Pool, check_mu, require_dense
from kitchensinks.features.scaling import Scaler
from kitchensinks.features.spectrum import balanced_mu
from kitchensinks.numerics.words import Stream, Words, check_seed
from kitchensinks.tables.keys import row_keys

Floats = NDArray[np.float64]

# A share of the rows is never more than this many (and fewer of very wide rows).
MOST_ROWS = 2000
_MOST_ENTRIES, _FEWEST_ROWS = 2**24, 100


class Selected(NamedTuple):
    """Which of the first `pool` draws were taken, (N,), and their factors, (N,) or None."""

    pool: int
    indices: NDArray[np.int64]
    factors: Floats | None

    def draw(self, basis: Basis, seed: int, n_inputs: int, dtype: DTypeLike) -> Draw:
        """The draws that were taken, made again from the seed."""
        return Pool(basis, seed, n_inputs, self.pool).choose(self.indices, self.factors, dtype)

    def equals(self, other: "Selected") -> bool:
        pairs: Any = zip(self, other, strict=True)
        return all(np.array_equal(mine, theirs) for mine, theirs in pairs)


class Reweighted(BaseEstimator):
    """N of M = pool·N candidates, resampled by their ridge leverage on L rows: thesis, Algorithm 1.

    A candidate is taken with probability p_i = r_i/Σr, r = diag(ΦΦᵀ(ΦΦᵀ + μI)⁻¹), independently
    N times, and its feature is multiplied with 1/√(M·p_i): inner products then have the pool's
    kernel as their mean (thesis, (2.4)). Algorithm 1 prints no such factor; without it
    (``correction=False``) the features belong to another kernel, which gives directions of small
    eigenvalue more weight. Cosine and sine of one frequency are scored and taken together.

    Give it as ``selection=`` to ``ks.RandomFeatures`` or to an estimator. It works for every dense
    basis. What is chosen depends on all of N, so the first 10 features of 20 are not the
    10-feature selection.

    Parameters
    ----------
    pool : M/N, a whole number of 2 or more; the thesis uses 100.
    rows : L, the rows that candidates are scored on: a share in (0, 1] of the different rows,
        at most 2000 of them (2²⁴ entries, but 100 rows, if these are fewer), or a count (all rows
        where there are fewer). They are chosen by their content, with their sample weights.
    mu : μ on the scale of the eigenvalues of the kernel's operator, or "auto": the μ at which the
        effective dimension d(μ) is the number of columns of N draws, but L/2 at most. Larger μ
        looks at fewer leading directions; in the limit p_i is proportional to ‖φ_i‖².
    correction : whether features are multiplied with 1/√(M·p_i).

    Notes
    -----
    Time: features of M candidates on L rows, 3·M·L² multiplications and L³ for an
    eigendecomposition (or M²·L and M³ where that is less), and the drawing. Memory: three times
    L² numbers and a few blocks of 128 MB. Where M·L features fit into one such block they are
    made once, else twice. M = 100,000, N = 1000 and L = 2000 took one minute on one core and
    0.5 GB. A candidate that is zero on all L rows is never taken.

    Examples
    --------
    >>> import kitchensinks as ks
    >>> X, y = ks.datasets.make_annulus(500, random_state=0)
    >>> features = ks.RandomFeatures(n_components=20, selection=ks.Reweighted(), random_state=0)
    >>> features.fit_transform(X).shape
    (500, 20)
    """

    def __init__(
        self,
        pool: int = 100,
        rows: float = 0.3,
        mu: float | str = "auto",
        correction: bool = True,
    ) -> None:
        self.pool = pool
        self.rows = rows
        self.mu = mu
        self.correction = correction

    def check(self) -> None:
        """Raise an error that names the parameter where one makes no sense."""
        if isinstance(self.pool, bool) or not isinstance(self.pool, numbers.Integral):
            raise TypeError(f"pool={self.pool!r}: need a whole number of 2 or more, such as 100.")
        if self.pool < 2:
            raise ValueError(
                f"pool={self.pool!r} draws M = {self.pool}·N candidates for N features: too few to "
                "choose from. Need a whole number of 2 or more; the thesis uses 100."
            )
        if not _is_count(self.rows) and not _is_share(self.rows):
            raise ValueError(
                f"rows={self.rows!r}: need a share of the rows in (0, 1], such as 0.3, or a whole "
                "number of 1 or more."
            )
        if isinstance(self.mu, str):
            if self.mu != "auto":
                raise ValueError(f"mu={self.mu!r}: need a positive number or 'auto'.")
        else:
            check_mu(self.mu)
        if not isinstance(self.correction, bool | np.bool_):
            raise TypeError(f"correction={self.correction!r}: need True or False.")

    def draw(
        self,
        basis: Basis,
        seed: int,
        n_components: int,
        dtype: DTypeLike,
        rows: Any,
        weights: Floats | None = None,
    ) -> Draw:
        """N draws of a resolved basis, chosen for these rows (n, d) of weights (n,).

        >>> import kitchensinks as ks
        >>> rows = np.random.default_rng(0).normal(size=(200, 3))
        >>> chosen = Reweighted(pool=10).draw(ks.Fourier(gamma=0.5), 0, 30, np.float64, rows)
        >>> chosen.features(rows).shape
        (200, 30)
        """
        selected = self.select(basis, seed, n_components, rows, weights)
        return selected.draw(basis, seed, rows.shape[1], dtype)

    def select(
        self,
        basis: Basis,
        seed: int,
        n_components: int,
        rows: Any,
        weights: Floats | None = None,
        scaler: Scaler | None = None,
    ) -> Selected:
        """Which N draws to take for these rows (n, d) of weights (n,).

        Rows may be sparse; the few that are looked at go through the scaler first.
        """
        self.check()
        basis.require_resolved()
        require_dense(basis)
        n_components = check_count("n_components", n_components)
        words = Words(check_seed(seed), 0, Stream.REWEIGHTED)
        sample, sample_weights = self.sample(rows, weights, int(words.raw(1)[0]))
        if scaler is not None:
            sample = scaler.apply(sample, np.float64)
        pool = Pool(basis, seed, rows.shape[1], int(self.pool) * n_components)
        operator = Operator(pool, sample, sample_weights)
        mu = self.mu
        if isinstance(mu, str):
            mu = balanced_mu(operator.eigenvalues, n_components * basis.features_per_draw)
        chances = probabilities(operator.scores(float(mu)))
        chosen = resample(chances, words.uniform(n_components))
        factors = 1.0 / np.sqrt(len(chances) * chances[chosen]) if self.correction else None
        return Selected(pool.n_components, chosen, factors)

    def sample(self, rows: Any, weights: Floats | None, seed: int) -> tuple[Any, Floats]:
        """L different rows of positive weight, by their keys, and the weights of their copies."""
        counted = np.arange(rows.shape[0]) if weights is None else np.flatnonzero(weights > 0)
        own = np.ones(len(counted)) if weights is None else weights[counted]
        different, first, copies = np.unique(
            row_keys(rows, seed)[counted], return_index=True, return_inverse=True
        )
        if _is_count(self.rows):
            count = int(self.rows)
        else:
            most = min(MOST_ROWS, max(_FEWEST_ROWS, _MOST_ENTRIES // rows.shape[1]))
            count = min(most, math.ceil(float(self.rows) * len(different)))
        total = np.bincount(copies, own).astype(np.float64, copy=False)
        return rows[counted[first[:count]]], total[:count]


def probabilities(scores: Floats) -> Floats:
    """p_i = r_i/Σr; all equal where no candidate says anything about the rows."""
    total = scores.sum()
    return scores / total if total > 0 else np.full(len(scores), 1.0 / len(scores))


def resample(chances: Floats, uniform: Floats) -> NDArray[np.int64]:
    """The candidate that each uniform number falls on, by inversion of the cumulative sum."""
    total = np.cumsum(chances)
    # Rounding must not lead to a last candidate of probability zero.
    last = int(np.flatnonzero(chances)[-1])
    return np.minimum(np.searchsorted(total, uniform * total[-1], side="right"), last)


def check_selection(selection: Any) -> Reweighted:
    """The selection given, if it is one."""
    if not isinstance(selection, Reweighted):
        raise TypeError(
            f"selection={selection!r} is of type {type(selection).__name__}: need ks.Reweighted() "
            "or None."
        )
    return selection


def _is_count(value: Any) -> bool:
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_)
    return whole and int(value) >= 1


def _is_share(value: Any) -> bool:
    real = isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral)
    return real and 0 < float(value) <= 1
