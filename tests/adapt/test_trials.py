"""Small fits that choose basis, bandwidth and ridge: what is shared must not change the answer."""

import numpy as np
import pytest

from kitchensinks.adapt.candidates import grown
from kitchensinks.adapt.trials import GridFits, Rows, Score
from kitchensinks.bases import Binning
from kitchensinks.standardise import Spread, warp


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(600, 3))
    targets = np.sin(2 * rows[:, :1]) + 0.1 * rng.normal(size=(600, 1))
    targets -= targets.mean()
    unit = float(np.mean(targets**2))
    level = np.zeros(targets.shape[1])
    return Rows(rows, targets, None, np.arange(150, 600), np.arange(150), unit, level, None)


@pytest.fixture
def mapped(data):
    return warp(Spread.of(data.rows), data.rows, 0, False)


def by_definition(data, mapped, count, ridge):
    """Ridge regression on the indicators themselves, solved densely."""
    rows = np.asarray(mapped.apply(data.rows, np.float32))
    draw = Binning(gamma=1.0).draw(3, 3, count, np.float32).tabulate([rows])
    features = draw.scaled_features(rows).toarray().astype(float)
    fitted, held = features[data.fitted], features[data.held]
    centre, level = fitted.mean(axis=0), data.targets[data.fitted].mean(axis=0)
    inner = (fitted - centre).T @ (fitted - centre) + ridge * np.eye(fitted.shape[1])
    weights = np.linalg.solve(inner, (fitted - centre).T @ (data.targets[data.fitted] - level))
    scores = (held - centre) @ weights + level
    return data.error(scores)


@pytest.mark.parametrize("ridge", [0.1, 3.0])
def test_held_out_error_is_that_of_ridge_regression_on_the_bins(data, mapped, ridge):
    # Fits that are only compared stop early.
    found, _ = GridFits(data, mapped, 20, 3).error(ridge)
    assert found == pytest.approx(by_definition(data, mapped, 20, ridge), rel=0.05)


def test_the_first_grids_are_those_of_a_smaller_draw(data, mapped):
    half = GridFits(data, mapped, 20, 3).first(8)
    assert half.error(0.3) == pytest.approx(GridFits(data, mapped, 8, 3).error(0.3), rel=1e-9)


def test_a_fit_does_not_depend_on_those_before_it(data, mapped):
    fits = GridFits(data, mapped, 10, 3)
    first = fits.error(1.0)
    fits.error(0.01)
    fits.error(0.1, -data.targets)
    assert fits.error(1.0) == first


def test_more_rows_take_a_finer_law():
    """And a stronger ridge λ = α·n, which is a weaker α."""
    score = Score(0.5, 0.6, 0.5, 2.0, 0.1, 100)
    assert grown(score, 1000, 1000) == (2.0, 0.1)
    factor, ridge = grown(score, 1000, 32_000)
    assert factor == pytest.approx(4.0)
    assert 0.1 < ridge < 0.1 * 32
