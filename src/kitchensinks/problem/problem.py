"""The convex problem in the outer weights, and the certificate that every solver returns.

    minimise over β, b:   Σ_i w_i loss(y_i, u_i) + alpha·‖β‖²   subject to β in a ball,
    where u = Z·β + b, w >= 0 and Σ w = 1.

Its Fenchel dual (Rockafellar, Convex Analysis, section 31) is
    maximise over a:   -Σ_i w_i loss*(y_i, a_i) - R*(-Z'(w∘a))   subject to Σ_i w_i a_i = 0,
where R is the penalty with its ball and the last condition belongs to the free intercept. Any
feasible a bounds the optimum from below, so objective - dual is a certificate: never less than the
distance to the optimum, for smooth and kinked losses alike.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from kitchensinks.problem.constraints import Constraint, penalty_conjugate
from kitchensinks.problem.design import Design, RowVector
from kitchensinks.problem.losses import Array, Loss

Callback = Callable[[int, float, float], None]

# Differences of objectives below this share of the loss at score zero are numerical noise.
NEGLIGIBLE = 1e-4


def certified_gap(gap: float) -> float:
    """A gap that rounding took below zero is zero; one that is not a number says nothing.

    >>> certified_gap(-1e-17), certified_gap(float("nan"))
    (0.0, inf)
    """
    return np.inf if np.isnan(gap) else max(0.0, gap)


class Solution(NamedTuple):
    """The weights of a fit and the evidence for them.

    `gap` is at least `objective` minus the optimum. With neither penalty nor ball only a = 0 is a
    feasible dual vector, so the gap is the objective itself; `converged` is then judged on the
    gradient (smooth losses) or on the residuals (kinked losses), as each solver says. `settled`:
    the solver stopped before convergence by another rule that was requested.
    """

    weights: Array
    intercept: Array
    objective: float
    gap: float
    iterations: int
    passes: int
    converged: bool
    solver: str
    settled: bool = False


@dataclass(frozen=True)
class Problem:
    """One fit: the features, the loss with its targets (rows, outputs), penalty and ball.

    `row_weights` sum to one; `known_mean` is the `mean` where it has been computed already.
    """

    design: Design
    loss: Loss
    targets: RowVector
    row_weights: RowVector
    alpha: float
    constraint: Constraint | None
    fit_intercept: bool
    known_mean: Array | None = None

    @cached_property
    def mean(self) -> Array:
        """Σ w z, zero without an intercept."""
        if self.known_mean is not None:
            return self.known_mean
        if not self.fit_intercept:
            return np.zeros(self.design.n_columns)
        return self.design.adjoint(self.row_weights[:, None])[:, 0]

    @property
    def bounded(self) -> bool:
        """Whether a penalty or a ball bounds the weights, so that the gap can become small."""
        return self.alpha > 0.0 or self.constraint is not None

    @cached_property
    def target_image(self) -> Array:
        """Z'(w∘y)."""
        weighted = self.design.each(_weighted, self.targets, self.row_weights)
        return self.design.adjoint(weighted)

    @cached_property
    def diagonal(self) -> Array:
        """The diagonal of the Gram Σ w (z - mean)(z - mean)', shape (K,)."""
        return np.maximum(self.design.squares(self.row_weights) - self.mean**2, 0.0)

    def gram_times(self, vector: Array) -> Array:
        """The product of the Gram with vector (K, outputs), in one traversal."""
        shares = self.row_weights
        image = self.design.sweep(vector, lambda rows, scores: shares[rows, None] * scores)
        return np.asarray(image - np.outer(self.mean, self.mean @ vector))

    @cached_property
    def scale(self) -> float:
        """The loss at score zero: the scale of objectives."""
        return float(self.mean_loss(self.design.each(np.zeros_like, self.targets)).sum())

    @property
    def halved(self) -> bool:
        """Whether the certificate may have to rescale positive and negative slopes apart."""
        return self.fit_intercept and self.loss.separable

    def column_sum(self, entries: Array) -> Array:
        """Sums over rows for each output, or over everything where outputs share one loss."""
        return np.asarray(entries.sum(axis=0) if self.loss.separable else entries.sum())

    def row_sum(self, function: Callable[..., Any], *vectors: Any, **shared: Any) -> Array:
        """Σ w function(y, *vectors, **shared), for each output where it has several."""
        found = self.design.reduce(
            _sum_of, self.row_weights, self.targets, *vectors, of=function, given=shared
        )
        return np.asarray(found)

    def mean_loss(self, scores: RowVector) -> Array:
        """Σ w loss(y, scores) for each output (one number where outputs share one loss)."""
        return self.row_sum(self.loss.value, scores)

    def objective(self, weights: Array, scores: RowVector) -> Array:
        """The objective of each output, from weights and their scores with intercept."""
        return self.mean_loss(scores) + self.alpha * self.column_sum(weights**2)

    def close_enough(self, objective: float, gap: float, tol: float) -> bool:
        """Whether the gap is below tol times the objective.

        Where the objective is below 1e-4 of the loss at score zero (the rows are interpolated, or
        all but), tol is relative to that instead: the rest is numerical noise.
        """
        return gap <= tol * max(abs(objective), NEGLIGIBLE * self.scale)

    def visit(
        self, weights: Array, intercept: Array, loss: Loss | None = None
    ) -> tuple[Array, RowVector, RowVector]:
        """Z' of `dual_columns` of the slopes, the scores and the slopes, in one traversal.

        The slopes are those of another loss where one is given.
        """
        columns, scores, slopes = self.design.visit(
            weights,
            _responses,
            self.targets,
            self.row_weights,
            intercept=intercept,
            loss=self.loss if loss is None else loss,
            halved=self.halved,
        )
        return columns, scores, slopes

    def dual_columns(self, rows: slice, dual: Array) -> Array:
        """w∘a of some rows, in two halves by sign where the certificate may rescale them apart."""
        return signed_columns(dual, self.row_weights[rows], self.halved)

    def image_of_dual(self, columns: Array) -> Array:
        """Z'(w∘a) from Z' of `dual_columns`."""
        if not self.halved:
            return columns
        positive, negative = np.hsplit(columns, 2)
        return positive + negative

    def dual_bound(self, dual: RowVector, columns: Array, sums: Array | None = None) -> Array:
        """A lower bound on the optimum of each output, from a in the conjugate's domain.

        `columns` is Z' of `dual_columns`, `sums` those of `weighted_sums` where they are known.
        The bound is the best of θ·a over a few 0 <= θ <= 1, after a has been repaired to satisfy
        Σ w a = 0; θ = 0 gives zero, which always holds.
        """
        image, repair = columns, None
        if self.fit_intercept:
            if sums is None:
                rows = self.row_weights, self.targets, dual
                sums = self.design.reduce(weighted_sums, *rows, halved=self.halved)
            repair = (_RepairSigns if self.loss.separable else _RepairShares).of(sums)
            image = repair.image(self, columns)

        def bounds(*shrinks: Array | float) -> list[Array]:
            given = {"loss": self.loss, "shrinks": shrinks, "repair": repair}
            conjugates = self.row_sum(_conjugates, dual, **given)
            penalties = [
                penalty_conjugate(-shrink * image, self.alpha, self.constraint)
                for shrink in shrinks
            ]
            if not self.loss.separable:
                penalties = [np.asarray(penalty.sum()) for penalty in penalties]
            return [-c - p for c, p in zip(conjugates, penalties, strict=True)]

        if not self.bounded:
            return np.maximum(bounds(1.0)[0], 0.0)
        # The parabola through θ = 0, 1/2, 1: exact for kinked losses with a ridge.
        whole, half = bounds(1.0, 0.5)
        rise = 4.0 * half - whole
        bend = np.maximum(rise - whole, np.finfo(float).tiny)
        with np.errstate(over="ignore"):  # of a straight line: its top is at an end
            top = np.clip(rise / (2.0 * bend), 0.0, 1.0)
        (best,) = bounds(top)
        return np.maximum(np.maximum(whole, best), 0.0)


# -- functions of rows: they are sent to the rows, and refer to nothing else ---------------------


def _sum_of(
    row_weights: Array, targets: Array, *vectors: Any, of: Any, given: dict[str, Any]
) -> Any:
    return np.tensordot(row_weights, of(targets, *vectors, **given), 1)


def _weighted(entries: Array, row_weights: Array) -> Array:
    return row_weights[:, None] * entries


def signed_columns(dual: Array, row_weights: Array, halved: bool) -> Array:
    """w∘a, or its positive and its negative half side by side."""
    weighted = row_weights[:, None] * dual
    if not halved:
        return weighted
    return np.hstack([np.maximum(weighted, 0.0), np.minimum(weighted, 0.0)])


def _responses(
    raw: Array, targets: Array, row_weights: Array, intercept: Array, loss: Loss, halved: bool
) -> tuple[Array, Array, Array]:
    """`dual_columns` of the slopes, the scores and the slopes of rows."""
    scores = raw + intercept
    slopes = loss.slope(targets, scores)
    return signed_columns(slopes, row_weights, halved), scores, slopes


def weighted_sums(row_weights: Array, targets: Array, dual: Array, halved: bool) -> Array:
    """The sums that the repair of a needs: Σ w a₊ and Σ w a₋ if halved, else Σ w y and Σ w a."""
    if halved:
        above, below = np.maximum(dual, 0.0), -np.minimum(dual, 0.0)
        return np.stack([row_weights @ above, row_weights @ below])
    return np.stack([row_weights @ targets, row_weights @ dual])


def _conjugates(
    targets: Array,
    dual: Array,
    loss: Loss,
    shrinks: tuple[Array | float, ...],
    repair: "_RepairSigns | _RepairShares | None",
) -> Array:
    """loss*(y, θ·a) of the repaired a for several θ: (rows, θ) or (rows, θ, outputs)."""
    dual = dual if repair is None else repair.dual(dual, targets)
    return np.stack([loss.conjugate(targets, shrink * dual) for shrink in shrinks], axis=1)


# -- repairs: dual vectors with Σ w a = 0, as the free intercept requires --------------------------


class _RepairSigns(NamedTuple):
    """Scale down the heavier of the positive and the negative entries until Σ w a = 0."""

    above: Array
    below: Array

    @classmethod
    def of(cls, sums: Array) -> "_RepairSigns":
        lighter = np.minimum(*sums)
        return cls(*np.divide(lighter, sums, out=np.ones_like(sums), where=sums > 0.0))

    def dual(self, dual: Array, targets: Array) -> Array:
        return self.above * np.maximum(dual, 0.0) + self.below * np.minimum(dual, 0.0)

    def image(self, problem: Problem, columns: Array) -> Array:
        """Z'(w∘a) of the repaired a, from Z' of `dual_columns`."""
        above, below = np.hsplit(columns, 2)
        return self.above * above + self.below * below


class _RepairShares(NamedTuple):
    """Mix the shares p = a + y with constant shares until each class gets its own weight.

    With m = Σ w p and π = Σ w y: p <- (1 - t)·p + t·q, t = max_c (1 - π_c/m_c)₊ and
    q = (π - (1 - t)·m)/t, whose image is the mean feature times q. mix is t, added is t·q.
    """

    mix: float
    added: Array

    @classmethod
    def of(cls, sums: Array) -> "_RepairShares":
        wanted, excess = sums
        given = wanted + excess
        missing = 1.0 - np.divide(wanted, given, out=np.ones_like(given), where=given > 1e-12)
        mix = float(np.clip(missing.max(), 0.0, 1.0))
        return cls(mix, np.maximum(wanted - (1.0 - mix) * given, 0.0))

    def dual(self, dual: Array, targets: Array) -> Array:
        shares = (1.0 - self.mix) * (dual + targets) + self.added
        return np.asarray(shares / shares.sum(axis=1, keepdims=True) - targets)

    def image(self, problem: Problem, columns: Array) -> Array:
        """Z'(w∘a) of the repaired a, from Z' of `dual_columns`."""
        rest = np.outer(problem.mean, self.added) - self.mix * problem.target_image
        return (1.0 - self.mix) * columns + rest


def certificate(problem: Problem, weights: Array, intercept: Array) -> tuple[float, float]:
    """The objective at (weights, intercept) and its Fenchel gap at the slopes of the loss."""
    columns, scores, slopes = problem.visit(weights, intercept)
    objective = float(problem.objective(weights, scores).sum())
    return objective, objective - float(problem.dual_bound(slopes, columns).sum())
