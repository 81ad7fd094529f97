"""Warnings name the line of the user's call, from wherever in the package they come."""

import threading
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kitchensinks as ks
from kitchensinks.numerics.warned import warn
from tests.catalogue import build

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
NUMBERS = X[:, 0] + 0.1 * RNG.normal(size=300)
BOTH = pytest.mark.parametrize("kind", [ks.KitchenSinkRegressor, ks.KitchenSinkClassifier])
QUICK = ks.Learned(effort="quick")
FIXED = {"basis": ks.Fourier(), "random_state": 0}
PLACES = np.repeat(np.arange(100), 3)


def targets(kind):
    return NUMBERS if kind is ks.KitchenSinkRegressor else NUMBERS > 0


def iterative(kind):
    return "huber" if kind is ks.KitchenSinkRegressor else "logistic"


def check(told, text, category=UserWarning):
    """One of the warnings has this text, and all of them name this file."""
    found = [one for one in told if text in str(one.message)]
    assert [one.category for one in found] == [category], [str(one.message) for one in told]
    assert {one.filename for one in told} == {__file__}


@pytest.fixture
def told():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        yield told


@BOTH
def test_few_rows(kind, told):
    kind(random_state=0).fit(X[:6], targets(kind)[:6])
    check(told, "the plain law of")


@pytest.mark.usefixtures("little_work")
@BOTH
def test_copied_rows(kind, told):
    kind(QUICK, 50, random_state=0).fit(X[PLACES], targets(kind)[PLACES])
    check(told, "copies of others")


@BOTH
def test_one_row(kind, told):
    # The classes are those of all rows, and one of them has a weight.
    y = targets(kind)[:6]
    kind(n_components=20, **FIXED).fit(X[:6], y, sample_weight=[0, 0, 0, 1, 0, 0])
    check(told, "There is one row")


@BOTH
def test_stochastic_gradients(kind, told):
    kind(n_components=400, solver=ks.Solver(memory_budget="2MB"), **FIXED).fit(X, targets(kind))
    check(told, "fitted by stochastic gradients")


@BOTH
def test_no_convergence(kind, told):
    options = {"loss": iterative(kind), "max_iter": 1, "alpha": 1e-8, "n_components": 50}
    build(kind, **options, **FIXED).fit(X, targets(kind))
    check(told, "stopped after 1 iterations", ConvergenceWarning)


@BOTH
def test_rounding(kind, told):
    kind(n_components=50, alpha=1e-12, **FIXED).fit(X.astype(np.float32), targets(kind))
    check(told, "the rounding error of the Gram matrix")


@BOTH
def test_a_first_batch(kind, told):
    kind(n_components=20, **FIXED).partial_fit(X, targets(kind))
    check(told, "The first batch of partial_fit")


@BOTH
def test_predictions_outside(kind, told):
    kind(n_components=20, **FIXED).fit(X, targets(kind)).predict(100 + X)
    check(told, "outside")


@BOTH
def test_names_of_rows(kind, told):
    frame = pd.DataFrame(X, columns=list("abc")).assign(id=range(300))
    kind(n_components=20, **FIXED).fit(frame, targets(kind))
    check(told, "as row identifiers")


@BOTH
def test_through_scikit_learn(kind, told):
    model = kind(random_state=0, n_components=20)
    make_pipeline(StandardScaler(), model).fit(X[:6], targets(kind)[:6])
    check(told, "the plain law of")


def test_through_joblib(told):
    cross_val_score(ks.KitchenSinkRegressor(random_state=0), X[:9], NUMBERS[:9], cv=3)
    assert "the plain law of" in str(told[0].message)
    assert {one.filename for one in told} == {__file__}


def test_a_thread_without_a_line_of_the_user(told):
    thread = threading.Thread(target=warn, args=("From a thread", RuntimeWarning))
    thread.start()
    thread.join()
    assert [(str(one.message), one.category) for one in told] == [("From a thread", RuntimeWarning)]


def test_folds_that_differ_in_numbers_tell_once():
    """scikit-learn resets Python's memory of warnings in each fold."""
    rows, days = X[:, :1] / 10, np.arange(300.0)[:, None]
    model = ks.KitchenSinkRegressor(n_components=20, **FIXED)
    search = GridSearchCV(model, {"alpha": [1e-3, 1e-1]}, cv=TimeSeriesSplit(4))
    for action, count in (("default", 1), ("always", 9)):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter(action)
            for _ in range(1 if action == "always" else 3):
                search.fit(np.hstack([days, rows]), NUMBERS)
            search.predict(np.hstack([days + 300, rows]))
        texts = [str(one.message) for one in told]
        assert all("of 60 rows are outside" in text for text in texts[: count - 1])
        assert len(texts) == (2 if action == "default" else 9), texts
        assert {one.filename for one in told} == {__file__}
