"""The diagnostics of feature selection as pictures; each returns the axes it drew on."""

from typing import Any

import numpy as np

from kitchensinks.features.bases import Draw
from kitchensinks.features.bases.leverage import check_eigenvalues, effective_dimension, leverages
from kitchensinks.features.spectrum import decay_rates, spectrum, suggested_components


def plot_spectrum(eigenvalues: Any, n_inputs: int, axes: Any = None) -> Any:
    """Eigenvalues against their index, with the two laws of `decay_rates`.

    >>> plot_spectrum(np.arange(1, 101) ** -2.0, n_inputs=2).get_yscale()
    'log'
    """
    axes = new_axes() if axes is None else axes
    values = np.sort(check_eigenvalues(eigenvalues))[::-1]
    decay = decay_rates(values, n_inputs)
    power, exponential = decay.polynomial, decay.subexponential
    index = np.arange(1.0, len(values) + 1.0)
    shown = values > 0
    axes.loglog(index[shown], values[shown], "k.", label="eigenvalues")
    axes.loglog(
        index,
        power.scale * index**-power.rate,
        label=f"polynomial, $i^{{-{power.rate:.2f}}}$, error {power.error:.2g}",
    )
    axes.loglog(
        index,
        exponential.scale * np.exp(-exponential.rate * index ** (1.0 / n_inputs)),
        label=f"exp$(-{exponential.rate:.2f}\\,i^{{1/{n_inputs}}})$, error {exponential.error:.2g}",
    )
    axes.set(xlabel="i", ylabel="λ", ylim=(values[shown].min() / 2, 4 * values[0]))
    axes.legend()
    return axes


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
    axes = new_axes() if axes is None else axes
    values = np.sort(leverages(draw, rows, mu, weights))[::-1]
    dimension = effective_dimension(spectrum(draw.basis, rows, weights), mu)
    axes.plot(np.arange(1, len(values) + 1), values, label=f"largest {values[0]:.3g}")
    axes.axhline(dimension, color="k", linestyle=":", label=f"d(μ) = {dimension:.3g}")
    axes.set(xlabel="draws, by leverage", ylabel="leverage")
    axes.legend()
    return axes


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


def new_axes() -> Any:
    """Axes of a new figure that belongs to no window."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            'plots need matplotlib: pip install "kitchensinks[plot]", or use the functions '
            "leverages, effective_dimension, spectrum, decay_rates and suggested_components."
        ) from None
    return Figure(layout="constrained").add_subplot()
