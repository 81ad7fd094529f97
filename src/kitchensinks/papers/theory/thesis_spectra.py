"""How many random features a kernel needs: the thesis of Y. Sun (2019), sections 2.2 and 2.4.

Σ is the kernel's integral operator on the law of inputs, with eigenvalues λ₁ >= λ₂ >= …; d(μ) =
Σ λ_i/(λ_i + μ) is its degrees of freedom, and the leverage d_max is the largest value over ω of
‖(Σ + μI)^(-1/2) φ(·; ω)‖². The leverage is d(μ) for optimised features, and at most κ²/μ for
features with |φ| <= κ.
"""

import math

from scipy.special import gammainc, lambertw

from kitchensinks.features.spectrum import components_of
from kitchensinks.papers.theory._shared import DELTA, Rule, checked, count, positive

# What the arguments mean in this file, in `thesis_local` and in `thesis_svm`.
RULES = {
    "leverage": positive("the largest leverage d_max"),
    "mu": positive("the regularisation μ of the operator"),
    "norm": positive("‖f‖, the norm of the target"),
    "feature_bound": positive("the largest |φ|, κ"),
    "n_features": count("the number of drawn features, the thesis's N"),
    "n_rows": count("the number of training rows, the thesis's m"),
    "scale": positive("the factor of the law of the eigenvalues, c₁ or c₃"),
    "exponent": Rule("the c₂ of λ_i <= c₁·i^(-c₂)", "a finite number above 1", lambda v: v > 1),
    "rate": positive("the c₄ of λ_i <= c₃·exp(-c₄·i^(1/d))"),
    "n_inputs": count("the number of inputs, d"),
    "index": count("i, the rank of the eigenvalue, from 1"),
    "height": positive("the α of the Fourier transform's bound"),
    "decay": positive("the β of the Fourier transform's bound"),
    "density_bound": positive("B, the largest density of the inputs"),
    "radius": positive("ρ, the radius of the ball that holds the inputs"),
    "bandwidth": positive("the γ of exp(-‖x - x'‖²/(2γ²))"),
    "constant": positive("the unnamed constant C of Lemma II.17"),
    "delta": DELTA,
}
_bound = checked(**RULES)


@_bound
def leverage_features(*, leverage: float, delta: float) -> int:
    """How many features represent the whole unit ball of the kernel's space to 2√μ.

    N >= 5·d_max·log(16·d_max/δ): then, with probability at least 1 - δ over the draw, every f of
    norm 1 has weights β of length at most 2 with ‖f - β·φ_N‖ <= 2√μ.

    Source: thesis, Theorem II.2, (2.2); errata 30.

    >>> leverage_features(leverage=40.0, delta=0.05)
    1892
    """
    return components_of(leverage, delta)


@_bound
def leverage_of_features(*, n_features: int, delta: float) -> float:
    """The largest leverage that N features can serve: the inverse of `leverage_features`.

    With W Lambert's function, d_max = N/(5·W(16N/(5δ))).

    >>> round(leverage_of_features(n_features=1892, delta=0.05), 2)
    40.01
    """
    return n_features / (5 * float(lambertw(16 * n_features / (5 * delta)).real))


@_bound
def leverage_error(*, mu: float, norm: float) -> float:
    """Distance to a target that the features of `leverage_features` guarantee.

    2√μ·‖f‖, with weights of length at most 2‖f‖ on features divided by √N.

    Source: thesis, Theorem II.2, (2.3).

    >>> leverage_error(mu=0.25, norm=3.0)
    3.0
    """
    return 2 * math.sqrt(mu) * norm


@_bound
def bounded_features_error(
    *, n_features: int, feature_bound: float, norm: float, delta: float
) -> float:
    """Distance to a target that N features with |φ| <= κ guarantee, whatever the law of inputs.

    ε = 2κ‖f‖/√d_max with d_max from `leverage_of_features`: Theorem II.2 at μ = κ²/d_max, with
    probability at least 1 - δ over the draw.

    Source: thesis, Theorem II.2 with the leverage κ²/μ of Corollary III.9.

    >>> round(bounded_features_error(n_features=2000, feature_bound=1.0, norm=1.0, delta=0.05), 4)
    0.3083
    """
    leverage = leverage_of_features(n_features=n_features, delta=delta)
    return leverage_error(mu=feature_bound**2 / leverage, norm=norm)


@_bound
def polynomial_freedom(*, mu: float, scale: float, exponent: float) -> float:
    """Degrees of freedom when the eigenvalues fall like a power.

    d(μ) <= 2c₂/(c₂ - 1)·(c₁/μ)^(1/c₂) for λ_i <= c₁·i^(-c₂), c₂ > 1 and μ < c₁.

    Source: thesis, Lemma II.5, (2.5); errata 14.

    >>> round(polynomial_freedom(mu=0.01, scale=1.0, exponent=2.0), 4)
    40.0
    """
    if mu >= scale:
        raise ValueError(f"mu={mu!r}: need less than scale={scale!r}, the largest eigenvalue.")
    return float(2 * exponent / (exponent - 1) * (scale / mu) ** (1 / exponent))


@_bound
def subexponential_freedom(*, mu: float, scale: float, rate: float, n_inputs: int) -> float:
    """Degrees of freedom when the eigenvalues fall like an exponential of i^(1/d).

    d(μ) <= 5·c₄^(-d)·ln^d(c₃/μ) for λ_i <= c₃·exp(-c₄·i^(1/d)) and μ < c₃·exp(-max(c₄, 1/c₄)·d²).

    Source: thesis, Lemma II.5, (2.6). (3 in place of 5 is enough: the tail is an incomplete gamma
    function.)

    >>> round(subexponential_freedom(mu=1e-4, scale=1.0, rate=1.0, n_inputs=2), 2)
    424.15
    """
    log_ratio = math.log(scale / mu)
    need = max(rate, 1 / rate) * n_inputs**2
    if log_ratio <= need:
        raise ValueError(
            f"mu={mu!r}: need less than {scale * math.exp(-need):.3g}, which is "
            "scale·exp(-max(rate, 1/rate)·n_inputs²), for this bound to hold."
        )
    return 5 * (log_ratio / rate) ** n_inputs


@_bound
def widom_eigenvalue(
    *,
    index: int,
    height: float,
    decay: float,
    density_bound: float,
    radius: float,
    n_inputs: int,
    constant: float,
) -> float:
    """The i-th eigenvalue by the volume of phase space, in the thesis's form.

    C·α·B·exp(-β·4Γ^(4/d)(d/2 + 1)/ρ²·i^(2/d)), for a kernel with Fourier transform at most
    α·exp(-β‖ξ‖²); for the Gaussian kernel α = (2πγ²)^(d/2) and β = γ²/2.

    Source: thesis, Lemma II.17, after Widom; errata 17. For inputs in a ball this is no bound
    (errata 25): no C serves every i. `gaussian_eigenvalue` is one.

    >>> value = widom_eigenvalue(index=3, height=1.2533, decay=0.125, density_bound=0.5, radius=1.0,
    ...                          n_inputs=1, constant=1.0)
    >>> round(value, 4)
    0.039
    """
    volume = 4 * math.exp(4 / n_inputs * math.lgamma(n_inputs / 2 + 1)) / radius**2
    return constant * height * density_bound * math.exp(-decay * volume * index ** (2 / n_inputs))


@_bound
def gaussian_eigenvalue(*, index: int, radius: float, bandwidth: float, n_inputs: int) -> float:
    """A bound on the i-th eigenvalue of the Gaussian kernel, for any law of inputs in a ball.

    λ_i <= P(Poisson(ρ²/γ²) >= D), with D the largest degree for which the polynomials below it,
    C(D - 1 + d, d) of them, are fewer than i. The kernel is e^(-s/2 - s'/2)·Σ_n ⟨x, x'⟩ⁿ/(γ²ⁿn!)
    with s = ‖x‖²/γ²; the terms from degree D on have trace at most that probability.

    Source: replaces Lemma II.17 of the thesis, with explicit constants and no density.

    >>> round(gaussian_eigenvalue(index=6, radius=1.0, bandwidth=1.0, n_inputs=1), 6)
    0.00366
    """
    intensity = (radius / bandwidth) ** 2
    degree = 0
    while math.comb(degree + n_inputs, n_inputs) < index:
        degree += 1
    return _poisson_tail(degree, intensity)


@_bound
def gaussian_freedom(*, mu: float, radius: float, bandwidth: float, n_inputs: int) -> float:
    """Degrees of freedom of the Gaussian kernel, for any law of inputs in a ball.

    d(μ) <= min over D of C(D - 1 + d, d) + P(Poisson(ρ²/γ²) >= D)/μ: the polynomials below degree D
    count 1 each, and the rest of the kernel at most its trace over μ.

    Source: with `gaussian_eigenvalue`, in place of Lemmas II.5 and II.17 of the thesis.

    >>> round(gaussian_freedom(mu=1e-4, radius=1.0, bandwidth=1.0, n_inputs=2), 2)
    26.94
    """
    intensity = (radius / bandwidth) ** 2
    best, degree, rank = 1 / mu, 1, 1
    while rank < best:
        best = min(best, rank + _poisson_tail(degree, intensity) / mu)
        degree += 1
        rank = math.comb(degree - 1 + n_inputs, n_inputs)
    return best


def _poisson_tail(degree: int, intensity: float) -> float:
    """P(Poisson(intensity) >= degree)."""
    return float(gammainc(degree, intensity)) if degree else 1.0
