"""Small fits that choose basis, bandwidth and ridge: what is shared must not change the answer."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from kitchensinks.features.bases import Binning, Fourier
from kitchensinks.features.frozen import Frozen
from kitchensinks.features.scaling import Spread, warp
from kitchensinks.law import constants
from kitchensinks.law.candidates import Candidate, grown
from kitchensinks.law.choice import _leads
from kitchensinks.law.maps import Found
from kitchensinks.law.searches import climb, lowest, preferred
from kitchensinks.law.trials import GridFits, Score, TrialRows, _DensePath, dense_fit
from kitchensinks.numerics.simplex import log_losses


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(600, 3))
    targets = np.sin(2 * rows[:, :1]) + 0.1 * rng.normal(size=(600, 1))
    targets -= targets.mean()
    unit = float(np.mean(targets**2))
    level = np.zeros(targets.shape[1])
    return TrialRows(rows, targets, None, np.arange(150, 600), np.arange(150), unit, level, None)


@pytest.fixture
def mapped(data):
    return warp(Spread.of(data.rows), data.rows, 0, False)


def ridge_scores(features, data, ridge, targets=None):
    """Ridge regression with an intercept on the fitted rows, in float64: scores of those held out.

    features (n, K); λ = α·n, with weights that are divided by their mean.
    """
    targets = data.targets if targets is None else targets
    fitted, held = features[data.fitted].astype(float), features[data.held].astype(float)
    own = data.weights_of(data.fitted)
    own = np.ones(len(fitted)) if own is None else own / own.mean()
    centre = np.average(fitted, axis=0, weights=own)
    level = np.average(targets[data.fitted], axis=0, weights=own)
    centred = fitted - centre
    inner = (own[:, None] * centred).T @ centred + ridge * np.eye(fitted.shape[1])
    cross = (own[:, None] * centred).T @ (targets[data.fitted] - level)
    scores = (held - centre) @ np.linalg.solve(inner, cross) + level
    # What other targets leave out was fitted before.
    return scores + (data.targets - targets)[data.held]


BINS = [Binning(gamma=1.0), Binning(gamma=[[0.5, 1.0, 2.0], [2.0, 0.3, 0.1]])]
every_bins = pytest.mark.parametrize("basis", BINS, ids=["one", "members"])


def indicators(data, mapped, basis, count):
    """The features of bins themselves."""
    rows = np.asarray(mapped.apply(data.rows, np.float32))
    draw = basis.draw(3, 3, count, np.float32).tabulate([rows])
    return draw.scaled_features(rows).toarray()


@every_bins
@pytest.mark.parametrize("ridge", [0.1, 3.0])
def test_held_out_error_is_that_of_ridge_regression_on_the_bins(data, mapped, basis, ridge):
    # Fits that are only compared stop early.
    found = GridFits(data, mapped, basis, 20, 3).error(ridge)
    features = indicators(data, mapped, basis, 20)
    assert found == pytest.approx(data.error(ridge_scores(features, data, ridge)), rel=0.05)


@every_bins
def test_ridges_that_are_fitted_together_have_the_errors_of_ridge_regression(data, mapped, basis):
    rng = np.random.default_rng(1)
    both = np.hstack([data.targets, np.sign(data.rows[:, 1:2])])
    weights = rng.uniform(0.5, 2.0, len(both))
    own = replace(data, targets=both, level=np.zeros(2), weights=weights)
    ridges, features = [0.03, 0.3, 3.0], indicators(data, mapped, basis, 20)
    left = both - 0.7 * np.sin(data.rows[:, :2])
    fits = GridFits(own, mapped, basis, 20, 3)
    for targets in (None, left):
        found = fits.scores(ridges, targets)
        assert len(found) == 3
        for ridge, scores in zip(ridges, found, strict=True):
            expected = ridge_scores(features, own, ridge, targets)
            assert scores.shape == expected.shape
            assert own.error(scores) == pytest.approx(own.error(expected), rel=0.05)


@pytest.mark.parametrize("near", [0.01, 0.3, 30.0])
def test_the_ridge_of_bins_is_the_best_of_those_about_it(data, mapped, near, monkeypatch):
    """Three neighbours, three more where the best is at an edge, and then between them."""
    monkeypatch.setattr(constants, "ROUGH_STEPS", 1000)
    monkeypatch.setattr("kitchensinks.law.trials.LEAST_GAIN", 1e-9)
    fits = GridFits(data, mapped, BINS[0], 20, 3)
    error, ridge, losses = fits.best(near)
    steps = constants.RIDGE_STEP ** np.arange(-2.0, 3.0)
    features = indicators(data, mapped, BINS[0], 20)
    brute = {near * step: data.error(ridge_scores(features, data, near * step)) for step in steps}
    inner = sorted(brute)[1:4]
    first = min(inner, key=brute.get)
    tried = inner if first == near else [first / constants.RIDGE_STEP, *inner, first * 3.0]
    tried = [one for one in brute if any(one == pytest.approx(other) for other in tried)]
    assert error == pytest.approx(min(brute[one] for one in tried), rel=3e-3)
    best = min(tried, key=brute.get)
    assert abs(np.log(ridge / best)) <= 0.5 * np.log(constants.RIDGE_STEP) + 1e-9
    assert losses is None


def test_the_second_stage_is_fitted_to_what_the_first_leaves(data, mapped):
    """best(targets=…) measures the sum of both stages on the targets themselves."""
    fits = GridFits(data, mapped, BINS[0], 20, 3)
    before = 0.7 * np.sin(2 * data.rows[:, :1])
    alone, _, _ = fits.best(0.3)
    both, _, _ = fits.best(0.3, targets=data.targets - before)
    assert both < 0.5 * alone
    nothing, ridge, _ = fits.best(0.3, targets=np.zeros_like(data.targets))
    assert nothing == pytest.approx(0.0, abs=1e-12)
    assert ridge > 0.0


@every_bins
def test_the_first_grids_are_those_of_a_smaller_draw(data, mapped, basis):
    half = GridFits(data, mapped, basis, 20, 3).first(8)
    alone = GridFits(data, mapped, basis, 8, 3)
    assert half.error(0.3) == pytest.approx(alone.error(0.3), rel=1e-9)


def test_a_fit_does_not_depend_on_those_before_it(data, mapped):
    fits = GridFits(data, mapped, BINS[0], 10, 3)
    first = fits.error(1.0)
    fits.error(0.01)
    fits.scores([0.1], -data.targets)
    assert fits.error(1.0) == first


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "basis",
    [
        Fourier(gamma=0.5),
        Fourier(gamma=0.5, form="paired", projection="orthogonal"),
        Fourier("laplacian", gamma=[[0.5, 1.0, 2.0], [2.0, 0.3, 0.1]]),
    ],
    ids=["phase", "paired", "members"],
)
def test_ridge_fits_of_dense_trials_are_ridge_regression(data, mapped, basis, weighted):
    """For any ridge, of all features and of the first half, which are larger by √2."""
    if weighted:
        weights = np.random.default_rng(1).uniform(0.2, 2.0, len(data.rows))
        data = replace(data, weights=weights)
    frozen = Frozen(mapped, basis, 0, 3, 60, np.dtype(np.float64))
    path, features = _DensePath(data, frozen), frozen.features(data.rows)
    half = np.sqrt(2.0) * features[:, : features.shape[1] // 2]
    for ridge in (1e-3, 0.1, 10.0):
        for share, own in ((1.0, features), (0.5, half)):
            expected = ridge_scores(own, data, ridge)
            found = path.scores(path.solve(ridge, share))
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("near", [None, 1e-3, 300.0])
def test_the_search_ends_where_neither_neighbour_is_better(data, mapped, near):
    frozen = Frozen(mapped, Fourier(gamma=0.5), 0, 3, 60, np.dtype(np.float64))
    fit, features = dense_fit(data, frozen, near), frozen.features(data.rows)

    def error(ridge):
        return data.error(ridge_scores(features, data, ridge))

    assert fit.error == pytest.approx(error(fit.ridge), rel=1e-4)
    for neighbour in (3.0 * fit.ridge, fit.ridge / 3.0):
        outside = neighbour < constants.WEAKEST
        assert outside or error(neighbour) >= fit.error * (1.0 - 1e-6)
    half = np.sqrt(2.0) * features[:, :30]
    assert fit.half == pytest.approx(data.error(ridge_scores(half, data, fit.ridge)), rel=1e-4)
    scores = fit.scores(data.rows)[data.held]
    assert data.error(scores) == pytest.approx(fit.error, rel=1e-6)


def test_the_lowest_point_is_that_of_the_parabola():
    for place in (-0.4, 0.0, 0.3):
        errors = {k: 2.0 + 3.0 * (k - place) ** 2 for k in (-1, 0, 1)}
        assert lowest(errors) == pytest.approx(place)
    assert lowest({0: 1.0, 1: 2.0}) == 0.0
    assert lowest({-2: 3.0, -1: 2.0, 0: 1.0}) == 0.0
    assert lowest({-1: 1.0, 0: 1.0, 1: 1.0}) == 0.0
    # The middle is the least of the three: the lowest point is within half a step of it.
    rng = np.random.default_rng(0)
    for below, above in rng.exponential(size=(200, 2)):
        assert abs(lowest({-1: 1.0 + below, 0: 1.0, 1: 1.0 + above})) <= 0.5


def test_climbing_tries_as_many_values_as_it_may_and_none_twice():
    for target in (0.01, 1.0, 40.0):
        seen = []

        def attempt(value, target=target, seen=seen):
            seen.append(value)
            return np.log(value / target) ** 2, value

        value, note = climb(attempt, 1.0, 2.0, 4)
        assert len(seen) == len(set(seen)) <= 4
        assert note == seen[int(np.argmin(np.abs(np.log(np.array(seen) / target))))]
        inside = min(seen) < note < max(seen)
        assert value == pytest.approx(target if inside else note)


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


def test_more_features_are_regularised_alike_with_a_stronger_ridge(data, mapped):
    """Means over draws: of few features, and of many with the ridge that follows."""
    few, many, ridge, draws = 60, 240, 1.0, 100

    def mean_scores(count, ridge):
        frozen = [
            Frozen(mapped, Fourier(gamma=0.5), k, 3, count, np.dtype(float)) for k in range(draws)
        ]
        each = [ridge_scores(one.features(data.rows), data, ridge) for one in frozen]
        return np.mean(each, axis=0)

    def apart(one, other):
        return float(np.sqrt(np.mean((one - other) ** 2)) / np.std(one))

    paths = [
        _DensePath(data, Frozen(mapped, Fourier(gamma=0.5), k, 3, few, np.dtype(float)))
        for k in range(10)
    ]
    stronger = float(np.mean([path.ridge_of(many, ridge) for path in paths]))
    assert 1.3 * ridge < stronger < constants.RIDGE_STEP * ridge
    target = mean_scores(few, ridge)
    # Half of what is left is the chance of the draws.
    same, scaled = (apart(target, mean_scores(many, own)) for own in (ridge, stronger))
    assert scaled < 0.7 * same
    # Nearly as many directions as features: the ridge is not determined.
    assert paths[0].ridge_of(many, 1e-12) == constants.RIDGE_STEP * 1e-12


def test_dense_features_of_the_best_kernel_are_not_given_up_after_one_bandwidth():
    law = np.zeros((1, 2))
    leading = Found("gaussian", "standard", None, law, np.full(8, 0.1))
    other = Found("laplacian", "standard", None, law, np.full(8, 0.2))
    start = Score(1.0, 1.0, None, 1.0, 0.1, 10)
    dense, behind = (Candidate(one, False, None, start) for one in (leading, other))
    assert _leads(dense, [other, leading])
    assert not _leads(behind, [other, leading])
    assert not _leads(replace(dense, sparse=True), [other, leading])
