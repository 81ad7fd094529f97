"""Learn a scale for every column: descent on the held-out error of small kernel fits.

Some rows a of a batch are fitted by kernel ridge regression with

    k(x, z) = exp(−Σ_j s_j·|x_j − z_j|)      ("laplacian"), or
    k(x, z) = exp(−Σ_j s_j²·(x_j − z_j)²)    ("gaussian"),

and predict the others, b. With α = (K_aa + λI)⁻¹·Y_a they leave r = Y_b − K_ba·α; the loss is
‖r‖²/m over the m rows of b. With v = (K_aa + λI)⁻¹·K_ab·r its gradient is

    ∂/∂log s_j = −(2/m)·(Σ_aa' (v·α')∘K∘∂D − Σ_ba (r·α')∘K∘∂D),      ∂/∂log λ = (2/m)·λ·Σ v∘α,

where D is the exponent and ∂D its derivative in log s_j: one Cholesky factor, no inverse. Every
step takes a fresh batch, so the cost does not grow with the rows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from kitchensinks.law import constants
from kitchensinks.numerics.arrays import Floats
from kitchensinks.numerics.pairs import clear_lower, pair_distances, weighted_distances
from kitchensinks.numerics.products import cholesky_lower, solve_lower
from kitchensinks.numerics.threads import in_order
from kitchensinks.tables.arrays import block_slices

Result = TypeVar("Result")
Narrow = NDArray[np.float32]
# (step, size of the batch) -> rows (m, d), targets (m, outputs)
Batches = Callable[[int, int], tuple[Narrow, Narrow]]


# Products of smaller entries of a kernel matrix are denormal numbers, which take processors many
# times as long; beside a diagonal of one, e⁻²⁵ is nothing in float32.
_LEAST_EXPONENT = np.float32(-25.0)


# Rows of a matrix over pairs that are worked on at a time: they stay in cache.
_ROWS = 128


def _by_rows(work: Callable[[slice], Result], count: int) -> list[Result]:
    """work(part) of some rows at a time, side by side where threads are free."""
    return list(in_order(work, block_slices(count, _ROWS)))


class Room(NamedTuple):
    """Memory that steps use in turn: fresh pages for each cost a fifth of its time.

    kept (fitted, m), of which what is on or below the diagonal means nothing; factor
    (fitted, fitted), column by column.
    """

    kept: Narrow
    factor: Narrow

    @classmethod
    def of(cls, count: int) -> "Room":
        """For batches of so many rows."""
        fitted = int(constants.FITTED_SHARE * count)
        square = np.empty((fitted, fitted), dtype=np.float32, order="F")
        return cls(np.zeros((fitted, count), dtype=np.float32), square)


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

    def put_distances(self, scales: Floats, out: Narrow) -> None:
        """Put Σ_j s_j·|x_ij − x_kj| of fitted rows i and all rows k ≥ i into out (fitted, m)."""
        pair_distances(self.numbers * scales[~self.is_hot, None].astype(np.float32), out)
        if not self.hot.shape[1]:
            return
        scaled = self.hot * scales[self.is_hot].astype(np.float32)
        length = scaled.sum(axis=1)

        def add(part: slice) -> None:
            products = scaled[part] @ self.hot[part.start :].T
            products *= np.float32(-2.0)
            products += length[part, None]
            products += length[part.start :]
            out[part, part.start :] += np.maximum(products, np.float32(0.0), out=products)

        _by_rows(add, len(out))

    def weighted(self, weights: Narrow, scales: Floats) -> Floats:
        """Σ_ik w_ik·s_j·|x_ij − x_kj| over pairs i < k, (d,); weights (fitted, m)."""
        out = np.empty(len(scales))
        inner = np.empty(len(self.numbers))
        weighted_distances(self.numbers, weights, inner)
        out[~self.is_hot] = inner
        if self.hot.shape[1]:
            out[self.is_hot] = weighted_squares(self.hot, weights)
        return out * scales


def weighted_squares(rows: Narrow, weights: Narrow) -> Floats:
    """Σ_ik w_ik·(x_ij − x_kj)² over pairs i < k, (d,); weights (fitted, m): others are cleared."""
    total, product = np.zeros(len(rows)), np.zeros(rows.shape[1])

    def sums(part: slice) -> tuple[slice, Floats, Floats, Floats]:
        own, others = weights[part, part.start :], rows[part.start :]
        clear_lower(own)
        below, across = (own.sum(axis=axis, dtype=np.float64) for axis in (0, 1))
        return (
            part,
            below,
            across,
            np.einsum("ij,ij->j", rows[part], own @ others, dtype=np.float64),
        )

    for part, below, across, products in _by_rows(sums, len(weights)):
        total[part.start :] += below
        total[part] += across
        product += products
    return np.asarray(total @ np.square(rows, dtype=np.float64) - 2.0 * product)


def gradient(
    rows: Narrow,
    targets: Narrow,
    scales: Floats,
    ridge: float,
    kernel: str = "laplacian",
    is_hot: NDArray[np.bool_] | None = None,
    room: Room | None = None,
) -> tuple[float, Floats]:
    """Held-out error of one batch, and its slopes in log s and log λ, (d + 1,).

    The first rows are fitted, the others predicted. rows (m, d), targets (m, outputs), float32;
    is_hot (d,): columns that are 0 or 1.

    >>> rows = np.random.default_rng(0).normal(size=(50, 2)).astype(np.float32)
    >>> _, slopes = gradient(rows, rows[:, :1], np.array([0.3, 0.3]), 0.1)
    >>> bool(slopes[1] > 0)  # the second column says nothing: its scale should fall
    True
    """
    kept, square = Room.of(len(rows)) if room is None else room
    fitted = len(kept)
    is_hot = np.zeros(rows.shape[1], dtype=bool) if is_hot is None else is_hot
    columns = BatchColumns.of(rows, is_hot) if kernel == "laplacian" else None
    put_kernel(rows, scales, columns, kept)
    factor = _factor(kept[:, :fitted], ridge, square)
    cross = kept[:, fitted:]
    dual = solve_lower(factor, targets[:fitted])
    left = targets[fitted:] - cross.T @ dual
    turned = solve_lower(factor, cross @ left)
    # w_ik = v_i·α_k + α_i·v_k for two fitted rows, and −α_i·r_k for a fitted and a predicted one.
    others = np.vstack([np.hstack([dual, turned]), np.hstack([np.zeros_like(left), -left])])
    own, weights = np.hstack([turned, dual]), kept

    def weigh(part: slice) -> None:
        weights[part, part.start :] *= own[part] @ others[part.start :].T

    _by_rows(weigh, fitted)
    if columns is not None:
        along = columns.weighted(weights, scales)
    else:
        # ∂D/∂log s = 2s²Δ².
        along = 2.0 * scales**2 * weighted_squares(rows, weights)
    error = np.sum(np.square(left, dtype=np.float64)) / len(left)
    slope = ridge * np.sum(turned * dual, dtype=np.float64)
    return float(error), np.append(-2.0 / len(left) * along, 2.0 / len(left) * slope)


def put_kernel(rows: Narrow, scales: Floats, columns: BatchColumns | None, out: Narrow) -> None:
    """Put K of the fitted rows i and all rows k > i into out (fitted, m): Laplacian where the
    columns are given, else Gaussian.

    Squared distances are differences of products, so they are worked out in float64: with one row
    far out, those of the others would have no digit left, and K might not be positive definite.
    """
    if columns is not None:
        columns.put_distances(scales, out)
    scaled = rows * scales if columns is None else np.empty((0, 0))
    lengths = np.einsum("ij,ij->i", scaled, scaled)

    def fill(part: slice) -> None:
        above = out[part, part.start :]
        if columns is None:
            squares = scaled[part] @ scaled[part.start :].T
            squares *= -2.0
            squares += lengths[part, None]
            squares += lengths[part.start :]
            np.maximum(squares, 0.0, out=squares)
            above[:] = squares
        clear_lower(above)
        np.negative(above, out=above)
        np.maximum(above, _LEAST_EXPONENT, out=above)
        np.exp(above, out=above)

    _by_rows(fill, len(out))


def _factor(kept: Narrow, ridge: float, out: Narrow) -> Narrow:
    """The Cholesky factor of K + λI for `solve_lower`, in `out`; K is read above its diagonal.

    In float32: λ ≥ 0.001 keeps it well conditioned.
    """
    out[:] = kept.T
    out[np.diag_indices_from(out)] = np.float32(1.0 + ridge)
    if not cholesky_lower(out):
        raise np.linalg.LinAlgError("the kernel matrix of a batch is not positive definite")
    return out


class ScaleDescent(NamedTuple):
    """The scales s (d,) at the end of a descent, and the held-out error of every step."""

    scales: Floats
    errors: Floats


def descend(
    kernel: str,
    start: Floats,
    batches: Batches,
    steps: int,
    size: int,
    is_hot: NDArray[np.bool_] | None = None,
    late: Callable[[], bool] = lambda: False,
) -> ScaleDescent:
    """Adam in the logarithms of the scales, from `start` (d,) on, and of the ridge λ.

    Each step is on a batch of `size` rows. The rate falls to zero over the second half of the
    steps, and the scales are the geometric mean of the last quarter's. late() ends it after a step.
    """
    memory, square_memory = constants.MEMORY, constants.SQUARE_MEMORY
    weakest, strongest = np.log(constants.RIDGES)
    floor = np.append(np.full(len(start), -np.inf), weakest)
    ceiling = np.append(np.full(len(start), 20.0), strongest)
    place = np.append(np.log(start), np.log(constants.FIRST_RIDGE))
    mean = square = np.zeros(len(place))
    errors: list[float] = []
    kept: list[Floats] = []
    room: Room | None = None
    for done in range(1, steps + 1):
        rows, targets = batches(done - 1, size)
        room = room or Room.of(len(rows))
        scales, ridge = np.exp(place[:-1]), float(np.exp(place[-1]))
        error, slope = gradient(rows, targets, scales, ridge, kernel, is_hot, room)
        errors.append(error)
        mean = memory * mean + (1 - memory) * slope
        square = square_memory * square + (1 - square_memory) * slope**2
        correct = (1 - memory**done) / np.sqrt(1 - square_memory**done)
        rate = constants.RATE * min(1.0, 2.0 * (1.0 - (done - 0.5) / steps))
        place = place - rate * mean / (correct * np.sqrt(square) + 1e-12)
        place = np.clip(place, floor, ceiling)
        if done > (1.0 - constants.AVERAGED) * steps:
            kept.append(place)
        if late():
            break
    final = np.mean(kept, axis=0) if kept else place
    return ScaleDescent(np.exp(final[:-1]), np.array(errors))
