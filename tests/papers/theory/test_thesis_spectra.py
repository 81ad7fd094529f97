"""Features for a leverage, degrees of freedom and eigenvalues, against exact operators."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitchensinks.papers import theory
from kitchensinks.papers.theory.thesis_spectra import leverage_of_features


def gaussian_operator(rows, bandwidth):
    """The kernel's operator on the law that gives each row the same weight."""
    squares = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
    return np.exp(-squares / (2 * bandwidth**2)) / len(rows)


def test_features_for_the_leverage_hold_the_whole_unit_ball():
    """Features drawn from a finite list, so that operator and leverage are exact.

    Ridge weights β = Φᵀ(Σ̂ + μ)⁻¹f: the largest distance and the largest length of β over the unit
    ball are operator norms.
    """
    rng = np.random.default_rng(0)
    rows, n_listed, mu, delta = rng.standard_normal(30), 300, 0.01, 0.2
    listed = math.sqrt(2 / 30) * np.cos(
        rows[:, None] * rng.standard_normal(n_listed) * 2 + rng.uniform(0, 2 * np.pi, n_listed)
    )
    operator = listed @ listed.T / n_listed
    solved = np.linalg.solve(operator + mu * np.eye(30), listed)
    leverage = (listed * solved).sum(axis=0).max()
    values, vectors = np.linalg.eigh(operator)
    ball = vectors * np.sqrt(np.maximum(values, 0))
    n_features = theory.leverage_features(leverage=leverage, delta=delta)
    held = []
    for _ in range(40):
        drawn = listed[:, rng.integers(0, n_listed, n_features)] / math.sqrt(n_features)
        solved = np.linalg.solve(drawn @ drawn.T + mu * np.eye(30), ball)
        distance = mu * np.linalg.norm(solved, 2)
        length = np.linalg.norm(drawn.T @ solved, 2)
        held.append(distance <= theory.leverage_error(mu=mu, norm=1.0) and length <= 2)
    assert np.mean(held) >= 1 - delta


def test_distance_with_bounded_features_falls_almost_like_one_over_root_n():
    law = {"feature_bound": 1.5, "norm": 2.0, "delta": 0.05}
    counts = np.array([10**4, 10**6, 10**8])
    errors = [theory.bounded_features_error(n_features=int(n), **law) for n in counts]
    slope = np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.05)  # a logarithm is left


@given(st.floats(1.0, 1e6), st.floats(1e-6, 0.99))
def test_leverage_and_features_are_inverses(leverage, delta):
    n_features = theory.leverage_features(leverage=leverage, delta=delta)
    assert leverage_of_features(n_features=n_features, delta=delta) >= leverage * (1 - 1e-9)
    assert leverage_of_features(n_features=n_features - 1, delta=delta) < leverage


@given(st.floats(0.01, 2.0), st.floats(0.1, 10), st.floats(1e-6, 0.99))
def test_bounded_features_and_error_are_inverses(error, norm, delta):
    law = {"feature_bound": 1.0, "norm": norm, "delta": delta}
    n_features = theory.solve("n_features", theory.bounded_features_error, value=error, **law)
    assert theory.bounded_features_error(n_features=n_features, **law) <= error
    stated = theory.leverage_features(leverage=(2 * norm / error) ** 2, delta=delta)
    assert abs(n_features - stated) <= 1  # rounding


@pytest.mark.parametrize("exponent", [1.3, 2.0, 4.0])
@pytest.mark.parametrize("mu", [0.5, 1e-2, 1e-4])
def test_polynomial_freedom_bounds_the_sum(exponent, mu):
    eigenvalues = 2.0 * np.arange(1.0, 1_000_001) ** -exponent
    freedom = (eigenvalues / (eigenvalues + mu)).sum()
    bound = theory.polynomial_freedom(mu=mu, scale=2.0, exponent=exponent)
    assert freedom <= bound
    law = {"between": (1e-6, 1.9), "scale": 2.0, "exponent": exponent}
    assert theory.solve("mu", theory.polynomial_freedom, value=bound, **law) == pytest.approx(mu)


@pytest.mark.parametrize(("rate", "n_inputs"), [(0.5, 1), (2.0, 1), (0.8, 2), (1.0, 3), (2.0, 3)])
@pytest.mark.parametrize("extra", [0.01, 5.0])
def test_subexponential_freedom_bounds_the_sum(rate, n_inputs, extra):
    exponent = max(rate, 1 / rate) * n_inputs**2 + extra
    mu = 3.0 * math.exp(-exponent)
    last = int(((exponent + 40) / rate) ** n_inputs)
    eigenvalues = 3.0 * np.exp(-rate * np.arange(1.0, last) ** (1 / n_inputs))
    freedom = (eigenvalues / (eigenvalues + mu)).sum()
    law = {"scale": 3.0, "rate": rate, "n_inputs": n_inputs}
    bound = theory.subexponential_freedom(mu=mu, **law)
    assert freedom <= 0.6 * bound  # 3 in place of 5 is enough
    law["between"] = (mu / 100, mu * 1.001)
    back = theory.solve("mu", theory.subexponential_freedom, value=bound, **law)
    assert back == pytest.approx(mu)


def test_printed_index_of_lemma_ii_5_is_reversed():
    """max{i : λ_i <= μ} does not exist for eigenvalues that fall; with >= (2.7) holds."""
    eigenvalues, mu = np.arange(1.0, 10_001) ** -2.0, 1e-3
    freedom = (eigenvalues / (eigenvalues + mu)).sum()
    large = eigenvalues >= mu
    assert freedom <= large.sum() + eigenvalues[~large].sum() / mu


@pytest.mark.parametrize("n_inputs", [1, 2, 3])
def test_widom_eigenvalue_counts_the_volume_of_phase_space(n_inputs):
    """At t = the i-th value the set {αB·exp(-β‖ξ‖²) > t} × ball has volume (2π)^d·i.

    The printed constant, with π^(4/d), has another volume.
    """
    law = {"height": 2.0, "decay": 0.3, "density_bound": 1.5, "radius": 1.2}
    value = theory.widom_eigenvalue(index=4, n_inputs=n_inputs, constant=1.0, **law)
    ball = math.pi ** (n_inputs / 2) / math.gamma(n_inputs / 2 + 1)
    frequencies = ball * (math.log(3.0 / value) / 0.3) ** (n_inputs / 2)
    volume = ball * 1.2**n_inputs * frequencies / (2 * math.pi) ** n_inputs
    assert volume == pytest.approx(4)
    printed = volume * math.pi**2  # C_{d,ρ} with π^(d+2)
    assert printed > 9 * 4


def test_widom_eigenvalue_is_no_bound_for_the_gaussian_kernel():
    """Uniform inputs on [-1, 1]: the ratio to the true eigenvalues grows without end."""
    nodes, weights = np.polynomial.legendre.leggauss(60)
    root = np.sqrt(weights / 2)
    kernel = np.exp(-((nodes[:, None] - nodes) ** 2) / 2)
    eigenvalues = np.linalg.eigvalsh(root[:, None] * kernel * root)[::-1]
    law = {"height": math.sqrt(2 * math.pi), "decay": 0.5, "density_bound": 0.5, "radius": 1.0}
    ratios = [
        eigenvalues[i - 1] / theory.widom_eigenvalue(index=i, n_inputs=1, constant=1.0, **law)
        for i in (2, 4, 6, 8)
    ]
    assert ratios[0] > 10
    assert (np.diff(np.log(ratios)) > np.log(1e3)).all()


@pytest.mark.parametrize("n_inputs", [1, 2, 3])
@pytest.mark.parametrize("bandwidth", [0.5, 1.0, 2.0])
def test_gaussian_bounds_hold_for_the_exact_operator(n_inputs, bandwidth):
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((120, n_inputs))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    rows *= rng.random((120, 1)) ** 0.2
    eigenvalues = np.maximum(np.linalg.eigvalsh(gaussian_operator(rows, bandwidth))[::-1], 0)
    law = {"radius": 1.0, "bandwidth": bandwidth, "n_inputs": n_inputs}
    bounds = [theory.gaussian_eigenvalue(index=i, **law) for i in range(1, 60)]
    assert (eigenvalues[:59] <= np.array(bounds) + 1e-14).all()
    for mu in (0.1, 1e-3, 1e-6):
        freedom = (eigenvalues / (eigenvalues + mu)).sum()
        assert freedom <= theory.gaussian_freedom(mu=mu, **law)


def test_laws_that_do_not_hold_are_refused():
    with pytest.raises(ValueError, match=r"exponent=1.0: need a finite number above 1"):
        theory.polynomial_freedom(mu=0.1, scale=1.0, exponent=1.0)
    with pytest.raises(ValueError, match=r"mu=2.0: need less than scale=1.0"):
        theory.polynomial_freedom(mu=2.0, scale=1.0, exponent=2.0)
    with pytest.raises(ValueError, match=r"mu=0.1: need less than 0.0183"):
        theory.subexponential_freedom(mu=0.1, scale=1.0, rate=1.0, n_inputs=2)
    with pytest.raises(ValueError, match=r"mu=0.0: need a positive finite number"):
        theory.gaussian_freedom(mu=0.0, radius=1.0, bandwidth=1.0, n_inputs=1)
