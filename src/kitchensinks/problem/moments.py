"""Mergeable sums of features and targets: the sufficient statistics of a squared-loss fit."""

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.blas import dsymm

from kitchensinks.numerics.arrays import AnyArray, DType, Floats, Part
from kitchensinks.numerics.elementwise import add_lower, centre, mean_with_rank_two
from kitchensinks.numerics.products import gram_lower, inverse_squares
from kitchensinks.tables.arrays import densify


class BlockSums(NamedTuple):
    """Sums of a block for columns `done` and later.

    first: Σwz; cross: Σwzy'; product: the lower triangle of the products of those columns, in units
    of `unit`; rest: their products with the columns before; targets (n, outputs) and weights (n,)
    are those of the block.
    """

    done: int
    unit: float
    first: Floats
    cross: Floats
    product: AnyArray
    rest: AnyArray | None
    targets: Floats
    weights: Floats | None


@dataclass
class Moments:
    """Weighted sums about a fixed shift s: w, Σw(z−s), Σw(z−s)(z−s)', Σw(z−s)y', Σwy, Σwy².

    The shift is near the mean of the features, because products of centred float32 features are
    a hundred times more accurate. Summaries about the same shift merge by addition, so that any
    partition of the rows gives the same sums.

    shift (K,); first (K,); gram (K, K), lower triangle; cross (K, outputs);
    targets, squares (outputs,). `count` is the number of rows of positive weight, `copies` the
    number of copies of rows that the weights stand for.
    """

    shift: Floats
    weight: float
    count: int
    copies: float
    first: Floats
    gram: Floats
    cross: Floats
    targets: Floats
    squares: Floats
    _spare: list[AnyArray] = field(default_factory=list, init=False, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_spare": []}

    def _add_targets(self, targets: Floats, weights: Floats | None) -> None:
        weighted = targets if weights is None else targets * weights[:, None]
        self.weight += float(len(targets) if weights is None else weights.sum())
        self.count += len(targets) if weights is None else int(np.count_nonzero(weights))
        self.copies += copies_of(len(targets), weights)
        self.targets = self.targets + weighted.sum(axis=0)
        self.squares = self.squares + (weighted * targets).sum(axis=0)

    def close(self) -> None:
        """Free the memory that products of blocks reuse."""
        self._spare.clear()

    @classmethod
    def zeros(cls, shift: Floats, n_outputs: int) -> "Moments":
        size = len(shift)
        return cls(
            shift=shift,
            weight=0.0,
            count=0,
            copies=0.0,
            first=np.zeros(size),
            gram=np.zeros((size, size), order="F"),
            cross=np.zeros((size, n_outputs)),
            targets=np.zeros(n_outputs),
            squares=np.zeros(n_outputs),
        )

    def add(
        self, features: AnyArray, targets: Floats, weights: Floats | None, done: int = 0
    ) -> None:
        """Add the sums of a block, as `sums_of` makes them."""
        self.take(self.sums_of(slice(None), features, targets, weights, done))

    def sums_of(
        self,
        rows: Part,
        features: Any,
        targets: Floats,
        weights: Floats | None,
        done: int = 0,
        dtype: DType | None = None,
        copied: bool = False,
    ) -> "BlockSums":
        """Of a block of some of the rows that have targets (n, outputs) and weights (n,).

        The features of the block are overwritten unless they are copied. The product is in their
        dtype, or in the one that is given. With done > 0 only columns `done` and later,
        and their products with all: the sums over these rows of the columns before, and of the
        targets, are there already. Several threads may call this at once; `take` adds what it
        returns.
        """
        dtype = dtype or features.dtype
        features = densify(features).astype(dtype, copy=copied)
        targets, weights = targets[rows], None if weights is None else weights[rows]
        first = centre(features, self.shift)[done:]
        new = features[:, done:]
        # Targets are centred and scaled before the products: in float32 a small spread about a
        # large mean would be lost, and large targets would overflow.
        # Targets of rows without weight may be anything: they must not set the unit of the others.
        idle = np.zeros(len(targets), dtype=bool) if weights is None else weights == 0.0
        shown = targets[~idle] if idle.any() else targets
        level = shown.mean(axis=0) if len(shown) else np.zeros(targets.shape[1])
        spread = targets - level
        spread[idle] = 0.0
        size = np.abs(spread).max(axis=0, initial=0.0)
        size = np.where(size > 0.0, size, 1.0)
        spread /= size
        unit = 1.0
        if weights is not None:
            # Weights far from one would exceed the range of float32.
            largest = float(weights.max(initial=0.0))
            unit = largest if largest > 0.0 and not 1e-6 < largest < 1e6 else 1.0
            narrow = (weights / unit).astype(dtype)
            spread *= (weights / unit)[:, None]
            first = unit * (narrow @ new).astype(np.float64)
        cross = (new.T @ spread.astype(dtype)).astype(np.float64)
        cross = (unit * size) * cross + np.outer(first, level)
        if weights is not None:
            features *= np.sqrt(narrow)[:, None]
        product = self._room(new.shape[1], dtype)
        gram_lower(new, product)
        rest = new.T @ features[:, :done] if done else None
        return BlockSums(done, unit, first, cross, product, rest, targets, weights)

    def take(self, block: "BlockSums") -> None:
        """Add the sums of a block, in float64."""
        done = block.done
        self.first[done:] += block.first
        self.cross[done:] += block.cross
        add_lower(self.gram[done:, done:], block.product, block.unit)
        self._spare.append(block.product)
        if block.rest is not None:
            self.gram[done:, :done] += block.unit * block.rest.astype(np.float64)
        if done == 0:
            self._add_targets(block.targets, block.weights)

    def add_blocks(
        self,
        walk: Callable[..., Iterable[tuple[Part, "BlockSums"]]],
        targets: Floats,
        weights: Floats | None,
        dtype: DType | None = None,
        copied: bool = False,
        told: Callable[[Any], object] = lambda rows: None,
    ) -> None:
        """Add the rows of a walk over blocks of features.

        walk(work=…) gives (rows, work(rows, features)) block after block, and may work on several
        at once; targets (n, outputs) and weights (n,) are those of all rows. dtype: of the
        products, where it is not that of the features; copied: `walk` keeps its blocks, so that
        they must not be overwritten. told: called with the rows of each block that was added.
        """
        own = partial(self.sums_of, targets=targets, weights=weights, dtype=dtype, copied=copied)
        for rows, block in walk(work=own):
            self.take(block)
            told(rows)
        self.close()

    def _room(self, size: int, dtype: DType) -> AnyArray:
        """Reused memory for a product: new pages cost a tenth of the product's time."""
        while self._spare:
            with contextlib.suppress(IndexError):
                product = self._spare.pop()
                if product.dtype == dtype and len(product) == size:
                    return product
        return np.empty((size, size), dtype=dtype, order="F")

    def add_products(self, gram: AnyArray, first: Floats, cross: Floats, targets: Floats) -> None:
        """Add a block of rows of equal weight from its products about zero."""
        if self.shift.any():
            raise ValueError("Products are about zero: need sums without a shift.")
        self.first += first
        self.gram += gram
        self.cross += cross
        self._add_targets(targets, None)

    @classmethod
    def _stored(cls) -> list[str]:
        """The shift and what adds up over blocks of rows: all fields but scratch memory."""
        return [one.name for one in fields(cls) if one.init]

    def state(self) -> dict[str, AnyArray]:
        """All the sums as arrays, for a checkpoint."""
        return {name: np.asarray(getattr(self, name)) for name in self._stored()}

    def restore(self, state: dict[str, AnyArray]) -> None:
        """Restore sums that `state` returned."""
        for name in self._stored():
            value = np.array(state[name])
            setattr(self, name, value if value.ndim else value.item())

    def merge(self, other: "Moments") -> "Moments":
        """The sums of both parts, about the shift of the first."""
        other = other.about(self.shift)
        names = [name for name in self._stored() if name != "shift"]
        sums = {name: getattr(self, name) + getattr(other, name) for name in names}
        return replace(self, **sums)

    def about(self, shift: Floats) -> "Moments":
        """The same sums about another shift."""
        if np.array_equal(shift, self.shift):
            return self
        step = self.shift - shift
        gram = self.gram + np.outer(step, self.first + self.weight * step)
        gram += np.outer(self.first, step)
        return replace(
            self,
            shift=shift,
            first=self.first + self.weight * step,
            gram=gram,
            cross=self.cross + np.outer(step, self.targets),
        )

    def normal_equations(self, fit_intercept: bool) -> "NormalEquations":
        """Means, and second moments about them (about zero without an intercept)."""
        total = self.weight
        offset = self.first / total
        targets = self.targets / total
        cross = self.cross / total
        squares = self.squares / total
        if fit_intercept:
            mean = self.shift + offset
            gram = mean_with_rank_two(self.gram, total, -0.5 * offset, offset)
            cross -= np.outer(offset, targets)
            squares = squares - targets**2
        else:
            mean = np.zeros_like(offset)
            gram = mean_with_rank_two(self.gram, total, self.shift, offset + 0.5 * self.shift)
            cross += np.outer(self.shift, targets)
            targets = np.zeros_like(targets)
        squares = np.maximum(squares, 0.0)
        return NormalEquations(total, mean, gram, targets, cross, squares, self.copies, self.count)


@dataclass(frozen=True)
class NormalEquations:
    """The quadratic of squared loss: Σw(y−u)²/Σw = squares − 2β'cross + β'·gram·β, centred.

    weight is Σw; mean (K,) and target (outputs,) are zero without an intercept;
    gram (K, K) and cross (K, outputs) are about them; squares (outputs,). copies and count are
    those of the sums.
    """

    weight: float
    mean: Floats
    gram: Floats
    target: Floats
    cross: Floats
    squares: Floats
    copies: float
    count: int

    @property
    def feature_squares(self) -> Floats:
        """The mean square of each feature, shape (K,)."""
        return np.asarray(np.maximum(np.diagonal(self.gram), 0.0) + self.mean**2)

    def intercept(self, weights: Floats) -> Floats:
        """b = ȳ − z̄'β."""
        return self.target - self.mean @ weights

    def errors(self, weights: Floats, image: Floats | None = None) -> Floats:
        """Σw(y − u)²/Σw of each output; image: gram·weights, where it is known."""
        image = self.image(weights) if image is None else image
        explained = weights * (2.0 * self.cross - image)
        return np.asarray(np.maximum(self.squares - explained.sum(axis=0), 0.0))

    def image(self, weights: Floats) -> Floats:
        """gram·weights by SciPy's BLAS, as the factorisation: two BLAS libraries would compete."""
        return np.asarray(dsymm(1.0, self.gram, weights, lower=1))


def ridge_freedom(factor: Floats, alpha: float) -> float:
    """Σ s/(s + α) over the eigenvalues s of G, from the Cholesky factor L of G + αI.

    K − α·tr (G + αI)⁻¹ with ‖L⁻¹‖² for the trace: half the work of the eigenvalues.
    """
    return len(factor) - alpha * inverse_squares(factor)


def copies_of(n_rows: int, weights: Floats | None) -> float:
    """The number of rows that the weights represent; a weight below one counts as one row."""
    if weights is None:
        return float(n_rows)
    return float(np.sum(np.maximum(weights[weights > 0], 1.0)))
