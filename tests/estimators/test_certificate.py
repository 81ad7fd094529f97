"""Risk certificates: complexities by brute force, and bounds that hold on fresh rows."""

import itertools
import math

import numpy as np
import pytest
from sklearn.base import clone

import kitchensinks as ks
from kitchensinks.state.certificate import largest_score

RNG = np.random.default_rng(0)


def sample(count):
    rows = RNG.uniform(-1, 1, size=(count, 2))
    return rows, np.where(rows[:, 0] * rows[:, 1] + 0.1 * RNG.normal(size=count) > 0, 1, -1)


def fitted(constraint, rows, labels, basis=None, loss="hinge"):
    basis = ks.Fourier(gamma=2.0) if basis is None else basis
    return ks.KitchenSinkClassifier(
        basis,
        40,
        loss,
        constraint=constraint,
        fit_intercept=False,
        standardize=False,
        random_state=0,
    ).fit(rows, labels)


@pytest.mark.parametrize(
    "basis", [ks.Fourier(gamma=2.0), ks.Fourier(gamma=2.0, form="paired"), ks.Stumps()], ids=repr
)
def test_complexity_by_brute_force(basis):
    """All 2^9 signs, and the supremum of each from the raw features."""
    rows, labels = sample(9)
    raw = basis.draw(0, 2, 40).features(rows)
    sums = np.array(list(itertools.product([-1, 1], repeat=9))) @ raw / 9
    columns = raw.shape[1]
    exact = {
        ks.SupBall(5.0): (5.0 / columns * np.abs(sums).sum(axis=1) / basis.bound).mean(),
        ks.L2Ball(2.0): (2.0 * np.linalg.norm(sums, axis=1)).mean(),
    }
    for ball, expected in exact.items():
        model = fitted(ball, rows, labels, basis)
        found = model.risk_certificate(rows, labels, draws=20_000)
        assert found.complexity == pytest.approx(expected, rel=0.02)
        assert abs(found.complexity - expected) <= found.complexity_error
        assert found.complexity <= found.paper_complexity
    assert exact[ks.SupBall(5.0)] <= 5.0 / math.sqrt(9)


@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared"])
def test_the_bound_holds_on_fresh_rows(loss):
    rows, labels = sample(3000)
    others, truth = sample(20_000)
    model = fitted(ks.SupBall(2.0), rows, labels, loss=loss)
    found = model.risk_certificate(rows, labels)
    scores = model.decision_function(others)
    assert np.abs(scores).max() <= 2.0 + 1e-6
    true = float(np.mean(model.loss_.value(truth[:, None] * 1.0, scores[:, None])))
    assert true <= found.bound <= found.paper_bound
    empirical = model.loss_.value(labels[:, None] * 1.0, model.decision_function(rows)[:, None])
    assert found.empirical_risk == pytest.approx(float(np.mean(empirical)))
    assert found.fixed
    if loss == "hinge":
        assert np.mean(model.predict(others) != truth) <= found.bound


def test_more_rows_certify_more():
    bounds = []
    for count in (200, 20_000):
        rows, labels = sample(count)
        bounds.append(fitted(ks.SupBall(2.0), rows, labels).risk_certificate(rows, labels).bound)
    assert bounds[1] < bounds[0]


def test_what_was_learned_from_rows_is_said():
    rows, labels = sample(200)
    for change in ({"standardize": True}, {"basis": ks.Fourier()}):
        model = clone(fitted(ks.SupBall(2.0), rows, labels)).set_params(**change)
        assert not model.fit(rows, labels).risk_certificate(rows, labels).fixed


def test_refusals():
    rows, labels = sample(100)
    model = fitted(ks.SupBall(2.0), rows, labels)
    with pytest.raises(ValueError, match="delta=0"):
        model.risk_certificate(rows, labels, delta=0)
    for change in ({"fit_intercept": True}, {"constraint": None, "alpha": 0.1}):
        other = clone(model).set_params(**change).fit(rows, labels)
        with pytest.raises(ValueError, match="needs a ball, such as"):
            other.risk_certificate(rows, labels)
    three = clone(model).fit(rows, np.arange(100) % 3)
    with pytest.raises(ValueError, match="There are 3 classes"):
        three.risk_certificate(rows, np.arange(100) % 3)
    unbounded = clone(model).set_params(basis=ks.ReLU(gamma=1.0)).fit(rows, labels)
    with pytest.raises(ValueError, match="is not bounded"):
        unbounded.risk_certificate(rows, labels)


def test_pairs_in_a_union_count_as_two_features():
    basis = ks.Union([ks.Fourier(gamma=1.0, form="paired")])
    model = ks.KitchenSinkClassifier(
        basis, 20, "hinge", constraint=ks.SupBall(3.0), fit_intercept=False, random_state=0
    )
    random = np.random.default_rng(0)
    rows = random.normal(size=(200, 2))
    model.fit(rows, rows[:, 0] > 0)
    frozen = model.law_.features
    weights = np.abs(model.model_.weights[:, 0])
    assert weights.sum() * frozen.scale * frozen.bound <= 3.0 * (1 + 1e-9)
    assert largest_score(model.state_.settings.constraint, frozen) == pytest.approx(3.0)


def test_parameters_that_are_set_after_a_fit_do_not_change_its_certificate():
    random = np.random.default_rng(0)
    rows = random.normal(size=(200, 2))
    model = ks.KitchenSinkClassifier(
        ks.Stumps(), 50, "hinge", constraint=ks.SupBall(3.0), fit_intercept=False, random_state=0
    ).fit(rows, rows[:, 0] > 0)
    before = model.risk_certificate(rows, rows[:, 0] > 0)
    model.set_params(constraint=ks.SupBall(0.01))
    assert model.risk_certificate(rows, rows[:, 0] > 0) == before


@pytest.mark.parametrize("basis", [ks.Binning(gamma=2.0), ks.Fourier(gamma=2.0)], ids=repr)
def test_scores_in_an_l2_ball_are_bounded_by_the_length_of_the_features(basis):
    rows, labels = sample(200)
    ball = ks.L2Ball(2.0)
    model = fitted(ball, rows, labels, basis, loss="squared")
    frozen = model.law_.features
    features = frozen.features(rows)
    features = features.toarray() if frozen.basis.sparse else features
    longest = float(np.linalg.norm(features, axis=1).max())
    bound = largest_score(ball, frozen) / ball.radius
    # All grids count at every row; cosines are not all at their largest at once.
    assert bound == pytest.approx(longest) if frozen.basis.sparse else bound >= longest
