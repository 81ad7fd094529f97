"""The random-bases bounds against constructed weights on functions of known norm."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from kitchensinks.papers import theory

SEEDS = 200


def slope(counts, values):
    return np.polyfit(np.log(counts), np.log(values), 1)[0]


def disc(radius):
    """A grid over the disc of this radius, (points, 2)."""
    axis = np.linspace(-radius, radius, 15)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    return grid[np.linalg.norm(grid, axis=1) <= radius]


def sine_distances(n_features, rows, anchor, rng):
    """|f̂ - f| for f(x) = ½(k(x - a) - k(x + a)), k the Gaussian kernel; the weight sin(θ'a)/K."""
    target = (
        np.exp(-((rows - anchor) ** 2).sum(axis=1) / 2)
        - np.exp(-((rows + anchor) ** 2).sum(axis=1) / 2)
    ) / 2
    for _ in range(SEEDS):
        theta = rng.standard_normal((2, n_features))
        yield np.abs(np.sin(rows @ theta) @ np.sin(anchor @ theta) / n_features - target)


def cosine_distances(n_features, rows, rng):
    """|f̂ - f| for f(x) = ½k(x), with the weight cos(b)/K on cos(ω'x + b)."""
    target = np.exp(-(rows**2).sum(axis=1) / 2) / 2
    for _ in range(SEEDS):
        omega = rng.standard_normal((2, n_features))
        shift = rng.uniform(-np.pi, np.pi, n_features)
        yield np.abs(np.cos(rows @ omega + shift) @ np.cos(shift) / n_features - target)


@pytest.mark.parametrize("delta", [0.5, 0.1])
@pytest.mark.parametrize("family", ["sine", "cosine"])
def test_constructed_weights_stay_within_the_theorems(family, delta):
    rng = np.random.default_rng(0)
    rows, counts, means = disc(1.0), [20, 80, 320], []
    law = {"norm": 1.0, "radius": 1.0, "second_moment": 2.0, "delta": delta}
    for n_features in counts:
        if family == "sine":
            runs = sine_distances(n_features, rows, np.array([0.6, 0.8]), rng)
            uniform = theory.bases_uniform_error(n_features=n_features, lipschitz=1.0, **law)
        else:
            runs = cosine_distances(n_features, rows, rng)
            uniform = theory.bases_cosine_error(n_features=n_features, **law)
        runs = np.array(list(runs))
        largest, mean_square = runs.max(axis=1), np.sqrt((runs**2).mean(axis=1))
        l2 = theory.bases_l2_error(norm=1.0, n_features=n_features, delta=delta)
        assert (largest < uniform).mean() >= 1 - delta
        assert (mean_square < l2).mean() >= 1 - delta
        means.append(largest.mean())
    assert slope(counts, means) == pytest.approx(-0.5, abs=0.06)


def test_printed_deviation_of_theorem_3_2_fails_for_cosines():
    """cos(ω'x) near x = 0 with the weight sign(ω₁)/K: the distance is a mean of fair coins.

    Printed (6) with B = 0 is √(log 1/δ)/√K, which the coins exceed more often than δ.
    """
    n_features, delta = 400, 0.1

    def failure(bound):
        return 2 * binom.sf(math.floor(n_features * (1 + bound) / 2), n_features, 0.5)

    printed = math.sqrt(math.log(1 / delta) / n_features)
    corrected = theory.bases_cosine_error(
        norm=1.0, n_features=n_features, radius=0.0, second_moment=1.0, delta=delta
    )
    assert failure(printed) > 1.2 * delta
    assert failure(corrected) < delta


def test_corrected_deviation_is_root_two_times_the_printed_one():
    law = {"norm": 1.0, "lipschitz": 1.0, "radius": 0.0, "second_moment": 1.0, "delta": 0.01}
    bound = theory.bases_uniform_error(n_features=1, **law)
    assert bound == pytest.approx(math.sqrt(2) * math.sqrt(math.log(100)))


def test_cosines_cost_two_more_than_a_basis_that_is_zero_at_zero():
    law = {"norm": 3.0, "n_features": 9, "radius": 1.0, "second_moment": 1.0, "delta": 0.1}
    zero = theory.bases_uniform_error(lipschitz=1.0, **law)
    assert theory.bases_cosine_error(**law) == pytest.approx(zero + 2.0)


@given(st.floats(0.1, 10), st.floats(0.05, 5), st.floats(0, 5), st.floats(1e-6, 0.99))
def test_inverses_return_the_smallest_count(norm, error, radius, delta):
    law = {"norm": norm, "radius": radius, "second_moment": 2.0, "delta": delta}
    n_features = theory.solve("n_features", theory.bases_cosine_error, value=error, **law)
    assert theory.bases_cosine_error(n_features=n_features, **law) <= error
    if n_features > 1:
        assert theory.bases_cosine_error(n_features=n_features - 1, **law) > error
    law["lipschitz"] = 0.5
    n_features = theory.solve("n_features", theory.bases_uniform_error, value=error, **law)
    assert theory.bases_uniform_error(n_features=n_features, **law) <= error
    law = {"norm": norm, "delta": delta}
    n_features = theory.solve("n_features", theory.bases_l2_error, value=error, **law)
    assert theory.bases_l2_error(n_features=n_features, **law) <= error


def test_negative_radius_is_refused():
    with pytest.raises(ValueError, match=r"radius=-1.0: need a finite number of 0 or more"):
        theory.bases_cosine_error(norm=1.0, n_features=3, radius=-1.0, second_moment=1.0, delta=0.1)
