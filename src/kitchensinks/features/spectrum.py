"""The spectrum of a kernel on data, and what it says about the number of features."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kitchensinks.features.bases import Basis, Draw
from kitchensinks.features.bases.leverage import (
    ROUNDING,
    check_eigenvalues,
    checked,
    effective_dimension,
    kernel_eigen,
    maximal_leverage,
)
from kitchensinks.numerics.arrays import Floats
from kitchensinks.numerics.checks import check_count


def spectrum(basis: Basis, rows: ArrayLike, weights: ArrayLike | None = None) -> Floats:
    """Falling eigenvalues λ of the kernel's operator on the rows: of k(x_i, x_j)/n, shape (n,).

    They estimate those of Σ f = ∫ k(·, x) f(x) dP(x); the leading ones well, those of index near
    n not. `rows` (n, d) should be a sample of a few thousand at most: time n³. An error if the
    kernel has negative eigenvalues, which no random features have.

    >>> import kitchensinks as ks
    >>> rows = np.random.default_rng(0).normal(size=(200, 2))
    >>> spectrum(ks.Fourier(gamma=0.5), rows)[:3].round(3).tolist()
    [0.388, 0.156, 0.143]
    """
    return kernel_eigen(basis, *checked(rows, weights))[0][::-1]


class DecayRate(NamedTuple):
    """A fitted law of decay, and the root-mean-square error of log λ under it."""

    scale: float
    rate: float
    error: float


class Decay(NamedTuple):
    """Two laws of decay fitted to one spectrum (thesis, Definition II.4).

    polynomial: λ_i ≤ scale·i^(−rate), the thesis's c₁ and c₂;
    subexponential: λ_i ≤ scale·exp(−rate·i^(1/d)), its c₃ and c₄.
    """

    polynomial: DecayRate
    subexponential: DecayRate

    @property
    def better(self) -> str:
        """The name of the law with the smaller error."""
        first, second = self.polynomial, self.subexponential
        return "polynomial" if first.error <= second.error else "subexponential"


def decay_rates(eigenvalues: ArrayLike, n_inputs: int) -> Decay:
    """Polynomial and sub-exponential rates of decay of a spectrum, by least squares on log λ.

    The first half of the eigenvalues counts, as far as they are above rounding (10⁻¹² of the
    largest). `scale` is then the smallest for which the law bounds all that were used. d is
    n_inputs.

    >>> decay = decay_rates(np.arange(1, 101) ** -2.0, n_inputs=1)
    >>> decay.better, round(decay.polynomial.rate, 6), round(decay.polynomial.scale, 6)
    ('polynomial', 2.0, 1.0)
    """
    n_inputs = check_count("n_inputs", n_inputs)
    values = np.sort(check_eigenvalues(eigenvalues))[::-1]
    values = values[: -(-len(values) // 2)]
    values = values[values > ROUNDING * values[0]]
    if len(values) < 3:
        raise ValueError(
            f"{len(values)} eigenvalues above rounding in the first half: need 3 or more to fit a "
            "rate. Give more rows, or a kernel of higher rank."
        )
    index = np.arange(1.0, len(values) + 1.0)
    return Decay(_law(np.log(index), values), _law(index ** (1.0 / n_inputs), values))


def _law(place: Floats, values: Floats) -> DecayRate:
    """log λ = log scale − rate·place."""
    logs = np.log(values)
    slope, level = np.polyfit(place, logs, 1)
    error = math.sqrt(np.square(logs - slope * place - level).mean())
    return DecayRate(math.exp((logs - slope * place).max()), -float(slope), error)


class Suggestion(NamedTuple):
    """How many features, with and without reweighting, and why."""

    dimension: float
    leverage: float
    reweighted: int
    plain: int


def suggested_components(
    draw: Draw, rows: ArrayLike, mu: float, delta: float = 0.05, weights: ArrayLike | None = None
) -> Suggestion:
    """How many features represent every function of norm 1 to within 2√μ: thesis, Theorem II.2.

    N = ⌈5·d_max·log(16·d_max/δ)⌉, with probability at least 1 − δ, where d_max is d(μ) for
    reweighted features and the maximal leverage, here over the draws given, for plain ones. The
    bound is generous; the ratio of the two says what reweighting can save. `rows` (n, d) should
    be a sample of a few thousand at most, `draw` a thousand draws or more.

    >>> import kitchensinks as ks
    >>> rows = np.random.default_rng(0).normal(size=(200, 2))
    >>> draw = ks.Fourier(gamma=0.5).draw(seed=0, n_inputs=2, n_components=1000)
    >>> suggestion = suggested_components(draw, rows, mu=0.01)
    >>> suggestion.reweighted, suggestion.plain
    (526, 4386)
    """
    if not 0 < delta < 1:
        raise ValueError(f"delta={delta!r}: need a probability between 0 and 1, such as 0.05.")
    dimension = effective_dimension(spectrum(draw.basis, rows, weights), mu)
    leverage = max(dimension, maximal_leverage(draw, rows, mu, weights))
    counts = [components_of(largest, delta) for largest in (dimension, leverage)]
    return Suggestion(dimension, leverage, *counts)


def components_of(leverage: float, delta: float) -> int:
    """⌈5·d_max·log(16·d_max/δ)⌉, at least 1: thesis, Theorem II.2."""
    return max(1, math.ceil(5 * leverage * math.log(16 * leverage / delta)))
