"""Laws of the pitch of a random grid, and the kernels that they induce."""

from collections.abc import Callable
from typing import Any

import numpy as np

from kitchensinks.numerics.arrays import Floats
from kitchensinks.numerics.words import Words

# Range of the pitch, in units of 1/γ.
_SMALLEST, _LARGEST = 1e-12, 1e12
# Bisection steps for the logarithm of the pitch: log(1e24)/2⁶⁰ is below rounding.
_BISECTIONS = 60
# Relative step of central differences, whose error is about its square.
_STEP = 1e-5
# Tolerance for the value 1 at zero, the value 0 at the largest pitch, and convexity.
_TOLERANCE = 1e-5


def check_pitch(pitch: object) -> None:
    """Raise an error unless `pitch` is a name, positive numbers or a convex kernel."""
    if isinstance(pitch, str) and pitch in ("gamma", "hat"):
        return
    if callable(pitch):
        _check_kernel(pitch)
        return
    if isinstance(pitch, list | tuple | np.ndarray):
        values = np.asarray(pitch)
        numeric = values.dtype.kind in "iuf" and values.ndim == 1 and len(values) > 0
        if numeric and np.isfinite(values).all() and (values > 0).all():
            return
    raise ValueError(
        f"pitch={pitch!r}: need 'gamma', 'hat', a list of one or more positive numbers that are "
        "equally likely, or a function k(r) of an array r ≥ 0."
    )


def sample_pitch(pitch: object, words: Words, *shape: int) -> Floats:
    """Pitches δ in units of 1/γ."""
    if isinstance(pitch, str):
        return words.gamma(2, *shape) if pitch == "gamma" else np.ones(shape)
    if callable(pitch):
        return _quantiles(pitch, words.uniform(*shape))
    values = np.asarray(pitch, dtype=np.float64)
    return np.asarray(values[words.integers(len(values), int(np.prod(shape)))].reshape(shape))


def pitch_kernel(pitch: Any, differences: Floats) -> Floats:
    """k(r) = ∫ max(0, 1 − r/δ)·p(δ) dδ of r = γ|x − z|: the chance of numbers to share a bin."""
    if isinstance(pitch, str):
        laplacian = pitch == "gamma"
        return np.asarray(np.exp(-differences) if laplacian else np.maximum(0.0, 1.0 - differences))
    if callable(pitch):
        return np.asarray(pitch(differences), dtype=np.float64)
    total = np.zeros(differences.shape)
    for one in np.asarray(pitch, dtype=np.float64):
        total += np.maximum(0.0, 1.0 - differences / one)
    return total / len(pitch)


def _below(kernel: Callable[[Floats], Any], pitch: Floats) -> Floats:
    """P(δ ≤ t) = 1 − k(t) + t·k'(t), the integral of the density p(δ) = δ·k''(δ)."""
    value, above, under = (
        np.asarray(kernel(pitch * factor), dtype=np.float64)
        for factor in (1.0, 1.0 + _STEP, 1.0 - _STEP)
    )
    return np.asarray(1.0 - value + (above - under) / (2.0 * _STEP))


def _quantiles(kernel: Callable[[Floats], Any], shares: Floats) -> Floats:
    """The pitch below which each share of the law lies, by bisection."""
    low = np.full(shares.shape, np.log(_SMALLEST))
    high = np.full(shares.shape, np.log(_LARGEST))
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        beyond = _below(kernel, np.exp(middle)) >= shares
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    return np.asarray(np.exp(high))


def _check_kernel(kernel: Callable[[Floats], Any]) -> None:
    """p(δ) = δ·k''(δ) is a law where k falls from 1 to 0 and is convex."""
    grid = np.concatenate([[0.0], np.geomspace(_SMALLEST, _LARGEST, 2000)])
    values = np.asarray(kernel(grid), dtype=np.float64)
    if values.shape != grid.shape:
        raise ValueError(
            f"pitch={kernel!r} returned an array of shape {values.shape} for {len(grid)} numbers: "
            "need k(r) for each of them."
        )
    if not (abs(values[0] - 1.0) <= _TOLERANCE and abs(values[-1]) <= _TOLERANCE):
        raise ValueError(
            f"pitch={kernel!r} is {values[0]:g} at 0 and {values[-1]:g} at {_LARGEST:g}: need a "
            "function k(r) that falls from 1 to 0."
        )
    falls = np.diff(_below(kernel, grid[1:]))
    if not (falls >= -_TOLERANCE).all():
        worst = grid[1:][np.argmin(falls)]
        raise ValueError(
            f"pitch={kernel!r} is not convex near {worst:.3g}: need a function with a second "
            "derivative of at least zero. A kernel that is flat at zero, such as the Gaussian, is "
            "no mixture of hats; use ks.Fourier() for it."
        )
