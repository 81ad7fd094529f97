"""The diagnostics of feature selection as pictures; each returns the axes it drew on."""

from typing import Any

import numpy as np

from kitchensinks.features.bases import Draw
from kitchensinks.features.bases.leverage import check_eigenvalues, effective_dimension
from kitchensinks.features.spectrum import spectrum, suggested_components
from kitchensinks.inspect.displays import LeverageDisplay, SpectrumDisplay, new_axes


def plot_spectrum(eigenvalues: Any, n_inputs: int, axes: Any = None) -> Any:
    """Eigenvalues against their index, with the two laws of `decay_rates`.

    >>> plot_spectrum(np.arange(1, 101) ** -2.0, n_inputs=2).get_yscale()
    'log'
    """
    values = check_eigenvalues(eigenvalues)
    return SpectrumDisplay(values, n_inputs).plot(axes).ax_


def plot_dimension(eigenvalues: Any, axes: Any = None) -> Any:
    """d(μ) against μ, over the range of the eigenvalues.

    >>> plot_dimension(np.arange(1, 101) ** -2.0).get_xlabel()
    'μ'
    """
    axes = new_axes() if axes is None else axes
    grid = mu_grid(eigenvalues)
    axes.loglog(grid, [effective_dimension(eigenvalues, mu) for mu in grid])
    axes.set(xlabel="μ", ylabel="effective dimension d(μ)")
    return axes


def plot_leverages(draw: Draw, rows: Any, mu: float, weights: Any = None, axes: Any = None) -> Any:
    """Leverages of the draws, from the largest down, with d(μ): equal for optimised features.

    >>> import kitchensinks as ks
    >>> rows = np.random.default_rng(0).normal(size=(50, 2))
    >>> draw = ks.Fourier(gamma=0.5).draw(seed=0, n_inputs=2, n_components=100)
    >>> plot_leverages(draw, rows, mu=0.01).get_ylabel()
    'leverage'
    """
    return LeverageDisplay.from_draw(draw, rows, mu, weights, axes).ax_


def plot_components(
    draw: Draw, rows: Any, delta: float = 0.05, weights: Any = None, axes: Any = None
) -> Any:
    """The number of features of `suggested_components` against μ, reweighted and plain.

    >>> import kitchensinks as ks
    >>> rows = np.random.default_rng(0).normal(size=(50, 2))
    >>> draw = ks.Fourier(gamma=0.5).draw(seed=0, n_inputs=2, n_components=100)
    >>> len(plot_components(draw, rows).get_lines())
    2
    """
    axes = new_axes() if axes is None else axes
    grid = mu_grid(spectrum(draw.basis, rows, weights), count=12)
    found = [suggested_components(draw, rows, mu, delta, weights) for mu in grid]
    axes.loglog(grid, [each.reweighted for each in found], label="reweighted")
    axes.loglog(grid, [each.plain for each in found], label="plain")
    axes.set(xlabel="μ", ylabel="suggested number of features")
    axes.legend()
    return axes


def mu_grid(eigenvalues: Any, count: int = 50) -> np.ndarray:
    """μ from the largest eigenvalue down to a millionth of it."""
    return float(check_eigenvalues(eigenvalues).max()) * np.logspace(0, -6, count)
