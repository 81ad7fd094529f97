"""Functions of the space of ReLU features: Fourier series on the circle, and quadrature."""

import math

import numpy as np
import pytest
from scipy import integrate, optimize, special

from kitchensinks.papers import theory
from kitchensinks.papers.theory.thesis_sphere import _log_sigma

ANGLES = np.arange(4096) * 2 * math.pi / 4096


def squared_norm_on_circle(values):
    """Σ |f_k|²/σ_k² with σ_k the Fourier coefficients of ReLU(cos t), by FFT."""
    own = np.abs(np.fft.fft(values) / len(values)) ** 2
    relu = np.abs(np.fft.fft(np.maximum(0.0, np.cos(ANGLES))) / len(ANGLES)) ** 2
    kept = own > 1e-20
    return float((own[kept] / relu[kept]).sum())


@pytest.mark.parametrize("n_inputs", [1, 2, 5])
def test_sigma_by_quadrature(n_inputs):
    degrees = np.array([0, 1, 2, 4, 8])
    order = (n_inputs - 1) / 2
    share, _ = integrate.quad(lambda t: math.sin(t) ** (n_inputs - 1), 0, math.pi)

    def legendre(k, s):
        if n_inputs == 1:
            return special.eval_chebyt(k, s)
        return special.eval_gegenbauer(k, order, s) / special.eval_gegenbauer(k, order, 1.0)

    for k, found in zip(degrees, np.exp(_log_sigma(degrees, n_inputs)), strict=True):
        value, _ = integrate.quad(
            lambda t, k=k: math.cos(t) * legendre(k, math.cos(t)) * math.sin(t) ** (n_inputs - 1),
            0,
            math.pi / 2,
        )
        assert found == pytest.approx(abs(value) / share, rel=1e-9)


@pytest.mark.parametrize("power", [0, 1, 2, 4, 8, 20])
def test_powers_on_the_circle(power):
    exact = math.sqrt(squared_norm_on_circle(np.cos(ANGLES) ** power))
    bound = theory.relu_power_norm(power=power, coefficient=1.0, n_inputs=1)
    assert exact <= bound * (1 + 1e-9)
    if power <= 4:
        assert bound <= 4 * exact


def test_power_norms_come_from_the_series_of_the_kernel():
    """Σ_p s^p/norm² is the kernel of `ks.ReLU` between unit rows, for the powers of the space."""
    for s in (-0.6, 0.1, 0.8):
        powers = [0, 1, *range(2, 400, 2)]
        series = sum(
            s**p / theory.relu_power_norm(power=p, coefficient=1.0, n_inputs=3) ** 2 for p in powers
        )
        sine = math.sqrt(1 - s * s)
        kernel = (sine + (math.pi - math.acos(s)) * s) / (2 * math.pi * 4)
        assert series == pytest.approx(kernel, rel=1e-5)


def test_the_printed_step_of_lemma_iii_17_fails_from_four():
    for power, holds in ((2, True), (4, False), (6, False)):
        exact = theory.relu_power_norm(power=power, coefficient=1.0, n_inputs=1)
        assert (exact <= math.sqrt(4 * math.pi) * power) == holds


@pytest.mark.parametrize("n_inputs", [1, 2, 10, 300])
def test_length_is_well_below_equation_3_12(n_inputs):
    """The exact norm: h = 1/E ReLU(ω₁) is the weight, by Monte Carlo."""
    rng = np.random.default_rng(0)
    normal = rng.normal(size=(40_000, n_inputs + 1))
    first = normal[:, 0] / np.linalg.norm(normal, axis=1)
    exact = theory.relu_length_norm(n_inputs=n_inputs)
    assert exact == pytest.approx(1 / np.maximum(first, 0).mean(), rel=0.03)
    assert exact <= 2 * math.sqrt(2 * math.pi) * (n_inputs + 1) ** 1.5
    own = theory.relu_power_norm(power=2, coefficient=1.0, n_inputs=n_inputs)
    assert exact <= (n_inputs + 1) * own


@pytest.mark.parametrize("power", [3, 5, 2.5, -2])
def test_powers_outside_of_the_space(power):
    with pytest.raises(ValueError, match="need 0, 1 or an even whole number"):
        theory.relu_power_norm(power=power, coefficient=1.0, n_inputs=2)


@pytest.mark.parametrize("smoothing", [0.3, 0.8, 0.99])
@pytest.mark.parametrize("margin", [0.2, 1.0])
def test_poisson_error_on_the_circle(smoothing, margin):
    """The mass beyond an angle a is 1 − (2/π)·arctan((1 + r)/(1 − r)·tan(a/2))."""
    edge = 2 * math.asin(margin / 4)
    inside = math.atan((1 + smoothing) / (1 - smoothing) * math.tan(edge / 2)) * 2 / math.pi
    found = theory.sphere_error(margin=margin, smoothing=smoothing, n_inputs=1)
    assert found == pytest.approx(2 * (1 - inside), rel=1e-6)


def test_smoothed_labels_on_the_circle():
    """Even labels of two double arcs: norm and largest error of g by Fourier series lie below."""
    labels = np.sign(np.cos(2 * ANGLES))
    degrees = np.abs(np.fft.fftfreq(4096, 1 / 4096))
    for r in (0.5, 0.9, 0.97):
        g = np.fft.ifft(np.fft.fft(labels) * r**degrees).real
        assert math.sqrt(squared_norm_on_circle(g)) <= theory.sphere_norm(smoothing=r, n_inputs=1)
        # Rows at an angle of at least 0.3 from the edges: chord 2·sin(0.3) to the other class.
        rows = np.abs(((ANGLES - math.pi / 4) % (math.pi / 2)) - math.pi / 4) <= math.pi / 4 - 0.3
        error = np.abs(g - labels)[rows].max()
        assert error <= theory.sphere_error(margin=2 * math.sin(0.3), smoothing=r, n_inputs=1)
    assert np.abs(g).max() <= 1 + 1e-9


def test_norm_grows_as_stated():
    norms = [theory.sphere_norm(smoothing=1 - gap, n_inputs=4) for gap in (1e-3, 1e-4)]
    assert math.log10(norms[1] / norms[0]) == pytest.approx(7 / 2, rel=0.01)


def test_odd_labels_are_not_in_the_space():
    """cos 3t on the circle: ReLU(cos t) has no such frequency."""
    relu = np.abs(np.fft.fft(np.maximum(0.0, np.cos(ANGLES))))
    assert relu[3] < 1e-8 < relu[2]


@pytest.mark.parametrize("lipschitz", [True, False])
@pytest.mark.parametrize("n_inputs", [1, 3, 5, 20])
def test_rate_is_the_best_balance(n_inputs, lipschitz):
    power = 2 / (n_inputs + (1 if lipschitz else 3))

    def best(rows):
        def risk(log_norm):
            return math.exp(log_norm) * rows ** (-n_inputs / 8) + math.exp(-power * log_norm)

        return optimize.minimize_scalar(risk, bounds=(0, 100), method="bounded").fun

    slope = math.log(best(10**9) / best(10**6))
    law = {"n_inputs": n_inputs, "lipschitz": lipschitz}
    rates = [theory.sphere_rate(n_rows=rows, **law) for rows in (10**6, 10**9)]
    assert math.log(rates[1] / rates[0]) == pytest.approx(slope, rel=1e-3)
    if n_inputs == (3 if lipschitz else 5):
        assert rates[0] == pytest.approx((10**6) ** (-1 / 8))
