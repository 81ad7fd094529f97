"""Which error is the smallest: one rule for ties, so that rounding decides nothing.

Errors within a relative tolerance of the smallest one (1.5e-6, unless they carry more rounding)
count as equal to it. Among equal errors the one that was tried first wins; among ridge strengths,
the largest.
"""

from collections.abc import Sequence

import numpy as np

from kitchensinks.numerics.arrays import Bools, Floats

# Relative differences below this are rounding (measured: 4e-7 at the weakest ridge of a grid).
SAME_ERROR = 1.5e-6

Errors = Sequence[float] | Floats


def least_ones(errors: Errors, share: float = SAME_ERROR) -> Bools:
    """Which errors equal the smallest one, up to a relative tolerance.

    >>> least_ones([0.5, 0.2 + 1e-9, 0.2]).tolist()
    [False, True, True]
    """
    found = np.asarray(errors, dtype=np.float64)
    least = float(found.min())
    return np.asarray(found <= least + share * abs(least))


def first_least(errors: Errors, share: float = SAME_ERROR) -> int:
    """The index of the first error that equals the smallest.

    >>> first_least([0.5, 0.2 + 1e-9, 0.2])
    1
    """
    return int(np.argmax(least_ones(errors, share)))


def strongest_least(errors: Errors, ridges: Errors, share: float = SAME_ERROR) -> int:
    """The index of the largest (positive) ridge strength whose error equals the smallest.

    >>> strongest_least([2.0, 2.0, 3.0], [1.0, 10.0, 100.0])
    1
    >>> strongest_least([np.inf, np.inf], [1.0, 10.0])
    1
    """
    return int(np.argmax(np.where(least_ones(errors, share), np.asarray(ridges), 0.0)))


def lower(error: float, other: float) -> bool:
    """Whether an error is smaller than another by more than rounding.

    >>> lower(0.2, 0.2 + 1e-9), lower(0.2, 0.3)
    (False, True)
    """
    return error < other and first_least([other, error]) == 1
