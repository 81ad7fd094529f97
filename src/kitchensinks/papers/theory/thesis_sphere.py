"""Functions of the space of random ReLU features: the thesis of Y. Sun (2019), chapter III.

The features ReLU(ω·x̃), ω uniform on the sphere S^d of R^(d+1), have the kernel of equation (3.11)
on S^d. Its eigenfunctions are the spherical harmonics; the eigenvalue of degree k is σ_k², and σ_k
is zero for odd k from 3 on, so that the space holds even functions and linear ones alone.
"""

import math

import numpy as np
from scipy.integrate import quad
from scipy.special import gammaln

from kitchensinks.papers.theory._shared import Rule, checked, count, positive

_bound = checked(
    n_inputs=count("d, the number of inputs; the sphere lies in R^(d+1)"),
    n_rows=count("the number of training rows, m"),
    power=Rule(
        "p, the power; odd ones from 3 on are not in the space",
        "0, 1 or an even whole number",
        lambda value: value in (0, 1) or (value > 0 and value % 2 == 0),
        lambda value: float(value) if value == int(value) else math.nan,
    ),
    coefficient=positive("|α|, the size of the factor"),
    margin=Rule(
        "τ, the distance between the classes on the unit sphere, antipodes of rows included",
        "a number above 0 and at most 2",
        lambda value: 0 < value <= 2,
    ),
    smoothing=Rule(
        "r, the radius of the Poisson kernel; 1 would leave the labels as they are",
        "a number strictly between 0 and 1",
        lambda value: 0 < value < 1,
    ),
)


@_bound
def relu_power_norm(*, power: int, coefficient: float, n_inputs: int) -> float:
    """Norm of α(β·x̃)^p in the space of random ReLU features, for β of length one.

    ‖f‖ <= |α|/√a_p with a_p the coefficient of s^p in the kernel: a_p = b_p/(2(d + 1)π) with
    b_0 = 1, b_1 = π/2, b_2 = ½ and b_p = (p − 3)!!/(p!!·(p − 1)) for even p.

    Source: thesis, Lemma III.17; errata 8.

    >>> round(relu_power_norm(power=2, coefficient=1.0, n_inputs=1), 4)
    5.0133
    """
    coefficients = {0.0: 1.0, 1.0: math.pi / 2, 2.0: 0.5}
    value = coefficients.get(float(power))
    if value is None:
        half = power / 2
        # (p − 3)!! = (p − 2)!/(2^(p/2−1)·(p/2 − 1)!) and p!! = 2^(p/2)·(p/2)!.
        log_value = math.lgamma(power - 1) - (half - 1) * math.log(2) - math.lgamma(half)
        log_value -= half * math.log(2) + math.lgamma(half + 1) + math.log(power - 1)
        value = math.exp(log_value)
    return coefficient * math.sqrt(2 * (n_inputs + 1) * math.pi / value)


@_bound
def relu_length_norm(*, n_inputs: int) -> float:
    """Norm of √(1 + ‖x‖²) in the space of random ReLU features, exactly.

    1/E ReLU(ω₁) = 2√π·Γ(d/2 + 1)/Γ((d + 1)/2), about √(2πd): on the sphere the function is the
    constant 1, an eigenfunction.

    Source: thesis, (3.12), which bounds it by 2√(2π)·(d + 1)^(3/2); errata 35.

    >>> round(relu_length_norm(n_inputs=2), 4)
    4.0
    """
    log_ratio = math.lgamma(n_inputs / 2 + 1) - math.lgamma((n_inputs + 1) / 2)
    return 2 * math.sqrt(math.pi) * math.exp(log_ratio)


@_bound
def sphere_error(*, margin: float, smoothing: float, n_inputs: int) -> float:
    """Largest distance between labels on the sphere and their Poisson-smoothed version.

    2·P(angle > 2·arcsin(τ/4)) under the Poisson kernel (1 − r²)/(1 + r² − 2r·cos t)^((d+1)/2).
    Every point within τ/2 of a class has its label. The distance falls like 1 − r.

    Source: thesis, section 3.4, the approximator g of the Bayes classifier.

    >>> round(sphere_error(margin=1.0, smoothing=0.95, n_inputs=2), 4)
    0.1569
    """
    edge = 2 * math.asin(margin / 4)

    def density(angle: float) -> float:
        length = (1 - smoothing) ** 2 + 4 * smoothing * math.sin(angle / 2) ** 2
        log_value = math.log1p(-(smoothing**2)) - (n_inputs + 1) / 2 * math.log(length)
        return math.exp(log_value) * math.sin(angle) ** (n_inputs - 1)

    mass, _ = quad(density, edge, math.pi, limit=200)
    return float(min(2.0, 2 * math.exp(_log_share(n_inputs)) * mass))


@_bound
def sphere_norm(*, smoothing: float, n_inputs: int) -> float:
    """Norm of Poisson-smoothed labels in the space of random ReLU features.

    max over k in {0, 1, 2, 4, 6, …} of r^k/σ_k, of order (1 − r)^(-(d+3)/2), for labels of size 1
    that are even: f(−x̃) = f(x̃). Rows (x, 1)/‖(x, 1)‖ lie on half of the sphere, and labels of the
    other half are free to be so.

    Source: thesis, section 3.4, after Bach (2017); errata 33.

    >>> round(sphere_norm(smoothing=0.5, n_inputs=2), 4)
    6.0
    """
    most = math.ceil(4 * (n_inputs + 3) / (1 - smoothing)) + 20
    degrees = np.concatenate([[0, 1], np.arange(2, most, 2)])
    return float(np.exp((degrees * math.log(smoothing) - _log_sigma(degrees, n_inputs)).max()))


@_bound
def sphere_rate(*, n_rows: int, n_inputs: int, lipschitz: bool = True) -> float:
    """How fast the excess risk falls for separated classes on the sphere, with √m features.

    m^(-d/(4(d+3))) for Lipschitz labels and m^(-d/(4(d+5))) for labels ±1, up to constants and
    logarithms, where the eigenvalues fall like i^(-d/2). √m features have √μ = m^(-d/8); the norm R
    balances R·√μ with the distance R^(-2/(d+1)), or R^(-2/(d+3)), of `sphere_norm`.

    Source: thesis, section 3.4, which states m^(-1/8) for every d; errata 33.

    >>> round(sphere_rate(n_rows=10**8, n_inputs=3), 6)
    0.1
    """
    return float(n_rows ** (-n_inputs / (4 * (n_inputs + (3 if lipschitz else 5)))))


def _log_share(n_inputs: int) -> float:
    """log of Γ((d + 1)/2)/(√π·Γ(d/2)), so that share·∫ sin^(d−1) t dt = 1 over [0, π]."""
    return math.lgamma((n_inputs + 1) / 2) - math.lgamma(n_inputs / 2) - math.log(math.pi) / 2


def _log_sigma(degrees: np.ndarray, n_inputs: int) -> np.ndarray:
    """log σ_k, σ_k = share·|∫₀¹ s·P_k(s)·(1 − s²)^((d−2)/2) ds|, for k = 0, 1 and even k."""
    half = n_inputs / 2
    share = _log_share(n_inputs)
    even = np.maximum(degrees, 2)
    out = share - even * math.log(2) + math.lgamma(half) + gammaln(even - 1)
    out -= gammaln(even / 2) + gammaln(even / 2 + half + 1)
    out = np.where(degrees == 0, share - math.log(n_inputs), out)
    return np.asarray(np.where(degrees == 1, -math.log(2 * (n_inputs + 1)), out))
