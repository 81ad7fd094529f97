"""Losses with a kink or a parabola between straight lines, with a ridge: dual coordinate ascent.

Hsieh et al. (2008), A dual coordinate descent method for large-scale linear SVM, for any `Clipped`
loss on features in memory. The dual variables a_i lie between the slopes of the loss, and

    β = −Z'(w∘a)/(2α),   u_i = z_i·β + b.

With the width h of the loss, zero at a kink, the dual objective has slope w_i·(u_i − y_i − h·a_i)
and curvature −w_i·(w_i‖z_i‖²/(2α) + h) along a_i. The best a_i, all others fixed, is

    a_i + (u_i − y_i − h·a_i)/(w_i‖z_i‖²/(2α) + h),

clipped to its interval: one product with a row, and one more where a_i moves.

A free intercept asks for Σ w a = 0. It counts as one more feature, of size one, whose penalty is
about a centre (proximal steps). The centre moves to the current intercept whenever the certificate
is computed; the point that is certified has the best intercept for its weights. The features count
about their mean m, which changes the iterates and not their limit: with v = −Z'(w∘a)/(2α) and
t = −Σ w a/(2α) the weights are v − t·m, and scores need three more numbers, z_i·m, v·m and t, in
place of centred rows.

An epoch visits the rows in random order; between certificates only those that may still move:
strictly inside their interval, or at an end of it that the scores do not clearly ask for.

Sparse rows are visited as they are, by the places of their entries: those of bins, one in each
grid, all have the same value.
"""

import math
from typing import Any

import numpy as np

from kitchensinks.numerics.arrays import AnyArray, Ints, Matrix
from kitchensinks.numerics.threads import compiled, in_order, inlined
from kitchensinks.numerics.words import Stream, Words
from kitchensinks.problem.design import ProductDesign
from kitchensinks.problem.losses import Array, Clipped
from kitchensinks.problem.problem import Callback, Problem, Solution, certified_gap
from kitchensinks.solvers.intercept import best_shift
from kitchensinks.solvers.needs import Needs, clipped

# Visits to each row between two certificates.
VISITS = 4.0
# Most visits to each row: beyond them, other methods are faster.
MOST_VISITS = 60.0
# Most epochs between two certificates, at which rows at a bound are checked again.
_EPOCHS = 40
# The golden ratio minus one: the share of an interval that a section keeps.
_GOLDEN = 0.6180339887498949
# Golden sections of a line search.
_SECTIONS = 12

# Problems that the method solves; others are refused before the first pass.
NEEDS = Needs("coordinate ascent", clipped=True, ridge=True, ball=False)


def solve_coordinates(
    problem: Problem,
    *,
    tol: float = 1e-3,
    start: Array | None = None,
    callback: Callback | None = None,
    most: float = MOST_VISITS,
) -> tuple[Solution, Array]:
    """Minimise a clipped loss with α > 0 and no ball to a relative gap of `tol`, output by output.

    Every epoch walks over the blocks of the design, which should be in memory, or over its bins.
    Stops, not converged, after `most` visits to each row: small α make it slow. Returns the
    coefficients γ = −w∘a/(2α) of the rows in the weights as well, (rows, outputs); `start` are
    those of another α, of which the same weights are the first.
    """
    NEEDS.check(problem)
    first_pass = problem.design.passes
    state = _State(problem, clipped(problem.loss), start)
    rng = Words(0, 0, Stream.COORDINATE_ORDER).generator()
    epochs, visits = 0, 0.0
    while True:
        state.look()
        objective, gap = float(state.objective.sum()), float((state.objective - state.bound).sum())
        if callback is not None:
            callback(epochs, objective, gap)
        converged = problem.close_enough(objective, gap, tol)
        if converged or visits >= most:
            break
        share = float(state.active.mean())
        planned = min(_EPOCHS, math.ceil(VISITS / max(share, 1e-9)))
        for _ in range(planned):
            state.ascend(rng)
        epochs, visits = epochs + planned, visits + planned * share + 1.0
    solution = Solution(
        weights=state.best_weights,
        intercept=state.best_intercept,
        objective=objective,
        gap=certified_gap(gap),
        iterations=epochs,
        passes=problem.design.passes - first_pass,
        converged=converged,
        solver="dual coordinate ascent",
    )
    return solution, -(state.steps * state.dual).T


class _State:
    """Dual variables of all outputs, the weights that belong to them, and the best point so far.

    places (n, most): the columns of each row's entries, −1 for none, and their values (n, most) or
    their only value; None for dense rows. means (n,): z·m of each row.
    """

    places: AnyArray | None = None
    values: Array = np.empty((0, 0))
    value = 0.0
    means: Array

    def __init__(self, problem: Problem, loss: Clipped, start: Array | None) -> None:
        self.problem = problem
        n_rows, n_outputs = problem.targets.shape
        dtype = problem.design.dtype
        self.low, self.high = (np.ascontiguousarray(s.T) for s in loss.slopes(problem.targets))
        self.width = loss.width
        self.targets = np.ascontiguousarray(problem.targets.T)
        self.dual = np.zeros((n_outputs, n_rows))
        self.weights = np.zeros((n_outputs, problem.design.n_columns), dtype=dtype)
        self.centre = np.zeros(n_outputs)
        # Of each output: v·m, t and the intercept, which is the centre and t.
        self.about = np.zeros((n_outputs, 3))
        # Change of the weights for one unit of a_i, along its row.
        self.steps = problem.row_weights / (2.0 * problem.alpha)
        if start is not None:
            fitted = self.steps > 0.0
            dual = np.divide(-start.T, self.steps, out=np.zeros_like(self.dual), where=fitted)
            self.dual[...] = np.clip(dual, self.low, self.high)
        self.mean = problem.mean
        self.size = float(self.mean @ self.mean)
        norms = self._measured()
        norms = np.maximum(norms + self.size - 2.0 * self.means, 0.0)
        self.bends = self.steps * (norms + problem.fit_intercept)
        self.active = np.tile(problem.row_weights > 0.0, (n_outputs, 1))
        self.scores: Array | None = None
        self.best_scores: Array | None = None
        self.objective = np.full(n_outputs, np.inf)
        self.bound = np.zeros(n_outputs)
        self.best_weights = np.zeros((problem.design.n_columns, n_outputs))
        self.best_intercept = np.zeros(n_outputs)
        if start is not None:
            columns = problem.design.adjoint(problem.dual_columns(slice(None), self.dual.T))
            self.weights[...] = problem.image_of_dual(columns).T / (-2.0 * problem.alpha)

    def _measured(self) -> Array:
        """‖z‖² of each row; z·m is kept in `means`."""
        design = self.problem.design
        norms, self.means = np.empty((2, design.n_rows))
        if isinstance(design, ProductDesign):
            self.places, self.values, self.value = design.entries()
            norms[:] = design.norms()
            self.means[:] = design.scores(self.mean[:, None])[:, 0]
            return norms
        mean = self.mean.astype(design.dtype)

        def measure(rows: slice, block: Matrix) -> None:
            _measure(block, mean, norms[rows], self.means[rows])

        for _ in design.traverse(measure):
            pass
        return norms

    def look(self) -> None:
        """Compute objective and bound, weights in full precision, and which rows may still move."""
        problem = self.problem
        dual = self.dual.T
        total = -(self.steps @ dual) * problem.fit_intercept
        weights = self.weights.T - np.outer(self.mean, total)
        # Z·weights, and Z' of the columns of the dual variables, in one traversal.
        given = problem.dual_columns(slice(None), dual)
        columns, scores = problem.design.visit(weights, lambda raw, given: (given, raw), given)
        self.bound = np.maximum(self.bound, problem.dual_bound(dual, columns))
        shift = best_shift(problem, scores)
        self._improve(weights, shift, scores + shift)
        raw = problem.image_of_dual(columns) / (-2.0 * problem.alpha)
        self.weights[...] = raw.T
        if self.scores is None:
            self.centre = shift + self.mean @ weights
        self.centre += total
        self.about = np.column_stack([self.mean @ raw, total, self.centre + total])
        beyond = (scores + shift).T - self.targets - self.width * self.dual
        if self.scores is not None:
            # Scores may change as much as they did since the last certificate.
            reach = 2.0 * np.quantile(np.abs(beyond - self.scores), 0.9, axis=1)[:, None]
            at_bound = ((self.dual <= self.low) & (beyond < -reach)) | (
                (self.dual >= self.high) & (beyond > reach)
            )
            self.active = (problem.row_weights > 0.0) & ~at_bound
        self.scores = beyond

    def _improve(self, weights: Array, intercept: Array, scores: Array) -> None:
        """For each output: the best point on the line from the best so far through a new one."""
        problem = self.problem
        if self.best_scores is None:
            self.best_scores, share = scores, np.ones(len(intercept))
        else:
            share = _best_share(problem, self.best_weights, weights, self.best_scores, scores)
            self.best_scores += share * (scores - self.best_scores)
        self.best_weights += share * (weights - self.best_weights)
        self.best_intercept += share * (intercept - self.best_intercept)
        self.objective = problem.objective(self.best_weights, self.best_scores)

    def ascend(self, rng: np.random.Generator) -> None:
        """One epoch over the rows that may still move, for all outputs in parallel."""
        design = self.problem.design
        if self.places is None:
            blocks = list(design.blocks())
        else:
            blocks = [(slice(0, design.n_rows), self.places)]
        design.passes += 1
        orders = [
            [
                (rows, block, rng.permutation(np.flatnonzero(self.active[output, rows])))
                for rows, block in (blocks[k] for k in rng.permutation(len(blocks)))
            ]
            for output in range(len(self.dual))
        ]

        def work(output: int) -> None:
            for rows, block, order in orders[output]:
                _ascend(
                    block,
                    self.values,
                    self.value,
                    order,
                    self.targets[output, rows],
                    self.low[output, rows],
                    self.high[output, rows],
                    self.dual[output, rows],
                    self.steps[rows],
                    self.bends[rows],
                    self.means[rows],
                    self.weights[output],
                    self.about[output],
                    self.size,
                    self.width,
                    self.problem.fit_intercept,
                )

        for _ in (in_order if len(self.dual) > 1 else map)(work, range(len(self.dual))):
            pass


def _best_share(
    problem: Problem, weights: Array, others: Array, scores: Array, far: Array
) -> Array:
    """θ of least objective at (1 − θ)·point + θ·other, 0 ≤ θ ≤ 2, by golden sections."""
    low, high = np.zeros(scores.shape[1]), np.full(scores.shape[1], 2.0)
    move, change = others - weights, far - scores
    # ‖β + θ·move‖² is a parabola, so that sections need no vector of the weights' length.
    inner, square = (np.einsum("ij,ij->j", one, move) for one in (2.0 * weights, move))

    def objective(share: Array) -> Array:
        ridge = problem.alpha * share * (inner + share * square)
        return np.asarray(problem.mean_loss(scores + share * change) + ridge)

    for _ in range(_SECTIONS):
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        falls = objective(left) < objective(right)
        low, high = np.where(falls, low, left), np.where(falls, right, high)
    share = 0.5 * (low + high)
    return np.where(objective(share) < objective(np.zeros_like(share)), share, 0.0)


@compiled(fastmath={"reassoc", "contract", "nsz"})
def _measure(block: AnyArray, mean: AnyArray, norms: AnyArray, means: AnyArray) -> None:
    """‖z‖² and z·m of each row."""
    for i in range(block.shape[0]):
        norm, inner = block[i, 0] * block[i, 0], block[i, 0] * mean[0]
        for k in range(1, block.shape[1]):
            norm += block[i, k] * block[i, k]
            inner += block[i, k] * mean[k]
        norms[i], means[i] = norm, inner


@inlined(fastmath={"reassoc", "contract", "nsz"})
def _score(row: AnyArray, i: int, values: AnyArray, value: float, weights: AnyArray) -> Any:
    """z·weights of row i, dense or as the places of its entries."""
    if value > 0.0:
        total = 0.0
        for k in range(len(row)):
            column = int(row[k])
            if column >= 0:
                total += weights[column] * (values[i, k] if len(values) else 1.0)
        return weights.dtype.type(value * total)
    score = weights.dtype.type(row[0] * weights[0])
    for k in range(1, len(weights)):
        score += row[k] * weights[k]
    return score


@inlined(fastmath={"reassoc", "contract", "nsz"})
def _add(
    row: AnyArray, i: int, values: AnyArray, value: float, move: float, weights: AnyArray
) -> None:
    """weights += move·z of row i."""
    if value > 0.0:
        for k in range(len(row)):
            column = int(row[k])
            if column >= 0:
                weights[column] += move * value * (values[i, k] if len(values) else 1.0)
        return
    step = weights.dtype.type(move)
    for k in range(len(weights)):
        weights[k] += step * row[k]


@compiled(fastmath={"reassoc", "contract", "nsz"})
def _ascend(
    block: AnyArray,
    values: AnyArray,
    value: float,
    order: Ints,
    targets: AnyArray,
    low: AnyArray,
    high: AnyArray,
    dual: AnyArray,
    steps: AnyArray,
    bends: AnyArray,
    means: AnyArray,
    weights: AnyArray,
    about: AnyArray,
    size: float,
    width: float,
    fit_intercept: bool,
) -> None:
    """The best a_i for row after row, in the order given.

    block (n, K), or the places of entries, −1 for none, where their `value` is positive; values:
    those of each entry, in units of it, if there are any.
    """
    level, total, intercept = about
    for i in order:
        row = block[i]
        score = _score(row, i, values, value, weights)
        beyond = score - targets[i] - width * dual[i]
        if fit_intercept:
            beyond += intercept - level - total * (means[i] - size)
        bend = bends[i] + width
        if bend == 0.0:
            best = low[i] if beyond < 0.0 else high[i]
        else:
            best = min(max(dual[i] + beyond / bend, low[i]), high[i])
        move = (dual[i] - best) * steps[i]
        if move != 0.0:
            dual[i] = best
            _add(row, i, values, value, move, weights)
            if fit_intercept:
                level += move * means[i]
                total += move
                intercept += move
    about[0], about[1], about[2] = level, total, intercept
