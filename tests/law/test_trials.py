"""Small fits that choose basis, bandwidth and ridge: what is shared must not change the answer."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from kitchensinks.features.bases import Binning, Fourier
from kitchensinks.features.frozen import Frozen
from kitchensinks.features.scaling import Spread, warp
from kitchensinks.law.candidates import grown
from kitchensinks.law.trials import GridFits, HeldOut, Score, dense_fit, preferred
from kitchensinks.numerics.simplex import log_losses


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(600, 3))
    targets = np.sin(2 * rows[:, :1]) + 0.1 * rng.normal(size=(600, 1))
    targets -= targets.mean()
    unit = float(np.mean(targets**2))
    level = np.zeros(targets.shape[1])
    return HeldOut(rows, targets, None, np.arange(150, 600), np.arange(150), unit, level, None)


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
    assert half.error(0.3)[0] == pytest.approx(GridFits(data, mapped, 8, 3).error(0.3)[0], rel=1e-9)


def test_a_fit_does_not_depend_on_those_before_it(data, mapped):
    fits = GridFits(data, mapped, 10, 3)
    first = fits.error(1.0)
    fits.error(0.01)
    fits.error(0.1, -data.targets)
    assert fits.error(1.0) == first


def test_more_rows_take_a_finer_law():
    """And a stronger ridge λ = α·n, which is a weaker α."""
    score = Score(0.5, 0.6, None, 2.0, 0.1, 100)
    assert grown(score, 1000, 1000) == (2.0, 0.1)
    factor, ridge = grown(score, 1000, 32_000)
    assert factor == pytest.approx(4.0)
    assert 0.1 < ridge < 0.1 * 32


def test_the_log_loss_of_classes_is_the_least_over_temperatures():
    rng = np.random.default_rng(0)
    for classes in (2, 5):
        labels = rng.integers(0, classes, 300)
        scores = 0.4 * rng.normal(size=(300, classes))
        scores[np.arange(300), labels] += 0.3
        weights = rng.uniform(0.5, 2.0, 300)

        def loss(t, scores=scores, labels=labels, weights=weights):
            each = logsumexp(t * scores, axis=1) - t * scores[np.arange(300), labels]
            return np.average(each, weights=weights)

        def mean(scores, labels=labels, weights=weights):
            return np.average(log_losses(scores, labels, weights), weights=weights)

        expected = minimize_scalar(loss, bounds=(0.0, 50.0), method="bounded").fun
        assert mean(scores) == pytest.approx(expected, abs=1e-6)
        # Scores that say the opposite are best not listened to, and certain ones cost nothing.
        assert mean(-scores) == pytest.approx(np.log(classes), abs=1e-3)
        assert mean(np.eye(classes)[labels]) < 1e-6


def test_log_loss_decides_between_nearly_equal_squared_errors():
    noise = np.random.default_rng(0).normal(size=400)
    noise = (noise - noise.mean()) / noise.std() / 400  # a standard error of 0.05
    first = np.full(400, 1.0 / 400)
    by_chance = np.full(400, 0.95 / 400) + noise
    clearly = np.full(400, 0.85 / 400) + noise
    assert preferred([0.20, 0.21], [first, by_chance]) == 0
    assert preferred([0.20, 0.21, 0.215], [first, by_chance, clearly]) == 2
    # But not where the squared error is another one, and numbers have squared error alone.
    assert preferred([0.20, 0.23], [first, clearly]) == 0
    assert preferred([0.20, 0.10], [None, None]) == 1


def test_classes_may_have_another_ridge(data, mapped):
    """The one whose squared error is about the least and whose log loss is lower."""
    frozen = Frozen(mapped, Fourier(gamma=1.0), 0, 3, 200, np.dtype(np.float64))
    labels = (data.targets[:, 0] > 0).astype(np.int64)
    own = replace(data, targets=np.sign(data.targets), level=np.zeros(1), labels=labels)
    plain, chosen = (dense_fit(own, frozen, by_classes=by) for by in (False, True))
    assert chosen.error < 1.1 * plain.error
    assert chosen.losses.sum() <= plain.losses.sum()
