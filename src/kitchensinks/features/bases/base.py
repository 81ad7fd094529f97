"""The interface of random bases."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import DTypeLike
from sklearn.base import clone

from kitchensinks.features.bases.draw import (
    Draw,
    Graph,
    Products,
    Scorer,
    Theta,
    sample_blocks,
)
from kitchensinks.features.bases.parameters import known_bases, same_value, to_json
from kitchensinks.features.links import Linked
from kitchensinks.numerics.arrays import AnyArray, Arrays, Floats, Ints, Matrix
from kitchensinks.numerics.checks import check_count
from kitchensinks.numerics.words import Words, check_seed
from kitchensinks.tables.arrays import block_slices, numeric_rows, numeric_weights

if TYPE_CHECKING:
    from kitchensinks.features.scaling import Scaler

# Default number of draws in a block.
BLOCK = 256
# Entries of a block of rows, or of its bins, in the pass that finds occupied bins.
_TABULATED_ENTRIES = 2**22


class Universal(NamedTuple):
    """An answer with its reason; None stands for "not known".

    A basis is universal if for every continuous f on a bounded set and every ε > 0, K draws have
    with probability near one weights within ε of f in mean square (thesis, Definition III.6).

    >>> "universal" if Universal(None, "a reason") else "not known to be"
    'not known to be'
    """

    answer: bool | None
    reason: str

    def __bool__(self) -> bool:
        return bool(self.answer)


class Basis(Linked):
    """A family of functions φ(x; θ) with a law p(θ), declared in one place.

    A subclass states

    - ``sample(words, n_inputs)``: θ of one block of ``block_size(n_inputs)`` draws,
      from the block's raw words: a dict of arrays whose first axis is the draw;
    - ``features(theta, rows)``: φ(x; θ), unscaled, one column (or more) a draw;
    - ``bound``: sup |φ|, which may be infinite;
    - ``exact_kernel(rows, others)``: k(x, z) = E φ(x; θ)φ(z; θ);
    - ``check()``: an error for invalid parameters;
    - where it has one, ``onnx(graph, draw, rows)``: the features as nodes of an ONNX graph.

    Parameters that depend on the data (a bandwidth heuristic, quantile thresholds) are resolved
    first: ``basis.resolve(rows)`` returns a basis with numbers in their place, and only a resolved
    basis has a kernel and draws.

    The attributes below are all that the rest of the library needs to know about a basis. No code
    outside this folder tests for its class.
    """

    sparse: bool = False
    """Whether features are a sparse CSR array, whose columns are learned from rows."""

    binned: bool = False
    """Whether a row has at most one nonzero feature, a 1, in each draw: see ``bins``."""

    tells_bins: bool = False
    """Whether `tabulate_with_bins` has the bins of the draws, or of the one part with bins."""

    selects: bool = False
    """Whether draws are selected by means of rows. The first K' of K features then differ from a
    selection of K' features."""

    features_per_draw: int = 1
    """Features of one draw of θ: 2 for cosine and sine of one frequency."""

    takes_sparse_rows: bool = False
    """Whether ``features`` accepts sparse rows."""

    keeps_float64: bool = False
    """Whether θ stays in float64 whatever the dtype of the rows."""

    rescales: bool = True
    """Whether learned scales of the columns act on the features like a bandwidth."""

    gamma_by_column: bool = False
    """Whether gamma may be a list of lists, with a number for each column."""

    fast_products: bool = False
    """Whether ``products`` computes sums over rows faster than products of features."""

    directions_per_draw: int = 1
    """How many directions one draw of θ has: several for units that pool them."""

    def __init__(self) -> None:
        """Without parameters, unless a subclass has some."""

    @property
    def metric(self) -> Literal["laplacian", "gaussian"]:
        """The kernel whose learned column scales suit the basis: "laplacian" for distances that
        add up column by column, ‖x − z‖₁, and "gaussian" for ‖x − z‖₂."""
        return "gaussian"

    @property
    def open_bandwidth(self) -> bool:
        """Whether ``gamma`` is unresolved and the kernel is that of ``metric``: learned column
        scales then replace gamma, which becomes 1."""
        return False

    @property
    def exportable(self) -> bool:
        """Whether the features can be expressed in ONNX: see ``onnx``."""
        return type(self).onnx is not Basis.onnx

    @property
    def learns_draw(self) -> bool:
        """Whether the draw depends on rows beyond the resolved parameters: see ``learn_draw``."""
        return self.sparse or self.selects

    @property
    def universal(self) -> Universal:
        """Whether weighted sums of draws approximate every continuous function, and why (thesis,
        Theorem III.4 to Corollary III.9): true or false, with a ``reason``."""
        return Universal(None, "Nothing is known of functions of your own.")

    @property
    def bound(self) -> float:
        raise NotImplementedError

    def bound_in(self, n_inputs: int) -> float:
        """sup |φ| over rows of n_inputs columns."""
        return self.bound

    def check(self) -> None:
        """Raise a ValueError that names the parameter if one is invalid."""

    def check_in(self, n_inputs: int) -> None:
        """Raise a ValueError where an array parameter does not fit rows of n_inputs columns.

        A two-dimensional parameter has one column for each of them, or one for all.
        """
        for name, value in self.get_params(deep=False).items():
            given = isinstance(value, np.ndarray)
            if given and not (value.dtype.kind in "iuf" and np.isfinite(value).all()):
                raise ValueError(f"{name} is not made of finite numbers")
            tabled = not isinstance(value, str) and np.ndim(value) == 2
            if tabled and np.shape(value)[1] not in (1, n_inputs):
                raise ValueError(f"{name} of shape {np.shape(value)} for {n_inputs} inputs")

    def block_size(self, n_inputs: int) -> int:
        return BLOCK

    def block_entries(self, n_inputs: int, count: int) -> int:
        """How many numbers are made to sample `count` draws and their features of one row."""
        return count * n_inputs

    def whole(self, n_inputs: int) -> int | None:
        """The draws whose kernel is exact, the default ``n_components`` of estimators, or None."""
        return None

    def sample(self, words: Words, n_inputs: int) -> Theta:
        raise NotImplementedError

    def features(self, theta: Theta, rows: Matrix) -> Matrix:
        raise NotImplementedError

    def _scaled(self, theta: Theta, rows: Matrix, scale: float, out: AnyArray | None = None) -> Any:
        """φ(x; θ)·scale. A dense basis may write the result to `out` (n, columns)."""
        features = self.features(theta, rows)
        features *= features.dtype.type(scale)
        return features

    def exact_kernel(self, rows: Floats, others: Floats) -> Floats:
        raise NotImplementedError

    def unresolved(self) -> str | None:
        """The parameter that is not resolved yet, as ``name='value'``, or None."""
        return None

    def learn_parameters(self, rows: Floats, weights: Floats | None) -> dict[str, Any]:
        """The resolved values of the parameters that depend on the (few) rows given."""
        return {}

    def resolve(self, rows: Matrix, weights: object = None) -> Self:
        """A basis whose law no longer depends on data, learned from a sample of rows.

        `rows` (n, d) and `weights` (n,) should be a sample of bounded size: the estimators pass at
        most 2000 rows. A basis that depends on no data is returned as it is.
        """
        self.check()
        if self.unresolved() is None:
            return self
        rows = numeric_rows(rows)
        if weights is not None:
            weights = numeric_weights(weights, len(rows))
        resolved: Self = clone(self)
        resolved.set_params(**self.learn_parameters(rows, weights))
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
    ) -> Draw:
        """Draws start, …, n_components − 1 of θ: a pure function of the seed.

        The first K' of K draws are the K'-draw, so that any part can be redrawn without the rest.
        """
        self.require_resolved()
        check_count("n_inputs", n_inputs)
        n_components = check_count("n_components", n_components)
        if start != 0 and check_count("start", start) >= n_components:
            raise ValueError(
                f"start={start} of n_components={n_components} draws: need 0 to {n_components - 1}."
            )
        seed = check_seed(seed)
        theta = self.theta(seed, n_inputs, start, n_components)
        exact = Draw(self, seed, n_inputs, start, n_components, np.dtype(np.float64), theta)
        return exact.astype(dtype)

    def theta(self, seed: int, n_inputs: int, start: int, stop: int) -> Theta:
        """θ of draws start, …, stop − 1, joined from their blocks."""
        return sample_blocks(
            lambda words: self.sample(words, n_inputs), self.block_size(n_inputs), seed, start, stop
        )

    def learn_draw(
        self,
        draw: Draw,
        rows: Matrix,
        weights: Floats | None = None,
        scaler: "Scaler | None" = None,
    ) -> Draw:
        """The draw with what it learns from rows (n, d) of weights (n,): the bins that they occupy,
        or a selection of draws. Rows go through the scaler first.
        """
        if not self.sparse:
            return draw
        widest = max(draw.n_inputs, draw.n_components)

        def blocks() -> Iterator[Any]:
            for part in block_slices(rows.shape[0], max(1, _TABULATED_ENTRIES // widest)):
                own = rows[part] if weights is None else rows[part][weights[part] > 0]
                yield own if scaler is None else scaler.apply(own, draw.dtype)

        return draw.tabulate(blocks())

    def pack(self, draw: Draw) -> Arrays:
        """What a draw has learned from rows, as arrays that a file can hold."""
        return {}

    def unpack(self, draw: Draw, arrays: Arrays) -> Draw:
        """The draw of the seed, with what ``pack`` has stored."""
        return draw

    def tabulate(self, theta: Theta, blocks: Iterable[Matrix]) -> Theta:
        """θ with the columns that are learned from rows (the occupied bins of a grid)."""
        return theta

    def tabulate_with_bins(self, theta: Theta, rows: Matrix) -> tuple[Theta, AnyArray]:
        """`tabulate` and `bins` of all rows at once, for a basis that `tells_bins`."""
        raise TypeError(f"{type(self).__name__} has no bins.")

    def merge(self, theta: Theta, other: Theta) -> Theta:
        """θ with the columns that either has learned from its own blocks."""
        return theta

    def numbered(self, theta: Theta, rows: AnyArray) -> Iterator[tuple[Any, AnyArray]]:
        """For binned bases, draw by draw: names of the bins, and each row's index among them."""
        raise TypeError(f"{type(self).__name__} has no bins.")

    def bins(self, theta: Theta, rows: Matrix) -> AnyArray:
        """For binned bases: the column of each row in each draw, (draws, n), −1 for none."""
        raise TypeError(f"{type(self).__name__} has no bins.")

    def groups(self, theta: Theta, blocks: Iterable[Matrix]) -> Ints | None:
        """A label for each draw: draws with equal labels are equal functions on all these rows.

        None for bases in which that does not happen.
        """
        return None

    def products(self, theta: Theta, rows: Matrix, targets: Floats) -> Products | None:
        """Sums over rows (n, d) of equal weight and their targets (n, outputs), if they can be
        computed without the features; else None."""
        return None

    def scorer(self, theta: Theta, weights: AnyArray) -> Scorer:
        """The function rows ↦ φ(x)·weights; weights (columns, outputs)."""
        return lambda rows: self.features(theta, rows) @ weights

    def scored_entries(self, n_draws: int) -> int:
        """Temporary entries for each row while rows are scored."""
        return 16 * n_draws if self.sparse else self.n_columns(n_draws)

    def slopes(self, theta: Theta, rows: Matrix) -> tuple[AnyArray, AnyArray] | None:
        """For functions of ω·x: the derivative φ' of every column, (n, columns), and the directions
        ω (draws, d). None for other bases."""
        return None

    def linear_pieces(self, theta: Theta, rows: Matrix, weights: AnyArray) -> AnyArray | None:
        """For piecewise linear functions: Σ_k w_k·∇φ(x; θ_k), shape (n, outputs, d). None for other
        bases. rows (n, d), weights (columns, outputs)."""
        return None

    def columns(self, theta: Theta, n_draws: int) -> Ints:
        """Number of columns of each draw, shape (n_draws,)."""
        return self.column_counts(n_draws)

    def column_counts(self, n_draws: int) -> Ints:
        """Columns of each of the first draws of any seed, for dense bases."""
        return np.full(n_draws, self.features_per_draw, dtype=np.int64)

    def n_functions(self, n_draws: int) -> int:
        """How many columns of the first draws may be non-zero at one row: one in each grid."""
        return n_draws * self.features_per_draw

    def n_columns(self, n_draws: int) -> int:
        """Columns of the first draws of any seed, for dense bases."""
        return n_draws * self.features_per_draw

    def names(self, theta: Theta, n_draws: int) -> list[str]:
        """A name for each column, for `get_feature_names_out`."""
        prefix = type(self).__name__.lower()
        return [f"{prefix}{k}" for k in range(int(self.columns(theta, n_draws).sum()))]

    def onnx(self, graph: Graph, draw: Draw, rows: str) -> str:
        """`features` as nodes of an ONNX graph, of rows in the dtype of the draw."""
        able = [name for name, kind in known_bases().items() if kind.onnx is not Basis.onnx]
        raise ValueError(
            f"{type(self).__name__} cannot be exported: it has no form in ONNX. "
            f"Use one of {', '.join(able)}."
        )

    def onnx_scores(self, graph: Graph, draw: Draw, rows: str, weights: AnyArray) -> str:
        """`features` times weights (columns, outputs), of the dtype of the draw, in ONNX."""
        return graph.node("MatMul", self.onnx(graph, draw, rows), weights)

    def describe(self, place: str, arrays: Arrays) -> dict[str, Any]:
        """The basis as JSON; array parameters are added to `arrays`, named after their place."""
        name = type(self).__name__
        if known_bases().get(name) is not type(self):
            raise ValueError(
                f"{place}={self!r} cannot be stored in a model file: {name} is not one of the "
                "bases of kitchensinks.features.bases, which a file may name. Use pickle."
            )
        own = self.get_params(deep=False)
        held = {key: to_json(value, f"{place}-{key}", arrays) for key, value in own.items()}
        return {"basis": name, "fields": held}

    def same(self, other: object) -> bool:
        """Whether another basis has the same class and equal parameters; arrays and functions are
        compared by content."""
        if type(self) is not type(other):
            return False
        own, others = (one.get_params(deep=False) for one in (self, other))
        return all(same_value(value, others[name]) for name, value in own.items())


def require_finite(values: Floats, rows: Floats, others: Floats) -> None:
    """Raise an error where values computed from rows and others overflowed."""
    if not np.isfinite(values).all():
        largest = max(float(np.abs(part).max(initial=0.0)) for part in (rows, others))
        raise ValueError(
            f"rows hold an entry of size {largest:.0e}, so large that the kernel overflows: need "
            "smaller ones. Standardise the columns."
        )
