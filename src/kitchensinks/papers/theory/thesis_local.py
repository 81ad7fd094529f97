"""Local complexity and noise conditions: the thesis of Y. Sun (2019), chapter II.

H_r holds the differences of ramp losses ℓ∘f − ℓ∘f* of functions with regularised excess risk of at
most r; F_r holds the functions f themselves, sums of N features with ‖f‖² ≤ 2r/λ and k(x, x) ≤ 1.
"""

import math

from kitchensinks.papers.theory._shared import Rule, checked, count, positive
from kitchensinks.papers.theory.thesis_spectra import RULES

_bound = checked(
    **RULES
    | {
        "index": count("i, which entropy number: that of 2^(i-1) balls"),
        "level": positive("r, the largest regularised excess risk of the class"),
        "ridge": Rule("the regularisation λ", "a number between 0 and 1/2", lambda v: 0 < v < 0.5),
        "spread": positive("ρ, the largest ‖h‖ of the class on the rows"),
        "noise": Rule(
            "V in E h² <= V·E h, Massart's constant",
            "a number of 2 or more",
            lambda value: value >= 2,
        ),
        "noise_exponent": Rule(
            "Tsybakov's q in P(|2η - 1| <= t) <= (c·t)^q; 0 says nothing",
            "a number of 0 or more, or math.inf",
            lambda value: value >= 0,
            lambda value: min(float(value), 1e300),
        ),
        "margin_exponent": positive("β in ∫ over Δ(x) < t of |2η - 1| <= c·t^β"),
        "margin_scale": positive("the c of the margin exponent"),
    }
)
# The constants that the proof of Lemma II.12 carries.
C_ROOT = 36 * math.sqrt(2 * math.log(16))
C_LINEAR = 36**2 * math.log(16)


@_bound
def svm_entropy(*, index: int, level: float, ridge: float, n_features: int) -> float:
    """Entropy numbers of F_r, and so of H_r: radius at which 2^(i-1) balls cover it on any rows.

    e_i <= √(2r/λ)·min(1, 3·2^(-(i-1)/N)).

    Source: thesis, Lemmas II.9 (the ramp loss is 1-Lipschitz, so H_r has no larger ones) and II.10
    (a ball of radius √(2r/λ) in N dimensions); errata 34.

    >>> svm_entropy(index=1, level=0.5, ridge=0.25, n_features=10)
    2.0
    >>> round(svm_entropy(index=41, level=0.5, ridge=0.25, n_features=10), 4)
    0.375
    """
    radius = math.sqrt(2 * level / ridge)
    return radius * min(1.0, 3 * 2 ** (-(index - 1) / n_features))


@_bound
def svm_complexity(
    *, n_rows: int, n_features: int, ridge: float, level: float, spread: float
) -> float:
    """Rademacher complexity of H_r on given rows.

    √(ln 16·N·log₂(1/λ)/m)·(3√2·ρ + 18√r), for λ < 1/2.

    Source: thesis, Lemma II.11.

    >>> round(svm_complexity(n_rows=10**6, n_features=20, ridge=1e-3, level=0.01, spread=0.2), 4)
    0.0623
    """
    size = math.log(16) * n_features * math.log2(1 / ridge) / n_rows
    return math.sqrt(size) * (3 * math.sqrt(2) * spread + 18 * math.sqrt(level))


@_bound
def svm_mean_complexity(
    *,
    n_rows: int,
    n_features: int,
    ridge: float,
    level: float,
    noise: float,
    c_root: float = C_ROOT,
    c_linear: float = C_LINEAR,
) -> float:
    """Rademacher complexity of H_r on average over the rows, where E h² ≤ V·E h.

    C₁·√(N(V + 1)·log₂(1/λ)·r/m) + C₂·N·log₂(1/λ)/m, for λ < 1/2.

    Source: thesis, Lemma II.12, with the constants 36√(2 ln 16) and 36²·ln 16 of its proof.

    >>> round(svm_mean_complexity(
    ...     n_rows=10**8, n_features=20, ridge=1e-3, level=0.01, noise=2.0), 4)
    0.0279
    """
    size = n_features * math.log2(1 / ridge) / n_rows
    return c_root * math.sqrt((noise + 1) * size * level) + c_linear * size


@_bound
def tsybakov_rate(*, n_rows: int, exponent: float, noise_exponent: float) -> float:
    """How fast the excess risk falls under Tsybakov's noise condition, up to constants and logs.

    m^(-c₂/(c₂(2 - ϑ) + 2)) with ϑ = q/(q + 1): from Theorem II.6 with E h² ≤ V·(E h)^ϑ in place of
    ϑ = 1, so that r = (N/m)^(1/(2-ϑ)), and N = μ^(-1/c₂) balanced with √μ.

    Source: thesis, section 2.2, which says that its results extend and does not carry it out. At
    q = ∞ (Massart) the exponent is that of Theorem II.6, c₂/(2 + c₂).

    >>> round(tsybakov_rate(n_rows=10**6, exponent=2.0, noise_exponent=math.inf), 6)
    0.001
    >>> round(tsybakov_rate(n_rows=10**6, exponent=2.0, noise_exponent=0.0), 6)
    0.01
    """
    share = noise_exponent / (noise_exponent + 1)
    return float(n_rows ** (-exponent / (exponent * (2 - share) + 2)))


@_bound
def margin_risk(
    *, margin_exponent: float, margin_scale: float, bandwidth: float, n_inputs: int
) -> float:
    """Excess hinge risk of the Gaussian-smoothed labels of classes that may touch.

    2c·(2γ)^β·Γ((d + β)/2)/Γ(d/2), where ∫ over Δ(x) < t of |2η − 1| dP is at most c·t^β for all t.
    A row at the distance Δ from the other class adds 2Q(d/2, (Δ/2γ)²), as in `separated_risk`, and
    the mean of that over Δ is this one by parts.

    Source: thesis, section 2.4, the margin noise exponent; errata 18. Separated classes are β → ∞,
    where `separated_risk` is the bound.

    >>> risk = margin_risk(margin_exponent=1.0, margin_scale=1.0, bandwidth=0.1, n_inputs=1)
    >>> round(risk, 4)
    0.2257
    """
    log_ratio = math.lgamma((n_inputs + margin_exponent) / 2) - math.lgamma(n_inputs / 2)
    return float(2 * margin_scale * (2 * bandwidth) ** margin_exponent * math.exp(log_ratio))
