"""What a user is told who gives a parameter that makes no sense, or a step that is too long."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import kitchensinks as ks

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 2))
Y = X[:, 0]


@pytest.fixture(scope="module")
def model():
    return ks.KitchenSinkRegressor(ks.Fourier(), 30, random_state=0).fit(X, Y)


@pytest.mark.parametrize("name", ["standardize", "fit_intercept"])
def test_words_are_no_booleans(name):
    estimator = ks.KitchenSinkRegressor(ks.Fourier(), 30, **{name: "no"})
    with pytest.raises(TypeError, match=f"{name}='no': need True or False"):
        estimator.fit(X, Y)


@pytest.mark.parametrize("name", ["trend", "exportable"])
def test_words_are_no_booleans_of_a_law(name):
    with pytest.raises(TypeError, match=f"{name}='no': need True or False"):
        ks.KitchenSinkRegressor(ks.Learned(**{name: "no"})).fit(X, Y)


@pytest.mark.parametrize("coverage", [[], [[0.5, 0.9]], None, [0.5, "0.9"], 1.0])
def test_coverages_are_numbers_between_0_and_1(model, coverage):
    with pytest.raises(ValueError, match="need a number between 0 and 1"):
        model.predict_interval(X, coverage=coverage)


@pytest.mark.parametrize("coverage", [np.float32(0.5), np.array([0.5, 0.9]), (0.5, 0.9)])
def test_coverages_may_come_from_numpy(model, coverage):
    lower, upper = model.predict_interval(X, coverage=coverage)
    assert lower.shape == (200, *np.shape(coverage))
    assert (lower < upper).all()


@pytest.mark.parametrize("step", [1.0, 100.0])
def test_steps_that_diverge_are_told(step):
    estimator = ks.KitchenSinkRegressor(
        ks.Fourier(), 30, solver=ks.Solver("stochastic", step=step), random_state=0
    )
    with pytest.raises(ValueError, match=f"diverge: steps of {step:g} are too large"):
        estimator.fit(X, Y)


def test_an_estimator_without_a_fit_is_not_exported(tmp_path):
    pytest.importorskip("skl2onnx")
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        ks.to_onnx(ks.KitchenSinkRegressor(), tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_rows_that_are_not_explained_are_told(model):
    explained = ks.explain(model, X[:2])
    assert explained.largest(row=-1) == explained.largest(row=1)
    with pytest.raises(IndexError, match="row=5: need the place of one of the 2 rows"):
        explained.largest(row=5)


def test_an_effort_is_no_basis():
    with pytest.raises(TypeError, match=r"basis='quick': .* For an effort: effort='quick'"):
        ks.KitchenSinkRegressor(ks.Learned("quick")).fit(X, Y)
