"""Random numbers from raw counter-based words.

NumPy promises the bit stream of Philox across its versions but not its
distributions, and a saved model must not change under its owner. So block b of
a draw reads the raw words of Philox with key (seed, b), and the transforms to
uniform, normal, Cauchy, ... are written here.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

Floats = NDArray[np.float64]

_TO_UNIT = 2.0**-52


class Words:
    """A stream of raw 64-bit words, a pure function of (seed, block, stream).

    Every method consumes the next words of the stream and returns float64
    numbers of the given shape.

    >>> Words(0, 0).uniform(2).round(6).tolist()
    [0.011547, 0.241549]
    """

    def __init__(self, seed: int, block: int, stream: int = 0) -> None:
        key = np.array([seed, block], dtype=np.uint64)
        self._generator = np.random.Philox(key=key, counter=[0, 0, 0, stream])

    def raw(self, count: int) -> NDArray[np.uint64]:
        """The next `count` words."""
        return np.asarray(self._generator.random_raw(count), dtype=np.uint64)

    def uniform(self, *shape: int) -> Floats:
        """Uniform on the open interval (0, 1): (⌊word / 2¹²⌋ + ½)·2⁻⁵², without rounding."""
        words = self.raw(math.prod(shape)).reshape(shape)
        return ((words >> np.uint64(12)).astype(np.float64) + 0.5) * _TO_UNIT

    def normal(self, *shape: int) -> Floats:
        """Standard normal, by Box and Muller: √(−2 ln u)·(cos 2πv, sin 2πv)."""
        count = math.prod(shape)
        pairs = self.uniform(2, (count + 1) // 2)
        length = np.sqrt(-2.0 * np.log(pairs[0]))
        angle = (2.0 * math.pi) * pairs[1]
        both = np.empty((pairs.shape[1], 2))
        np.multiply(length, np.cos(angle), out=both[:, 0])
        np.multiply(length, np.sin(angle), out=both[:, 1])
        return both.reshape(-1)[:count].reshape(shape)

    def cauchy(self, *shape: int) -> Floats:
        """Standard Cauchy: tan π(u − ½)."""
        return np.tan(math.pi * (self.uniform(*shape) - 0.5))

    def laplace(self, *shape: int) -> Floats:
        """Standard Laplace, density e^(−|t|)/2, by inversion."""
        centred = self.uniform(*shape) - 0.5
        # 1 − 2|u − ½| is an odd multiple of 2⁻⁵² and so never zero.
        return -np.sign(centred) * np.log1p(-2.0 * np.abs(centred))

    def gamma(self, order: float, *shape: int) -> Floats:
        """Gamma with the given order and rate 1: sums of exponentials for small
        whole orders, else by inversion of the incomplete gamma function."""
        if order == int(order) and order <= 4:
            factors = self.uniform(int(order), *shape)
            return np.asarray(-np.log(factors).sum(axis=0))
        return np.asarray(gammaincinv(order, self.uniform(*shape)), dtype=np.float64)

    def chi(self, freedom: float, *shape: int) -> Floats:
        """Chi with the given degrees of freedom: the length of a Gaussian vector."""
        return np.sqrt(2.0 * self.gamma(freedom / 2.0, *shape))

    def sign(self, *shape: int) -> Floats:
        """−1 or +1 with equal probability."""
        words = self.raw(math.prod(shape)).reshape(shape)
        return np.where(words >> np.uint64(63), 1.0, -1.0)

    def integers(self, below: int, *shape: int) -> NDArray[np.int64]:
        """Uniform on 0, …, below − 1 (bias at most below·2⁻⁵²)."""
        return (self.uniform(*shape) * below).astype(np.int64)

    def permutation(self, count: int) -> NDArray[np.int64]:
        """A uniformly random order of 0, …, count − 1."""
        return np.argsort(self.raw(count), kind="stable").astype(np.int64)

    def generator(self) -> np.random.Generator:
        """A NumPy generator on the rest of the stream, for a user's own law."""
        return np.random.Generator(self._generator)


def check_seed(seed: Any) -> int:
    """A seed as a whole number in [0, 2⁶⁴)."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise TypeError(f"seed={seed!r}: need a whole number from 0 to 2**64 - 1.")
    if not 0 <= seed < 2**64:
        raise ValueError(f"seed={seed!r}: need a whole number from 0 to 2**64 - 1.")
    return int(seed)
