"""Draws of another basis, resampled from a larger pool by their leverage on the data."""

import math
import numbers
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from kitchensinks.features.bases.base import Basis
from kitchensinks.features.bases.draw import Draw
from kitchensinks.features.bases.fourier import Fourier
from kitchensinks.features.bases.leverage import KernelOperator, Pool, balanced_mu, require_dense
from kitchensinks.numerics.arrays import Arrays, Floats, Ints, Matrix
from kitchensinks.numerics.checks import check_bool, check_positive
from kitchensinks.numerics.words import Stream, Words
from kitchensinks.tables.keys import row_keys, sample_size

if TYPE_CHECKING:
    from kitchensinks.features.scaling import Scaler


def _of_inner(name: str) -> Any:
    """A property that forwards to the basis that is drawn from."""
    return property(lambda reweighted: getattr(reweighted.inner, name))


@dataclass(eq=False, repr=False)
class Reweighted(Basis):
    """N of M = pool·N draws of a basis, by their ridge leverage on L rows: thesis, Algorithm 1.

    A candidate is taken with probability p_i = r_i/Σr, r = diag(ΦΦᵀ(ΦΦᵀ + μI)⁻¹), independently
    N times, and its feature is multiplied with 1/√(M·p_i): inner products then have the kernel of
    the basis as their mean (thesis, (2.4)). Algorithm 1 prints no such factor; without it
    (``correction=False``) the features belong to another kernel, which gives directions of small
    eigenvalue more weight. Cosine and sine of one frequency are scored and taken together.

    What is chosen depends on the rows and on all of N, so the first 10 features of 20 are not the
    10-feature selection.

    Parameters
    ----------
    basis : the basis that is drawn from, any dense one; None is ``ks.Fourier()``, the
        thesis's.
    pool : M/N, a whole number of 2 or more; the thesis uses 100.
    rows : L, the rows that candidates are scored on: a share in (0, 1] of the different rows (0.3,
        as in the thesis), at most 2000 of them (of very wide rows 2²⁴ entries, and at least 100
        rows), or a count (all rows where there are fewer). They are chosen by their content, with
        their sample weights.
    mu : μ on the scale of the eigenvalues of the kernel's operator, or "auto": the μ at which the
        effective dimension d(μ) is the number of columns of N draws, or L/2 if that is smaller.
        Scores with a larger μ depend on fewer leading eigenvectors; in the limit p_i is
        proportional to ‖φ_i‖².
    correction : whether features are multiplied with 1/√(M·p_i) (True), which leaves the kernel as
        it is on average.

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
    >>> features = ks.RandomFeatures(ks.Reweighted(), n_components=20, random_state=0)
    >>> features.fit_transform(X).shape
    (500, 20)
    """

    basis: Basis | None = None
    pool: int = 100
    rows: float = 0.3
    mu: float | str = "auto"
    correction: bool = True

    selects = True

    @property
    def inner(self) -> Basis:
        """The basis that is drawn from."""
        return Fourier() if self.basis is None else self.basis

    # The bound is that of the basis, before the factors 1/√(M·p_i).
    bound = _of_inner("bound")
    features_per_draw = _of_inner("features_per_draw")
    exportable = _of_inner("exportable")
    takes_sparse_rows = _of_inner("takes_sparse_rows")
    fast_products = _of_inner("fast_products")
    rescales = _of_inner("rescales")
    metric = _of_inner("metric")
    universal = _of_inner("universal")

    def bound_in(self, n_inputs: int) -> float:
        return self.inner.bound_in(n_inputs)

    def check(self) -> None:
        if not isinstance(self.inner, Basis):
            raise TypeError(f"basis={self.basis!r}: need a basis such as ks.Fourier(), or None.")
        self.inner.check()
        require_dense(self.inner)
        if self.inner.selects:
            raise ValueError(f"basis={self.basis!r} selects already: need the basis inside it.")
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
        if not (isinstance(self.mu, str) and self.mu == "auto"):
            check_positive("mu", self.mu, " or 'auto'")
        check_bool("correction", self.correction)

    def check_in(self, n_inputs: int) -> None:
        self.inner.check_in(n_inputs)

    def unresolved(self) -> str | None:
        return self.inner.unresolved()

    def learn_parameters(self, rows: Floats, weights: Floats | None) -> dict[str, Any]:
        return {"basis": self.inner.resolve(rows, weights)}

    def exact_kernel(self, rows: Floats, others: Floats) -> Floats:
        return self.inner.exact_kernel(rows, others)

    def draw(
        self,
        seed: int,
        n_inputs: int,
        n_components: int,
        dtype: DTypeLike = np.float64,
        start: int = 0,
    ) -> Draw:
        """Plain draws of the basis; `learn_draw` selects among more of them."""
        self.require_resolved()
        return self.inner.draw(seed, n_inputs, n_components, dtype, start)

    def learn_draw(
        self,
        draw: Draw,
        rows: Matrix,
        weights: Floats | None = None,
        scaler: "Scaler | None" = None,
    ) -> Draw:
        """As many draws as `draw` has, selected for these rows (n, d) of weights (n,).

        Rows may be sparse; the sample that is scored goes through the scaler first.

        >>> rows = np.random.default_rng(0).normal(size=(200, 3))
        >>> basis = Reweighted(Fourier(gamma=0.5), pool=10)
        >>> basis.learn_draw(basis.draw(0, 3, 30), rows).features(rows).shape
        (200, 30)
        """
        words = Words(draw.seed, 0, Stream.REWEIGHTED)
        sample, sample_weights = self.scored_rows(rows, weights, int(words.raw(1)[0]))
        if scaler is not None:
            sample = scaler.apply(sample, np.float64)
        count = draw.n_components
        pool = Pool(self.inner, draw.seed, draw.n_inputs, int(self.pool) * count)
        operator = KernelOperator(pool, sample, sample_weights)
        mu = self.mu
        if isinstance(mu, str):
            mu = balanced_mu(operator.eigenvalues, count * self.features_per_draw)
        chances = probabilities(operator.scores(float(mu)))
        chosen = resample(chances, words.uniform(count))
        factors = 1.0 / np.sqrt(len(chances) * chances[chosen]) if self.correction else None
        return pool.choose(chosen, factors, draw.dtype)

    def pack(self, draw: Draw) -> Arrays:
        assert draw.places is not None, "a draw that was not chosen"
        places = {"places": draw.places}
        return places if draw.factors is None else {**places, "factors": draw.factors}

    def unpack(self, draw: Draw, arrays: Arrays) -> Draw:
        places, most = arrays["places"], int(self.pool) * draw.n_components
        if places.shape != (draw.n_components,) or places.min() < 0 or places.max() >= most:
            raise ValueError(
                f"places of shape {places.shape}: need {draw.n_components} below {most}"
            )
        pool = Pool(self.inner, draw.seed, draw.n_inputs, int(places.max()) + 1)
        return pool.choose(places, arrays.get("factors"), draw.dtype)

    def scored_rows(self, rows: Matrix, weights: Floats | None, seed: int) -> tuple[Any, Floats]:
        """A sample of L distinct rows of positive weight, by their keys, and its total weights."""
        counted = np.arange(rows.shape[0]) if weights is None else np.flatnonzero(weights > 0)
        own = np.ones(len(counted)) if weights is None else weights[counted]
        different, first, copies = np.unique(
            row_keys(rows, seed)[counted], return_index=True, return_inverse=True
        )
        if _is_count(self.rows):
            count = int(self.rows)
        else:
            share = math.ceil(float(self.rows) * len(different))
            count = min(sample_size(rows.shape[1]), share)
        total = np.bincount(copies, own).astype(np.float64, copy=False)
        return rows[counted[first[:count]]], total[:count]


def probabilities(scores: Floats) -> Floats:
    """p_i = r_i/Σr; all equal if every candidate is zero on the rows."""
    total = scores.sum()
    return scores / total if total > 0 else np.full(len(scores), 1.0 / len(scores))


def resample(chances: Floats, uniform: Floats) -> Ints:
    """The candidate of each uniform number, by inversion of the cumulative distribution."""
    total = np.cumsum(chances)
    # Rounding must not select a last candidate of probability zero.
    last = int(np.flatnonzero(chances)[-1])
    return np.asarray(np.minimum(np.searchsorted(total, uniform * total[-1], side="right"), last))


def _is_count(value: Any) -> bool:
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_)
    return whole and int(value) >= 1


def _is_share(value: Any) -> bool:
    real = isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral)
    return real and 0 < float(value) <= 1
