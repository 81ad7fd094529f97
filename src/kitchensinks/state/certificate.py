"""A bound on the true risk of a fit whose weights lie in a ball, from the features drawn."""

import math
from typing import NamedTuple

import numpy as np

from kitchensinks.features.frozen import Frozen
from kitchensinks.numerics.arrays import Matrix
from kitchensinks.numerics.words import Stream, Words
from kitchensinks.problem.constraints import Constraint, SupBall
from kitchensinks.problem.loss import Array, Loss
from kitchensinks.state.model import Model
from kitchensinks.tables.arrays import block_slices

# Entries of features of one block of rows.
_BLOCK_ENTRIES = 2**21


class RiskCertificate(NamedTuple):
    """With probability 1 − δ over rows and signs, the expected loss is at most `bound`.

    bound = empirical_risk + 2L·(complexity + its error) + 3W·√(log(4/δ)/2m), for every function in
    the ball at once (kitchen sinks, appendix B). L is the Lipschitz constant of the loss and W its
    largest value on scores of size U, the largest that the ball allows. Hinge loss is at least the
    share of wrong classes, so that `bound` is one for that as well.

    complexity : the Rademacher complexity E sup_f (1/m)·Σ s_i·f(x_i) of the drawn features in the
        ball, by Monte Carlo over the signs s.
    complexity_error : a bound on the Monte Carlo error of it, U·√(2·log(2/δ)/(m·draws)).
    paper_complexity : the bound that needs no features, C/√m for ``ks.SupBall(C)``, (23).
    paper_bound : `bound` with that in place of the complexity.
    fixed : whether the features were fixed before any row was seen, as the theorem asks; a scaler
        or a gamma learned from the rows is not covered.
    """

    empirical_risk: float
    complexity: float
    complexity_error: float
    bound: float
    paper_complexity: float
    paper_bound: float
    delta: float
    fixed: bool


def risk_certificate(
    model: Model,
    ball: Constraint,
    loss: Loss,
    rows: Matrix,
    targets: Array,
    delta: float,
    draws: int,
) -> RiskCertificate:
    """The certificate of a model of two classes; targets (n, 1) of ±1; ball: of the weights β."""
    frozen, n_rows = model.frozen, rows.shape[0]
    largest = largest_score(ball, frozen)
    sides = np.array([[1.0], [1.0], [-1.0], [-1.0]])
    ends = np.array([[largest], [-largest], [largest], [-largest]])
    # A convex loss is steepest and largest at the ends of the scores.
    lipschitz = float(np.abs(loss.slope(sides, ends)).max())
    spread = float(loss.value(sides, ends).max())
    suprema = ball.support(_signed_sums(frozen, rows, draws) / n_rows)
    complexity = float(suprema.mean())
    error = largest * math.sqrt(2 * math.log(2 / delta) / (n_rows * draws))
    empirical = float(np.mean(loss.value(targets, model.scores(rows))))
    deviation = 3 * spread * math.sqrt(math.log(4 / delta) / (2 * n_rows))
    paper = largest / math.sqrt(n_rows)
    return RiskCertificate(
        empirical,
        complexity,
        error,
        empirical + 2 * lipschitz * (complexity + error) + deviation,
        paper,
        empirical + 2 * lipschitz * paper + deviation,
        delta,
        frozen.scaler is None and not frozen.basis.learns_draw,
    )


def largest_score(ball: Constraint, frozen: Frozen) -> float:
    """U = sup |f(x)| over the weights β in a ball, and all rows.

    C for ``SupBall(C)`` and R·B·√K for ``L2Ball(R)``, in the units of `scaled_constraint`.
    """
    bound = frozen.basis.bound_in(frozen.n_inputs)
    if not math.isfinite(bound):
        raise ValueError(
            f"{frozen.basis!r} is not bounded, so that nothing bounds the loss: need a basis of "
            "bounded functions, such as ks.Fourier() or ks.Stumps()."
        )
    # A row is in one bin of each grid, so that grids count and not their bins.
    count = frozen.n_functions
    number = count if isinstance(ball, SupBall) else math.sqrt(count)
    return float(ball.radius * frozen.scale * bound * number)


def _signed_sums(frozen: Frozen, rows: Matrix, draws: int) -> Array:
    """Σ_i s_i·z(x_i) for independent signs, (columns, draws)."""
    total = np.zeros((frozen.n_columns, draws))
    size = max(1, _BLOCK_ENTRIES // max(draws, frozen.n_columns))
    for number, part in enumerate(block_slices(rows.shape[0], size)):
        own = rows[part]
        signs = Words(frozen.seed, number, Stream.RADEMACHER).sign(own.shape[0], draws)
        for columns, features in frozen.walk(own):
            total[columns] += np.asarray(features.T @ signs.astype(frozen.dtype))
    return total
