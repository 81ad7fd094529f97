"""Plans and rates of support vector machines on random features, and separated classes."""

import math

import numpy as np
import pytest
from scipy.special import erf, gammainccinv

from kitchensinks.papers import theory
from kitchensinks.papers.theory.thesis_svm import SvmPlan

CONSTANTS = {"noise": 2.0, "c_root": 0.1, "c_linear": 0.1}


def polynomial(n_rows, gap=0.0):
    return theory.polynomial_plan(
        n_rows=n_rows, scale=2.0, exponent=3.0, norm=1.5, gap=gap, delta=0.05
    )


def subexponential(n_rows):
    return theory.subexponential_plan(
        n_rows=n_rows, scale=2.0, rate=1.0, n_inputs=2, norm=1.5, gap=0.0, delta=0.05
    )


def plain(n_rows):
    return theory.plain_plan(n_rows=n_rows, feature_bound=1.0, norm=1.5, gap=0.0, delta=0.05)


def separated(n_rows):
    return theory.separated_plan(n_rows=n_rows, margin=1.0, radius=1.0, n_inputs=2, delta=0.05)


def slope(plan_for, value, rows=(10**40, 10**80)):
    few, many = (math.log(value(plan_for(n_rows))) for n_rows in rows)
    return (many - few) / math.log(rows[1] / rows[0])


def risk(plan):
    return theory.svm_excess_risk(plan, **CONSTANTS)


@pytest.mark.parametrize(
    ("plan_for", "rate", "features"),
    [(polynomial, -3 / 5, 2 / 5), (subexponential, -1, 0), (plain, -1 / 3, 2 / 3)],
)
def test_rates_of_the_plans(plan_for, rate, features):
    assert slope(plan_for, risk) == pytest.approx(rate, abs=0.06)
    assert slope(plan_for, lambda plan: plan.n_features) == pytest.approx(features, abs=0.03)


def test_rate_in_the_summary_of_the_chapter_is_not_the_theorems():
    assert slope(polynomial, risk) > -3 / 4 + 0.1  # printed c₂/(1 + c₂)


def test_gap_counts_nine_times():
    more = risk(polynomial(10**6, gap=0.01)) - risk(polynomial(10**6))
    assert more == pytest.approx(0.09)


def test_plans_use_the_features_of_theorem_ii_2():
    plan = polynomial(10**6)
    freedom = theory.polynomial_freedom(mu=plan.mu, scale=2.0, exponent=3.0)
    assert plan.n_features == theory.leverage_features(leverage=freedom, delta=0.05)
    assert plan.mu == pytest.approx(plan.ridge**2)


def test_risk_at_its_terms():
    plan = SvmPlan(n_rows=1000, n_features=100, ridge=0.25, mu=0.01, norm=3.0, gap=0.5, delta=0.1)
    target = 9 * (2 * 3 * 0.1 + 2 * 9 * 0.25 + 0.5)
    spread = (900 * 4 + 120 * 5) * 100 * 4 * 2 + (10 * 10 * 3 + 5 + 72 * 3) * math.log(10)
    got = theory.svm_excess_risk(plan, noise=3.0, c_root=2.0, c_linear=5.0)
    assert got == pytest.approx(target + 3 * spread / 1000)


def test_local_radius_of_lemma_ii_13_needs_the_binary_logarithm():
    """r >= 30φ(r) for φ(r) = C₁√(N(V+1)log₂(1/λ)r/m) + C₂N·log₂(1/λ)/m fails with printed ln."""
    c_root, c_linear, size, ridge = 1.0, 1e-3, 0.01, 1e-3  # size = N(V + 1)/m

    def needed(radius):
        logs = size * math.log2(1 / ridge)
        return 30 * (c_root * math.sqrt(logs * radius) + c_linear * logs)

    factor = (900 * c_root**2 + 120 * c_linear) * size
    assert factor * math.log(1 / ridge) < needed(factor * math.log(1 / ridge))
    assert factor * math.log2(1 / ridge) >= needed(factor * math.log2(1 / ridge))


@pytest.mark.parametrize(
    ("plan_for", "start"), [(polynomial, 16), (subexponential, 100), (plain, 16)]
)
def test_rows_for_a_risk(plan_for, start):
    rows = theory.solve("n_rows", lambda n_rows: risk(plan_for(n_rows)), value=0.1, start=start)
    assert risk(plan_for(rows)) <= 0.1 < risk(plan_for(rows // 2))


def test_rows_for_a_risk_of_separated_classes():
    rows = theory.solve("n_rows", lambda n_rows: risk(separated(n_rows)), value=0.1, start=16)
    assert risk(separated(rows)) <= 0.1 < risk(separated(rows // 2))


def interval_classifier(rows, margin, bandwidth):
    """Smoothed labels of the classes [-1, -τ/2] and [τ/2, 1], each widened by τ/2."""

    def mass(low, high):
        return (erf((high - rows) / bandwidth) - erf((low - rows) / bandwidth)) / 2

    end = 1 + margin / 2
    return mass(0.0, end) - mass(-end, 0.0)


@pytest.mark.parametrize("bandwidth", [0.05, 0.1, 0.2])
def test_smoothed_labels_of_two_intervals_stay_within_lemma_ii_16(bandwidth):
    margin = 0.4
    rows = np.linspace(margin / 2, 1, 200)
    rows = np.concatenate([-rows, rows])
    scores = interval_classifier(rows, margin, bandwidth)
    excess = np.maximum(0, 1 - np.sign(rows) * scores).max()  # the worst law on the classes
    law = {"margin": margin, "bandwidth": bandwidth, "n_inputs": 1}
    assert np.abs(scores).max() <= 1
    assert excess <= theory.separated_risk(**law) <= theory.separated_risk(**law, closed_form=True)
    square = 2 * (1 + margin / 2) / (math.sqrt(2 * math.pi) * bandwidth)  # ∫ g²
    norm = theory.separated_norm(margin=margin, radius=1.0, bandwidth=bandwidth, n_inputs=1)
    assert norm == pytest.approx(math.sqrt(square))


@pytest.mark.parametrize("n_inputs", [2, 8])
def test_smoothed_labels_of_two_points_stay_within_lemma_ii_16(n_inputs):
    """Two classes that are points: their labels reach half the margin, and no further."""
    bandwidth, half = 0.45, 1.0
    noise = np.random.default_rng(0).standard_normal((200_000, n_inputs)) * bandwidth / math.sqrt(2)
    own = (np.linalg.norm(noise, axis=1) <= half).mean()
    noise[:, 0] += 2 * half
    other = (np.linalg.norm(noise, axis=1) <= half).mean()
    excess = 1 - own + other
    law = {"margin": 2 * half, "bandwidth": bandwidth, "n_inputs": n_inputs}
    assert excess <= theory.separated_risk(**law)
    assert excess >= 0.4 * theory.separated_risk(**law)  # and not far below


@pytest.mark.parametrize("n_inputs", [1, 2, 5, 8])
@pytest.mark.parametrize("ratio", [1.01, 1.5, 3.0])
def test_closed_form_bounds_the_integral(n_inputs, ratio):
    bandwidth = 1.0 / (ratio * max(1.0, math.sqrt(n_inputs - 1)))
    law = {"margin": 2.0, "bandwidth": bandwidth, "n_inputs": n_inputs}
    assert theory.separated_risk(**law) <= theory.separated_risk(**law, closed_form=True)


def test_printed_risk_of_lemma_ii_16_lies_below_the_integral():
    d, tau, gamma = 8, 1.0, 0.3  # τ is here the radius of the ball inside a class
    printed = 4 * tau ** (d - 2) / math.gamma(d / 2) * math.exp(-((tau / gamma) ** 2))
    printed *= gamma ** (d - 2)
    integral = theory.separated_risk(margin=2 * tau, bandwidth=gamma, n_inputs=d)
    assert integral == pytest.approx(9.04e-3, rel=1e-3)
    assert printed < 1e-8
    law = {"margin": 2 * tau, "bandwidth": gamma, "n_inputs": d}
    corrected = theory.separated_risk(**law, closed_form=True)
    assert integral < corrected < 2 * integral


def test_printed_norm_of_lemma_ii_16_is_not_the_norm():
    """Labels 1 on a ball of radius ρ: ‖g‖² = volume/(√(2π)γ)^d."""

    def printed(radius, bandwidth, d):
        size = (math.sqrt(math.pi / 2) * radius**2) ** (d / 2) / math.gamma(d / 2 + 1)
        return size * bandwidth ** (-d / 2)

    for d, radius in [(1, 0.1), (2, 0.3), (8, 0.5)]:
        volume = math.pi ** (d / 2) * radius**d / math.gamma(d / 2 + 1)
        norm = math.sqrt(volume / (math.sqrt(2 * math.pi) * 0.2) ** d)
        got = theory.separated_norm(margin=1e-12, radius=radius, bandwidth=0.2, n_inputs=d)
        assert got == pytest.approx(norm)
        assert printed(radius, 0.2, d) < 0.6 * norm


def test_bandwidth_is_the_inverse_of_the_integral():
    for n_inputs in (1, 3, 10):
        law = {"margin": 1.0, "n_inputs": n_inputs}
        ends = (0.01, 1.0)
        bandwidth = theory.solve(
            "bandwidth", theory.separated_risk, value=1e-3, between=ends, **law
        )
        exact = 1 / (2 * math.sqrt(gammainccinv(n_inputs / 2, 1e-3 / 2)))
        assert bandwidth == pytest.approx(exact)


def test_printed_bandwidth_of_theorem_ii_15_leaves_a_slow_risk():
    n_rows = 10**6
    law = {"margin": 1.0, "n_inputs": 2}
    printed = theory.separated_risk(bandwidth=1 / math.sqrt(math.log(n_rows)), **law)
    assert printed == pytest.approx(2 * n_rows**-0.25)
    plan = separated(n_rows)
    assert plan.bandwidth == pytest.approx(1 / (2 * math.sqrt(math.log(n_rows))))
    assert theory.separated_risk(bandwidth=plan.bandwidth, **law) <= 2.001 / n_rows
    assert plan.ridge == 1 / n_rows


def test_separated_classes_need_fewer_features_than_printed():
    """N grows like ln^d(m), where the theorem prints ln^(2d)(m)."""
    few, many = separated(10**10), separated(10**40)
    power = math.log(many.n_features / few.n_features) / math.log(4)
    assert 2 < power < 2.4


def test_bad_plans_are_refused():
    with pytest.raises(ValueError, match=r"noise=1.0: need a number of 2 or more"):
        theory.svm_excess_risk(plain(100), noise=1.0, c_root=1.0, c_linear=1.0)
    with pytest.raises(ValueError, match=r"n_rows=5: gives λ = 0.585, .* Use more rows"):
        plain(5)
    with pytest.raises(ValueError, match=r"n_rows=100: need at least 8104"):
        theory.separated_plan(n_rows=100, margin=1.0, radius=1.0, n_inputs=10, delta=0.1)
    with pytest.raises(ValueError, match=r"bandwidth=0.4: .* Use closed_form=False"):
        theory.separated_risk(margin=1.0, bandwidth=0.4, n_inputs=8, closed_form=True)
    with pytest.raises(ValueError, match=r"margin=0.0: need a positive finite number"):
        theory.separated_plan(n_rows=100, margin=0.0, radius=1.0, n_inputs=2, delta=0.1)
    with pytest.raises(ValueError, match=r"gap=-1.0: need a finite number of 0 or more"):
        polynomial(10**6, gap=-1.0)
    with pytest.raises(TypeError, match="c_root"):
        theory.svm_excess_risk(plain(100), noise=2.0)
