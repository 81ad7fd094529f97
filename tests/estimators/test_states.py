"""What estimators are after failures, in files, and with weights and targets of odd sizes."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, make_regression

import kitchensinks as ks
from kitchensinks.features.blocks import FeatureBlocks
from kitchensinks.fitting.squared import effective_dimension
from tests.catalogue import build

CANCER = load_breast_cancer(return_X_y=True)
X, Y = make_regression(400, 5, noise=10.0, random_state=0)


@pytest.mark.parametrize("loss", ["squared_hinge", "exponential", "logistic"])
@pytest.mark.parametrize("alpha", [1e-10, 1e-7])
@pytest.mark.filterwarnings("ignore:alpha=", "ignore:.*stopped after")
def test_newton_steps_in_float32_stay_positive(loss, alpha):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1500, 4))
    labels = rows[:, 0] + 0.3 * rng.normal(size=1500) > 0
    model = ks.KitchenSinkClassifier(
        ks.Fourier(gamma=0.02),
        300,
        loss=loss,
        alpha=alpha,
        solver=ks.Solver(dtype="float32"),
        random_state=0,
    )
    model.set_params(solver__tol=1e-5, solver__max_iter=150)
    model.fit(rows, labels)
    assert np.isfinite(model.decision_function(rows)).all()
    assert model.score(rows, labels) > 0.85


@pytest.mark.parametrize("unit", [1e-6, 1.0 / 569])
@pytest.mark.parametrize("batches", [False, True])
def test_the_unit_of_small_weights_does_not_matter(unit, batches):
    def fitted(weights):
        model = ks.KitchenSinkClassifier(ks.Fourier(), 40, random_state=0)
        if batches:
            model.freeze(*CANCER, sample_weight=weights)
            return model.partial_fit(*CANCER, sample_weight=weights)
        return model.fit(*CANCER, sample_weight=weights)

    plain, scaled = fitted(None), fitted(np.full(569, unit))
    assert scaled.alpha_ == pytest.approx(plain.alpha_, rel=1e-3)
    difference = scaled.predict_proba(CANCER[0]) - plain.predict_proba(CANCER[0])
    assert np.abs(difference).max() < 1e-2


def test_deviations_do_not_depend_on_the_unit_of_small_weights():
    options = {"n_components": 40, "basis": ks.Fourier(), "alpha": 1e-3, "random_state": 0}
    _, plain = build(ks.KitchenSinkRegressor, **options).fit(X, Y).predict(X, return_std=True)
    light = build(ks.KitchenSinkRegressor, **options).fit(X, Y, sample_weight=np.full(400, 1 / 400))
    np.testing.assert_allclose(light.predict(X, return_std=True)[1], plain, rtol=1e-4)


def test_targets_too_far_apart_are_refused():
    model = ks.KitchenSinkRegressor(ks.Fourier(), 40, random_state=0)
    with pytest.raises(ValueError, match="too far apart"):
        model.fit(X, np.column_stack([Y, 1e-60 * Y]))
    model.partial_fit(X, np.zeros(400))
    with pytest.raises(ValueError, match="with typical ones"):
        model.partial_fit(X, 1e200 * Y)
    small = ks.KitchenSinkRegressor(
        ks.Fourier(), 40, solver=ks.Solver(dtype="float32"), random_state=0
    )
    found = small.fit(X, np.column_stack([Y, 1e-20 * Y])).predict(X)
    np.testing.assert_allclose(1e20 * found[:, 1], found[:, 0], rtol=1e-2, atol=0.1)


def test_the_effective_dimension_of_a_rank():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 5)) @ rng.normal(size=(5, 60))
    gram = rows.T @ rows / 200
    for alpha in (1e-6, 1e-15, 1e-18, 0.0):
        assert effective_dimension(gram, alpha) == pytest.approx(5.0, abs=1e-3)


def test_after_a_fit_that_failed_the_next_one_starts_anew():
    rows = np.vstack([np.eye(3), -np.eye(3)])
    labels = [0, 0, 0, 1, 1, 1]
    model = ks.KitchenSinkClassifier(ks.Fourier(), 20, loss="exponential", alpha=0.0)
    with pytest.raises(ValueError, match="alpha"):
        model.fit(rows, labels)
    assert not hasattr(model, "law_.features")
    model.set_params(alpha=1e-3, random_state=0)
    with pytest.warns(UserWarning, match="first batch"):
        model.partial_fit(rows, labels)


def test_half_a_batch_is_not_counted(monkeypatch):
    model = ks.KitchenSinkRegressor(ks.Fourier(), 20, random_state=0).freeze(X, Y)
    model.partial_fit(X, Y)
    before = model.predict(X)
    blocks = FeatureBlocks(X, model.law_.features, 1e9)

    def broken(self, start=0, work=None):
        yield slice(0, 100), work(slice(0, 100), blocks.of(X[:100]))
        raise KeyboardInterrupt

    monkeypatch.setattr(type(blocks), "fresh", broken)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X, Y)
    assert model.moments_.count == 400
    np.testing.assert_array_equal(model.predict(X), before)


def test_parameters_are_checked_again_and_the_fit_keeps_its_own():
    model = ks.KitchenSinkClassifier(ks.Fourier(), 40, alpha=1e-3, random_state=0).fit(*CANCER)
    twin = copy.deepcopy(model).set_params(fit_intercept=False)
    assert twin.effective_dimension_ == model.effective_dimension_
    np.testing.assert_array_equal(twin.predict_proba(CANCER[0]), model.predict_proba(CANCER[0]))
    with pytest.raises(ValueError, match="alpha=-5"):
        model.set_params(alpha=-5.0).partial_fit(*CANCER)


def test_classes_are_given_once_and_balance_needs_all_of_them():
    model = ks.KitchenSinkClassifier(ks.Fourier(), 20, random_state=0).freeze(*CANCER)
    with pytest.raises(ValueError, match="classes are given once"):
        model.partial_fit(*CANCER, classes=[0, 1, 2])
    model.set_params(class_weight="balanced")
    with pytest.raises(ValueError, match=r"classes \[2\] have none here"):
        model.freeze(*CANCER, classes=[0, 1, 2])


@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge"])
def test_files_keep_what_a_fit_reports(tmp_path, loss):
    model = ks.KitchenSinkClassifier(
        ks.Fourier(), 30, loss=loss, alpha=1e-3, class_weight={0: 2.0}, random_state=0
    ).fit(*CANCER)
    ks.save(model, tmp_path / "m.sinks")
    again = ks.load(tmp_path / "m.sinks")
    for name in ("objective_", "gap_", "converged_", "condition_number_", "gram_noise_"):
        assert getattr(again, name) == getattr(model, name), name
    np.testing.assert_equal(again.effective_dimension_, model.state_.fitted.evidence.freedom)
    if loss != "squared":
        again.partial_fit(*CANCER)
        assert again.score(*CANCER) > 0.9


def test_pickles_hold_no_scratch():
    model = ks.KitchenSinkRegressor(ks.Fourier(), 200, random_state=0).freeze(X, Y)
    model.partial_fit(X, Y)
    assert len(pickle.dumps(model)) < 1.3 * 8 * 200**2 + 50_000
