"""Draws of random bases."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from kitchensinks.numerics.arrays import AnyArray, DType, Floats, Ints, Matrix
from kitchensinks.numerics.words import Stream, Words
from kitchensinks.tables.arrays import block_slices, check_size, densify, describe

if TYPE_CHECKING:
    from kitchensinks.features.bases.base import Basis

Theta = dict[str, Any]

# Maps rows in the dtype of the draw to scores (n, outputs).
Scorer = Callable[[Any], AnyArray]


class Products(NamedTuple):
    """Σφφ' (lower triangle), Σφ and Σφy' over some rows."""

    gram: AnyArray
    first: Floats
    cross: Floats


class Graph(Protocol):
    """The builder of an ONNX graph: nodes and constants are known by the names of their outputs."""

    def node(self, kind: str, *inputs: Any, **attributes: Any) -> str:
        """Add a node of this kind; inputs are names, or arrays that become constants."""

    def cast(self, value: str, dtype: DTypeLike) -> str:
        """The value in another dtype."""

    def look_up(self, value: str, keys: AnyArray) -> str:
        """The index of each value among distinct keys (m,), integers or text; m for others."""


@dataclass(frozen=True, eq=False)
class Draw:
    """Draws start, …, stop − 1 of a resolved basis, or a selection of draws.

    For a selection, places (n_components,) are the indices among the draws of the seed, factors
    (n_components,) multiply the features, and start is 0.
    """

    basis: "Basis"
    seed: int
    n_inputs: int
    start: int
    stop: int
    dtype: DType
    theta: Theta
    factors: Floats | None = None
    places: Ints | None = None

    @property
    def n_components(self) -> int:
        return self.stop - self.start

    @property
    def offsets(self) -> Ints:
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

    def features(self, rows: Matrix) -> Matrix:
        """φ(x; θ_k), times the factor of draw k, unscaled: (n, n_columns), dense or CSR."""
        features = self.basis.features(self.theta, self._prepared(rows))
        if self.factors is not None:
            features *= self._column_factors().astype(features.dtype)
        return features

    def onnx(self, graph: Graph, rows: str) -> str:
        """`features` as nodes of an ONNX graph, of rows in the dtype of the draw."""
        features = self.basis.onnx(graph, self, rows)
        if self.factors is None:
            return features
        return graph.node("Mul", features, self._column_factors().astype(self.dtype))

    def onnx_scores(self, graph: Graph, rows: str, weights: AnyArray) -> str:
        """features·weights as nodes of an ONNX graph; weights (columns, outputs) of the dtype."""
        if self.factors is not None:
            weights = (self._column_factors()[:, None] * weights).astype(self.dtype)
        return self.basis.onnx_scores(graph, self, rows, weights)

    def bins(self, rows: Matrix) -> AnyArray:
        """The column of each row in each draw of a binned basis, (draws, n); −1 for none.

        Of a union with one part that has bins: in each draw of that part, among its own columns.
        """
        return self.basis.bins(self.theta, self._prepared(rows))

    def groups(self, blocks: Iterable[Matrix]) -> Ints | None:
        """A label for each draw: see `Basis.groups`."""
        return self.basis.groups(self.theta, (self._prepared(rows) for rows in blocks))

    def products(self, rows: Matrix, targets: Floats) -> Products | None:
        """Scaled sums over rows of equal weight, where the basis has a fast way to compute them."""
        products = self.basis.products(self.theta, self._prepared(rows), targets)
        if products is None:
            return None
        scales = self._column_scales()
        gram = products.gram * np.outer(scales, scales)
        return Products(gram, scales * products.first, scales[:, None] * products.cross)

    def scorer(self, weights: AnyArray) -> Scorer:
        """The function rows ↦ scaled features·weights; weights (columns, outputs)."""
        scaled = (self._column_scales()[:, None] * weights).astype(weights.dtype)
        scores = self.basis.scorer(self.theta, scaled)
        return lambda rows: scores(self._prepared(rows))

    def slopes(self, rows: Matrix) -> tuple[AnyArray, AnyArray] | None:
        """Derivatives of the scaled features along their directions, (n, columns), and the
        directions (columns, d); None where the basis does not define them."""
        found = self.basis.slopes(self.theta, self._prepared(rows))
        if found is None:
            return None
        slopes, directions = found
        slopes *= self._column_scales().astype(slopes.dtype)
        return slopes, np.repeat(directions, self.basis.features_per_draw, axis=0)

    def linear_pieces(self, rows: Matrix, weights: AnyArray) -> AnyArray | None:
        """The gradient of scaled features·weights at every row, (n, outputs, d), for piecewise
        linear features; None for others. weights (columns, outputs)."""
        scaled = (self._column_scales()[:, None] * weights).astype(weights.dtype)
        return self.basis.linear_pieces(self.theta, self._prepared(rows), scaled)

    def _column_factors(self) -> Floats:
        """The factor of each column: that of its draw."""
        factors = np.ones(self.n_components) if self.factors is None else self.factors
        return np.repeat(factors, np.diff(self.offsets))

    def _column_scales(self) -> Floats:
        return np.asarray(self.scale * self._column_factors())

    def scaled_features(
        self, rows: Matrix, scale: float | None = None, out: AnyArray | None = None
    ) -> Matrix:
        """φ(x; θ_k)·scale; with the default scale, inner products approximate the kernel.

        out (n, n_columns): memory of the draw's dtype that may be used for the result.
        """
        scale = self.scale if scale is None else scale
        features = self.basis._scaled(self.theta, self._prepared(rows), scale, out)
        if self.factors is not None:
            features *= self._column_factors().astype(features.dtype)
        return features

    def part(self, low: int, high: int) -> "Draw":
        return replace(
            self,
            start=self.start + low,
            stop=self.start + high,
            theta={name: value[low:high] for name, value in self.theta.items()},
            factors=None if self.factors is None else self.factors[low:high],
            places=None if self.places is None else self.places[low:high],
        )

    def blocks(self, size: int) -> "Iterator[Draw]":
        for part in block_slices(self.n_components, max(1, size)):
            yield self.part(part.start, part.stop)

    def choose(self, indices: Ints, factors: Floats | None = None) -> "Draw":
        """The draws at these indices, which may repeat, with factors; for dense bases only."""
        if self.basis.sparse:
            raise ValueError(
                f"{type(self.basis).__name__} has sparse features: need a basis with dense ones, "
                "such as ks.Fourier(), to choose among its draws."
            )
        taken = {name: take(value, indices, self.n_inputs) for name, value in self.theta.items()}
        if self.factors is not None:
            factors = self.factors[indices] * (1.0 if factors is None else factors)
        places = self.start + indices if self.places is None else self.places[indices]
        stop = len(indices)
        return replace(self, start=0, stop=stop, theta=taken, factors=factors, places=places)

    def followed_by(self, others: "list[Draw]") -> "Draw":
        """The concatenation with other draws of the same basis and dtype, all without factors."""
        parts = [self, *others]
        theta = {name: join([part.theta[name] for part in parts]) for name in self.theta}
        places = None
        if self.places is not None:
            places = np.concatenate([part.places for part in parts if part.places is not None])
        stop = self.start + sum(part.n_components for part in parts)
        return replace(self, stop=stop, theta=theta, places=places)

    def tabulate(self, blocks: Iterable[Matrix]) -> "Draw":
        """This draw with the columns that its basis learns from blocks of rows.

        The order of the blocks, and their division into calls, does not matter.
        """
        prepared = (self._prepared(rows) for rows in blocks)
        return replace(self, theta=self.basis.tabulate(self.theta, prepared))

    def tabulate_with_bins(self, rows: AnyArray) -> "tuple[Draw, AnyArray]":
        """`tabulate` and `bins` of all rows at once, for a basis that `tells_bins`."""
        theta, bins = self.basis.tabulate_with_bins(self.theta, self._prepared(rows))
        return replace(self, theta=theta), bins

    def merge(self, other: "Draw") -> "Draw":
        """This draw with the columns that either draw has learned from rows."""
        return replace(self, theta=self.basis.merge(self.theta, other.theta))

    def astype(self, dtype: DTypeLike) -> "Draw":
        """The same draw, for rows of another dtype."""
        kind = np.dtype(dtype)
        theta = self.theta
        if not self.basis.keeps_float64:
            theta = {name: cast(value, kind) for name, value in theta.items()}
        return replace(self, dtype=kind, theta=theta)

    def _prepared(self, rows: Matrix) -> Matrix:
        """Rows in the dtype of the draw, dense unless the basis takes sparse ones; or an error."""
        if not sparse.issparse(rows) or not self.basis.takes_sparse_rows:
            rows = densify(rows)
        if rows.ndim != 2 or rows.shape[1] != self.n_inputs:
            raise ValueError(
                f"rows are {describe(rows)}; this draw was made for {self.n_inputs} columns: "
                f"need shape (n, {self.n_inputs})."
            )
        return check_size(rows, self.dtype, missing=False)


class Shared:
    """A part of θ that all draws share: joining, slicing and selecting do not change it."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __getitem__(self, index: slice) -> "Shared":
        return self

    def take(self, indices: Ints, n_inputs: int) -> "Shared":
        return self

    def join(self, parts: "list[Shared]") -> "Shared":
        return self

    def astype(self, dtype: DType) -> "Shared":
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
    """Draws start, …, stop − 1, from the blocks that contain them."""
    first = start // block_size
    blocks = [sample(Words(seed, b, stream, part)) for b in range(first, -(-stop // block_size))]
    low, high = start - first * block_size, stop - first * block_size
    return {name: join([block[name] for block in blocks])[low:high] for name in blocks[0]}


def join(parts: list[Any]) -> Any:
    """Concatenate arrays, or objects with a method `join`."""
    if isinstance(parts[0], np.ndarray):
        return parts[0] if len(parts) == 1 else np.concatenate(parts)
    return parts[0].join(parts)


def take(value: Any, indices: Ints, n_inputs: int) -> Any:
    """Select entries of an array, or of an object with a method `take`."""
    if isinstance(value, np.ndarray):
        return value[indices]
    return value.take(indices, n_inputs)


def cast(value: Any, dtype: DType) -> Any:
    """Floating-point parameters in the working dtype; integers are not changed."""
    if isinstance(value, np.ndarray):
        return value.astype(dtype, copy=False) if value.dtype.kind == "f" else value
    return value.astype(dtype)
