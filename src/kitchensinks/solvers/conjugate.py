"""Preconditioned conjugate gradients for squared loss: a pass over the rows an iteration.

Solves (G + αI)β = cross without forming G, where there are many more rows than a Gram is worth,
or more columns than a Gram can have (Binning).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from kitchensinks.problem.losses import Array
from kitchensinks.problem.problem import NEGLIGIBLE, Callback, Solution

Operator = Callable[[Array], Array]

# A ridge above this share of the trace is seen in float32.
NARROW = 1e-6


def conjugate_gradients(
    gram: Operator,
    cross: Array,
    squares: Array,
    alpha: float,
    precondition: Operator,
    *,
    close: bool = False,
    start: Array | None = None,
    tol: float = 1e-6,
    max_iter: int = 200,
    callback: Callback | None = None,
    solver: str = "conjugate gradients",
) -> Solution:
    """Minimise squares − 2β'cross + β'Gβ + α‖β‖², each output by itself, to a relative gap.

    gram(v) is Gv for v (K, outputs); cross (K, outputs); squares (outputs,) is the loss at β = 0.
    The residual r = cross − (G + αI)β, worked out anew at the end, gives the Fenchel gap ‖r‖²/α.
    Where the preconditioner is `close` to (G + αI)⁻¹, r'M⁻¹r is close to the distance from the
    optimum itself, r'(G + αI)⁻¹r: a hundredth of `tol` of that stops the iterations too, and the
    gap reported stays the certified one. Without a penalty there is no other rule, and the gap is
    infinite unless r = 0.
    """
    weights = np.zeros_like(cross) if start is None else start.copy()
    floor = NEGLIGIBLE * squares + np.finfo(float).tiny
    iteration, before = 0, np.inf
    while True:
        residual = cross.copy()
        if weights.any():
            residual -= gram(weights) + alpha * weights
        shaped = precondition(residual)
        state = _State(weights, residual, shaped, cross, squares, alpha)
        objective, gap, fall = state.measure()
        finished = _finished(np.maximum(objective, floor), gap, fall, tol, close)
        if callback is not None:
            callback(iteration, float(objective.sum()), float(gap.sum()))
        # Restarts that no longer lower the residual have met the rounding of the products.
        stalled = float(np.sum(residual**2)) > 0.25 * before
        if finished.all() or iteration >= max_iter or stalled:
            break
        before = float(np.sum(residual**2))
        while iteration < max_iter:
            state.step(gram, precondition)
            iteration += 1
            objective, gap, fall = state.measure()
            if callback is not None:
                callback(iteration, float(objective.sum()), float(gap.sum()))
            if _finished(np.maximum(objective, floor), gap, fall, 0.5 * tol, close).all():
                break
        weights = state.weights
    return Solution(
        weights,
        np.zeros(cross.shape[1]),
        float(objective.sum()),
        float(gap.sum()),
        iteration,
        iteration,
        bool(finished.all()),
        solver,
    )


def _finished(
    objective: Array, gap: Array, fall: Array, tol: float, close: bool
) -> NDArray[np.bool_]:
    """Which outputs are near enough to their optimum."""
    near = fall <= 1e-2 * tol * objective
    return np.asarray((gap <= tol * objective) | (near & close))


class _State:
    """Weights, residual and direction of all outputs, each with its own step lengths."""

    def __init__(
        self,
        weights: Array,
        residual: Array,
        shaped: Array,
        cross: Array,
        squares: Array,
        alpha: float,
    ) -> None:
        self.weights, self.residual, self.direction = weights.copy(), residual, shaped.copy()
        self.cross, self.squares, self.alpha = cross, squares, alpha
        self.fall = np.sum(residual * shaped, axis=0)

    def measure(self) -> tuple[Array, Array, Array]:
        """Objective, certified gap and r'M⁻¹r of each output."""
        # β'(G + αI)β = β'(cross − r), so the objective needs no product of its own.
        objective = self.squares - np.sum(self.weights * (self.cross + self.residual), axis=0)
        square = np.sum(self.residual**2, axis=0)
        if self.alpha > 0.0:
            gap = square / self.alpha
        else:
            gap = np.where(square == 0.0, 0.0, np.inf)
        return np.maximum(objective, 0.0), gap, self.fall

    def step(self, gram: Operator, precondition: Operator) -> None:
        image = gram(self.direction) + self.alpha * self.direction
        bend = np.sum(self.direction * image, axis=0)
        length = np.divide(self.fall, bend, out=np.zeros_like(bend), where=bend > 0.0)
        self.weights += length * self.direction
        self.residual = self.residual - length * image
        shaped = precondition(self.residual)
        fallen = np.sum(self.residual * shaped, axis=0)
        keep = np.divide(fallen, self.fall, out=np.zeros_like(fallen), where=self.fall > 0.0)
        self.direction = shaped + keep * self.direction
        self.fall = fallen


def factored_preconditioner(gram: Array, alpha: float, noise: float = 0.0) -> Operator:
    """v ↦ (Ĝ + αI)⁻¹v for the Gram Ĝ of a sample of the rows, known up to `noise`.

    In float32 where the ridge is well above its rounding: half the time, and close enough.
    """
    mean = float(np.trace(gram)) / len(gram)
    # Directions that the sample does not show keep a little of its mean eigenvalue.
    floor = max(alpha, 10.0 * noise, 1e-9 * mean, np.finfo(float).tiny)
    narrow = floor > NARROW * mean * len(gram)
    shifted: NDArray[np.floating[Any]] = gram.astype(np.float32 if narrow else np.float64)
    shifted[np.diag_indices_from(shifted)] += floor
    # Symmetric: the transpose has the order in memory that LAPACK wants, without a copy.
    factor = cho_factor(shifted.T, lower=True, overwrite_a=True, check_finite=False)

    def solve(vector: Array) -> Array:
        narrowed = vector.astype(shifted.dtype)
        return np.asarray(cho_solve(factor, narrowed, check_finite=False), dtype=np.float64)

    return solve


def diagonal_preconditioner(diagonal: Array, alpha: float) -> Operator:
    """v ↦ v/(diag G + α)."""
    spread = diagonal[:, None] + max(alpha, np.finfo(float).tiny)
    return lambda vector: np.asarray(vector / spread)
