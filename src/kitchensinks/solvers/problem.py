"""The convex problem in the outer weights, and the certificate that every solver returns.

    minimise over β, b:   Σ_i w_i loss(y_i, u_i) + alpha·‖β‖²   subject to β in a ball,
    where u = Z·β + b, w >= 0 and Σ w = 1.

Its Fenchel dual (Rockafellar, Convex Analysis, section 31) is
    maximise over a:   -Σ_i w_i loss*(y_i, a_i) - R*(-Z'(w∘a))   subject to Σ_i w_i a_i = 0,
where R is the penalty with its ball and the last condition belongs to the free intercept. Any
feasible a bounds the optimum from below, so objective - dual is a certificate: never less than the
distance to the optimum, for smooth and kinked losses alike.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from kitchensinks.constraints import Constraint, penalty_conjugate
from kitchensinks.losses import Array, Kinked, Loss

Block = NDArray[np.floating[Any]]
Callback = Callable[[int, float, float], None]

# Rows multiplied at a time: they stay in cache between Z·β and Z'·a, and float32 sums stay short.
SLICE_ROWS = 1024
# Below this share of the loss at score zero an objective decides nothing.
NEGLIGIBLE = 1e-4
# exp(-40) is below rounding: where a loss is never zero, intercepts stop this far past a target.
FARTHEST_MARGIN = 40.0


class Solution(NamedTuple):
    """The weights of a fit and the evidence for them.

    `gap` is at least `objective` minus the optimum. With neither penalty nor ball only a = 0 is a
    feasible dual vector, so the gap is the objective itself; `converged` is then judged on the
    gradient (smooth losses) or on the residuals (kinked losses) as each solver says.
    """

    weights: Array
    intercept: Array
    objective: float
    gap: float
    iterations: int
    passes: int
    converged: bool
    solver: str


class Design:
    """The feature matrix Z (rows, K), seen only through products with its blocks.

    `blocks()` starts a new traversal: pairs of a slice of the rows and that block of Z, in float32
    or float64. Products run in the block's dtype and are summed in float64.
    """

    def __init__(
        self,
        blocks: Callable[[], Iterator[tuple[slice, Block]]],
        n_rows: int,
        n_columns: int,
        dtype: type[np.floating[Any]] | np.dtype[Any] = np.float64,
    ) -> None:
        self.blocks = blocks
        self.n_rows = n_rows
        self.n_columns = n_columns
        self.dtype = np.dtype(dtype)
        self.passes = 0

    def slices(self) -> Iterator[tuple[slice, Block]]:
        """One traversal, in slices of at most SLICE_ROWS rows."""
        self.passes += 1
        for rows, block in self.blocks():
            for start in range(0, len(block), SLICE_ROWS):
                part = block[start : start + SLICE_ROWS]
                first = rows.start + start
                yield slice(first, first + len(part)), part

    def sweep(self, weights: Array, respond: Callable[[slice, Array], Array]) -> Array:
        """Σ over slices of Z'·respond(rows, Z·weights): both products in one traversal."""
        narrow = weights.astype(self.dtype)
        image: Array | None = None
        for rows, part in self.slices():
            answer = respond(rows, (part @ narrow).astype(np.float64))
            product = (part.T @ answer.astype(self.dtype)).astype(np.float64)
            image = product if image is None else image + product
        if image is None:
            raise ValueError("blocks() gave no rows: need at least one block of features.")
        return image

    def scores(self, weights: Array) -> Array:
        """Z·weights, of shape (rows, outputs)."""
        narrow = weights.astype(self.dtype)
        scores = np.empty((self.n_rows, weights.shape[1]))
        for rows, part in self.slices():
            scores[rows] = part @ narrow
        return scores

    def adjoint(self, dual: Array) -> Array:
        """Z'·dual, of shape (K, columns of dual)."""
        narrow = dual.astype(self.dtype)
        image = np.zeros((self.n_columns, dual.shape[1]))
        for rows, part in self.slices():
            image += part.T @ narrow[rows]
        return image

    def band(self, curvature: Array, centre: Array, dual: Array) -> tuple[Array, Array]:
        """Σ curvature·(z - centre)(z - centre)' over rows of positive curvature, and Z'·dual.

        One traversal; the rows that count are gathered into blocks of four slices.
        """
        gram = np.zeros((self.n_columns, self.n_columns))
        image = np.zeros((self.n_columns, dual.shape[1]))
        root, centre = np.sqrt(curvature).astype(self.dtype)[:, None], centre.astype(self.dtype)
        narrow = dual.astype(self.dtype)
        waiting: list[Block] = []
        for rows, part in self.slices():
            image += part.T @ narrow[rows]
            counted = curvature[rows] > 0.0
            waiting.append((part[counted] - centre) * root[rows][counted])
            if sum(map(len, waiting)) > 4 * SLICE_ROWS:
                block = np.vstack(waiting)
                gram += block.T @ block
                waiting = []
        if waiting:
            block = np.vstack(waiting)
            gram += block.T @ block
        return gram, image


@dataclass(frozen=True)
class Problem:
    """One fit: the features, the loss with its targets (rows, outputs), penalty and ball.

    `row_weights` sum to one. `mean` is Σ w z and `gram` is Σ w (z - mean)(z - mean)'; without an
    intercept the mean is zero and the Gram is not centred. It is None where there are too many
    columns for one.
    """

    design: Design
    loss: Loss
    targets: Array
    row_weights: Array
    alpha: float
    constraint: Constraint | None
    fit_intercept: bool
    mean: Array
    gram: Array | None

    @property
    def bounded(self) -> bool:
        """Whether a penalty or a ball holds the weights, so that a finite gap exists."""
        return self.alpha > 0.0 or self.constraint is not None

    @cached_property
    def target_image(self) -> Array:
        """Z'(w∘y)."""
        return self.design.adjoint(self.row_weights[:, None] * self.targets)

    @cached_property
    def scale(self) -> float:
        """The loss at score zero, which says how large an objective is."""
        return float(self.mean_loss(np.zeros_like(self.targets)).sum())

    def column_sum(self, entries: Array) -> Array:
        """Sums over rows for each output, or over everything where outputs share one loss."""
        return np.asarray(entries.sum(axis=0) if self.loss.separable else entries.sum())

    def mean_loss(self, scores: Array) -> Array:
        """Σ w loss(y, scores) for each output (one number where outputs share one loss)."""
        return np.asarray(self.row_weights @ self.loss.value(self.targets, scores))

    def objective(self, weights: Array, scores: Array) -> Array:
        """The objective of each output, from weights and their scores with intercept."""
        return self.mean_loss(scores) + self.alpha * self.column_sum(weights**2)

    def close_enough(self, objective: float, gap: float, tol: float) -> bool:
        """Whether the gap is below tol times the objective.

        Where the objective is below 1e-4 of the loss at score zero (the rows are interpolated, or
        all but), tol is taken of that instead: what is left decides nothing.
        """
        return gap <= tol * max(abs(objective), NEGLIGIBLE * self.scale)

    def dual_columns(self, rows: slice, dual: Array) -> Array:
        """w∘a, in two halves by sign where the certificate may have to rescale them apart."""
        weighted = self.row_weights[rows, None] * dual
        if not (self.fit_intercept and self.loss.separable):
            return weighted
        return np.hstack([np.maximum(weighted, 0.0), np.minimum(weighted, 0.0)])

    def image_of_dual(self, columns: Array) -> Array:
        """Z'(w∘a) from Z' of `dual_columns`."""
        if not (self.fit_intercept and self.loss.separable):
            return columns
        positive, negative = np.hsplit(columns, 2)
        return positive + negative

    def dual_bound(self, dual: Array, columns: Array) -> Array:
        """A lower bound on the optimum of each output, from a in the conjugate's domain.

        `columns` is Z' of `dual_columns`. The bound is the best of θ·a over a few 0 <= θ <= 1,
        after a has been repaired to satisfy Σ w a = 0; θ = 0 gives zero, which always holds.
        """
        image = columns
        if self.fit_intercept:
            repair = _repair_signs if self.loss.separable else _repair_shares
            dual, image = repair(self, dual, columns)

        def bound(shrink: Array | float) -> Array:
            conjugate = self.row_weights @ self.loss.conjugate(self.targets, shrink * dual)
            penalty = penalty_conjugate(-shrink * image, self.alpha, self.constraint)
            return np.asarray(-conjugate - (penalty if self.loss.separable else penalty.sum()))

        whole = bound(1.0)
        if not self.bounded:
            return np.maximum(whole, 0.0)
        # The parabola through θ = 0, 1/2, 1: exact for kinked losses with a ridge.
        half = bound(0.5)
        rise = 4.0 * half - whole
        bend = np.maximum(rise - whole, np.finfo(float).tiny)
        with np.errstate(over="ignore"):  # of a straight line: its top is at an end
            top = np.clip(rise / (2.0 * bend), 0.0, 1.0)
        return np.maximum(np.maximum(whole, bound(top)), 0.0)


def _repair_signs(problem: Problem, dual: Array, columns: Array) -> tuple[Array, Array]:
    """Scale down the heavier of the positive and the negative entries until Σ w a = 0."""
    positive, negative = np.maximum(dual, 0.0), np.minimum(dual, 0.0)
    above, below = problem.row_weights @ positive, -(problem.row_weights @ negative)
    lighter = np.minimum(above, below)
    keep_above = np.divide(lighter, above, out=np.ones_like(above), where=above > 0.0)
    keep_below = np.divide(lighter, below, out=np.ones_like(below), where=below > 0.0)
    image_above, image_below = np.hsplit(columns, 2)
    return (
        keep_above * positive + keep_below * negative,
        keep_above * image_above + keep_below * image_below,
    )


def _repair_shares(problem: Problem, dual: Array, image: Array) -> tuple[Array, Array]:
    """Mix the shares p = a + y with constant shares until each class gets its own weight.

    With m = Σ w p and π = Σ w y: p <- (1 - t)·p + t·q, t = max_c (1 - π_c/m_c)₊ and
    q = (π - (1 - t)·m)/t, whose image is the mean feature times q.
    """
    wanted = problem.row_weights @ problem.targets
    given = wanted + problem.row_weights @ dual
    missing = 1.0 - np.divide(wanted, given, out=np.ones_like(given), where=given > 1e-12)
    mix = float(np.clip(missing.max(), 0.0, 1.0))
    added = np.maximum(wanted - (1.0 - mix) * given, 0.0)
    shares = (1.0 - mix) * (dual + problem.targets) + added
    shares /= shares.sum(axis=1, keepdims=True)
    image = (1.0 - mix) * image - mix * problem.target_image + np.outer(problem.mean, added)
    return shares - problem.targets, image


def certificate(
    problem: Problem, weights: Array, intercept: Array, dual: Array | None = None
) -> tuple[float, float]:
    """The objective at (weights, intercept) and its Fenchel gap, in two traversals.

    `dual` (rows, outputs) lies in the conjugate's domain; by default it is the slope of the loss.
    """
    scores = problem.design.scores(weights) + intercept
    if dual is None:
        dual = problem.loss.slope(problem.targets, scores)
    columns = problem.design.adjoint(problem.dual_columns(slice(None), dual))
    objective = float(problem.objective(weights, scores).sum())
    return objective, objective - float(problem.dual_bound(dual, columns).sum())


def best_shift(problem: Problem, scores: Array) -> Array:
    """What to add to each column of scores to make its weighted loss smallest: exact in 1-D.

    Zero without an intercept. Where the loss falls for ever (one class only, logistic or
    exponential) it stops FARTHEST_MARGIN past the last target, where the loss is below rounding.
    """
    if not problem.fit_intercept:
        return np.zeros(scores.shape[1])
    if isinstance(problem.loss, Kinked):
        return _shift_at_a_kink(problem.loss, problem.targets, scores, problem.row_weights)
    if problem.loss.separable:
        return _shift_by_newton(problem, scores)
    return _shift_of_shares(problem, scores)


def _shift_at_a_kink(loss: Kinked, targets: Array, scores: Array, row_weights: Array) -> Array:
    """The slope of Σ w loss starts at Σ w low and rises by w·(high - low) at each kink."""
    low, high = loss.slopes(targets)
    kinks = targets - scores
    shift = np.empty(scores.shape[1])
    for output in range(scores.shape[1]):
        order = np.argsort(kinks[:, output])
        rise = row_weights * (high[:, output] - low[:, output])
        slopes = row_weights @ low[:, output] + np.cumsum(rise[order])
        turn = min(int(np.searchsorted(slopes, -1e-14)), len(order) - 1)
        shift[output] = kinks[order[turn], output]
    return shift


def _shift_by_newton(problem: Problem, scores: Array) -> Array:
    """Newton on the slope in the shift, kept inside a shrinking bracket of every column."""
    loss, targets, row_weights = problem.loss, problem.targets, problem.row_weights
    reach = 0.0 if loss.attained else FARTHEST_MARGIN
    low = (targets - scores).min(axis=0) - reach
    high = (targets - scores).max(axis=0) + reach
    shift: Array = np.clip(np.zeros_like(low), low, high)
    for _ in range(200):
        slope = loss.slope(targets, scores + shift)
        pull, size = row_weights @ slope, row_weights @ np.abs(slope)
        low, high = np.where(pull < 0.0, shift, low), np.where(pull > 0.0, shift, high)
        bend = row_weights @ loss.curvature(targets, scores + shift)
        step = np.divide(-pull, bend, out=np.full_like(pull, np.inf), where=bend > 0.0)
        inside = (shift + step > low) & (shift + step < high)
        moved = np.where(inside, shift + step, 0.5 * (low + high))
        settled = (np.abs(pull) <= 1e-14 * size) | (moved == shift)
        if settled.all():
            break
        shift = np.where(settled, shift, moved)
    return np.asarray(shift)


def _shift_of_shares(problem: Problem, scores: Array) -> Array:
    """Newton on one shift per class: gradient Σ w (p - y), Hessian diag(Σ w p) - Σ w p p'."""
    row_weights, targets = problem.row_weights, problem.targets
    shift: Array = np.zeros(scores.shape[1])
    value = problem.mean_loss(scores)
    for _ in range(100):
        shares = softmax(scores + shift, axis=1)
        gradient = row_weights @ (shares - targets)
        weighted = row_weights[:, None] * shares
        hessian = np.diag(weighted.sum(axis=0)) - weighted.T @ shares
        step = np.asarray(np.linalg.lstsq(hessian, -gradient, rcond=1e-15)[0])
        if -gradient @ step <= 1e-14 * value:
            break
        step *= min(1.0, 5.0 / float(np.abs(step).max()))
        moved = problem.mean_loss(scores + shift + step)
        halvings = 0
        while moved >= value and halvings < 40:
            step, halvings = 0.5 * step, halvings + 1
            moved = problem.mean_loss(scores + shift + step)
        if moved >= value:
            break
        shift, value = shift + step, moved
    return shift
