"""The kitchen-sinks bounds against constructed weights and exact suprema."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from kitchensinks.papers import theory

SEEDS = 300
deltas = st.floats(1e-6, 0.999)
sizes = st.floats(0.01, 100.0)
errors = st.floats(0.01, 10.0)


def slope(counts, values):
    return np.polyfit(np.log(counts), np.log(values), 1)[0]


@pytest.mark.parametrize("delta", [0.5, 0.1])
def test_average_of_vectors_in_a_ball_stays_within_lemma_4(delta):
    rng = np.random.default_rng(0)
    counts, means = [16, 64, 256], []
    for n_draws in counts:
        vectors = rng.standard_normal((SEEDS, n_draws, 20))
        vectors *= 3.0 / np.linalg.norm(vectors, axis=2, keepdims=True)
        distance = np.linalg.norm(vectors.mean(axis=1), axis=1)
        bound = theory.ball_mean_error(radius=3.0, n_draws=n_draws, delta=delta)
        assert (distance <= bound).mean() >= 1 - delta
        means.append(distance.mean())
    assert slope(counts, means) == pytest.approx(-0.5, abs=0.05)


def cosine_fits(n_features, weight_bound, rows, seed):
    """Constructed sums for f(x) = (C/2)·exp(-x²/2): the weight C·cos(b)/K on cos(wx + b)."""
    rng = np.random.default_rng(seed)
    frequencies = rng.standard_normal((SEEDS, n_features, 1))
    shifts = rng.uniform(-np.pi, np.pi, (SEEDS, n_features, 1))
    weights = weight_bound * np.cos(shifts) / n_features
    return (weights * np.cos(frequencies * rows + shifts)).sum(axis=1)


@pytest.mark.parametrize("delta", [0.5, 0.1])
def test_constructed_weights_stay_within_lemmas_1_and_2(delta):
    rows = np.random.default_rng(1).standard_normal(40)
    labels = np.sign(rows + 0.3)
    target = 1.5 * np.exp(-(rows**2) / 2)
    counts, means = [16, 64, 256], []

    def risk(scores):  # logistic loss, 1-Lipschitz
        return np.logaddexp(0, -labels * scores).mean(axis=-1)

    for n_features in counts:
        fits = cosine_fits(n_features, 3.0, rows, seed=n_features)
        distance = np.sqrt(((fits - target) ** 2).mean(axis=1))
        law = {"weight_bound": 3.0, "n_features": n_features, "delta": delta}
        assert (distance <= theory.sinks_l2_error(**law)).mean() >= 1 - delta
        added = risk(fits) - risk(target)
        assert (added <= theory.sinks_approximation_risk(lipschitz=1.0, **law)).mean() >= 1 - delta
        means.append(distance.mean())
    assert slope(counts, means) == pytest.approx(-0.5, abs=0.05)


def test_largest_gap_between_risks_stays_within_lemma_3():
    """With the loss c(u) = -Lu the supremum over the class is LC·mean_k |mean_i y_i φ_ik|."""
    rng = np.random.default_rng(2)
    law = {"lipschitz": 2.0, "weight_bound": 3.0, "loss_at_zero": 0.0, "delta": 0.3}
    counts, means = [25, 100, 400], []
    for n_rows in counts:
        features = np.sign(rng.standard_normal((SEEDS, n_rows, 5)))
        labels = rng.choice([-1.0, 1.0], (SEEDS, n_rows, 1))
        gap = 6.0 * np.abs((labels * features).mean(axis=1)).mean(axis=1)
        assert (gap <= theory.sinks_estimation_error(n_rows=n_rows, **law)).mean() >= 0.7
        means.append(gap.mean())
    assert slope(counts, means) == pytest.approx(-0.5, abs=0.06)


def test_printed_constant_of_lemma_3_fails():
    """One constant feature, labels of a fair coin, c(u) = -u: the gap |mean y| is binomial.

    The printed bound fails more often than its δ; the corrected one less often.
    """
    n_rows, delta = 4000, math.exp(-60)
    printed = (4 + math.sqrt(math.log(1 / delta) / 2)) / math.sqrt(n_rows)
    corrected = theory.sinks_estimation_error(
        lipschitz=1.0, weight_bound=1.0, loss_at_zero=0.0, n_rows=n_rows, delta=delta
    )

    def failure(bound):
        return 2 * binom.sf(math.floor(n_rows * (1 + bound) / 2), n_rows, 0.5)

    assert failure(printed) > 2 * delta
    assert failure(corrected) < delta


@pytest.mark.parametrize(("n_rows", "n_features"), [(100, 50), (1600, 800)])
def test_fitted_sum_stays_within_theorem_1(n_rows, n_features):
    """Stumps on a grid with the loss -u, where the fit and both risks are exact."""
    rng = np.random.default_rng(3)
    grid = np.linspace(-1, 1, 32)
    features = np.sign(grid[:, None] - np.linspace(-1.1, 1.1, 64))  # all rows by all stumps
    clarity = 0.6 * np.sign(grid)  # E[y | x]
    slopes = clarity @ features / len(grid)  # E[y φ(x; w)]
    best = -2.0 * np.abs(slopes).mean()
    delta, excess = 0.2, []
    for _ in range(200):
        rows = rng.integers(0, 32, n_rows)
        labels = np.where(rng.random(n_rows) < (1 + clarity[rows]) / 2, 1.0, -1.0)
        drawn = rng.integers(0, 64, n_features)
        agreement = np.bincount(rows, labels, minlength=32) @ features[:, drawn]
        weights = 2.0 / n_features * np.sign(agreement)
        excess.append(-weights @ slopes[drawn] - best)
    bound = theory.sinks_excess_risk(
        lipschitz=1.0,
        weight_bound=2.0,
        loss_at_zero=0.0,
        n_rows=n_rows,
        n_features=n_features,
        delta=delta,
    )
    assert (np.array(excess) <= bound).mean() >= 1 - 2 * delta


def test_theorem_1_halves_when_rows_and_features_are_four_times_as_many():
    law = {"lipschitz": 1.0, "weight_bound": 2.0, "loss_at_zero": 1.0, "delta": 0.1}
    one = theory.sinks_excess_risk(n_rows=100, n_features=70, **law)
    assert theory.sinks_excess_risk(n_rows=400, n_features=280, **law) == pytest.approx(one / 2)


@given(sizes, errors, deltas)
def test_inverses_return_the_smallest_count(size, error, delta):
    n_draws = theory.solve("n_draws", theory.ball_mean_error, value=error, radius=size, delta=delta)
    assert theory.ball_mean_error(radius=size, n_draws=n_draws, delta=delta) <= error
    if n_draws > 1:
        assert theory.ball_mean_error(radius=size, n_draws=n_draws - 1, delta=delta) > error
    law = {"value": error, "weight_bound": size, "delta": delta}
    assert theory.solve("n_features", theory.sinks_l2_error, **law) == n_draws
    risk = theory.sinks_approximation_risk
    assert theory.solve("n_features", risk, lipschitz=1.0, **law) == n_draws


@given(sizes, errors, deltas)
def test_inverses_of_theorem_1_meet_the_error(size, error, delta):
    law = {"lipschitz": 1.0, "weight_bound": size, "loss_at_zero": 1.0, "delta": delta}
    n_rows = theory.solve("n_rows", theory.sinks_estimation_error, value=error / 4, **law)
    assert theory.sinks_estimation_error(n_rows=n_rows, **law) <= error / 4
    excess = theory.sinks_excess_risk
    n_features = theory.solve("n_features", excess, value=error, n_rows=n_rows, **law)
    assert excess(n_rows=n_rows, n_features=n_features, **law) <= error
    again = theory.solve("n_rows", excess, value=error, n_features=n_features, **law)
    assert again <= n_rows


@pytest.mark.parametrize(("unknown", "given"), [("n_features", "n_rows"), ("n_rows", "n_features")])
def test_inverse_says_which_argument_leaves_no_room(unknown, given):
    law = {"lipschitz": 1.0, "weight_bound": 1.0, "loss_at_zero": 1.0, "delta": 0.1}
    with pytest.raises(ValueError, match=rf"still .* at {unknown}=.* or change .*{given}=100"):
        theory.solve(unknown, theory.sinks_excess_risk, value=0.1, **law, **{given: 100})


def test_real_arguments_are_solved_for_within_an_interval():
    law = {"n_features": 50, "delta": 0.1}
    size = theory.solve(
        "weight_bound", theory.sinks_l2_error, value=0.3, between=(1e-3, 1e3), **law
    )
    assert theory.sinks_l2_error(weight_bound=size, **law) == pytest.approx(0.3, rel=1e-9)
    with pytest.raises(ValueError, match=r"value=0.3: the bound runs from .* widen `between`"):
        theory.solve("weight_bound", theory.sinks_l2_error, value=0.3, between=(10, 20), **law)
    with pytest.raises(ValueError, match=r"between=0: need a positive finite number"):
        theory.solve("weight_bound", theory.sinks_l2_error, value=0.3, between=(0, 20), **law)


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, math.nan, math.inf])
def test_delta_outside_the_open_interval_is_refused(delta):
    with pytest.raises(ValueError, match=r"delta=.*strictly between 0 and 1"):
        theory.sinks_l2_error(weight_bound=1.0, n_features=10, delta=delta)


@pytest.mark.parametrize("n_features", [0, -3, True])
def test_counts_below_one_are_refused(n_features):
    with pytest.raises(ValueError, match=r"n_features=.*whole number of 1 or more"):
        theory.sinks_l2_error(weight_bound=1.0, n_features=n_features, delta=0.1)


def test_counts_that_are_not_whole_and_words_are_refused():
    with pytest.raises(TypeError, match=r"n_features=2.5 is of type float"):
        theory.sinks_l2_error(weight_bound=1.0, n_features=2.5, delta=0.1)
    with pytest.raises(TypeError, match="delta='small' is of type str"):
        theory.sinks_l2_error(weight_bound=1.0, n_features=2, delta="small")


@pytest.mark.parametrize("weight_bound", [0.0, -1.0, math.nan, math.inf])
def test_sizes_that_are_not_positive_are_refused(weight_bound):
    with pytest.raises(ValueError, match=r"weight_bound=.*positive finite number.*paper's C"):
        theory.sinks_l2_error(weight_bound=weight_bound, n_features=2, delta=0.1)


def test_error_that_no_count_reaches_is_refused():
    with pytest.raises(ValueError, match="value=1e-200: the bound is still"):
        theory.solve("n_draws", theory.ball_mean_error, value=1e-200, radius=1.0, delta=0.1)
    with pytest.raises(ValueError, match=r"value=0.0: need a positive finite number"):
        theory.solve("n_draws", theory.ball_mean_error, value=0.0, radius=1.0, delta=0.1)
