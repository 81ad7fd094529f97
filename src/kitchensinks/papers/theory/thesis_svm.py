"""Learning rates of support vector machines on random features: Y. Sun's thesis (2019), chapter II.

The machine minimises the mean hinge loss plus (λ/2)‖f‖² over N random features divided by √N, so
the estimators' alpha is λ/2. A plan says which λ, μ and N a theorem picks for m rows;
`svm_excess_risk` is its guarantee:

    plan = polynomial_plan(n_rows=10**6, scale=1.0, exponent=3.0, norm=1.0, gap=0.0, delta=0.05)
    risk = svm_excess_risk(plan, noise=2.0, c_root=..., c_linear=...)
"""

import math
from typing import NamedTuple

from scipy.special import gammaincc

from kitchensinks.papers.theory._shared import Rule, checked, nonnegative, positive
from kitchensinks.papers.theory.thesis_spectra import (
    RULES,
    gaussian_freedom,
    leverage_features,
    polynomial_freedom,
    subexponential_freedom,
)

_bound = checked(
    **RULES
    | {
        "norm": positive("the norm R of the function that stands for the Bayes classifier"),
        "gap": nonnegative("the distance ε to the Bayes classifier"),
        "margin": positive("the distance τ between the classes"),
        "noise": Rule(
            "Massart's V in |E[y|x]| >= 2/V; 2 means that labels have no noise",
            "a number of 2 or more",
            lambda value: value >= 2,
        ),
        "c_root": positive("the unnamed constant C₁ of Lemma II.12"),
        "c_linear": positive("the unnamed constant C₂ of Lemma II.12"),
    }
)


class SvmPlan(NamedTuple):
    """What a theorem chooses for m rows: λ (ridge), μ, and N features.

    `norm` is the R of the function g that stands for the Bayes classifier, `gap` its distance ε
    from that classifier or its excess hinge risk. `bandwidth` is None where the kernel is given.
    """

    n_rows: int
    n_features: int
    ridge: float
    mu: float
    norm: float
    gap: float
    delta: float
    bandwidth: float | None = None


@_bound
def polynomial_plan(
    *, n_rows: int, scale: float, exponent: float, norm: float, gap: float, delta: float
) -> SvmPlan:
    """λ, μ and N for optimised features when the eigenvalues fall like c₁·i^(-c₂).

    λ = m^(-c₂/(2+c₂)), μ = λ², N = 5·d(μ)·log(16·d(μ)/δ) with d(μ) from `polynomial_freedom`. The
    excess risk falls like m^(-c₂/(2+c₂)) up to logarithms, with N of order m^(2/(2+c₂)).

    Source: thesis, Theorem II.6, first part; errata 12 and 29.

    >>> plan = polynomial_plan(
    ...     n_rows=10**6, scale=1.0, exponent=3.0, norm=1.0, gap=0.0, delta=0.05)
    >>> round(plan.ridge, 6), plan.n_features
    (0.000251, 46696)
    """
    ridge = n_rows ** (-exponent / (2 + exponent))
    freedom = polynomial_freedom(mu=ridge**2, scale=scale, exponent=exponent)
    return _plan(n_rows, freedom, ridge, ridge**2, norm, gap, delta)


@_bound
def subexponential_plan(
    *, n_rows: int, scale: float, rate: float, n_inputs: int, norm: float, gap: float, delta: float
) -> SvmPlan:
    """λ, μ and N for optimised features when the eigenvalues fall like c₃·exp(-c₄·i^(1/d)).

    λ = 1/m, μ = c₃/m², N = 5·d(μ)·log(16·d(μ)/δ) with d(μ) from `subexponential_freedom`. The
    excess risk falls like 1/m up to logarithms, with N of order ln^d(m).

    Source: thesis, Theorem II.6, second part.

    >>> plan = subexponential_plan(n_rows=10**6, scale=1.0, rate=1.0, n_inputs=2, norm=1.0,
    ...                            gap=0.0, delta=0.05)
    >>> plan.ridge, plan.n_features
    (1e-06, 267515)
    """
    mu = scale / n_rows**2
    freedom = subexponential_freedom(mu=mu, scale=scale, rate=rate, n_inputs=n_inputs)
    return _plan(n_rows, freedom, 1 / n_rows, mu, norm, gap, delta)


@_bound
def plain_plan(
    *, n_rows: int, feature_bound: float, norm: float, gap: float, delta: float
) -> SvmPlan:
    """λ, μ and N for features that are bounded but not optimised.

    λ = m^(-1/3), μ = m^(-2/3), N = 5(κ²/μ)·log(16κ²/(μδ)). The excess risk falls like m^(-1/3) up
    to logarithms, with N of order m^(2/3), whatever the eigenvalues.

    Source: thesis, end of section 2.4, with the leverage κ²/μ. (The thesis leaves λ open; m^(-1/3)
    balances it with the other terms.)

    >>> plan = plain_plan(n_rows=10**6, feature_bound=1.0, norm=1.0, gap=0.0, delta=0.05)
    >>> round(plan.ridge, 6), plan.n_features
    (0.01, 748934)
    """
    ridge = n_rows ** (-1 / 3)
    return _plan(n_rows, feature_bound**2 / ridge**2, ridge, ridge**2, norm, gap, delta)


@_bound
def separated_plan(
    *, n_rows: int, margin: float, radius: float, n_inputs: int, delta: float
) -> SvmPlan:
    """λ, γ and N for the Gaussian kernel when the two classes lie at a distance τ.

    λ = 1/m, γ = τ/(2√(ln m)), μ = 1/m², N = 5·d(μ)·log(16·d(μ)/δ) with d(μ) from
    `gaussian_freedom`; norm and gap come from Lemma II.16. The excess risk falls like 1/m up to
    logarithms, with N of order ln^d(m)·ln ln m. Needs ln m > d - 1.

    Source: thesis, Theorem II.15; errata 16 (it prints γ = τ/√(ln m)) and 25 (N of order
    ln^(2d)(m)).

    >>> plan = separated_plan(n_rows=10**6, margin=1.0, radius=1.0, n_inputs=2, delta=0.05)
    >>> plan.ridge, round(plan.bandwidth, 4), plan.n_features
    (1e-06, 0.1345, 442623)
    """
    least = max(3, math.floor(math.exp(n_inputs - 1)) + 1)
    if n_rows < least:
        raise ValueError(
            f"n_rows={n_rows!r}: need at least {least} for n_inputs={n_inputs}, so that the "
            "bandwidth is small enough. Use more rows or fewer inputs."
        )
    bandwidth = margin / (2 * math.sqrt(math.log(n_rows)))
    mu = 1 / n_rows**2
    return _plan(
        n_rows,
        gaussian_freedom(mu=mu, radius=radius, bandwidth=bandwidth, n_inputs=n_inputs),
        1 / n_rows,
        mu,
        separated_norm(margin=margin, radius=radius, bandwidth=bandwidth, n_inputs=n_inputs),
        separated_risk(margin=margin, bandwidth=bandwidth, n_inputs=n_inputs, closed_form=True),
        delta,
        bandwidth,
    )


@_bound
def svm_excess_risk(plan: SvmPlan, *, noise: float, c_root: float, c_linear: float) -> float:
    """Error rate of the fitted machine above the Bayes classifier's, for any plan.

    9(2R√μ + 2R²λ + ε) + (3/m)·[(900C₁² + 120C₂)·N(V + 1)·log₂(1/λ)
    + (10√N·R + 5 + 72V)·ln(1/δ)], with probability at least 1 - 4δ.

    Source: thesis, proof of Theorems II.6 and II.15 (Theorem II.7 with Lemmas II.12 and II.13);
    errata 13 and 28. C₁ and C₂ are the 'two absolute constants' of Lemma II.12 (its proof carries
    36√(2 ln 16) and 36² ln 16). The features must satisfy |φ| <= √N, and the kernel k_N(x, x) <= 1.

    >>> plan = polynomial_plan(
    ...     n_rows=10**9, scale=1.0, exponent=3.0, norm=1.0, gap=0.0, delta=0.05)
    >>> round(svm_excess_risk(plan, noise=2.0, c_root=0.01, c_linear=0.01), 4)
    0.1887
    """
    target = 2 * plan.norm * math.sqrt(plan.mu) + 2 * plan.norm**2 * plan.ridge + plan.gap
    complexity = (900 * c_root**2 + 120 * c_linear) * plan.n_features * (noise + 1)
    deviation = 10 * math.sqrt(plan.n_features) * plan.norm + 5 + 72 * noise
    spread = complexity * math.log2(1 / plan.ridge) + deviation * math.log(1 / plan.delta)
    return 9 * target + 3 * spread / plan.n_rows


@_bound
def separated_norm(*, margin: float, radius: float, bandwidth: float, n_inputs: int) -> float:
    """Norm of the Gaussian-smoothed labels of two classes in a ball.

    ‖f‖ <= 2^(-d/4)·((ρ + τ/2)/γ)^(d/2)/√Γ(d/2 + 1).

    Source: thesis, Lemma II.16; errata 15. The labels reach τ/2 beyond the classes, hence ρ + τ/2.

    >>> round(separated_norm(margin=0.5, radius=1.0, bandwidth=0.1, n_inputs=2), 4)
    8.8388
    """
    log_square = (
        n_inputs * math.log((radius + margin / 2) / bandwidth)
        - n_inputs / 2 * math.log(2)
        - math.lgamma(n_inputs / 2 + 1)
    )
    return math.exp(log_square / 2)


@_bound
def separated_risk(
    *, margin: float, bandwidth: float, n_inputs: int, closed_form: bool = False
) -> float:
    """Excess hinge risk of the Gaussian-smoothed labels of two classes at a distance τ.

    4/(Γ(d/2)γ^d)·∫ from τ/2 of e^(-r²/γ²)r^(d-1) dr = 2Q(d/2, (τ/2γ)²), with Q the regularised
    upper incomplete gamma function. In closed form it is at most
    4(τ/2γ)^(d-2)/Γ(d/2)·exp(-(τ/2γ)²), for γ < τ/(2√(d - 1)).

    Source: thesis, Lemma II.16 and its proof; errata 16.

    >>> round(separated_risk(margin=1.0, bandwidth=0.15, n_inputs=8), 6)
    0.009041
    >>> round(separated_risk(margin=1.0, bandwidth=0.15, n_inputs=8, closed_form=True), 6)
    0.013667
    """
    ratio = margin / (2 * bandwidth)
    if not closed_form:
        return 2 * float(gammaincc(n_inputs / 2, ratio**2))
    if ratio**2 <= n_inputs - 1:
        raise ValueError(
            f"bandwidth={bandwidth!r}: need less than margin/(2√(n_inputs - 1)) = "
            f"{margin / (2 * math.sqrt(n_inputs - 1)):.3g}. Use closed_form=False, which has no "
            "such limit."
        )
    log_risk = (n_inputs - 2) * math.log(ratio) - math.lgamma(n_inputs / 2) - ratio**2
    return 4 * math.exp(log_risk)


def _plan(
    n_rows: int,
    leverage: float,
    ridge: float,
    mu: float,
    norm: float,
    gap: float,
    delta: float,
    bandwidth: float | None = None,
) -> SvmPlan:
    if ridge >= 0.5:
        raise ValueError(
            f"n_rows={n_rows!r}: gives λ = {ridge:.3g}, and the bounds need λ < 1/2. Use more rows."
        )
    n_features = leverage_features(leverage=leverage, delta=delta)
    return SvmPlan(n_rows, n_features, ridge, mu, norm, gap, delta, bandwidth)
