"""What a fit leaves is one value: pickled, saved, shipped and forgotten by its fields."""

import copy
import pickle
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

import kitchensinks as ks
from kitchensinks.state import State
from kitchensinks.state.fits import _plain
from kitchensinks.state.state import Condensed, FewRows

CANCER = load_breast_cancer(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)


def fitted(**options):
    return ks.KitchenSinkClassifier(ks.Fourier(), 40, random_state=0, **options).fit(*CANCER)


def test_an_estimator_keeps_nothing_but_its_state():
    model = fitted()
    parameters = set(model.get_params(deep=False))
    assert set(vars(model)) - parameters == {"_held", "_told_outside", "n_features_in_"}
    model.predict_proba(CANCER[0])
    assert set(vars(model)) - parameters == {"_held", "_told_outside", "n_features_in_"}


def test_a_state_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        fitted().state_.plan = None


def test_a_pickle_holds_the_fields_alone():
    model = fitted()
    model.predict_proba(CANCER[0])
    assert {"model", "calibration"} <= set(vars(model.state_))
    again = pickle.loads(pickle.dumps(model))
    assert set(vars(again.state_)) == {field.name for field in fields(State)}
    np.testing.assert_array_equal(again.predict_proba(CANCER[0]), model.predict_proba(CANCER[0]))


def test_a_small_state_predicts_the_same():
    model = fitted()
    small = model.state_.small()
    assert small.sums is None
    assert small.sample is None
    scores = small.model.scores(CANCER[0])
    np.testing.assert_array_equal(small.probabilities(scores), model.predict_proba(CANCER[0]))
    assert len(pickle.dumps(small)) < 0.3 * len(pickle.dumps(model.state_))


def test_sums_are_what_the_plan_left():
    X, y = DIABETES
    kinds = {
        FewRows: ks.KitchenSinkRegressor(ks.Fourier(), 600, random_state=0),
        Condensed: ks.KitchenSinkRegressor(ks.Stumps(), 300, random_state=0),
    }
    for kind, model in kinds.items():
        rows = X if kind is FewRows else (X > 0).astype(float)
        assert isinstance(model.fit(rows, y).state_.sums, kind)


def test_a_refused_fit_leaves_the_state_and_one_that_fails_leaves_none():
    model = fitted()
    before = model.state_
    with pytest.raises(ValueError, match="one class only"):
        model.fit(CANCER[0], np.zeros(len(CANCER[1])))
    assert model.state_ is before

    def fails(theta, rows):
        raise RuntimeError("no features")

    def sample(rng, width, count):
        return {"a": rng.normal(size=(count, width))}

    model.set_params(basis=ks.Custom(sample=sample, features=fails))
    with pytest.raises(RuntimeError, match="no features"):
        model.fit(*CANCER)
    assert not hasattr(model, "state_")
    assert not hasattr(model, "alpha_")
    assert not hasattr(model, "classes_")


def test_adding_rows_makes_a_new_state():
    X, y = CANCER
    model = ks.KitchenSinkClassifier(ks.Fourier(), 30, random_state=0).freeze(X, y)
    model.partial_fit(X[:300], y[:300])
    before, sums = model.state_, model.moments_
    count = sums.count
    model.partial_fit(X[300:], y[300:])
    assert model.state_ is not before
    assert before.moments is sums
    assert sums.count == count == 300
    assert model.moments_.count == len(y)


@pytest.mark.usefixtures("little_work")
def test_a_law_is_learned_once_and_fitted_twice():
    X, y = CANCER
    first = ks.KitchenSinkClassifier(ks.Learned(effort="quick"), random_state=0).fit(
        X[:450], y[:450]
    )
    second = ks.KitchenSinkClassifier(first.law_, random_state=0).fit(X, y)
    assert second.law_.features.scaler.same(first.law_.features.scaler)
    assert second.n_components_ == first.n_components_
    assert repr(second.basis_) == repr(first.basis_)
    ratio = 450 / len(y)
    assert second.alpha_ == pytest.approx(first.alpha_ * ratio)
    assert second.score(X, y) > 0.95


def test_copies_share_nothing_that_changes():
    X, y = CANCER
    model = ks.KitchenSinkClassifier(ks.Fourier(), 30, random_state=0).freeze(X, y)
    one, two = copy.deepcopy(model), copy.copy(model)
    one.partial_fit(X, y)
    two.partial_fit(X[:100], y[:100])
    assert model.state_.sums.count == 0
    assert (one.moments_.count, two.moments_.count) == (len(y), 100)


def test_functions_with_other_constants_are_other_fits():
    def waves(rate, phase=0.0):
        return lambda rows, theta: np.cos(rate * rows + phase)

    same = [_plain(waves(2.5)), _plain(waves(2.5))]
    assert same[0] == same[1]
    others = [waves(3.5), waves(2.5, 1.0), lambda x: np.cos(2 * x), lambda x: np.cos(3 * x)]
    others += [lambda x: [k + 1 for k in x], lambda x: [k + 2 for k in x], lambda x, k=2: x]
    assert len({same[0], *map(_plain, others)}) == 1 + len(others)


def test_a_pickle_of_another_version_is_refused(monkeypatch):
    model = ks.KitchenSinkRegressor(ks.Fourier(), 5, random_state=0).fit(np.eye(9), np.arange(9.0))
    held = pickle.dumps(model)
    np.testing.assert_array_equal(pickle.loads(held).predict(np.eye(9)), model.predict(np.eye(9)))
    features = copy.copy(model.law_.features)
    monkeypatch.setattr(ks, "__version__", "99.0")
    with pytest.raises(ValueError, match=r"by kitchensinks .*, and this is 99\.0.*Fit again"):
        pickle.loads(held)
    with pytest.raises(ValueError, match="made by kitchensinks before its release"):
        features.__setstate__({})
