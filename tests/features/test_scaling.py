"""Maps of the columns: which of them bend, and what that does to values far out."""

import numpy as np
import pytest

from kitchensinks.features.scaling import Spread, warp
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
