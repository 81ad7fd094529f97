"""What a random basis is, and what a draw of it is."""

import math
import numbers
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone

from kitchensinks.numerics.elementwise import affine
from kitchensinks.numerics.words import Stream, Words, check_seed
from kitchensinks.tables import check_size, densify, describe, numeric_rows, numeric_weights

Floats = NDArray[np.float64]
Theta = dict[str, Any]

# Draws of one block where a basis has no block of its own.
BLOCK = 256


class Basis(BaseEstimator):
    """A family of functions φ(x; θ) with a law p(θ), declared in one place.

    A subclass states

    - ``sample(words, n_inputs)``: θ of one block of ``block_size(n_inputs)`` draws,
      from the block's raw words: a dict of arrays whose first axis is the draw;
    - ``features(theta, rows)``: φ(x; θ), unscaled, one column (or more) a draw;
    - ``bound``: sup |φ|, which may be infinite;
    - ``exact_kernel(rows, others)``: k(x, z) = E φ(x; θ)φ(z; θ);
    - ``check()``: an error for parameters that make no sense.

    What depends on the data (a bandwidth by heuristic, quantile thresholds) is
    resolved first: ``basis.resolve(rows)`` returns a basis that does not depend on
    it any more, and kernels and draws are of a resolved basis.
    """

    sparse: bool = False
    """Whether features come as a sparse CSR array."""

    features_per_draw: int = 1
    """How many features one draw of θ averages: 2 for cosine and sine of one frequency."""

    takes_sparse_rows: bool = False
    """Whether ``features`` works on sparse rows as they are."""

    keeps_float64: bool = False
    """Whether θ stays in float64 whatever the dtype of the rows."""

    @property
    def bound(self) -> float:
        raise NotImplementedError

    def bound_in(self, n_inputs: int) -> float:
        """sup |φ| over rows of n_inputs columns."""
        return self.bound

    def check(self) -> None:
        """Raise a ValueError that names the parameter where one makes no sense."""

    def block_size(self, n_inputs: int) -> int:
        return BLOCK

    def sample(self, words: Words, n_inputs: int) -> Theta:
        raise NotImplementedError

    def features(self, theta: Theta, rows: Any) -> Any:
        raise NotImplementedError

    def exact_kernel(self, rows: Floats, others: Floats) -> Floats:
        raise NotImplementedError

    def unresolved(self) -> str | None:
        """The parameter that still depends on the data, as ``name='value'``, or None."""
        return None

    def settle(self, rows: Floats, weights: Floats | None) -> dict[str, Any]:
        """The resolved values of the parameters that depend on the (few) rows given."""
        return {}

    def resolve(self, rows: Any, weights: Any = None) -> Self:
        """A basis whose law no longer depends on data, learned from a sample of rows.

        `rows` (n, d) and `weights` (n,) should be a sample of bounded size: the
        estimators pass at most 2000 rows. A basis that depends on no data is returned as
        it is.
        """
        self.check()
        if self.unresolved() is None:
            return self
        rows = numeric_rows(rows)
        if weights is not None:
            weights = numeric_weights(weights, len(rows))
        resolved: Self = clone(self)
        resolved.set_params(**self.settle(rows, weights))
        return resolved

    def require_resolved(self) -> None:
        self.check()
        open_parameter = self.unresolved()
        if open_parameter is not None:
            raise ValueError(
                f"{open_parameter} depends on the data and is not resolved yet. Call "
                f"basis.resolve(rows) first, or give a number."
            )

    def kernel(self, X: Any, Y: Any = None) -> Floats:
        """k(x, z) = E φ(x; θ)φ(z; θ) for every pair of rows, in float64.

        ``SVC(kernel=basis.kernel)`` and ``KernelRidge(kernel=basis.kernel)`` are the
        exact counterparts of a fit with random features. (KernelRidge asks for one pair of
        rows at a time; with ``kernel="precomputed"`` and ``basis.kernel(X)`` it is faster.)

        X (n, d), Y (m, d) or None for X itself; returns (n, m), or for two single rows (d,)
        a number.
        """
        self.require_resolved()
        if np.ndim(X) == 1 and np.ndim(Y) == 1:
            return np.squeeze(self.kernel([X], [Y]))
        rows = numeric_rows(X, "X")
        others = rows if Y is None else numeric_rows(Y, "Y")
        if rows.shape[1] != others.shape[1]:
            raise ValueError(
                f"X has {rows.shape[1]} columns and Y has {others.shape[1]}: "
                "a kernel compares rows of the same columns."
            )
        with np.errstate(over="ignore", invalid="ignore"):
            values = self.exact_kernel(rows, others)
        require_finite(values, rows, others)
        return values

    def draw(
        self,
        seed: int,
        n_inputs: int,
        n_components: int,
        dtype: DTypeLike = np.float64,
        start: int = 0,
    ) -> "Draw":
        """Draws start, …, n_components − 1 of θ: a pure function of the seed.

        The first K' of K draws are the K'-draw, so `start` lets anyone redraw a
        share of them without the rest.
        """
        self.require_resolved()
        seed, n_components = check_draw(seed, n_inputs, n_components, start)
        theta = self.theta(seed, n_inputs, start, n_components)
        if not self.keeps_float64:
            theta = {name: cast(value, np.dtype(dtype)) for name, value in theta.items()}
        return Draw(self, seed, n_inputs, start, n_components, np.dtype(dtype), theta)

    def theta(self, seed: int, n_inputs: int, start: int, stop: int) -> Theta:
        """θ of draws start, …, stop − 1, joined from their blocks."""
        return sample_blocks(
            lambda words: self.sample(words, n_inputs),
            self.block_size(n_inputs),
            seed,
            start,
            stop,
        )

    def tabulate(self, theta: Theta, blocks: Iterable[Any]) -> Theta:
        """θ with whatever columns have to be learned from rows (the bins of a grid)."""
        return theta

    def merge(self, theta: Theta, other: Theta) -> Theta:
        """θ with the columns that either has learned, each from blocks of its own."""
        return theta

    def groups(self, theta: Theta, blocks: Iterable[Any]) -> NDArray[np.int64] | None:
        """A label for each draw: equal ones are the same function on all these rows.

        None where that is not known to happen.
        """
        return None

    def products(self, theta: Theta, rows: Any, targets: Floats) -> "Products | None":
        """Sums over rows (n, d) of equal weight and their targets (n, outputs), made faster than
        from the features; None where features have to be made."""
        return None

    def scorer(self, theta: Theta, weights: NDArray[Any]) -> "Scorer":
        """The function rows ↦ φ(x)·weights; weights (columns, outputs)."""
        return lambda rows: self.features(theta, rows) @ weights

    def slopes(self, theta: Theta, rows: Any) -> "tuple[NDArray[Any], NDArray[Any]] | None":
        """φ' of every column along the direction of its draw, (n, columns), and the directions
        (draws, d), for a basis of functions of ω·x; None for others."""
        return None

    def columns(self, theta: Theta, n_draws: int) -> NDArray[np.int64]:
        """Number of columns of each draw, shape (n_draws,)."""
        return np.full(n_draws, self.features_per_draw, dtype=np.int64)

    def names(self, theta: Theta, n_draws: int) -> list[str]:
        """A name for each column, for `get_feature_names_out`."""
        prefix = type(self).__name__.lower()
        return [f"{prefix}{k}" for k in range(int(self.columns(theta, n_draws).sum()))]


# Rows in the dtype of the draw to scores (n, outputs).
Scorer = Callable[[Any], NDArray[Any]]


class Products(NamedTuple):
    """Σφφ' (lower triangle), Σφ and Σφy' over some rows."""

    gram: NDArray[Any]
    first: Floats
    cross: Floats


@dataclass(frozen=True, eq=False)
class Draw:
    """Draws start, …, stop − 1 of a resolved basis, or those chosen from them: frozen."""

    basis: Basis
    seed: int
    n_inputs: int
    start: int
    stop: int
    dtype: np.dtype[Any]
    theta: Theta
    factors: Floats | None = None

    @property
    def n_components(self) -> int:
        return self.stop - self.start

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Columns of draw k are offsets[k]:offsets[k + 1]; shape (n_components + 1,)."""
        counts = self.basis.columns(self.theta, self.n_components)
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    @property
    def n_columns(self) -> int:
        return int(self.basis.columns(self.theta, self.n_components).sum())

    @property
    def bound(self) -> float:
        """sup |φ| over rows of n_inputs columns, before scaling, the largest factor included."""
        largest = 1.0 if self.factors is None else float(self.factors.max())
        return self.basis.bound_in(self.n_inputs) * largest

    @property
    def scale(self) -> float:
        """1/√(number of features averaged): products of scaled features meet the kernel."""
        return 1.0 / math.sqrt(self.n_components * self.basis.features_per_draw)

    def features(self, rows: Any) -> Any:
        """φ(x; θ_k), times the factor of draw k, unscaled: (n, n_columns), dense or CSR."""
        features = self.basis.features(self.theta, self._prepared(rows))
        if self.factors is not None:
            features *= np.repeat(self.factors, np.diff(self.offsets)).astype(features.dtype)
        return features

    def groups(self, blocks: Iterable[Any]) -> NDArray[np.int64] | None:
        """A label for each draw: equal ones are the same function on all these rows, or None."""
        return self.basis.groups(self.theta, (self._prepared(rows) for rows in blocks))

    def products(self, rows: Any, targets: Floats) -> Products | None:
        """Sums over rows of equal weight, scaled, where the basis has a faster way to them."""
        products = self.basis.products(self.theta, self._prepared(rows), targets)
        if products is None:
            return None
        scales = self._column_scales()
        gram = products.gram * np.outer(scales, scales)
        return Products(gram, scales * products.first, scales[:, None] * products.cross)

    def scorer(self, weights: NDArray[Any]) -> Scorer:
        """The function rows ↦ scaled features·weights; weights (columns, outputs)."""
        scaled = (self._column_scales()[:, None] * weights).astype(weights.dtype)
        scores = self.basis.scorer(self.theta, scaled)
        return lambda rows: scores(self._prepared(rows))

    def slopes(self, rows: Any) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """Slopes of the scaled features along the direction of each, (n, columns), and those
        directions (columns, d); None where the basis does not say."""
        found = self.basis.slopes(self.theta, self._prepared(rows))
        if found is None:
            return None
        slopes, directions = found
        slopes *= self._column_scales().astype(slopes.dtype)
        return slopes, np.repeat(directions, self.basis.features_per_draw, axis=0)

    def _column_scales(self) -> Floats:
        """What each feature is multiplied with: its factor and the scale."""
        if self.factors is None:
            return np.full(self.n_columns, self.scale)
        return np.asarray(self.scale * np.repeat(self.factors, np.diff(self.offsets)))

    def scaled_features(self, rows: Any) -> Any:
        """φ(x; θ_k)·scale, so that inner products approximate the kernel."""
        features = self.features(rows)
        if self.basis.sparse:
            features *= self.dtype.type(self.scale)
        else:
            affine(features, self.scale, np.zeros(features.shape[1]))
        return features

    def part(self, low: int, high: int) -> "Draw":
        """Draws low, …, high − 1 of this draw."""
        theta = {name: value[low:high] for name, value in self.theta.items()}
        part = replace(self, start=self.start + low, stop=self.start + high, theta=theta)
        return part if self.factors is None else replace(part, factors=self.factors[low:high])

    def choose(self, indices: NDArray[np.int64], factors: Floats | None = None) -> "Draw":
        """These draws (dense bases only), as often as they are named, with a factor for each.

        The result counts from 0, and the seed alone does not say any more what it holds.
        """
        if self.basis.sparse:
            raise ValueError(
                f"{type(self.basis).__name__} has sparse features: need a basis with dense ones, "
                "such as ks.Fourier(), to choose among its draws."
            )
        taken = {name: take(value, indices, self.n_inputs) for name, value in self.theta.items()}
        if self.factors is not None:
            factors = self.factors[indices] * (1.0 if factors is None else factors)
        return replace(self, start=0, stop=len(indices), theta=taken, factors=factors)

    def followed_by(self, others: "list[Draw]") -> "Draw":
        """This draw and then others of the same basis and dtype, none of them with factors."""
        parts = [self, *others]
        theta = {name: join([part.theta[name] for part in parts]) for name in self.theta}
        return replace(self, stop=self.start + sum(p.n_components for p in parts), theta=theta)

    def tabulate(self, blocks: Iterable[Any]) -> "Draw":
        """This draw with the columns that its basis has to learn from blocks of rows.

        Blocks may come in any order and in several calls: the columns are the same.
        """
        prepared = (self._prepared(rows) for rows in blocks)
        return replace(self, theta=self.basis.tabulate(self.theta, prepared))

    def merge(self, other: "Draw") -> "Draw":
        """This draw with the columns that it or the other has learned from rows."""
        return replace(self, theta=self.basis.merge(self.theta, other.theta))

    def astype(self, dtype: DTypeLike) -> "Draw":
        """The same draw, for rows of another dtype."""
        kind = np.dtype(dtype)
        theta = self.theta
        if not self.basis.keeps_float64:
            theta = {name: cast(value, kind) for name, value in theta.items()}
        return replace(self, dtype=kind, theta=theta)

    def _prepared(self, rows: Any) -> Any:
        """Rows in the dtype of the draw, dense unless the basis takes sparse ones; or an error."""
        if not sparse.issparse(rows) or not self.basis.takes_sparse_rows:
            rows = densify(rows)
        if rows.ndim != 2 or rows.shape[1] != self.n_inputs:
            raise ValueError(
                f"rows are {describe(rows)}; this draw was made for {self.n_inputs} columns: "
                f"need shape (n, {self.n_inputs})."
            )
        return check_size(rows, self.dtype)


class Shared:
    """A part of θ that every draw shares: joining, slicing and choosing leave it alone."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __getitem__(self, index: slice) -> "Shared":
        return self

    def take(self, indices: NDArray[np.int64], n_inputs: int) -> "Shared":
        return self

    def join(self, parts: "list[Shared]") -> "Shared":
        return self

    def astype(self, dtype: np.dtype[Any]) -> "Shared":
        return Shared([cast(part, dtype) for part in self.value])


def sample_blocks(
    sample: Callable[[Words], Theta],
    block_size: int,
    seed: int,
    start: int,
    stop: int,
    stream: Stream = Stream.DRAW,
    part: int = 0,
) -> Theta:
    """Sample the blocks that hold draws start, …, stop − 1, and cut off the rest."""
    first = start // block_size
    blocks = [sample(Words(seed, b, stream, part)) for b in range(first, -(-stop // block_size))]
    low, high = start - first * block_size, stop - first * block_size
    return {name: join([block[name] for block in blocks])[low:high] for name in blocks[0]}


def join(parts: list[Any]) -> Any:
    """Concatenate arrays, or parts that know how to join themselves."""
    if isinstance(parts[0], np.ndarray):
        return parts[0] if len(parts) == 1 else np.concatenate(parts)
    return parts[0].join(parts)


def take(value: Any, indices: NDArray[np.int64], n_inputs: int) -> Any:
    """Entries of an array, or of a part that knows how to choose from itself."""
    if isinstance(value, np.ndarray):
        return value[indices]
    return value.take(indices, n_inputs)


def cast(value: Any, dtype: np.dtype[Any]) -> Any:
    """Floating-point parameters in the working dtype; counts and indices as they are."""
    if isinstance(value, np.ndarray):
        return value.astype(dtype, copy=False) if value.dtype.kind == "f" else value
    return value.astype(dtype)


def check_draw(seed: Any, n_inputs: Any, n_components: Any, start: Any) -> tuple[int, int]:
    """The seed and number of draws, if draws start, …, n_components − 1 make sense."""
    check_count("n_inputs", n_inputs)
    n_components = check_count("n_components", n_components)
    if start != 0 and check_count("start", start) >= n_components:
        raise ValueError(
            f"start={start} of n_components={n_components} draws: need 0 to {n_components - 1}."
        )
    return check_seed(seed), n_components


def require_finite(values: Floats, rows: Floats, others: Floats) -> None:
    """An error where values computed from rows and others overflowed."""
    if not np.isfinite(values).all():
        largest = max(float(np.abs(part).max(initial=0.0)) for part in (rows, others))
        raise ValueError(
            f"rows hold an entry of size {largest:.0e}, so large that the kernel overflows: need "
            "smaller ones. Standardise the columns."
        )


def check_count(name: str, value: Any) -> int:
    """A whole number of at least one."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Integral):
        raise TypeError(
            f"{name}={value!r} is of type {type(value).__name__}: need a whole number of 1 or more."
        )
    if value < 1:
        raise ValueError(f"{name}={value!r}: need a whole number of 1 or more.")
    return int(value)


def check_positive(name: str, value: Any, advice: str = "") -> float:
    """A positive finite number."""
    good = isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
    if not (good and math.isfinite(value) and value > 0):
        raise ValueError(f"{name}={value!r}: need a positive finite number{advice}.")
    return float(value)


def check_choice(name: str, value: Any, choices: Iterable[str]) -> str:
    """One of the names listed."""
    choices = list(choices)
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name}={value!r}: need one of {', '.join(map(repr, choices))}.")
    return value
