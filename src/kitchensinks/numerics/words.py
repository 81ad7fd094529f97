"""Random numbers from raw counter-based words, and the registry of their streams.

NumPy promises the bit stream of Philox across its versions but not its
distributions, and a saved model must not change under its owner. So block b of
a draw reads the raw words of Philox with key (seed, b), and the transforms to
uniform, normal, Cauchy, ... are written here.
"""

import enum
import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

from kitchensinks.numerics.arrays import Floats, Ints

# Steps between the numbers that 52 random bits make in the unit interval.
_TO_UNIT = 2.0**-52


@enum.unique
class Stream(enum.IntEnum):
    """What random words are for: uses of different names never share a word, whatever the seed.

    A stream owns the numbers from its own up to that of the next. A new use gets a name and a free
    number; a number in use keeps its meaning, because saved models depend on it.
    """

    DRAW = 0  #: Parameters θ of a basis.
    UNION_PARTS = 1  #: Seeds of the parts of a Union.
    MAXOUT_PLANES = 2  #: Shared planes of maxout units, for the first three places of the pool.
    PRECONDITIONER = 5  #: Rows whose sums precondition a solver.
    ROW_KEYS = 6  #: Multipliers that turn rows into keys.
    LAW_HOLD_OUT = 7  #: Rows that are held out to learn a law.
    TARGET_FOLDS = 8  #: Folds of rows for out-of-fold target means.
    ENCODING_SAMPLE = 9  #: Rows on which encodings of categories are compared.
    DISTANCE_PROFILE = 10  #: Points of the circle of a distance profile.
    STACKED_LAYERS = 11  #: Seeds of stacked layers.
    COLUMN_SAMPLE = 12  #: Runs of rows that the recipe of a table's columns is learned from.
    EXPLANATION = 13  #: Orders in which columns become known, for explanations of predictions.
    IMPORTANCE = 14  #: Points between which a function is compared, for importances of columns.
    PRODUCT_PARTS = 15  #: Seeds of the parts of a Product.
    RADEMACHER = 16  #: Signs of rows, for Rademacher complexities.
    STOCHASTIC_ORDER = 17  #: Orders of the rows in epochs of stochastic gradients.
    COORDINATE_ORDER = 18  #: Orders of the rows in epochs of dual coordinate ascent.
    LAW_BATCHES = 19  #: Batches that the scales of a law are learned from, and rows for quantiles.
    TREES = 20  #: Rows and columns that the trees of a law are grown on.
    GROUP_FOLDS = 21  #: Folds of groups of rows, while a law is learned from a small table.
    VALIDATION = 22  #: Groups that a command holds out to score a model.
    REPORT = 23  #: What a report takes at random: rows 0, rows held out 1, orders 2, points 3.
    PLANE = 24  #: Rows of two columns that are fitted for a picture, and their order.
    PROBES = 25  #: Rows on which an exported model is compared with the fitted one.
    REWEIGHTED = 2**32  #: Rows and candidates that a reweighted basis takes.
    MORE_PLANES = 2**32 + 1  #: Shared planes of maxout units, for the further places of the pool.

    @property
    def size(self) -> int:
        """How many numbers belong to the stream."""
        return min((other for other in Stream if other > self), default=2**64) - self

    def number(self, part: int = 0) -> int:
        """The number of one part of the stream.

        >>> Stream.MAXOUT_PLANES.number(2)
        4
        """
        # Every stream has a first part: most ask for that one, and sizes take longer to find.
        if part != 0 and not 0 <= part < self.size:
            raise ValueError(f"part={part!r} of {self!r}: need 0 to {self.size - 1}.")
        return int(self) + part


class Words:
    """A stream of raw 64-bit words, a pure function of (seed, block, stream, part).

    Every method consumes the next words of the stream and returns float64
    numbers of the given shape.

    >>> Words(0, 0).uniform(2).round(6).tolist()
    [0.011547, 0.241549]
    """

    def __init__(self, seed: int, block: int, stream: Stream = Stream.DRAW, part: int = 0) -> None:
        key = np.array([seed, block], dtype=np.uint64)
        self._generator = np.random.Philox(key=key, counter=[0, 0, 0, stream.number(part)])

    def raw(self, count: int) -> NDArray[np.uint64]:
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

    def integers(self, below: int, *shape: int) -> Ints:
        """Uniform on 0, …, below − 1 (bias at most below·2⁻⁵²)."""
        return (self.uniform(*shape) * below).astype(np.int64)

    def permutation(self, count: int) -> Ints:
        """A uniformly random order of 0, …, count − 1."""
        return np.argsort(self.raw(count), kind="stable").astype(np.int64)

    def generator(self) -> np.random.Generator:
        """A NumPy generator on the rest of the stream, for users' laws and orders of rows."""
        return np.random.Generator(self._generator)


def check_seed(seed: object) -> int:
    """A seed as a whole number in [0, 2⁶⁴)."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise TypeError(f"seed={seed!r}: need a whole number from 0 to 2**64 - 1.")
    if not 0 <= seed < 2**64:
        raise ValueError(f"seed={seed!r}: need a whole number from 0 to 2**64 - 1.")
    return int(seed)
