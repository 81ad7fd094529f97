"""A basis of the user's own, and several bases side by side."""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from kitchensinks.features.bases.base import (
    Basis,
    Draw,
    Scorer,
    Theta,
    check_count,
    check_draw,
    check_positive,
)
from kitchensinks.numerics.words import Stream, Words
from kitchensinks.tables import describe, numeric_rows

Floats = NDArray[np.float64]

# Where θ is kept when `sample` returns it as one array.
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
    kernel : ``kernel(rows, others)`` of shape (n, m), or None: then `kernel` is an average
        over `monte_carlo` draws with a fixed seed, and `kernel_error` gives its standard
        error (at most bound²/√monte_carlo).
    bound : sup |φ| where it is known.
    monte_carlo : draws for the kernel estimate.

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

    # The parameters carry the names that the methods have too.
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

    def features(self, theta: Theta, rows: Any) -> NDArray[Any]:
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

    def kernel_error(self, X: Any, Y: Any = None) -> Floats:
        """Standard error of each entry of `kernel(X, Y)`: zero where the kernel is given."""
        self.check()
        rows = numeric_rows(X, "X")
        others = rows if Y is None else numeric_rows(Y, "Y")
        if self.own_kernel is not None:
            return np.zeros((len(rows), len(others)))
        return self._estimate(rows, others)[1]

    def _estimate(self, rows: Floats, others: Floats) -> tuple[Floats, Floats]:
        """Mean and standard error of φ(x)φ(z) over the draws of a seed of its own."""
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


def finite_numbers(what: str, values: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """A copy of what a function of the user's returned, if it holds finite real numbers."""
    if np.asarray(values).dtype.kind not in "fiub":
        raise ValueError(f"{what} returned {describe(np.asarray(values))}: need real numbers.")
    numbers = np.array(values, dtype=dtype)
    if not np.isfinite(numbers).all():
        raise ValueError(f"{what} returned NaN or infinity: need finite numbers for every row.")
    return numbers


class Union(Basis):
    """Several bases side by side, each with its share of the K draws.

    Draws are interleaved so that every prefix holds each basis in its share (to within one
    draw); the kernel is the sum of the kernels weighted by the shares.

    Parameters
    ----------
    bases : list of bases.
    shares : positive weights, equal by default; they are normalised to sum to one.

    Examples
    --------
    >>> from kitchensinks.features.bases import Fourier, ReLU
    >>> both = Union([Fourier(gamma=1.0), ReLU(gamma=1.0)])
    >>> both.draw(seed=0, n_inputs=2, n_components=6).n_columns
    6
    """

    def __init__(self, bases: Sequence[Basis] = (), shares: Sequence[float] | None = None) -> None:
        self.bases = bases
        self.shares = shares

    @property
    def sparse(self) -> bool:  # type: ignore[override]
        return any(basis.sparse for basis in self.bases)

    @property
    def takes_sparse_rows(self) -> bool:  # type: ignore[override]
        return all(basis.takes_sparse_rows for basis in self.bases)

    @property
    def bound(self) -> float:
        return max(basis.bound / math.sqrt(basis.features_per_draw) for basis in self.bases)

    def bound_in(self, n_inputs: int) -> float:
        return max(
            basis.bound_in(n_inputs) / math.sqrt(basis.features_per_draw) for basis in self.bases
        )

    def check(self) -> None:
        several = isinstance(self.bases, Sequence) and len(self.bases) > 0
        if not several or not all(isinstance(basis, Basis) for basis in self.bases):
            raise ValueError(
                f"bases={self.bases!r}: need a list of one or more bases, such as "
                "[Fourier(), ReLU()]."
            )
        if self.shares is not None:
            if np.shape(self.shares) != (len(self.bases),):
                raise ValueError(
                    f"shares={self.shares!r}: need {len(self.bases)} positive numbers, one a basis."
                )
            for share in self.shares:
                check_positive("shares", share, " for each basis")
        for basis in self.bases:
            basis.check()

    def unresolved(self) -> str | None:
        return next((p for basis in self.bases if (p := basis.unresolved())), None)

    def settle(self, rows: Floats, weights: Floats | None) -> dict[str, Any]:
        return {"bases": [basis.resolve(rows, weights) for basis in self.bases]}

    def normalised_shares(self) -> Floats:
        shares = np.ones(len(self.bases)) if self.shares is None else np.asarray(self.shares, float)
        return np.asarray(shares / shares.sum())

    def owners(self, count: int) -> NDArray[np.int64]:
        """Which basis draw k belongs to: always the one furthest behind its share."""
        shares = self.normalised_shares()
        given = np.zeros(len(shares))
        owners = np.empty(count, dtype=np.int64)
        for k in range(count):
            owners[k] = np.argmax(shares * (k + 1) - given)
            given[owners[k]] += 1
        return owners

    def draw(
        self,
        seed: int,
        n_inputs: int,
        n_components: int,
        dtype: DTypeLike = np.float64,
        start: int = 0,
    ) -> Draw:
        self.require_resolved()
        seed, n_components = check_draw(seed, n_inputs, n_components, start)
        owners = self.owners(n_components)
        parts: list[Draw | None] = []
        for j, basis in enumerate(self.bases):
            low, high = int((owners[:start] == j).sum()), int((owners == j).sum())
            own_seed = int(Words(seed, j, Stream.UNION_PARTS).raw(1)[0])
            parts.append(
                basis.draw(own_seed, n_inputs, high, dtype, start=low) if high > low else None
            )
        theta = {"parts": UnionParts(parts, owners[start:])}
        return Draw(self, seed, n_inputs, start, n_components, np.dtype(dtype), theta)

    def tabulate(self, theta: Theta, blocks: Iterable[Any]) -> Theta:
        union: UnionParts = theta["parts"].map(lambda part: part.tabulate([]))
        for rows in blocks:
            union = union.map(partial(Draw.tabulate, blocks=[rows]))
        return {"parts": union}

    def merge(self, theta: Theta, other: Theta) -> Theta:
        mine, theirs = theta["parts"], other["parts"]
        pairs = zip(mine.parts, theirs.parts, strict=True)
        merged = [None if a is None else a.merge(b) for a, b in pairs]
        return {"parts": UnionParts(merged, mine.owners)}

    def columns(self, theta: Theta, n_draws: int) -> NDArray[np.int64]:
        union: UnionParts = theta["parts"]
        counts = np.empty(n_draws, dtype=np.int64)
        for j, part in enumerate(union.parts):
            if part is not None:
                counts[union.owners == j] = np.diff(part.offsets)
        return counts

    def features(self, theta: Theta, rows: Any) -> Any:
        union: UnionParts = theta["parts"]
        offsets = np.concatenate([[0], np.cumsum(self.columns(theta, len(union.owners)))])
        pieces, places = [], []
        for j, part in enumerate(union.parts):
            if part is None:
                continue
            features = part.features(rows)
            features *= features.dtype.type(1.0 / math.sqrt(part.basis.features_per_draw))
            mine = np.flatnonzero(union.owners == j)
            pieces.append(features)
            places.append(np.concatenate([np.arange(offsets[k], offsets[k + 1]) for k in mine]))
        if self.sparse:
            together = sparse.hstack([sparse.csr_array(piece) for piece in pieces], format="csc")
            order = np.argsort(np.concatenate(places), kind="stable")
            return sparse.csr_array(together[:, order])
        out = np.empty((rows.shape[0], int(offsets[-1])), dtype=pieces[0].dtype)
        for features, columns in zip(pieces, places, strict=True):
            out[:, columns] = features
        return out

    def scorer(self, theta: Theta, weights: NDArray[Any]) -> Scorer:
        """The sum of the scores of the parts, each by its own way."""
        union: UnionParts = theta["parts"]
        owner = np.repeat(union.owners, self.columns(theta, len(union.owners)))
        scorers = []
        for j, part in enumerate(union.parts):
            if part is not None:
                scale = weights.dtype.type(1.0 / math.sqrt(part.basis.features_per_draw))
                scorers.append(part.basis.scorer(part.theta, scale * weights[owner == j]))
        return lambda rows: np.asarray(sum(score(rows) for score in scorers))

    def exact_kernel(self, rows: Floats, others: Floats) -> Floats:
        shares = self.normalised_shares()
        total = np.zeros((len(rows), len(others)))
        for share, basis in zip(shares, self.bases, strict=True):
            total += share * basis.exact_kernel(rows, others)
        return total


class UnionParts:
    """The parts of a union's draw, and which of them owns each draw."""

    def __init__(self, parts: list[Draw | None], owners: NDArray[np.int64]) -> None:
        self.parts = parts
        self.owners = owners

    def map(self, change: Callable[[Draw], Draw]) -> "UnionParts":
        """Every part changed."""
        return UnionParts([p if p is None else change(p) for p in self.parts], self.owners)

    def astype(self, dtype: np.dtype[Any]) -> "UnionParts":
        return self.map(lambda part: part.astype(dtype))

    def __getitem__(self, index: slice) -> "UnionParts":
        low, high, _ = index.indices(len(self.owners))
        parts: list[Draw | None] = []
        for j, part in enumerate(self.parts):
            before = int((self.owners[:low] == j).sum())
            after = int((self.owners[:high] == j).sum())
            parts.append(part.part(before, after) if part is not None and after > before else None)
        return UnionParts(parts, self.owners[low:high])

    def take(self, indices: NDArray[np.int64], n_inputs: int) -> "UnionParts":
        owners = self.owners[indices]
        # The place of a draw among those of its own part.
        places = np.empty(len(self.owners), dtype=np.int64)
        for j in range(len(self.parts)):
            mine = self.owners == j
            places[mine] = np.arange(mine.sum())
        chosen = [places[indices[owners == j]] for j in range(len(self.parts))]
        parts = [
            part.choose(own) if part is not None and len(own) else None
            for part, own in zip(self.parts, chosen, strict=True)
        ]
        return UnionParts(parts, owners)

    def join(self, parts: "list[UnionParts]") -> "UnionParts":
        joined: list[Draw | None] = []
        for same in zip(*(union.parts for union in parts), strict=True):
            held = [part for part in same if part is not None]
            joined.append(held[0].followed_by(held[1:]) if held else None)
        return UnionParts(joined, np.concatenate([union.owners for union in parts]))
