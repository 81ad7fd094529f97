"""Leverage, effective dimension, spectrum, suggested number of features, and their plots."""

import sys

import numpy as np
import pytest

import kitchensinks as ks
from kitchensinks import Reweighted
from kitchensinks import inspect as selection
from tests.catalogue import drawn
from tests.features.test_reweighted import ROWS, few_bases


@few_bases
def test_the_mean_leverage_is_the_effective_dimension(basis):
    dimension = selection.effective_dimension(selection.spectrum(basis, ROWS), 0.02)
    means = [selection.leverages(basis.draw(s, 4, 500), ROWS, 0.02).mean() for s in range(8)]
    error = np.std(means, ddof=1) / np.sqrt(8)
    assert abs(np.mean(means) - dimension) < 5 * error + 1e-9


@pytest.mark.parametrize("n_rows", [100, 500])
def test_scores_of_narrow_draws_are_those_of_wide_ones(n_rows):
    rows = np.random.default_rng(0).normal(size=(n_rows, 2))
    draw = ks.Fourier(gamma=0.5).draw(0, 2, 200)
    wide = ks.inspect.leverage_scores(draw, rows, 0.01)
    narrow = ks.inspect.leverage_scores(draw.astype(np.float32), rows, 0.01)
    np.testing.assert_allclose(narrow, wide, rtol=1e-3)


def test_reweighting_brings_the_maximal_leverage_down_to_the_effective_dimension():
    basis, mu = ks.Fourier(gamma=0.3, form="paired"), 0.01
    dimension = selection.effective_dimension(selection.spectrum(basis, ROWS), mu)
    uniform = selection.maximal_leverage(basis.draw(0, 4, 500), ROWS, mu)
    chosen = drawn(Reweighted(basis, pool=20, rows=1.0, mu=mu), ROWS, 0, 500)
    assert uniform > 1.5 * dimension
    assert selection.maximal_leverage(chosen, ROWS, mu) == pytest.approx(dimension, rel=0.05)


def test_leverage_of_the_cosine_system_is_up_to_twice_the_printed_sum():
    """Σ λ_i/(λ_i + μ)·e_i(ω)²: the thesis says that it is d(μ) everywhere."""
    eigenvalues = np.arange(1, 31) ** -2.0
    basis, mu = ks.Orthonormal(eigenvalues, box=(0, 1)), 1e-2
    # Midpoints are a quadrature rule for these cosines: the sums over rows are exact.
    rows = (np.arange(100)[:, None] + 0.5) / 100
    values = selection.spectrum(basis, rows)
    np.testing.assert_allclose(values[:30], eigenvalues, rtol=1e-9)
    np.testing.assert_allclose(values[30:], 0.0, atol=1e-12)
    largest = selection.maximal_leverage(basis.draw(0, 1, 2000), rows, mu)
    assert largest / selection.effective_dimension(eigenvalues, mu) == pytest.approx(1.93, abs=0.05)


def test_effective_dimension_and_its_inverse():
    values = np.array([1.0, 0.5, 0.1, 0.0])
    assert selection.effective_dimension(values, 0.5) == pytest.approx(2 / 3 + 1 / 2 + 1 / 6)
    for mu in (1e-9, 1e-3, 0.5, 1e4):
        found = selection.effective_dimension(values, mu)
        assert selection.mu_of_dimension(values, found) == pytest.approx(mu, rel=1e-5)


def test_rates_of_decay_are_found():
    index = np.arange(1.0, 201.0)
    power = selection.decay_rates(3.0 * index**-1.7, 2)
    assert power.better == "polynomial"
    assert power.polynomial == pytest.approx((3.0, 1.7, 0.0), abs=1e-9)
    fast = selection.decay_rates(0.5 * np.exp(-1.3 * np.sqrt(index)), 2)
    assert fast.better == "subexponential"
    assert fast.subexponential == pytest.approx((0.5, 1.3, 0.0), abs=1e-9)
    rows = np.random.default_rng(0).normal(size=(400, 2))
    values = selection.spectrum(ks.Fourier(gamma=0.2), rows)
    decay = selection.decay_rates(values, 2)
    assert decay.better == "subexponential"
    used = values[:200][values[:200] > 1e-12 * values[0]]
    place = np.arange(1.0, len(used) + 1.0)
    law = decay.subexponential
    assert (used <= law.scale * np.exp(-law.rate * place**0.5) * (1 + 1e-9)).all()


def test_the_suggestion_is_that_of_the_theory():
    draw = ks.Fourier(gamma=0.3).draw(0, 4, 300)
    found = selection.suggested_components(draw, ROWS, 0.02, delta=0.1)
    assert found.leverage == selection.maximal_leverage(draw, ROWS, 0.02)
    assert found.reweighted < found.plain
    for leverage, count in ((found.dimension, found.reweighted), (found.leverage, found.plain)):
        assert count == ks.theory.leverage_features(leverage=leverage, delta=0.1)


def test_plots_show_the_numbers(monkeypatch):
    draw = ks.Fourier(gamma=0.3).draw(0, 4, 100)
    values = selection.spectrum(draw.basis, ROWS)
    axes = ks.plot.SpectrumDisplay(values, 4).plot().ax_
    assert [len(line.get_xdata()) for line in axes.get_lines()] == [60, 60, 60]
    np.testing.assert_allclose(axes.get_lines()[0].get_ydata(), values)
    (curve,) = ks.plot.DimensionDisplay(values).plot().ax_.get_lines()
    for mu, dimension in zip(*curve.get_data(), strict=True):
        assert dimension == selection.effective_dimension(values, mu)
    assert ks.plot.LeverageDisplay.from_draw(draw, ROWS, 0.02).leverages[0] == (
        selection.maximal_leverage(draw, ROWS, 0.02)
    )
    display = ks.plot.SuggestionDisplay.from_draw(draw, ROWS)
    found = selection.suggested_components(draw, ROWS, display.mus[3])
    assert (display.reweighted[3], display.plain[3]) == (found.reweighted, found.plain)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"kitchensinks\[plot\]"):
        ks.plot.DimensionDisplay(values).plot()
