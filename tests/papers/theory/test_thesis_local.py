"""Lemmas II.9 to II.12 and the noise conditions, against exact values and simulations."""

import math

import numpy as np
import pytest
from scipy import integrate, optimize, special

from kitchensinks.papers import theory


@pytest.mark.parametrize("index", [1, 2, 5, 9])
def test_entropy_numbers_of_an_interval_are_below(index):
    """2^(i-1) equal intervals cover [-R, R] best: their radius is R/2^(i-1)."""
    radius = math.sqrt(2 * 0.5 / 0.1)
    found = theory.svm_entropy(index=index, level=0.5, ridge=0.1, n_features=1)
    assert radius / 2 ** (index - 1) <= found <= 3 * radius / 2 ** (index - 1)


def test_entropy_numbers_of_a_disc_cover_it():
    """Greedy centres 2^(i-1) of them: some cover of the disc is no coarser than the bound."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(4000, 2))
    points *= (np.sqrt(rng.random(4000)) / np.linalg.norm(points, axis=1))[:, None]
    distance = np.full(len(points), np.inf)
    for taken in range(1, 65):
        new = points[np.argmax(distance)]
        distance = np.minimum(distance, np.linalg.norm(points - new, axis=1))
        index = math.log2(taken) + 1
        if index == int(index):
            bound = theory.svm_entropy(index=int(index), level=0.05, ridge=0.1, n_features=2)
            # Greedy covers are at most twice as coarse as the best one.
            assert distance.max() / 2 <= bound


def dudley(rows, n_features, ridge, level, spread):
    """Theorem 7.13 of Steinwart and Christmann, summed: what the proof of II.11 starts from."""
    total = spread
    for i in range(1, 60):
        places = 2**i - 1
        if places / n_features > 300:
            break
        own = theory.svm_entropy(index=places, level=level, ridge=ridge, n_features=n_features)
        total += 2 ** (i / 2) * min(spread, own)
    return math.sqrt(math.log(16) / rows) * total


@pytest.mark.parametrize("n_features", [1, 10, 200])
@pytest.mark.parametrize("ridge", [0.4, 1e-2, 1e-5])
@pytest.mark.parametrize("spread", [0.01, 0.5, 1.0])
def test_lemma_ii_11_is_at_least_the_sum_that_it_bounds(n_features, ridge, spread):
    law = {"n_features": n_features, "ridge": ridge, "level": 0.2, "spread": spread}
    assert theory.svm_complexity(n_rows=1000, **law) >= dudley(1000, **law)


def test_complexity_of_a_class_of_features():
    """The linear class of radius √(2r/λ): E‖Σ s_i z_i‖·√(2r/λ)/m by Monte Carlo lies below."""
    rng = np.random.default_rng(1)
    rows, n_features, ridge, level = 400, 8, 0.05, 0.01
    features = np.cos(rng.normal(size=(rows, 2)) @ rng.normal(size=(2, n_features)))
    features /= math.sqrt(n_features)
    signs = rng.choice([-1.0, 1.0], size=(2000, rows))
    radius = math.sqrt(2 * level / ridge)
    simulated = radius * np.linalg.norm(signs @ features, axis=1).mean() / rows
    spread = radius * np.linalg.norm(features, 2) / math.sqrt(rows)
    law = {"n_features": n_features, "ridge": ridge, "level": level}
    assert simulated <= dudley(rows, spread=spread, **law)
    assert simulated <= theory.svm_complexity(n_rows=rows, spread=spread, **law)


def test_lemma_ii_12_solves_its_own_inequality():
    """The bound x satisfies x >= c·(3√2·√(σ² + 8x) + 18√r) for the largest σ² = V·r."""
    for noise in (2.0, 5.0, 50.0):
        for rows in (10**3, 10**6):
            law = {"n_rows": rows, "n_features": 30, "ridge": 1e-3, "level": 0.01}
            mean = theory.svm_mean_complexity(noise=noise, **law)
            spread = math.sqrt(noise * 0.01 + 8 * mean)
            assert mean >= theory.svm_complexity(spread=spread, **law)


@pytest.mark.parametrize("decay", [1.5, 3.0, 10.0])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_tsybakov_rate_is_the_best_balance(decay, share):
    """min over μ of √μ + (μ^(-1/c₂)/m)^(1/(2-ϑ)), by search: its slope in log m."""

    def best(rows):
        def risk(log_mu):
            return math.exp(log_mu / 2) + (math.exp(-log_mu / decay) / rows) ** (1 / (2 - share))

        return optimize.minimize_scalar(risk, bounds=(-80, 0), method="bounded").fun

    q = math.inf if share == 1.0 else share / (1 - share)
    rates = [
        theory.tsybakov_rate(n_rows=rows, exponent=decay, noise_exponent=q)
        for rows in (10**6, 10**9)
    ]
    slope = math.log(best(10**9) / best(10**6))
    assert math.log(rates[1] / rates[0]) == pytest.approx(slope, rel=1e-3)


@pytest.mark.parametrize("gamma", [0.02, 0.1, 0.3])
def test_margin_risk_of_classes_that_touch(gamma):
    """x uniform on [-1, 1], label by its sign: Δ = |x|, β = c = 1; the risk by quadrature."""
    exact, _ = integrate.quad(lambda x: special.erfc(x / gamma), 0, 1)
    bound = theory.margin_risk(margin_exponent=1.0, margin_scale=1.0, bandwidth=gamma, n_inputs=1)
    assert exact <= bound <= 5 * exact


def test_margin_risk_is_the_mean_of_separated_risks():
    """With P(Δ < t) = t^β on [0, 1] and c = 1, the bound is the mean of `separated_risk` and more:
    by parts it goes on beyond t = 1, where the risk is next to nothing."""
    law = {"bandwidth": 0.05, "n_inputs": 3}
    for beta in (0.5, 2.0):
        mean, _ = integrate.quad(
            lambda t, beta=beta: theory.separated_risk(margin=t, **law) * beta * t ** (beta - 1),
            0,
            1,
        )
        bound = theory.margin_risk(margin_exponent=beta, margin_scale=1.0, **law)
        assert bound == pytest.approx(mean, rel=1e-4)
