"""Ridge leverage scores of random features over a sample of rows.

With Φ the features of M draws over L rows, one column a row, divided by √(M·L) so that the
eigenvalues of ΦᵀΦ estimate those of the kernel's operator Σ,

    r = diag(ΦΦᵀ(ΦΦᵀ + μI)⁻¹)                       (M × M form)
    r_i = φ_iᵀ(ΦᵀΦ + μI)⁻¹φ_i,  φ_i the row i of Φ    (L × L form, the same numbers)
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from scipy.optimize import brentq

from kitchensinks.features.bases.base import Basis
from kitchensinks.features.bases.draw import Draw
from kitchensinks.numerics.arrays import Floats, Ints, Matrix
from kitchensinks.numerics.checks import check_positive
from kitchensinks.numerics.threads import single_blas
from kitchensinks.tables.arrays import block_slices, numeric_rows, numeric_weights

# Most entries of features in memory at once: 128 MB.
HELD_ENTRIES = 2**24
# Eigenvalues below this share of the largest are rounding errors.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Pool:
    """Draws 0, …, n_components − 1 of a seed, made block by block and never all in memory."""

    basis: Basis
    seed: int
    n_inputs: int
    n_components: int

    def blocks(self, size: int) -> Iterator[Draw]:
        """Blocks of about `size` draws in float64: multiples of the block size of the basis."""
        own = self.basis.block_size(self.n_inputs)
        for part in block_slices(self.n_components, own * max(1, size // own)):
            yield self.basis.draw(self.seed, self.n_inputs, part.stop, start=part.start)

    def choose(self, indices: Ints, factors: Floats | None, dtype: DTypeLike) -> Draw:
        """The draws at these indices, each with its factor: one more pass over the pool."""
        order = np.argsort(indices, kind="stable")
        wanted, parts = indices[order], []
        for draw in self.blocks(HELD_ENTRIES // self.n_inputs):
            low, high = np.searchsorted(wanted, [draw.start, draw.stop])
            if high > low:
                parts.append(draw.choose(wanted[low:high] - draw.start))
        together = parts[0].followed_by(parts[1:])
        return together.choose(np.argsort(order), factors).astype(dtype)


class KernelOperator:
    """The kernel's operator, estimated by M candidates on L weighted rows and factored once.

    It holds an eigendecomposition of the smaller of ΦΦᵀ and ΦᵀΦ, and the features if they fit into
    128 MB; otherwise every use computes them again block by block. There are min(columns, L)
    `eigenvalues`, in rising order.
    """

    def __init__(
        self, candidates: Pool | Draw, rows: Matrix, weights: Floats | None = None
    ) -> None:
        n_rows, basis = rows.shape[0], candidates.basis
        n_columns = candidates.n_components * basis.features_per_draw
        self._candidates, self._rows = candidates, rows
        self._roots = row_roots(weights, n_rows) / math.sqrt(n_columns)
        widest = max(n_rows * basis.features_per_draw, rows.shape[1])
        self._block = max(1, HELD_ENTRIES // widest)
        self.by_rows = n_columns > n_rows
        self._kept: list[tuple[Floats, Ints]] | None = None
        if self.by_rows:
            if n_columns * n_rows <= HELD_ENTRIES:
                self._kept = list(self._features())
            gram = np.zeros((n_rows, n_rows))
            for features, _ in self._features():
                gram += features @ features.T
        else:
            parts, counts = zip(*self._features(), strict=True)
            self._counts = np.concatenate(counts)
            together = np.hstack(parts)
            del parts
            gram = together.T @ together
        self.eigenvalues, self._vectors = eigen(gram)

    def _features(self) -> Iterator[tuple[Floats, Ints]]:
        """Blocks of Φᵀ (L, columns), with the number of columns of each draw."""
        if self._kept is not None:
            yield from self._kept
            return
        for draw in self._candidates.blocks(self._block):
            features = draw.features(self._rows)
            features *= self._roots[:, None]
            yield features, np.diff(draw.offsets)

    def scores(self, mu: float) -> Floats:
        """r of each draw, summed over its columns, shape (M,); they sum to d(μ)."""
        if self.by_rows:
            root = self._vectors / np.sqrt(self.eigenvalues + mu)
            parts = [
                _by_draw(np.square(root.T @ features).sum(axis=0), counts)
                for features, counts in self._features()
            ]
            return np.concatenate(parts)
        share = self.eigenvalues / (self.eigenvalues + mu)
        return _by_draw(np.square(self._vectors) @ share, self._counts)


def _by_draw(values: Floats, counts: Ints) -> Floats:
    """Values of columns, summed over the columns of each draw."""
    return np.asarray(np.add.reduceat(values, np.cumsum(counts) - counts))


def leverage_scores(
    draw: Draw, rows: ArrayLike, mu: float, weights: ArrayLike | None = None
) -> Floats:
    """r_k = diag(ΦΦᵀ(ΦΦᵀ + μI)⁻¹) of each draw, shape (n_components,): thesis, Algorithm 1.

    Columns of one draw (cosine and sine of a frequency) are scored together. The scores sum to
    the effective dimension d(μ) of these features on these rows (n, d). Time n²·columns or
    n·columns², whichever is less.

    >>> import kitchensinks as ks
    >>> rows = np.random.default_rng(0).normal(size=(50, 2))
    >>> draw = ks.Fourier(gamma=0.5).draw(seed=0, n_inputs=2, n_components=200)
    >>> scores = leverage_scores(draw, rows, mu=0.01)
    >>> scores.shape, float(scores.sum().round(2))
    ((200,), 10.64)
    """
    mu = check_mu(mu)
    rows, weights = checked(rows, weights)
    require_dense(draw.basis)
    # In float32 eigenvalues that are zero would be below it by more than is taken for rounding.
    return KernelOperator(draw.astype(np.float64), rows, weights).scores(mu)


def leverages(draw: Draw, rows: ArrayLike, mu: float, weights: ArrayLike | None = None) -> Floats:
    """‖(Σ + μI)^(−1/2) φ(·; θ_k)‖² of each draw, shape (n_components,): thesis, (2.4).

    Σ is the operator of the exact kernel of the basis on these rows (n, d). The mean over the
    law of θ is d(μ), for every basis; the maximum says how many draws are needed (Theorem II.2).
    Time n³ + n²·columns.

    >>> import kitchensinks as ks
    >>> rows = np.random.default_rng(0).normal(size=(50, 2))
    >>> draw = ks.Fourier(gamma=0.5).draw(seed=0, n_inputs=2, n_components=2000)
    >>> values = leverages(draw, rows, mu=0.01)
    >>> float(values.mean().round(1)), float(values.max().round(1))
    (10.9, 86.5)
    """
    mu = check_mu(mu)
    rows, weights = checked(rows, weights)
    require_dense(draw.basis)
    eigenvalues, vectors, roots = kernel_eigen(draw.basis, rows, weights)
    root = vectors * roots[:, None] / np.sqrt(eigenvalues + mu)
    per_draw = draw.basis.features_per_draw
    size = max(1, HELD_ENTRIES // (len(rows) * per_draw))
    parts = [
        _by_draw(np.square(root.T @ part.features(rows)).sum(axis=0), np.diff(part.offsets))
        for part in draw.astype(np.float64).blocks(size)
    ]
    return np.concatenate(parts) / per_draw


def maximal_leverage(
    draw: Draw, rows: ArrayLike, mu: float, weights: ArrayLike | None = None
) -> float:
    """The largest of `leverages`: d_max(1, μ) of Theorem II.2, over the draws given.

    It is at least d(μ) for a draw that is large enough, and near d(μ) for reweighted features.

    >>> import kitchensinks as ks
    >>> rows = np.random.default_rng(0).normal(size=(50, 2))
    >>> draw = ks.Fourier(gamma=0.5).draw(seed=0, n_inputs=2, n_components=2000)
    >>> round(maximal_leverage(draw, rows, mu=0.01), 1)
    86.5
    """
    return float(leverages(draw, rows, mu, weights).max())


def effective_dimension(eigenvalues: ArrayLike, mu: float) -> float:
    """d(μ) = Σ λ_i/(λ_i + μ): how many directions are larger than μ (thesis, section 2.2).

    >>> effective_dimension([1.0, 1.0, 0.0], mu=1.0)
    1.0
    """
    values = check_eigenvalues(eigenvalues)
    return float((values / (values + check_mu(mu))).sum())


def mu_of_dimension(eigenvalues: ArrayLike, dimension: float) -> float:
    """The μ at which d(μ) has this value: the inverse of `effective_dimension`.

    >>> round(mu_of_dimension([1.0, 1.0, 0.0], dimension=1.0), 6)
    1.0
    """
    values = check_eigenvalues(eigenvalues)
    positive = values[values > ROUNDING * values.max()]
    if not 0 < dimension < len(positive):
        raise ValueError(
            f"dimension={dimension!r}: need a number above 0 and below {len(positive)}, the "
            "number of positive eigenvalues."
        )
    # d(μ) lies between len/(1 + μ/smallest) and Σλ/μ.
    low = 0.5 * positive.min() * (len(positive) / dimension - 1.0)
    high = 2.0 * positive.sum() / dimension

    def excess(log_mu: float) -> float:
        return float((positive / (positive + math.exp(log_mu))).sum()) - dimension

    return math.exp(brentq(excess, math.log(low), math.log(high), xtol=1e-12))


def balanced_mu(eigenvalues: Floats, n_columns: int) -> float:
    """The μ at which d(μ) is the number of columns, or half the number of eigenvalues if that is
    smaller."""
    positive = eigenvalues[eigenvalues > ROUNDING * eigenvalues.max()]
    if not len(positive):
        return 1.0
    wanted = min(float(n_columns), len(eigenvalues) / 2)
    if wanted >= 0.99 * len(positive):
        # Smaller eigenvalues are rounding errors.
        return float(ROUNDING * positive.max())
    return mu_of_dimension(positive, wanted)


def eigen(gram: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues of a kernel matrix in rising order, and eigenvectors."""
    # Threads of a factorisation wait for each other: on a busy machine, one thread was measured to
    # be four to forty times as fast as two.
    with single_blas():
        values, vectors = np.linalg.eigh(gram)
    return check_eigenvalues(values), vectors


def kernel_eigen(
    basis: Basis, rows: Floats, weights: Floats | None
) -> tuple[Floats, Floats, Floats]:
    """`eigen` of √(w_i·w_j)·k(x_i, x_j), Σw = 1, and the roots √w_i."""
    roots = row_roots(weights, len(rows))
    return *eigen(basis.kernel(rows) * np.outer(roots, roots)), roots


def check_eigenvalues(eigenvalues: ArrayLike) -> Floats:
    """Nonnegative eigenvalues as float64, with rounding below zero removed; or a clear error."""
    values = np.asarray(eigenvalues, dtype=np.float64)
    if values.ndim != 1 or len(values) == 0 or not np.isfinite(values).all():
        raise ValueError(
            f"eigenvalues of shape {values.shape}: need a list of one or more finite numbers."
        )
    if values.min() < -1e-8 * max(np.abs(values).max(), np.finfo(float).tiny):
        raise ValueError(
            f"eigenvalues down to {values.min():.3g}, the largest {values.max():.3g}: a kernel "
            "has none below zero. Check the kernel function."
        )
    return np.maximum(values, 0.0)


def row_roots(weights: Floats | None, n_rows: int) -> Floats:
    """√(w_i/Σw) of each row."""
    if weights is None:
        return np.full(n_rows, math.sqrt(1.0 / n_rows))
    return np.asarray(np.sqrt(weights / weights.sum()))


def checked(rows: ArrayLike, weights: ArrayLike | None) -> tuple[Floats, Floats | None]:
    """Rows and weights as arrays of finite numbers, or a clear error."""
    rows = numeric_rows(rows)
    return rows, None if weights is None else numeric_weights(weights, len(rows))


def check_mu(mu: float) -> float:
    return check_positive("mu", mu, ", on the scale of the eigenvalues of the kernel's operator")


def require_dense(basis: Basis) -> None:
    if basis.sparse:
        raise ValueError(
            f"{type(basis).__name__} has sparse features, and leverage scores need dense ones. "
            "Use a basis such as ks.Fourier()."
        )
