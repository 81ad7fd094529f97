"""Preconditioned conjugate gradients: one loop for every system of linear equations.

    minimise over β   squares − 2β'cross + β'Aβ,   A symmetric and positive,

for several outputs (columns of β) at once, each with its own step lengths. The loop works on a
`System`, which owns the vectors: arrays and functions here (`Equations`), compiled passes over
grids in `solvers.binned`. Where A = G + αI, the residual r = cross − Aβ gives the Fenchel gap
‖r‖²/α.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from kitchensinks.numerics.arrays import Bools
from kitchensinks.numerics.products import solve_lower
from kitchensinks.problem.losses import Array
from kitchensinks.problem.problem import NEGLIGIBLE, Callback, Problem, Solution
from kitchensinks.solvers.cholesky import lower_factor
from kitchensinks.solvers.needs import Needs

Operator = Callable[[Array], Array]

# A ridge above this share of the trace can be resolved in float32.
NARROW = 1e-6
# Without a ridge the iterations stop where r'M⁻¹r is below this share of the tolerance.
_UNCERTIFIED = 1e-2
# Iterations with an updated residual aim at this share of the tolerance, so that the recomputed
# residual meets the tolerance itself.
_AIM = 0.5
# Iterations after the peak of the gap that its trend is estimated from.
_TREND = 5
# A restart that leaves more than this share of ‖r‖² is limited by rounding of the products.
_STALLED = 0.25
# The least normal number: what is allowed stays positive where the objective is zero.
_TINY = float(np.finfo(float).tiny)

# Problems that the method solves; others are refused before the first pass.
NEEDS = Needs("conjugate gradients", squared=True, ball=False)


class IterateSums(NamedTuple):
    """Of each output: r'M⁻¹r, r'r and β'(cross + r)."""

    shaped: Array
    square: Array
    inner: Array


class System(Protocol):
    """Linear equations with the vectors of the current iterate: β, r and a direction d.

    squares (outputs,): the objective at β = 0. alphas (1,) or (outputs,): the ridge contained in A,
    zero if there is none and no gap is needed.
    """

    squares: Array
    alphas: Array

    def begin(self) -> IterateSums:
        """r = cross − Aβ and d = M⁻¹r."""

    def bend(self) -> Array:
        """d'Ad of each output, one product with A."""

    def move(self, length: Array) -> IterateSums:
        """β += length·d and r −= length·Ad."""

    def turn(self, keep: Array) -> None:
        """d = M⁻¹r + keep·d."""


class _Look(NamedTuple):
    """Of each output: objective, gap, whether the gap is small enough, and whether to stop.

    excess: the largest gap, in units of the one that is allowed.
    """

    objective: Array
    gap: Array
    converged: Bools
    done: Bools
    excess: float


@dataclass(frozen=True)
class Stop:
    """Stopping rules; each output stops by itself, by any of them.

    tol: the certified gap ‖r‖²/α is at most this share of the objective, or of `negligible` times
    the objective at β = 0 where that is larger: the output has converged. Without a ridge the gap
    is the objective itself; r'M⁻¹r then stops the loop, without a certificate.
    least_gain: the last step lowered the objective by less than this share of it; zero: no such
    rule.
    enough (outputs,): r'M⁻¹r is at most this.

    worth: give up, without convergence, if the gap falls so slowly that more iterations than this
    are still needed.

    verified: before it stops, the loop recomputes the residual from the weights, and continues if
    rounding errors had hidden that it is too large.
    """

    tol: float = 0.0
    least_gain: float = 0.0
    enough: Array | None = None
    negligible: float = NEGLIGIBLE
    verified: bool = False
    max_iter: int = 200
    worth: float = math.inf

    def gives_up(self, excesses: list[float]) -> bool:
        """Whether too many iterations are still needed, by the excess of every iteration so far.

        The excess rises at first and then falls by about the same factor each time.
        """
        peak = int(np.argmax(excesses))
        seen, now = len(excesses) - 1 - peak, excesses[-1]
        if seen < _TREND or not math.isfinite(self.worth) or not 1.0 < now < excesses[peak]:
            return False
        return seen * math.log(now) / math.log(excesses[peak] / now) > self.worth

    def look(
        self, system: System, sums: IterateSums, before: Array | None, aim: float = 1.0
    ) -> _Look:
        """Judge a point by its sums; `before` is the objective before the last step."""
        # β'Aβ = β'(cross − r), so the objective needs no product of its own.
        objective = np.maximum(system.squares - sums.inner, 0.0)
        unknown = np.where(sums.square == 0.0, 0.0, np.inf)
        bounded = system.alphas > 0.0
        gap = np.divide(sums.square, system.alphas, out=unknown, where=bounded)
        floor = self.negligible * system.squares + _TINY
        allowed = aim * self.tol * np.maximum(objective, floor)
        converged = gap <= allowed
        done = np.where(bounded, converged, sums.shaped <= _UNCERTIFIED * allowed)
        if self.least_gain > 0.0 and before is not None:
            done |= before - objective < self.least_gain * objective
        if self.enough is not None:
            done |= sums.shaped <= self.enough
        excess = float((gap / np.maximum(allowed, _TINY)).max(initial=0.0))
        # No objective is below zero: one that rounds to zero is unknown.
        gap = np.where(objective > 0.0, np.minimum(gap, objective), gap)
        return _Look(objective, gap, converged, done, excess)


class Outcome(NamedTuple):
    """Objective and gap, summed over outputs, where the loop stopped.

    settled: some outputs have not converged, but stopped by another rule.
    """

    objective: float
    gap: float
    iterations: int
    converged: bool
    settled: bool

    def solution(self, weights: Array, intercept: Array, passes: int) -> Solution:
        """The final weights with this evidence."""
        return Solution(
            weights, intercept, passes=passes, solver="conjugate gradients", **self._asdict()
        )


def conjugate_gradients(system: System, stop: Stop, callback: Callback | None = None) -> Outcome:
    """Solve the equations of a system, whose weights are then the solution."""
    iteration, reached = 0, np.inf
    excesses: list[float] = []
    aim = _AIM if stop.verified else 1.0
    while True:
        sums = system.begin()
        found = stop.look(system, sums, None)
        _report(callback, iteration, found)
        square = float(sums.square.sum())
        if found.done.all() or iteration >= stop.max_iter or square > _STALLED * reached:
            break
        reached = square
        while iteration < stop.max_iter:
            length = _ratio(sums.shaped, system.bend())
            length[found.done] = 0.0
            before, sums = sums, system.move(length)
            iteration += 1
            found = stop.look(system, sums, found.objective, aim)
            _report(callback, iteration, found)
            excesses.append(found.excess)
            if found.done.all() or stop.gives_up(excesses):
                break
            system.turn(_ratio(sums.shaped, before.shaped))
        if not stop.verified or stop.gives_up(excesses):
            break
    totals = float(found.objective.sum()), float(found.gap.sum())
    converged = bool(found.converged.all())
    return Outcome(*totals, iteration, converged, bool(found.done.all()) and not converged)


def _report(callback: Callback | None, iteration: int, found: _Look) -> None:
    if callback is not None:
        callback(iteration, float(found.objective.sum()), float(found.gap.sum()))


def _ratio(above: Array, below: Array) -> Array:
    """above/below, or zero where the denominator is not positive."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0.0)


class Equations:
    """A system of arrays: product(v) is Av and precondition(v) is M⁻¹v, for v (K, outputs)."""

    # Residual r, M⁻¹r, direction d and its image Ad, each (K, outputs).
    residual: Array
    shaped: Array
    direction: Array
    image: Array

    def __init__(
        self,
        product: Operator,
        cross: Array,
        precondition: Operator,
        squares: Array | None = None,
        alpha: float = 0.0,
        start: Array | None = None,
    ) -> None:
        self.product, self.cross, self.precondition = product, cross, precondition
        self.squares = np.zeros(cross.shape[1]) if squares is None else squares
        self.alphas = np.array([alpha])
        self.weights = np.zeros_like(cross) if start is None else start.copy()

    def begin(self) -> IterateSums:
        self.residual = self.cross.copy()
        if self.weights.any():
            self.residual -= self.product(self.weights)
        self.shaped = self.precondition(self.residual)
        self.direction = self.shaped.copy()
        return self._sums()

    def bend(self) -> Array:
        self.image = self.product(self.direction)
        return np.asarray(np.sum(self.direction * self.image, axis=0))

    def move(self, length: Array) -> IterateSums:
        self.weights += length * self.direction
        self.residual -= length * self.image
        self.shaped = self.precondition(self.residual)
        return self._sums()

    def turn(self, keep: Array) -> None:
        self.direction = self.shaped + keep * self.direction

    def _sums(self) -> IterateSums:
        return IterateSums(
            np.sum(self.residual * self.shaped, axis=0),
            np.sum(self.residual**2, axis=0),
            np.sum(self.weights * (self.cross + self.residual), axis=0),
        )


def solve_ridge(
    problem: Problem,
    *,
    cross: Array | None = None,
    precondition: Operator | None = None,
    start: Array | None = None,
    tol: float = 1e-6,
    max_iter: int = 200,
    worth: float = math.inf,
    callback: Callback | None = None,
) -> Solution:
    """Minimise squared loss with a ridge to a relative gap of `tol`: a traversal an iteration.

    cross (K, outputs) is Σ w (z − mean)(y − ȳ)', computed where it is not given. The diagonal of
    the Gram preconditions unless another preconditioner is given. Without a ridge the gap is the
    objective, and the solution is at best `settled`. worth: see `Stop`.
    """
    NEEDS.check(problem)
    shares, targets, alpha = problem.row_weights, problem.targets, problem.alpha
    first_pass = problem.design.passes
    target = shares @ targets * problem.fit_intercept
    if cross is None:
        cross = problem.target_image - np.outer(problem.mean, target)
    if precondition is None:
        precondition = diagonal_preconditioner(problem.diagonal, alpha)
    system = Equations(
        lambda vector: problem.gram_times(vector) + alpha * vector,
        cross,
        precondition,
        shares @ (targets - target) ** 2,
        alpha,
        start,
    )
    stop = Stop(tol, verified=True, max_iter=max_iter, worth=worth)
    outcome = conjugate_gradients(system, stop, callback)
    intercept = target - problem.mean @ system.weights
    return outcome.solution(system.weights, intercept, problem.design.passes - first_pass)


def factored_preconditioner(gram: Array, alpha: float, noise: float = 0.0) -> Operator:
    """v ↦ (Ĝ + αI)⁻¹v for the Gram Ĝ of a sample of the rows, known up to `noise`.

    In float32 where the ridge is well above its rounding: half the time, and close enough.
    """
    mean = float(np.trace(gram)) / len(gram)
    # Directions missing from the sample get a small share of its mean eigenvalue.
    floor = max(alpha, 10.0 * noise, 1e-9 * mean, np.finfo(float).tiny)
    narrow = floor > NARROW * mean * len(gram)
    factor = lower_factor(gram.astype(np.float32 if narrow else np.float64), floor)

    def solve(vector: Array) -> Array:
        return np.asarray(solve_lower(factor, vector.astype(factor.dtype)), dtype=np.float64)

    return solve


def diagonal_preconditioner(diagonal: Array, alpha: float) -> Operator:
    """v ↦ v/(diag G + α)."""
    spread = diagonal[:, None] + max(alpha, np.finfo(float).tiny)
    return lambda vector: np.asarray(vector / spread)
