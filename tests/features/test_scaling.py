"""Maps of the columns: which of them bend, and what that does to values far out."""

import numpy as np
import pytest

from kitchensinks.features.scaling import Scaler, Spread, warp
from kitchensinks.numerics.warps import BEND, LINEAR, SQUASH

RNG = np.random.default_rng(0)


def kinds_of(column):
    rows = np.asarray(column, dtype=float)[:, None]
    return warp(Spread.of(rows), rows[:2000], LINEAR).kind.tolist()


@pytest.mark.parametrize("n_rows", [100, 10_000, 1_000_000])
@pytest.mark.parametrize("law", ["normal", "uniform", "triangular", "two clusters"])
def test_columns_without_heavy_tails_stay_straight(law, n_rows):
    column = {
        "normal": lambda: RNG.normal(size=n_rows),
        "uniform": lambda: RNG.uniform(size=n_rows),
        "triangular": lambda: RNG.triangular(0.0, 0.1, 1.0, n_rows),
        "two clusters": lambda: RNG.normal(size=n_rows) + RNG.choice([0.0, 50.0], n_rows),
    }[law]()
    assert kinds_of(column) == [LINEAR]


@pytest.mark.parametrize("law", ["lognormal", "pareto", "t", "one far out"])
def test_columns_with_heavy_tails_are_squashed(law):
    far = np.append(RNG.normal(size=999), 1e6)
    column = {
        "lognormal": RNG.lognormal(0.0, 1.5, 5000),
        "pareto": RNG.pareto(2.0, 5000),
        "t": RNG.standard_t(2.0, 5000),
        "one far out": far,
    }[law]
    assert kinds_of(column) == [SQUASH]
    rows = column[:, None]
    bent = warp(Spread.of(rows), rows, LINEAR).apply(rows, np.float64)
    assert np.abs(bent).max() <= BEND


def test_the_edge_of_what_is_heavy_is_six_deviations_whatever_the_unit():
    """A value on each side at ±r among zeros: its distance from the mean is √(n/2) deviations."""
    for n_rows, kind in ((70, LINEAR), (74, SQUASH)):
        column = np.zeros(n_rows)
        column[:2] = -1.0, 1.0
        for unit in (1e-9, 1.0, 1e9):
            assert kinds_of(unit * column + 3.0 * unit) == [kind]


def test_zeros_and_ones_stay_as_they_are_however_rare():
    column = np.zeros(10_000)
    column[:3] = 1.0
    assert kinds_of(column) == [LINEAR]


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e150])
@pytest.mark.parametrize("weight", [1e-300, 1.0, 1e290])
def test_spreads_neither_overflow_nor_vanish(size, weight):
    rows = np.random.default_rng(0).normal(3.0, 2.0, size=(50, 2))
    weights = np.random.default_rng(1).uniform(0.5, 1.0, 50)
    plain = Spread.of(rows, weights)
    whole = Spread.of(size * rows, weight * weights)
    parts = [Spread.of(size * rows[i::2], weight * weights[i::2]) for i in range(2)]
    for other in (whole, parts[0].merge(parts[1])):
        np.testing.assert_allclose(other.deviation / size, plain.deviation, rtol=1e-12)
        np.testing.assert_allclose(other.mean / size, plain.mean, rtol=1e-12)
        standard = Scaler.over(other).apply(size * rows, np.float64)
        np.testing.assert_allclose(standard, Scaler.over(plain).apply(rows, np.float64), rtol=1e-9)


def test_float32_values_near_their_limit_are_scaled():
    """Differences overflowed, and rows were refused for an infinite entry that they had not."""
    rows = np.array([[1.0], [-1.0], [-1.0], [0.0]], np.float32) * np.finfo(np.float32).max
    scaled = Scaler.over(Spread.of(rows)).apply(rows, np.float32)
    expected = np.array([[1.25], [-0.75], [-0.75], [0.25]]) / np.sqrt(11.0 / 16.0)
    np.testing.assert_allclose(scaled, expected, rtol=1e-6)
