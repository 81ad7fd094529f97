"""Which basis is chosen, and what is said about it."""

import numpy as np
import pytest

import kitchensinks as ks
from kitchensinks.cli import choose
from kitchensinks.cli.choose import choose_basis


def test_the_basis_of_the_truth_is_found():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 6))
    steps = np.sign(X[:, 0] - 0.3) + np.sign(X[:, 1] + 0.5) + np.sign(X[:, 2])
    names = ("fourier", "stumps", "relu")
    choice = choose_basis(X, steps, "regression", budget=30, names=names)
    assert choice.name == "stumps"
    assert isinstance(choice.basis, ks.Stumps)
    assert choice.reason.startswith("stumps has the least held-out error")
    assert {trial.name for trial in choice.trials} == set(names)
    ring = choose_basis(X, np.cos(3 * X[:, 0]), "regression", budget=30, names=("relu", "stumps"))
    assert ring.trials[0].n_components == choose.ROUNDS[0][1]


def test_the_same_rows_in_another_order_make_the_same_choice():
    X, y = ks.datasets.make_annulus(600, random_state=0)
    names = ("fourier", "stumps")
    first = choose_basis(X, y, "classification", budget=1e9, names=names)
    order = np.random.default_rng(0).permutation(len(X))
    second = choose_basis(X[order], y[order], "classification", budget=1e9, names=names)
    assert first.name == second.name
    for one, other in zip(first.trials, second.trials, strict=True):
        assert one.error == pytest.approx(other.error, abs=0.02)


@pytest.mark.parametrize(("n_rows", "first"), [(300, "fourier"), (900, "learned")])
def test_no_time_is_enough_for_one(n_rows, first):
    """The first of those that can be fitted: a law takes 400 rows."""
    X, y = ks.datasets.make_annulus(n_rows, random_state=0)
    choice = choose_basis(X, y, "classification", budget=0.0)
    assert len(choice.trials) == 1
    assert choice.name == first
    assert "the time budget ended the search" in choice.reason


def test_errors_are_those_of_a_fit_on_the_others():
    """The held-out error of a trial, worked out by hand."""
    from kitchensinks.tables.keys import hold_out, row_keys

    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 3)) * [1.0, 10.0, 0.1] + 5.0
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=500)
    trial = choose_basis(X, y, "regression", budget=0.0, names=("fourier",)).trials[0]
    held = hold_out(row_keys(X, 0), None, choose.HELD_OUT)
    model = ks.KitchenSinkRegressor(ks.Fourier(), trial.n_components, random_state=0)
    predicted = model.fit(X[~held], y[~held]).predict(X[held])
    squares = (predicted - y[held]) ** 2 / np.var(y[held])
    assert trial.error == pytest.approx(squares.mean(), rel=1e-6)
    assert trial.standard_error == pytest.approx(squares.std() / np.sqrt(held.sum()), rel=1e-6)


def test_a_class_that_only_the_held_out_rows_have_and_rows_that_are_all_the_same():
    X = np.arange(40.0)[:, None]
    y = np.zeros(40, dtype=int)
    from kitchensinks.tables.keys import hold_out, row_keys

    y[hold_out(row_keys(X, 0), None, choose.HELD_OUT)] = 1
    choice = choose_basis(X, y, "classification", budget=5.0, names=("fourier",))
    assert choice.trials[0].error == 1.0
    with pytest.raises(ValueError, match="All rows are the same"):
        choose_basis(np.ones((9, 2)), np.arange(9), "regression")
