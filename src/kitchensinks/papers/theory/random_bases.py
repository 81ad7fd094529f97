"""Bounds of 'Uniform Approximation of Functions with Random Bases' (Rahimi and Recht, 2008).

A target is f(x) = ∫ α(θ)φ(x; θ) dθ with finite norm ‖f‖_p = sup |α(θ)|/p(θ), and |φ| <= 1. The
constructed weights are c_k = α(θ_k)/(K·p(θ_k)).
"""

import math

from kitchensinks.papers.theory._shared import DELTA, checked, count, nonnegative, positive
from kitchensinks.papers.theory.kitchen_sinks import ball_mean_error

_bound = checked(
    norm=positive("the norm ‖f‖_p of the target, the largest ratio of |α(θ)| to p(θ)"),
    n_features=count("the number of drawn features, the paper's K"),
    lipschitz=positive("L, the Lipschitz constant of φ as a function of θ'x"),
    radius=nonnegative("B, the largest length of an input"),
    second_moment=nonnegative("E θ'θ, the mean squared length of θ"),
    value_at_zero=nonnegative("the largest |φ| at input zero"),
    delta=DELTA,
)


@_bound
def bases_l2_error(*, norm: float, n_features: int, delta: float) -> float:
    """Mean-square distance from a target to the constructed sum of K features.

    ‖f̂ - f‖_μ < ‖f‖_p/√K·(1 + √(2 log 1/δ)) with probability at least 1 - δ over the draw, for any
    probability measure μ and any features with |φ| <= 1.

    Source: random bases, Theorem 3.1, (4).

    >>> round(bases_l2_error(norm=1.0, n_features=400, delta=0.05), 4)
    0.1724
    """
    return ball_mean_error(radius=norm, n_draws=n_features, delta=delta)


@_bound
def bases_uniform_error(
    *,
    norm: float,
    n_features: int,
    lipschitz: float,
    radius: float,
    second_moment: float,
    delta: float,
    value_at_zero: float = 0.0,
) -> float:
    """Largest distance over all inputs from a target to the constructed sum of K features φ(θ'x).

    ‖f̂ - f‖_∞ < ‖f‖_p/√K·(√(2 log 1/δ) + 2·sup|φ(0)| + 4LB√(E θ'θ)) with probability at least 1 - δ
    over the draw, for φ that is L-Lipschitz with |φ| <= 1.

    Source: random bases, Theorem 3.2, (6); errata 9. It asks for φ(0) = 0, which is the default
    here; the term of `value_at_zero` comes from splitting φ(t) into φ(t) - φ(0) and φ(0).

    >>> error = bases_uniform_error(norm=1.0, n_features=400, lipschitz=1.0, radius=1.0,
    ...                             second_moment=2.0, delta=0.05)
    >>> round(error, 4)
    0.4052
    """
    deviation = math.sqrt(2 * math.log(1 / delta))
    mean = 2 * value_at_zero + 4 * lipschitz * radius * math.sqrt(second_moment)
    return norm / math.sqrt(n_features) * (deviation + mean)


@_bound
def bases_cosine_error(
    *, norm: float, n_features: int, radius: float, second_moment: float, delta: float
) -> float:
    """Largest distance over all inputs from a target to a sum of K cosines cos(ω'x + b).

    ‖f̂ - f‖_∞ < ‖f‖_p/√K·(√(2 log 1/δ) + 2 + 4B√(E‖ω‖²)) with probability at least 1 - δ over the
    draw, whatever the law of b.

    Source: random bases, Example a; errata 10: it is `bases_uniform_error` with L = 1 and
    sup|φ(0)| = 1. For the kernel exp(-γ‖x - y‖²) over d inputs E‖ω‖² is 2γd.

    >>> error = bases_cosine_error(
    ...     norm=1.0, n_features=400, radius=1.0, second_moment=2.0, delta=0.05)
    >>> round(error, 4)
    0.5052
    """
    return bases_uniform_error(
        norm=norm,
        n_features=n_features,
        lipschitz=1.0,
        radius=radius,
        second_moment=second_moment,
        delta=delta,
        value_at_zero=1.0,
    )
