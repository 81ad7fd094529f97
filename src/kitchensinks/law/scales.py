"""Learn a scale for every column: descent on the leave-one-out error of small kernel fits.

A batch of m rows is fitted by kernel ridge regression with

    k(x, z) = exp(−Σ_j s_j·|x_j − z_j|)      ("laplacian"), or
    k(x, z) = exp(−Σ_j s_j²·(x_j − z_j)²)    ("gaussian"),

whose leave-one-out residuals have a closed form. With C = (K + λI)⁻¹, α = CY, c = diag C, they are
r_i = α_i/c_i; the loss is ‖r‖²/m, and its gradient in log s_j and log λ takes one more product:

    M = C·diag(‖r_i‖²/c_i)·C − sym(C·(r/c)·α'),
    ∂/∂log s_j = −(2/m)·Σ_ik M_ik·K_ik·∂D_ik/∂log s_j,      ∂/∂log λ = (2/m)·λ·tr M,

where D is the exponent. Every step takes a fresh batch, so the cost does not grow with the rows.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances

from kitchensinks.law import constants
from kitchensinks.numerics.pairs import mirror, pair_distances, weighted_distances
from kitchensinks.numerics.products import add_rank_two_lower, gram_lower, inverse_lower

Floats = NDArray[np.float64]
Narrow = NDArray[np.float32]
# (step, size of the batch) -> rows (m, d), targets (m, outputs)
Batches = Callable[[int, int], tuple[Narrow, Narrow]]


# Products of smaller entries of a kernel matrix are denormal numbers, which take processors many
# times as long; beside a diagonal of one, e⁻²⁵ is nothing in float32.
_LEAST_EXPONENT = np.float32(-25.0)


class Gradient(NamedTuple):
    """Leave-one-out error of one batch, and its slope in log s and log λ."""

    error: float
    scales: Floats
    ridge: float


@dataclass(frozen=True)
class BatchColumns:
    """A batch column by column: numbers (d', m), and 0/1 columns (m, b) apart.

    |b_i − b_k| = b_i + b_k − 2·b_i·b_k: sums over pairs of 0/1 columns are matrix products.
    """

    numbers: Narrow
    hot: Narrow
    is_hot: NDArray[np.bool_]

    @classmethod
    def of(cls, rows: Narrow, is_hot: NDArray[np.bool_]) -> "BatchColumns":
        return cls(np.ascontiguousarray(rows[:, ~is_hot].T), rows[:, is_hot], is_hot)

    def distances(self, scales: Floats) -> Narrow:
        """Σ_j s_j·|x_ij − x_kj|, (m, m)."""
        size = self.numbers.shape[1]
        out = np.empty((size, size), dtype=np.float32)
        pair_distances(self.numbers * scales[~self.is_hot, None].astype(np.float32), out)
        if self.hot.shape[1]:
            scaled = self.hot * scales[self.is_hot].astype(np.float32)
            length = scaled.sum(axis=1)
            out += np.maximum(length[:, None] + length - 2.0 * (scaled @ self.hot.T), 0.0)
        return out

    def weighted(self, weights: Narrow, scales: Floats) -> Floats:
        """Σ_ik w_ik·s_j·|x_ij − x_kj|, (d,); w is read above its diagonal, and mirrored here."""
        out = np.empty(len(scales))
        inner = np.empty(len(self.numbers))
        weighted_distances(self.numbers, weights, inner)
        out[~self.is_hot] = inner
        if self.hot.shape[1]:
            mirror(weights)
            total = weights.sum(axis=1, dtype=np.float64)
            product = np.einsum("ij,ij->j", self.hot, weights @ self.hot, dtype=np.float64)
            out[self.is_hot] = 2.0 * (total @ self.hot - product)
        return out * scales


def gradient(
    rows: Narrow,
    targets: Narrow,
    scales: Floats,
    ridge: float,
    kernel: str = "laplacian",
    is_hot: NDArray[np.bool_] | None = None,
) -> Gradient:
    """Leave-one-out error of one batch and its slopes.

    rows (m, d), targets (m, outputs), float32; is_hot (d,): columns that are 0 or 1.

    >>> rows = np.random.default_rng(0).normal(size=(50, 2)).astype(np.float32)
    >>> found = gradient(rows, rows[:, :1], np.array([0.3, 0.3]), 0.1)
    >>> bool(found.scales[1] > 0)  # the second column says nothing: its scale should fall
    True
    """
    size = len(rows)
    is_hot = np.zeros(rows.shape[1], dtype=bool) if is_hot is None else is_hot
    columns = BatchColumns.of(rows, is_hot) if kernel == "laplacian" else None
    kept = kernel_matrix(rows, scales, columns)
    inverse = _inverse(kept, ridge)
    dual = inverse @ targets
    diagonal = np.diagonal(inverse).copy()
    residual = dual / diagonal[:, None]
    size_of = np.einsum("io,io->i", residual, residual)
    half = inverse * np.sqrt(size_of / diagonal)[:, None]
    turned = inverse @ (residual / diagonal[:, None])
    # M above its diagonal, which is below it column by column in memory.
    slope = np.zeros_like(kept)
    gram_lower(half, slope.T)
    add_rank_two_lower(-0.5, turned, dual, slope.T)
    trace = float(np.trace(slope, dtype=np.float64))
    slope *= kept
    if columns is not None:
        along = columns.weighted(slope, scales)
    else:
        # Σ_ik w_ik·(x_i − x_k)² = 2·Σ_i (Σ_k w_ik)·x_i² − 2·x'Wx, and ∂D/∂log s = 2s²Δ².
        mirror(slope)
        total = slope.sum(axis=1, dtype=np.float64)
        product = np.einsum("ij,ij->j", rows, slope @ rows, dtype=np.float64)
        along = 4.0 * scales**2 * (total @ np.square(rows, dtype=np.float64) - product)
    error = float(size_of.mean(dtype=np.float64))
    return Gradient(error, -2.0 / size * along, 2.0 / size * ridge * trace)


def kernel_matrix(rows: Narrow, scales: Floats, columns: BatchColumns | None) -> Narrow:
    """K of a batch: Laplacian where the columns are given, else Gaussian.

    Squared distances are differences of products, so they are worked out in float64: with one row
    far out, those of the others would have no digit left, and K might not be positive definite.
    """
    if columns is not None:
        exponent = columns.distances(scales)
    else:
        exponent = euclidean_distances(rows * scales, squared=True).astype(np.float32)
    np.negative(exponent, out=exponent)
    np.maximum(exponent, _LEAST_EXPONENT, out=exponent)
    return np.exp(exponent, out=exponent)


def _inverse(kept: Narrow, ridge: float) -> Narrow:
    """(K + λI)⁻¹ in float32: λ ≥ 0.001 keeps it well conditioned."""
    shifted = kept.copy()
    shifted[np.diag_indices_from(shifted)] += np.float32(ridge)
    if not inverse_lower(shifted.T):
        raise np.linalg.LinAlgError("the kernel matrix of a batch is not positive definite")
    mirror(shifted)
    return shifted


@dataclass(frozen=True)
class Descent:
    """Adam in the logarithms of the scales s (d,) and of the ridge λ, after some steps.

    The rate falls to zero over the second half of `total` steps, and `scales` are the (geometric)
    mean of the last quarter's. A descent can be continued several times with other batches.

    place, mean, square : (d + 1,) the logarithms, and Adam's means of gradients and of their
        squares.
    floor, ceiling : bounds of the place.
    errors : leave-one-out error of every step.
    kept : places whose mean is taken.
    """

    kernel: str
    is_hot: NDArray[np.bool_]
    total: int
    floor: Floats
    ceiling: Floats
    place: Floats
    mean: Floats
    square: Floats
    errors: tuple[float, ...] = ()
    kept: tuple[Floats, ...] = ()

    @classmethod
    def begin(
        cls, kernel: str, scales: Floats, total: int, is_hot: NDArray[np.bool_] | None = None
    ) -> "Descent":
        """From these scales; is_hot (d,): columns that are 0 or 1."""
        weakest, strongest = np.log(constants.RIDGES)
        start = np.log(scales)
        zeros = np.zeros(len(scales) + 1)
        return cls(
            kernel,
            np.zeros(len(scales), dtype=bool) if is_hot is None else is_hot,
            total,
            np.append(start + np.log(constants.LEAST_SCALE), weakest),
            np.append(np.full(len(scales), 20.0), strongest),
            np.append(start, np.log(constants.FIRST_RIDGE)),
            zeros,
            zeros,
        )

    def run(
        self, batches: Batches, steps: int, size: int, late: Callable[[], bool] = lambda: False
    ) -> "Descent":
        """After so many steps more, each on a batch of `size` rows: batches(step, size).

        late() ends the run before its last step.
        """
        now = self
        memory, square_memory = constants.MEMORY, constants.SQUARE_MEMORY
        for _ in range(steps):
            rows, targets = batches(len(now.errors), size)
            scales, ridge = np.exp(now.place[:-1]), float(np.exp(now.place[-1]))
            found = gradient(rows, targets, scales, ridge, self.kernel, self.is_hot)
            slope, done = np.append(found.scales, found.ridge), len(now.errors) + 1
            mean = memory * now.mean + (1 - memory) * slope
            square = square_memory * now.square + (1 - square_memory) * slope**2
            correct = (1 - memory**done) / np.sqrt(1 - square_memory**done)
            rate = constants.RATE * min(1.0, 2.0 * (1.0 - (done - 0.5) / self.total))
            place = now.place - rate * mean / (correct * np.sqrt(square) + 1e-12)
            place = np.clip(place, self.floor, self.ceiling)
            last = done > (1.0 - constants.AVERAGED) * self.total
            now = replace(
                now,
                place=place,
                mean=mean,
                square=square,
                errors=(*now.errors, found.error),
                kept=(*now.kept, place) if last else now.kept,
            )
            if late():
                break
        return now

    @property
    def scales(self) -> Floats:
        """s (d,)."""
        final = np.mean(self.kept, axis=0) if self.kept else self.place
        return np.asarray(np.exp(final[:-1]))
