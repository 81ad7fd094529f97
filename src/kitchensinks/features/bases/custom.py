"""User-defined bases."""

import math
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from kitchensinks.features.bases.base import Basis
from kitchensinks.features.bases.draw import Theta
from kitchensinks.numerics.arrays import AnyArray, Arrays, DType, Floats, Matrix
from kitchensinks.numerics.checks import check_count, check_positive
from kitchensinks.numerics.words import Words
from kitchensinks.tables.arrays import describe, numeric_rows
from kitchensinks.tables.view import Given

# The key of θ where `sample` returns one array.
_WHOLE = ""


class Custom(Basis):
    """Any φ and p: two functions.

    Parameters
    ----------
    sample : ``sample(rng, n_inputs, count)`` draws θ: an array, or a dict of arrays, whose
        first axis has `count` entries. It is called once for each block of 64 draws with a
        `numpy.random.Generator` of the block's own, so that a prefix of a draw is a smaller
        draw. (NumPy does not promise its distributions across versions.)
    features : ``features(rows, theta)`` returns φ(x; θ), shape (n, count). Blocks of rows go
        through it in several threads at once.
    kernel : ``kernel(rows, others)`` of shape (n, m), or None, because few functions have one
        in closed form: then `kernel` is an average
        over `monte_carlo` draws with a fixed seed, and `kernel_error` gives its standard
        error (at most bound²/√monte_carlo).
    bound : sup |φ|; ``math.inf`` (default) where it is not known.
    monte_carlo : draws for the kernel estimate; 4096 leave an error of bound²/64 at most.

    Examples
    --------
    >>> import numpy as np
    >>> square = Custom(
    ...     sample=lambda rng, n_inputs, count: rng.standard_normal((count, n_inputs)),
    ...     features=lambda rows, theta: (rows @ theta.T) ** 2,
    ... )
    >>> square.draw(seed=0, n_inputs=2, n_components=5).features(np.ones((3, 2))).shape
    (3, 5)
    """

    def __init__(
        self,
        sample: Callable[..., Any] | None = None,
        features: Callable[..., Any] | None = None,
        kernel: Callable[..., Any] | None = None,
        bound: float = math.inf,
        monte_carlo: int = 4096,
    ) -> None:
        self.sampler = sample
        self.function = features
        self.own_kernel = kernel
        self.largest = bound
        self.monte_carlo = monte_carlo

    # Parameters and methods have the same names: the attributes have others.
    _PARAMETERS = {
        "sample": "sampler",
        "features": "function",
        "kernel": "own_kernel",
        "bound": "largest",
    }

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        own = {name: getattr(self, place) for name, place in self._PARAMETERS.items()}
        return {**own, "monte_carlo": self.monte_carlo}

    def set_params(self, **params: Any) -> Self:
        for name in self._PARAMETERS.keys() & params.keys():
            setattr(self, self._PARAMETERS[name], params.pop(name))
        super().set_params(**params)
        return self

    @property
    def bound(self) -> float:
        return self.largest

    def check(self) -> None:
        for name in ("sample", "features"):
            value = getattr(self, self._PARAMETERS[name])
            if not callable(value):
                raise ValueError(f"{name}={value!r}: Custom needs a function here.")
        if self.own_kernel is not None and not callable(self.own_kernel):
            raise ValueError(f"kernel={self.own_kernel!r}: need a function or None.")
        if self.largest != math.inf:
            check_positive("bound", self.largest, ", or math.inf where none is known")
        check_count("monte_carlo", self.monte_carlo)

    def block_size(self, n_inputs: int) -> int:
        return 64

    def sample(self, words: Words, n_inputs: int) -> Theta:
        count = self.block_size(n_inputs)
        theta = self.sampler(words.generator(), n_inputs, count)  # type: ignore[misc]
        parts = theta if isinstance(theta, dict) else {_WHOLE: theta}
        if not parts:
            raise ValueError("sample returned an empty dict: need at least one array of draws.")
        for name, part in parts.items():
            if np.shape(part)[:1] != (count,):
                where = f" for {name!r}" if name != _WHOLE else ""
                raise ValueError(
                    f"sample(rng, n_inputs={n_inputs}, count={count}) returned {describe(part)}"
                    f"{where}: need an array whose first axis has {count} entries."
                )
        return {name: np.asarray(part) for name, part in parts.items()}

    def features(self, theta: Theta, rows: Matrix) -> AnyArray:
        count = len(next(iter(theta.values())))
        given = theta.get(_WHOLE, theta)
        values = self.function(rows, given)  # type: ignore[misc]
        if np.shape(values) != (len(rows), count):
            raise ValueError(
                f"features(rows, theta) returned {describe(values)} for {len(rows)} rows and "
                f"{count} draws: need shape ({len(rows)}, {count})."
            )
        return finite_numbers("features(rows, theta)", values, rows.dtype)

    def exact_kernel(self, rows: Floats, others: Floats) -> Floats:
        if self.own_kernel is None:
            return self._estimate(rows, others)[0]
        values = self.own_kernel(rows, others)
        if np.shape(values) != (len(rows), len(others)):
            raise ValueError(
                f"kernel(rows, others) returned {describe(values)}: "
                f"need shape ({len(rows)}, {len(others)})."
            )
        return finite_numbers("kernel(rows, others)", values, np.dtype(np.float64))

    def describe(self, place: str, arrays: Arrays) -> dict[str, Any]:
        raise ValueError(
            "A Custom basis is made of functions, which cannot be stored safely: keep the code "
            "and fit again, or use pickle."
        )

    def kernel_error(self, X: Given, Y: Given | None = None) -> Floats:
        """Standard error of each entry of `kernel(X, Y)`: zero where the kernel is given."""
        self.check()
        rows = numeric_rows(X, "X")
        others = rows if Y is None else numeric_rows(Y, "Y")
        if self.own_kernel is not None:
            return np.zeros((len(rows), len(others)))
        return self._estimate(rows, others)[1]

    def _estimate(self, rows: Floats, others: Floats) -> tuple[Floats, Floats]:
        """Mean and standard error of φ(x)φ(z) over the draws of a reserved seed."""
        seed, count = 2**64 - 1, self.monte_carlo
        mean, square = np.zeros((2, len(rows), len(others)))
        for start in range(0, count, 1024):
            draw = self.draw(seed, rows.shape[1], min(start + 1024, count), start=start)
            first, second = draw.features(rows), draw.features(others)
            mean += first @ second.T
            square += first**2 @ (second**2).T
        mean /= count
        variance = np.maximum(square / count - mean**2, 0.0)
        return mean, np.sqrt(variance / count)


def finite_numbers(what: str, values: object, dtype: DType) -> AnyArray:
    """A copy of the result of a user's function, if it holds finite real numbers."""
    if np.asarray(values).dtype.kind not in "fiub":
        raise ValueError(f"{what} returned {describe(np.asarray(values))}: need real numbers.")
    numbers = np.array(values, dtype=dtype)
    if not np.isfinite(numbers).all():
        raise ValueError(f"{what} returned NaN or infinity: need finite numbers for every row.")
    return numbers
