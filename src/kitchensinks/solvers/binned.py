"""Ridge regression on bins: conjugate gradients whose vectors are processed grid by grid.

The bins of a single fitted row are eliminated as in `problem.bins`: the remaining equations are
those of the shared bins, with smaller weights of the rows. Each pass over the vectors also computes
the sums that the next step needs.
"""

import numpy as np

from kitchensinks.numerics import steps
from kitchensinks.problem.bins import Bins
from kitchensinks.problem.losses import Array
from kitchensinks.problem.problem import Callback, Solution
from kitchensinks.solvers.conjugate import IterateSums, Stop, conjugate_gradients
from kitchensinks.tables.arrays import block_slices

# An objective below this share of that of zero weights is a rounding error.
_ROUNDING = 1e-12
# Weights that are worked on at a time: copies of all would take as much memory as they do.
_BLOCK = 2**14


def binned_ridge(
    bins: Bins,
    targets: Array,
    shares: Array,
    alpha: float | Array,
    *,
    fit_intercept: bool = True,
    start: Array | None = None,
    tol: float = 1e-3,
    least_gain: float = 0.0,
    max_iter: int = 200,
    callback: Callback | None = None,
) -> Solution:
    """Minimise Σ s_i·(y_i − b − z_i'β)² + α‖β‖² over β (n_columns, outputs) and b, α > 0.

    alpha: one ridge, or one for each output (a path of ridges is one fit with repeated targets,
    because finding a bin costs more than adding to it). shares (n,) sum to one and are zero for
    rows that are not fitted. Preconditioned by the diagonal; `tol` and `least_gain` are those of
    `Stop`.
    """
    alphas = np.atleast_1d(np.asarray(alpha, dtype=np.float64))
    if not (alphas > 0.0).all():
        raise ValueError(f"alpha={alpha!r}: ridge regression on bins needs alpha > 0.")
    system = _BinnedEquations(bins, targets, shares, alphas, fit_intercept, start)
    stop = Stop(tol, least_gain, negligible=_ROUNDING, max_iter=max_iter)
    outcome = conjugate_gradients(system, stop, callback)
    return outcome.solution(*system.solution(), passes=outcome.iterations)


class _BinnedEquations:
    """(Z'S(Z − mean) + αI)β = Z'S(y − ȳ) over the shared bins, S the weights s' of the rows.

    Vectors have a row for each of the n_kept bins; `direction` and `image` have one for each node,
    of which those of combinations are scratch memory of the products.
    """

    def __init__(
        self,
        bins: Bins,
        targets: Array,
        shares: Array,
        alphas: Array,
        fit_intercept: bool,
        start: Array | None,
    ) -> None:
        shared = bins.shared(shares > 0.0)
        self.bins, self.shared, self.scale = bins, shared, bins.scale
        self.alphas, self.fit_intercept, self.n_rows = alphas, fit_intercept, len(targets)
        self.targets, shares = targets[shared.order], shares[shared.order]
        square = bins.scale**2
        # (n, 1), or (n, outputs) where each output has a ridge of its own; sums over it likewise.
        self.own = shares[:, None] * alphas / (alphas + square * (shared.counts * shares)[:, None])
        self.total = self.own.sum(axis=0)
        self.level = _weighted(self.own, self.targets) / self.total * fit_intercept
        centred = self.targets - self.level
        self.squares = _weighted(self.own, centred**2)
        self.scaled = square * self.own

        n_kept, size = shared.n_columns, (shared.n_nodes, targets.shape[1])
        self.part = np.empty((len(self.targets), size[1]))
        self.image, self.direction = np.zeros(size), np.zeros(size)
        self.weights = np.zeros((n_kept, size[1]))
        shared.scatter(bins.scale * self.own * centred, self.image)
        self.cross = self.image[:n_kept].copy()
        alike = self.own.shape[1] == size[1]
        count = self.image if alike else np.empty((size[0], self.own.shape[1]))
        shared.scatter(self.own, count)
        count = count[:n_kept]
        mean = bins.scale * count * fit_intercept
        # M⁻¹ of the diagonal.
        self.inverse = 1.0 / (np.maximum(square * count - mean**2 / self.total, 0.0) + alphas)
        if start is not None:
            self.weights[shared.kept] = start[shared.places]
        self.sums = np.zeros((3, len(shared.offsets) - 1, size[1]))

    def _product(self, vector: Array) -> None:
        """image = Z'S(Zv − mean); the constant part belongs to the intercept."""
        self.shared.gather(vector, self.part)
        if self.fit_intercept:
            self.part -= _weighted(self.own, self.part) / self.total
        self.part *= self.scaled
        self.shared.scatter(self.part, self.image)

    def begin(self) -> IterateSums:
        n_kept = len(self.cross)
        self.residual = self.cross.copy()
        if self.weights.any():
            self.direction[:n_kept] = self.weights
            self._product(self.direction)
            self.residual -= self.image[:n_kept] + self.alphas * self.weights
        self.direction[:n_kept] = self.residual * self.inverse
        return IterateSums(
            np.sum(self.residual * self.direction[:n_kept], axis=0),
            np.sum(self.residual**2, axis=0),
            np.sum(self.weights * (self.cross + self.residual), axis=0),
        )

    def bend(self) -> Array:
        self._product(self.direction)
        bend = self.sums[0]
        steps.step(self.shared.offsets, self.alphas, self.direction, self.image, bend)
        return np.asarray(bend.sum(axis=0))

    def move(self, length: Array) -> IterateSums:
        vectors = self.weights, self.residual, self.direction, self.image
        steps.move(self.shared.offsets, length, self.inverse, self.cross, *vectors, self.sums)
        return IterateSums(*self.sums.sum(axis=1))

    def turn(self, keep: Array) -> None:
        for part in block_slices(len(self.residual), 1 + _BLOCK // len(keep)):
            self.direction[part] *= keep
            self.direction[part] += self.residual[part] * self.inverse[part]

    def solution(self) -> tuple[Array, Array]:
        """Weights of all bins and the intercept; bins of one row are w = s'·z·e/α."""
        shared = self.shared
        self.direction[: len(self.weights)] = self.weights
        shared.gather(self.direction, self.part)
        self.part *= self.scale
        mean = _weighted(self.own, self.part) / self.total
        intercept = self.level - mean * self.fit_intercept
        n_outputs = self.part.shape[1]
        weights = np.zeros((self.bins.n_columns, n_outputs))
        for part in block_slices(len(shared.places), _BLOCK):
            weights[shared.places[part]] = self.weights[shared.kept[part]]
        error = np.zeros((self.n_rows, n_outputs))
        error[shared.order] = (self.targets - intercept - self.part) * self.own
        factors = self.scale / self.alphas
        for part in block_slices(len(shared.alone), _BLOCK):
            weights[shared.alone[part]] = factors * error[shared.owner[part]]
        return weights, intercept


def _weighted(own: Array, values: Array) -> Array:
    """Σ_i own_i·values_i of each output; own (n, 1) or (n, outputs)."""
    summed: Array = own[:, 0] @ values if own.shape[1] == 1 else np.sum(own * values, axis=0)
    return summed
