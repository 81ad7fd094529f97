"""Bounds of 'Weighted Sums of Random Kitchen Sinks' (Rahimi and Recht, 2008).

Features satisfy |φ(x; w)| <= 1. A target of the class F_p is f(x) = ∫ α(w)φ(x; w) dw with
|α(w)| <= C·p(w); the fit searches sums of K drawn features with weights |α_k| <= C/K. The weights
that the proofs construct are α_k = α(w_k)/(K·p(w_k)).
"""

import math

from kitchensinks.papers.theory._shared import DELTA, Rule, checked, count, positive

_bound = checked(
    weight_bound=positive("the paper's C, the largest ratio of |α(w)| to p(w)"),
    radius=positive("M, the radius of the ball of Lemma 4"),
    lipschitz=positive("L, the Lipschitz constant of the loss c in the margin y·f(x)"),
    loss_at_zero=Rule("c(0), the loss at margin zero", "a finite number", lambda value: True),
    n_draws=count("the number of vectors averaged, the paper's K"),
    n_features=count("the number of drawn features, the paper's K"),
    n_rows=count("the number of training rows, the paper's m"),
    delta=DELTA,
)


@_bound
def ball_mean_error(*, radius: float, n_draws: int, delta: float) -> float:
    """How far the average of K independent vectors of a ball lies from its mean.

    ‖X̄ - E X̄‖ <= M/√K·(1 + √(2 log 1/δ)) with probability at least 1 - δ, in any Hilbert space.

    Source: kitchen sinks, Lemma 4, (16).

    >>> round(ball_mean_error(radius=1.0, n_draws=100, delta=0.05), 4)
    0.3448
    """
    return radius / math.sqrt(n_draws) * (1 + math.sqrt(2 * math.log(1 / delta)))


@_bound
def sinks_l2_error(*, weight_bound: float, n_features: int, delta: float) -> float:
    """Distance from a target of F_p to the constructed sum of K features.

    √∫(f̂ - f*)² dμ <= C/√K·(1 + √(2 log 1/δ)) with probability at least 1 - δ over the draw, for any
    probability measure μ (the paper says 'a measure'; the proof needs a mass of at most 1).

    Source: kitchen sinks, Lemma 1, (9).

    >>> round(sinks_l2_error(weight_bound=2.0, n_features=1000, delta=0.05), 4)
    0.2181
    """
    return ball_mean_error(radius=weight_bound, n_draws=n_features, delta=delta)


@_bound
def sinks_approximation_risk(
    *, lipschitz: float, weight_bound: float, n_features: int, delta: float
) -> float:
    """Risk added by the constructed sum of K features over its target in F_p.

    R[f̂] - R[f*] <= LC/√K·(1 + √(2 log 1/δ)) with probability at least 1 - δ over the draw.

    Source: kitchen sinks, Lemma 2, (10).

    >>> risk = sinks_approximation_risk(
    ...     lipschitz=1.0, weight_bound=2.0, n_features=1000, delta=0.05)
    >>> round(risk, 4)
    0.2181
    """
    return lipschitz * sinks_l2_error(weight_bound=weight_bound, n_features=n_features, delta=delta)


@_bound
def sinks_estimation_error(
    *, lipschitz: float, weight_bound: float, loss_at_zero: float, n_rows: int, delta: float
) -> float:
    """Largest gap between true and empirical risk over all sums that the fit may return.

    |R[f] - R_emp[f]| <= (4LC + 2|c(0)| + LC√(2 log 2/δ))/√m for all of them at once, with
    probability at least 1 - δ over the rows.

    Source: kitchen sinks, Lemma 3, (13); errata 11. (c(0) cancels in R - R_emp, and 2LC may replace
    4LC + 2|c(0)|; the paper's looser terms are kept.)

    >>> gap = sinks_estimation_error(
    ...     lipschitz=1.0, weight_bound=2.0, loss_at_zero=1.0, n_rows=10_000, delta=0.05)
    >>> round(gap, 4)
    0.1543
    """
    spread = lipschitz * weight_bound
    deviation = spread * math.sqrt(2 * math.log(2 / delta))
    return (4 * spread + 2 * abs(loss_at_zero) + deviation) / math.sqrt(n_rows)


@_bound
def sinks_excess_risk(
    *,
    lipschitz: float,
    weight_bound: float,
    loss_at_zero: float,
    n_rows: int,
    n_features: int,
    delta: float,
) -> float:
    """Risk of the fitted sum of Algorithm 1 above the best risk in F_p.

    R[f̂] - min R[f] <= 2·(gap of Lemma 3) + (added risk of Lemma 2), with probability at least
    1 - 2δ over the rows and the draw.

    Source: kitchen sinks, Theorem 1, (7), with the constants of its proof.

    >>> risk = sinks_excess_risk(lipschitz=1.0, weight_bound=2.0, loss_at_zero=1.0,
    ...                          n_rows=10_000, n_features=1000, delta=0.05)
    >>> round(risk, 4)
    0.5267
    """
    estimation = sinks_estimation_error(
        lipschitz=lipschitz,
        weight_bound=weight_bound,
        loss_at_zero=loss_at_zero,
        n_rows=n_rows,
        delta=delta,
    )
    return 2 * estimation + sinks_approximation_risk(
        lipschitz=lipschitz, weight_bound=weight_bound, n_features=n_features, delta=delta
    )
