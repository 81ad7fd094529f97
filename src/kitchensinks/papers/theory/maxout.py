"""Bounds of 'Random Maxout Features' (Mroueh, Rennie and Goel, 2015).

A unit is φ(x, W) = max over q projections of ⟨w_j, x⟩, with w_j standard normal and inputs on a set
M of the unit sphere of R^d. A target is f(x) = ∫ α(W)φ(x, W) dW with |α(W)| <= C·p(W); the fit
searches sums of m units with weights |α_ℓ| <= C/m.

Units are not bounded, so the approximation bounds below take a number M that a unit exceeds with
chance `tail`. The constructed weights are α(W_ℓ)/(m·p(W_ℓ)), and 0 for a unit that exceeds M.
Two pairs (M, tail) are on offer: Lemma 2 bounds a unit over all inputs at once
(`maxout_sup_bound`, `maxout_sup_tail`), and `maxout_norm_bound` bounds its mean-square size, which
is all that the proofs use, with no unnamed constant and no dimension. δ is the chance of failure of
one step; each docstring gives the total.
"""

import math

import numpy as np
from scipy.special import log_ndtr

from kitchensinks.papers.theory._shared import DELTA, chance, checked, count, nonnegative, positive
from kitchensinks.papers.theory.kitchen_sinks import ball_mean_error

_bound = checked(
    pool=count("the number of projections in one unit, the paper's q"),
    n_units=count("the number of maxout units, the paper's m"),
    n_rows=count("the number of training rows, the paper's N"),
    n_inputs=count("the dimension of the inputs, the paper's d"),
    intrinsic_dimension=positive("d_M, the Assouad dimension of the set of inputs"),
    diameter=positive("diam(M), the diameter of the set of inputs, at most 2"),
    weight_bound=positive("the paper's C, the largest ratio of |α(W)| to p(W)"),
    unit_bound=positive("the size M that a unit rarely exceeds"),
    lipschitz=positive("L, the Lipschitz constant of the loss V"),
    loss_at_zero=nonnegative("V(0), the loss at margin zero; its values lie in [0, 1]"),
    error=positive("the ε of Theorem 2"),
    radius=positive("R, the largest length of an input (Remark 2)"),
    loss_bound=positive("B, the largest value of the loss (Remark 2)"),
    tail=chance("the chance that one unit exceeds M, such as 1/m"),
    delta=DELTA,
)


@_bound
def max_second_moment(*, pool: int) -> float:
    """Mean square of the largest of q standard normals, by quadrature.

    σ²(q) = E(max_j g_j)² = ∫ t²·qϕ(t)Φ(t)^(q-1) dt, which grows like 2 log q.

    Source: maxout, Theorem 1; errata 24.

    >>> round(max_second_moment(pool=1), 6), round(max_second_moment(pool=4), 4)
    (1.0, 1.5513)
    """
    points = np.linspace(-14.0, 14.0, 5601)
    log_density = (
        math.log(pool) - points**2 / 2 - math.log(2 * math.pi) / 2 + (pool - 1) * log_ndtr(points)
    )
    return float(np.trapezoid(points**2 * np.exp(log_density), points))


@_bound
def maxout_sup_bound(
    *,
    pool: int,
    n_inputs: int,
    intrinsic_dimension: float,
    diameter: float,
    delta: float,
    constant: float | None = None,
) -> float:
    """Largest value of one maxout unit over all inputs.

    sup_x |φ(x, W)| <= max(1, √(8(d_M log⁺(6 diam(M)√d) + log((q + 1)/δ)))), except with the chance
    that `maxout_sup_tail` returns. With a `constant` it is the paper's form,
    C₁√(d_M log(diam(M)√d/δ) + log(q + 1)).

    Source: maxout, Lemma 2, with the numbers of its proof at ε = 1/2. The paper does not name C₁,
    which is `constant`.

    >>> law = {"pool": 4, "n_inputs": 200, "intrinsic_dimension": 4, "diameter": 2.0, "delta": 0.05}
    >>> round(maxout_sup_bound(**law), 2), round(maxout_sup_bound(**law, constant=3.0), 2)
    (14.18, 15.58)
    """
    if constant is None:
        cover = intrinsic_dimension * max(0.0, math.log(6 * diameter * math.sqrt(n_inputs)))
        return max(1.0, math.sqrt(8 * (cover + math.log((pool + 1) / delta))))
    constant = positive("the unnamed constant C₁ of Lemma 2")("constant", constant)
    ratio = diameter * math.sqrt(n_inputs) / delta
    if ratio <= 1:
        raise ValueError(
            f"diameter·√n_inputs/delta={ratio:.3g}: need more than 1 for the printed logarithm. "
            "Leave constant=None for the form of the proof, which has no such limit."
        )
    return float(constant * math.sqrt(intrinsic_dimension * math.log(ratio) + math.log(pool + 1)))


@_bound
def maxout_sup_tail(*, pool: int, n_inputs: int, delta: float) -> float:
    """Chance that a unit exceeds the bound of Lemma 2 somewhere.

    δ + q·e^(-d/8).

    Source: maxout, Lemma 2; errata 27. Concentration of a Gaussian norm, P(‖w‖ >= 3√d/2) <=
    e^(-d/8), gives its c = 1/2.

    >>> round(maxout_sup_tail(pool=4, n_inputs=200, delta=0.05), 4)
    0.05
    """
    return delta + pool * math.exp(-n_inputs / 8)


@_bound
def maxout_norm_bound(*, pool: int, tail: float) -> float:
    """Mean-square size of one maxout unit, exceeded with chance at most `tail`.

    ‖φ(·, W)‖ <= σ(q) + √(2 log 1/tail) in L² of any law of inputs on the sphere: the norm is a
    1-Lipschitz function of the Gaussian W and its mean is at most σ(q).

    Source: replaces Lemma 2 of the maxout paper where only the mean-square size is used (Lemma 3).
    With tail = 1/m the term that truncation adds shrinks as 1/√m too.

    >>> round(maxout_norm_bound(pool=4, tail=0.001), 4)
    4.9624
    """
    return math.sqrt(max_second_moment(pool=pool)) + math.sqrt(2 * math.log(1 / tail))


@_bound
def maxout_l2_error(
    *, weight_bound: float, n_units: int, pool: int, unit_bound: float, tail: float, delta: float
) -> float:
    """Distance from a target to the constructed sum of m maxout units.

    ‖f̂ - f‖ <= C·(M/√m·(1 + √(2 log 1/δ)) + σ(q)√tail), with probability at least 1 - δ over the
    draw.

    Source: maxout, Lemma 3, (9); errata 26. M comes from Lemma 2 or `maxout_norm_bound`.

    >>> size = maxout_norm_bound(pool=4, tail=1e-4)
    >>> error = maxout_l2_error(weight_bound=1.0, n_units=10_000, pool=4, unit_bound=size,
    ...                         tail=1e-4, delta=0.05)
    >>> round(error, 4)
    0.2034
    """
    sampled = ball_mean_error(radius=weight_bound * unit_bound, n_draws=n_units, delta=delta)
    return sampled + weight_bound * math.sqrt(max_second_moment(pool=pool) * tail)


@_bound
def maxout_approximation_risk(
    *,
    lipschitz: float,
    weight_bound: float,
    n_units: int,
    pool: int,
    unit_bound: float,
    tail: float,
    delta: float,
) -> float:
    """Risk added by the constructed sum of m maxout units over its target.

    L times `maxout_l2_error`, with probability at least 1 - δ over the draw.

    Source: maxout, Lemma 4.

    >>> risk = maxout_approximation_risk(lipschitz=1.0, weight_bound=1.0, n_units=10_000, pool=4,
    ...     unit_bound=maxout_norm_bound(pool=4, tail=1e-4), tail=1e-4, delta=0.05)
    >>> round(risk, 4)
    0.2034
    """
    return lipschitz * maxout_l2_error(
        weight_bound=weight_bound,
        n_units=n_units,
        pool=pool,
        unit_bound=unit_bound,
        tail=tail,
        delta=delta,
    )


@_bound
def maxout_approximation_units(*, unit_bound: float, error: float) -> int:
    """How many units make the relative size ε of the approximation term of Theorem 2.

    m >= (M/ε)², so that M/√m <= ε.

    Source: maxout, Theorem 2, which prints m >= C'/ε²·(d_M log(diam(M)√d/δ) + log(q + 1)): that is
    M from Lemma 2, with C' = C₁².

    >>> maxout_approximation_units(unit_bound=15.5775, error=0.1)
    24266
    """
    return math.ceil((unit_bound / error) ** 2)


@_bound
def maxout_excess_risk(
    *,
    lipschitz: float,
    weight_bound: float,
    loss_at_zero: float,
    n_rows: int,
    n_units: int,
    pool: int,
    unit_bound: float,
    tail: float,
    delta: float,
    radius: float = 1.0,
    loss_bound: float = 1.0,
) -> float:
    """Risk of the fitted sum of m maxout units above the best risk in F.

    R·4LC(σ(q) + √(2 log(1/δ)/m))/√N + 2|V(0)|/√N + B·2√(2 log(2/δ)/N) + R·(added risk of Lemma 4),
    with probability at least 1 - 3δ over the rows and the draw, for inputs of length at most R and
    a loss with values in [0, B].

    Source: maxout, Theorem 2 and Remark 2; errata 23 and 36. The paper averages over the
    projections inside an inequality that does not cover them; the term √(2 log(1/δ)/m) does.

    >>> risk = maxout_excess_risk(lipschitz=1.0, weight_bound=1.0, loss_at_zero=0.5,
    ...     n_rows=100_000, n_units=10_000, pool=4,
    ...     unit_bound=maxout_norm_bound(pool=4, tail=1e-4), tail=1e-4, delta=0.05)
    >>> round(risk, 4)
    0.2398
    """
    size = math.sqrt(max_second_moment(pool=pool)) + math.sqrt(2 * math.log(1 / delta) / n_units)
    deviation = 2 * math.sqrt(2 * math.log(2 / delta))
    spread = 4 * radius * lipschitz * weight_bound * size
    spread += 2 * loss_at_zero + loss_bound * deviation
    # A unit of an input of length R is R times that of its direction, as if L were R·L.
    return spread / math.sqrt(n_rows) + maxout_approximation_risk(
        lipschitz=radius * lipschitz,
        weight_bound=weight_bound,
        n_units=n_units,
        pool=pool,
        unit_bound=unit_bound,
        tail=tail,
        delta=delta,
    )
