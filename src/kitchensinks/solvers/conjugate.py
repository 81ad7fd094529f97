"""Preconditioned conjugate gradients for squared loss: a pass over the rows an iteration.

Solves (G + αI)β = cross without forming G, where there are many more rows than a Gram is worth,
or more columns than a Gram can have (Binning).
"""

from collections.abc import Callable

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from kitchensinks.losses import Array
from kitchensinks.solvers.problem import Callback, Solution

Operator = Callable[[Array], Array]


def conjugate_gradients(
    gram: Operator,
    cross: Array,
    squares: Array,
    alpha: float,
    precondition: Operator,
    *,
    start: Array | None = None,
    tol: float = 1e-6,
    max_iter: int = 200,
    callback: Callback | None = None,
    solver: str = "conjugate gradients",
) -> Solution:
    """Minimise squares − 2β'cross + β'Gβ + α‖β‖², each output by itself, to a relative gap.

    gram(v) is Gv for v (K, outputs); cross (K, outputs); squares (outputs,) is the loss at β = 0.
    The residual r = cross − (G + αI)β gives the Fenchel gap ‖r‖²/α of the ridge problem; where
    that is far too pessimistic (α tiny) r'(G + αI)⁻¹r ≤ r'M⁻¹r·(a factor near one) stops it, M
    being the preconditioner, and the gap reported stays the certified one. Without a penalty the
    second rule alone holds, and the gap is infinite unless r = 0.
    """
    weights = np.zeros_like(cross) if start is None else start.copy()
    residual = cross - (gram(weights) + alpha * weights) if start is not None else cross.copy()
    shaped = precondition(residual)
    direction = shaped.copy()
    fall = np.sum(residual * shaped, axis=0)
    scale = max(float(squares.sum()), np.finfo(float).tiny)
    iteration, objective, gap, near = 0, float(squares.sum()), np.inf, False
    while True:
        # β'(G + αI)β = β'(cross − r), so the objective needs no product of its own.
        objective = float(np.sum(squares - np.sum(weights * (cross + residual), axis=0)))
        square = float(np.sum(residual**2))
        gap = square / alpha if alpha > 0.0 else (0.0 if square == 0.0 else np.inf)
        near = float(fall.sum()) <= 1e-2 * tol * max(objective, 1e-12 * scale)
        if callback is not None:
            callback(iteration, objective, gap)
        if near or gap <= tol * max(objective, 1e-12 * scale) or iteration >= max_iter:
            break
        image = gram(direction) + alpha * direction
        bend = np.sum(direction * image, axis=0)
        length = np.divide(fall, bend, out=np.zeros_like(fall), where=bend > 0.0)
        weights += length * direction
        residual -= length * image
        shaped = precondition(residual)
        fallen = np.sum(residual * shaped, axis=0)
        keep = np.divide(fallen, fall, out=np.zeros_like(fall), where=fall > 0.0)
        direction = shaped + keep * direction
        fall = fallen
        iteration += 1
    converged = near or gap <= tol * max(objective, 1e-12 * scale)
    return Solution(
        weights, np.zeros(cross.shape[1]), objective, gap, iteration, iteration, converged, solver
    )


def factored_preconditioner(gram: Array, alpha: float) -> Operator:
    """v ↦ (Ĝ + αI)⁻¹v for the Gram Ĝ of a sample of the rows."""
    shifted = gram.copy()
    # Directions that the sample does not show keep a little of its mean eigenvalue.
    floor = max(alpha, 1e-9 * float(np.trace(gram)) / len(gram), np.finfo(float).tiny)
    shifted[np.diag_indices_from(shifted)] += floor
    factor = cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
    return lambda vector: np.asarray(cho_solve(factor, vector, check_finite=False))


def diagonal_preconditioner(diagonal: Array, alpha: float) -> Operator:
    """v ↦ v/(diag G + α)."""
    spread = diagonal[:, None] + max(alpha, np.finfo(float).tiny)
    return lambda vector: np.asarray(vector / spread)
