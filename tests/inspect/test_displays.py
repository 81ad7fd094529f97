"""Pictures in the Display convention of scikit-learn."""

import sys
from dataclasses import fields
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

import kitchensinks as ks

# No choice of a law matters here.
pytestmark = pytest.mark.usefixtures("little_work")

ROWS, VALUES = load_diabetes(return_X_y=True)


def fourier(**given):
    options = {"n_components": 30, "random_state": 0} | given
    return ks.KitchenSinkRegressor(ks.Fourier(), **options)


def components(ax):
    split = ROWS[::2], VALUES[::2], ROWS[1::2], VALUES[1::2]
    return ks.plot.ComponentsDisplay.from_estimator(fourier(), *split, (8, 64), ax=ax)


def ridge_path(ax):
    return ks.plot.RidgePathDisplay.from_estimator(fourier().fit(ROWS, VALUES), ax=ax)


def trials(ax):
    model = ks.KitchenSinkRegressor(ks.Learned(effort="quick"), random_state=0)
    return ks.plot.TrialsDisplay.from_estimator(model.fit(ROWS, VALUES), ax=ax)


def kernel_error(ax):
    return ks.plot.KernelErrorDisplay.from_basis(ks.Binning(), ROWS[:40], (16, 64), ax=ax)


def leverage(ax):
    draw = ks.Fourier(gamma=0.5).draw(seed=0, n_inputs=2, n_components=50)
    return ks.plot.LeverageDisplay.from_draw(draw, ROWS[:40, :2], 0.01, ax=ax)


def spectrum(ax):
    return ks.plot.SpectrumDisplay.from_basis(ks.Fourier(), ROWS[:60], ax=ax)


def dimension(ax):
    return ks.plot.DimensionDisplay.from_basis(ks.Fourier(), ROWS[:60], ax=ax)


def suggestion(ax):
    draw = ks.Fourier(gamma=0.5).draw(seed=0, n_inputs=2, n_components=50)
    return ks.plot.SuggestionDisplay.from_draw(draw, ROWS[:40, :2], ax=ax)


def embedding(ax):
    X, y = load_iris(return_X_y=True)
    pca = ks.KitchenSinkPCA(n_components=2, random_state=0).fit(X)
    return ks.plot.EmbeddingDisplay.from_estimator(pca, X, y, ax=ax)


MADE = [components, ridge_path, trials, kernel_error, leverage, spectrum, dimension, suggestion]
MADE += [embedding]


@pytest.mark.parametrize("made", MADE, ids=lambda made: made.__name__)
def test_a_display_draws_where_it_is_told_and_again(made):
    figure = pytest.importorskip("matplotlib.figure").Figure()
    ax = figure.add_subplot()
    display = made(ax)
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert ax.get_xlabel()
    assert ax.get_ylabel()
    drawn = len(ax.lines) + len(ax.collections)
    assert drawn > 0
    # From its numbers alone the same picture is made.
    numbers = [getattr(display, one.name) for one in fields(display) if one.init]
    again = type(display)(*numbers).plot()
    assert again.ax_ is not ax
    assert len(again.ax_.lines) + len(again.ax_.collections) == drawn
    figure.canvas.draw()


def test_the_numbers_of_displays():
    display = ridge_path(None)
    model = fourier().fit(ROWS, VALUES)
    np.testing.assert_array_equal(display.alphas, model.alphas_)
    assert display.alpha == model.alpha_
    found = components(None)
    score = fourier(n_components=64).fit(ROWS[::2], VALUES[::2]).score(ROWS[1::2], VALUES[1::2])
    assert found.errors[1] == pytest.approx(1.0 - score)
    assert {type(one).__name__ for one in (display, found)} < set(ks.plot.__all__)
    assert len(ks.plot.__all__) == len(MADE)


def test_displays_of_what_is_not_there():
    model = fourier(alpha=1e-3).fit(ROWS, VALUES)
    with pytest.raises(ValueError, match="no ridge path"):
        ks.plot.RidgePathDisplay.from_estimator(model)
    one = SimpleNamespace(alphas_=np.array([0.25]), alpha_errors_=np.ones((1, 1)), alpha_=0.25)
    with pytest.raises(ValueError, match=r"no ridge path: its ridge 0\.25 was given"):
        ks.plot.RidgePathDisplay.from_estimator(one)
    with pytest.raises(ValueError, match="no trials"):
        ks.plot.TrialsDisplay.from_estimator(model)


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"kitchensinks\[plot\]"):
        ridge_path(None)
