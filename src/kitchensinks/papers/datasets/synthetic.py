"""Generators of the synthetic sets of the thesis.

They return X (n_rows, columns) float64 and y (n_rows,); each label flips with probability `noise`.
The thesis shows its figure 3.1 as a picture only: sine, strips and square have the geometry of its
author's public code, and the board is ours. Their docstrings compare the accuracy of 20 Gaussian
Fourier features with the thesis's.
"""

import math
from typing import Any

import numpy as np
from scipy.special import jv

Pair = tuple[np.ndarray, np.ndarray]


def make_annulus(
    n_rows: int = 1000, *, noise: float = 0.1, n_inputs: int = 2, random_state: Any = None
) -> Pair:
    """A disc of radius 0.9 (label −1) inside a ring of radii 1.1 to 2 (label +1): thesis 2.5.

    Disc and ring have equal probability and are uniform by area. The unit circle is a Bayes
    boundary, of error `noise`. With `n_inputs` = d the disc is a ball and the ring a shell, uniform
    by volume (d = 10 in the thesis's figure 2.4).

    >>> X, y = make_annulus(5, noise=0.0, random_state=0)
    >>> (X**2).sum(axis=1).round(1).tolist(), y.tolist()
    ([0.5, 0.4, 0.7, 0.8, 2.3], [-1, -1, -1, -1, 1])
    """
    random = _start(n_rows, noise, random_state)
    _check_count("n_inputs", n_inputs)
    outside = random.uniform(size=n_rows) < 0.5
    low, high = np.where(outside, 1.1, 0.0), np.where(outside, 2.0, 0.9)
    # The volume within radius r grows as r^d, so r^d is uniform.
    powers = random.uniform(low**n_inputs, high**n_inputs)
    rows = _directions(random, n_rows, n_inputs) * powers[:, None] ** (1.0 / n_inputs)
    return rows, _signs(random, outside, noise)


def make_sine(n_rows: int = 1000, *, noise: float = 0.0, random_state: Any = None) -> Pair:
    """Below or above a sine: uniform on [−π, π]², y = +1 where x₂ < sin x₁, else −1.

    20 Gaussian Fourier features reach 0.996 (thesis, figure 3.1: 0.993).

    >>> make_sine(3, random_state=0)[0].shape
    (3, 2)
    """
    random = _start(n_rows, noise, random_state)
    rows = random.uniform(-np.pi, np.pi, (n_rows, 2))
    return rows, _signs(random, rows[:, 1] < np.sin(rows[:, 0]), noise)


def make_strips(n_rows: int = 1000, *, noise: float = 0.0, random_state: Any = None) -> Pair:
    """Four vertical strips, equally likely, two of width 1 and two of width 0.1.

    Edges along x₁: −2, −1, 0, 0.1, 0.2; labels −1, +1, −1, +1 from left to right; x₂ uniform on
    [−2, 2]. No one bandwidth suits both widths. 20 Gaussian Fourier features reach 0.84 (thesis,
    figure 3.1: 0.834).

    >>> make_strips(3, random_state=0)[0].shape
    (3, 2)
    """
    random = _start(n_rows, noise, random_state)
    rows = random.uniform(-2.0, 2.0, (n_rows, 2))
    positive = np.floor(rows[:, 0]) % 2 == 1
    rows[:, 0] *= np.where(rows[:, 0] > 0, 0.1, 1.0)
    return rows, _signs(random, positive, noise)


def make_square(n_rows: int = 1000, *, noise: float = 0.0, random_state: Any = None) -> Pair:
    """A square in a square of twice its area: uniform on [−½, ½]², y = −1 where max|xᵢ| < √½/2.

    20 Gaussian Fourier features reach 0.98 when the convex problem is solved (thesis, figure 3.1:
    0.948, by stochastic gradients).

    >>> make_square(3, random_state=0)[0].shape
    (3, 2)
    """
    random = _start(n_rows, noise, random_state)
    rows = random.uniform(-0.5, 0.5, (n_rows, 2))
    return rows, _signs(random, np.abs(rows).max(axis=1) >= math.sqrt(0.5) / 2, noise)


def make_checkboard(
    n_rows: int = 1000, *, noise: float = 0.0, n_cells: int = 4, random_state: Any = None
) -> Pair:
    """A board of n × n unit cells on [−n/2, n/2]²: y = +1 where ⌊x₁ + n/2⌋ + ⌊x₂ + n/2⌋ is odd.

    n is `n_cells`. On 4 × 4 cells 20 Gaussian Fourier features reach 0.74 (thesis, figure 3.1:
    0.716); on 2 × 2 they reach 0.99.

    >>> make_checkboard(3, random_state=0)[0].shape
    (3, 2)
    """
    random = _start(n_rows, noise, random_state)
    _check_count("n_cells", n_cells)
    places = random.uniform(0.0, n_cells, (n_rows, 2))
    return places - n_cells / 2, _signs(random, np.floor(places).sum(axis=1) % 2 == 1, noise)


def make_depth_separation(
    n_rows: int = 1000, *, target_seed: int = 0, random_state: Any = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows in R⁴ with an oscillating radial density, and two radial targets: thesis 3.7.

    The direction is uniform; the radius r ∈ [10.4, 15.6] has density ∝ J₂(2πRr)²/r: the squared
    Fourier transform of the ball of unit volume, whose radius is R = 2^¼/√π (J₂ is Bessel's). The
    range, 0.2 to 0.3 times α√d with Eldan and Shamir's α = 26, is cut into 22 equal bands. g(r) is
    a random sign in each band where r·J₂(2πRr)² > 1/(80πR) throughout, and 0 elsewhere. The smooth
    target is g averaged over r ± 0.1 band with weights ∝ exp(−1/(1 − t²)). The signs depend on
    `target_seed` alone, so that training and test rows share one target.

    Returns X (n_rows, 4) float64, the smooth target (n_rows,) float64 for regression, and g
    (n_rows,) of −1, 0 and +1 for classification.

    >>> X, smooth, g = make_depth_separation(3, random_state=0)
    >>> X.shape, smooth.shape, g.shape
    ((3, 4), (3,), (3,))
    """
    random = _start(n_rows, 0.0, random_state)
    n_bands, per_band = 22, 1000
    ball = 2.0**0.25 / math.sqrt(math.pi)
    grid = np.linspace(10.4, 15.6, n_bands * per_band + 1)
    wave = jv(2, 2 * np.pi * ball * grid) ** 2
    density = wave / grid
    mass = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
    radius = np.interp(random.uniform(size=n_rows), mass / mass[-1], grid)

    high = grid * wave > 1.0 / (80 * np.pi * ball)
    dense = high[:-1].reshape(n_bands, per_band).all(axis=1) & high[per_band::per_band]
    values = dense * _start(1, 0.0, target_seed).choice([-1, 1], n_bands)
    edges = grid[::per_band]
    band = np.clip(np.searchsorted(edges, radius, side="right") - 1, 0, n_bands - 1)

    # g is a sum of steps, one at each edge, and a smoothed step is the integral of the bump.
    offsets = np.linspace(-1.0, 1.0, 2001)[1:-1]
    rise = np.cumsum(np.exp(-1.0 / (1.0 - offsets**2)))
    distance = (radius[:, None] - edges) / (0.1 * (edges[1] - edges[0]))
    jumps = np.diff(values, prepend=0, append=0)
    smooth = np.interp(distance, offsets, rise / rise[-1], left=0.0) @ jumps
    return _directions(random, n_rows, 4) * radius[:, None], smooth, values[band]


def _check_count(name: str, value: Any, least: int = 1) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name}={value!r}: need an integer of {least} or more.")


def _start(n_rows: int, noise: float, random_state: Any) -> Any:
    """Check the arguments common to all generators, and return their RandomState."""
    from sklearn.utils import check_random_state  # imports pandas where it is installed

    _check_count("n_rows", n_rows)
    if not 0 <= noise <= 1:
        raise ValueError(f"noise={noise!r}: need a probability from 0 to 1; 0 keeps every label.")
    return check_random_state(random_state)


def _directions(random: Any, n_rows: int, n_inputs: int) -> np.ndarray:
    normals = random.normal(size=(n_rows, n_inputs))
    return np.asarray(normals / np.linalg.norm(normals, axis=1, keepdims=True))


def _signs(random: Any, positive: np.ndarray, noise: float) -> np.ndarray:
    """+1 where positive, else −1, each flipped with probability `noise`."""
    return np.where(positive ^ (random.uniform(size=len(positive)) < noise), 1, -1)
