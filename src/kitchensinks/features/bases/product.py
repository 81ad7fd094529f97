"""Products of bases."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from kitchensinks.features.bases.base import Basis, Universal
from kitchensinks.features.bases.compound import Compound
from kitchensinks.features.bases.draw import Draw, Graph, Theta
from kitchensinks.numerics.arrays import AnyArray, DType, Floats, Ints, Matrix
from kitchensinks.numerics.words import Stream, Words


@dataclass(eq=False, repr=False)
class Product(Compound):
    """φ(x; θ₁)·ψ(x; θ₂)·…, one independent draw of each basis a feature.

    The expectation of a product of independent draws is the product of their expectations, so

        k(x, z) = Π_j k_j(x, z).

    ``Product([Linear(), Fourier()])`` has the kernel ⟨x, z⟩·κ(x, z) of a locally linear model
    (maxout paper, section 1) without the Kronecker product that the paper avoids: one column and
    one frequency a feature. With `places`, each basis sees columns of its own, such as place and
    time.

    The variance of a product is larger than that of its parts: expect to need more draws.

    Parameters
    ----------
    bases : list of bases with dense features. A draw with several columns (a paired Fourier basis)
        gives all products with those of the others.
    places : None, where every basis takes all columns, or for each basis a list of the columns
        that it takes, counted from 0.

    Examples
    --------
    >>> from kitchensinks.features.bases import Fourier, Linear
    >>> local = Product([Linear(), Fourier(gamma=1.0)])
    >>> local.kernel([[1.0, 2.0]], [[1.0, 2.0]])
    array([[5.]])
    >>> local.draw(seed=0, n_inputs=2, n_components=6).n_columns
    6
    """

    bases: Sequence[Basis] = ()
    places: Sequence[Sequence[int]] | None = None

    _example = "[Linear(), Fourier()]"

    @property
    def features_per_draw(self) -> int:  # type: ignore[override]
        return math.prod(basis.features_per_draw for basis in self.bases)

    @property
    def rescales(self) -> bool:  # type: ignore[override]
        return self.places is None and all(basis.rescales for basis in self.bases)

    @property
    def universal(self) -> Universal:
        # Functions f·g with g near 1 are near f.
        if all(basis.universal.answer for basis in self.bases):
            return Universal(True, "Every part is, in the columns that it takes.")
        return Universal(
            None, "A part is not known to be universal; what the product reaches is open."
        )

    @property
    def bound(self) -> float:
        return math.prod(basis.bound for basis in self.bases)

    def bound_in(self, n_inputs: int) -> float:
        places = self._places(n_inputs)
        pairs = zip(self.bases, places, strict=True)
        return math.prod(basis.bound_in(len(own)) for basis, own in pairs)

    def check(self) -> None:
        super().check()
        for basis in self.bases:
            if basis.sparse or basis.selects:
                raise ValueError(
                    f"{basis!r} stands inside a Product: need bases whose features are dense and "
                    "do not depend on the rows, such as ks.Fourier(). ks.Reweighted and ks.Union "
                    "may stand around a Product."
                )
        if self.places is not None:
            self._check_places(self.places)

    def check_in(self, n_inputs: int) -> None:
        self.check()
        for basis, own in zip(self.bases, self._places(n_inputs), strict=True):
            basis.check_in(len(own))

    def _check_places(self, given: Any) -> None:
        good = isinstance(given, list | tuple) and len(given) == len(self.bases)
        for own in given if good else ():
            listed = isinstance(own, list | tuple | np.ndarray) and len(own) > 0
            good &= listed and np.asarray(own).dtype.kind in "iu" and min(own) >= 0
        if not good:
            raise ValueError(
                f"places={given!r}: need for each of the {len(self.bases)} bases a list of one or "
                "more columns, counted from 0, or None for all columns."
            )

    def _places(self, n_inputs: int) -> list[Ints]:
        """The columns that each basis takes."""
        if self.places is None:
            return [np.arange(n_inputs)] * len(self.bases)
        places = [np.asarray(own, dtype=np.int64) for own in self.places]
        largest = max(int(own.max()) for own in places)
        if largest >= n_inputs:
            raise ValueError(
                f"places names column {largest}, and the rows have {n_inputs}: need columns from 0 "
                f"to {n_inputs - 1}."
            )
        return places

    def _taken(self, rows: Matrix) -> list[Any]:
        if self.places is None:
            return [rows] * len(self.bases)
        return [rows[:, own] for own in self._places(rows.shape[1])]

    def learn_parameters(self, rows: Floats, weights: Floats | None) -> dict[str, Any]:
        pairs = zip(self.bases, self._taken(rows), strict=True)
        return {"bases": [basis.resolve(own, weights) for basis, own in pairs]}

    def theta(self, seed: int, n_inputs: int, start: int, stop: int) -> Theta:
        parts = []
        for j, (basis, own) in enumerate(zip(self.bases, self._places(n_inputs), strict=True)):
            own_seed = int(Words(seed, j, Stream.PRODUCT_PARTS).raw(1)[0])
            parts.append(basis.draw(own_seed, len(own), stop, start=start))
        return {"parts": ProductParts(parts)}

    def columns(self, theta: Theta, n_draws: int) -> Ints:
        parts: ProductParts = theta["parts"]
        return reduce(np.multiply, parts.counts)

    def column_counts(self, n_draws: int) -> Ints:
        return reduce(np.multiply, [basis.column_counts(n_draws) for basis in self.bases])

    def n_columns(self, n_draws: int) -> int:
        return int(self.column_counts(n_draws).sum())

    def features(self, theta: Theta, rows: Matrix) -> AnyArray:
        parts: ProductParts = theta["parts"]
        pieces = [
            part.features(own) for part, own in zip(parts.parts, self._taken(rows), strict=True)
        ]
        out = pieces[0]
        for piece, (left, right) in zip(pieces[1:], parts.pairs(), strict=True):
            if left is None or right is None:
                out *= piece
            else:
                # `take` keeps the order of rows in memory, for which later loops are compiled.
                out = np.take(out, left, axis=1) * np.take(piece, right, axis=1)
        return np.asarray(out)

    def onnx(self, graph: Graph, draw: Draw, rows: str) -> str:
        parts: ProductParts = draw.theta["parts"]
        pieces = []
        for part, own in zip(parts.parts, self._places(draw.n_inputs), strict=True):
            taken = graph.node("Gather", rows, own, axis=1) if self.places else rows
            pieces.append(part.onnx(graph, taken))
        out = pieces[0]
        for piece, (left, right) in zip(pieces[1:], parts.pairs(), strict=True):
            if left is not None:
                out = graph.node("Gather", out, left, axis=1)
                piece = graph.node("Gather", piece, right, axis=1)
            out = graph.node("Mul", out, piece)
        return out

    def exact_kernel(self, rows: Floats, others: Floats) -> Floats:
        product = np.ones((len(rows), len(others)))
        taken = zip(self.bases, self._taken(rows), self._taken(others), strict=True)
        for basis, own, other in taken:
            product *= basis.exact_kernel(own, other)
        return product


@dataclass(frozen=True, eq=False)
class ProductParts:
    """The draw of a product: equally many draws of each basis."""

    parts: list[Draw]

    @property
    def counts(self) -> list[Ints]:
        return [np.diff(part.offsets) for part in self.parts]

    def pairs(self) -> list[tuple[Ints | None, Ints | None]]:
        """For each part but the first: the columns of the product so far and of the part whose
        products are the new columns; None where draws have one column each."""
        found: list[tuple[Ints | None, Ints | None]] = []
        before, *others = self.counts
        for own in others:
            found.append(_all_pairs(before, own))
            before = before * own
        return found

    def map(self, change: Callable[[Draw], Draw]) -> "ProductParts":
        return ProductParts([change(part) for part in self.parts])

    def astype(self, dtype: DType) -> "ProductParts":
        return self.map(lambda part: part.astype(dtype))

    def __getitem__(self, index: slice) -> "ProductParts":
        low, high, _ = index.indices(self.parts[0].n_components)
        return self.map(lambda part: part.part(low, high))

    def take(self, indices: Ints, n_inputs: int) -> "ProductParts":
        return self.map(lambda part: part.choose(indices))

    def join(self, products: "list[ProductParts]") -> "ProductParts":
        columns = zip(*(product.parts for product in products), strict=True)
        return ProductParts([first.followed_by(list(others)) for first, *others in columns])


def _all_pairs(left: Ints, right: Ints) -> tuple[Ints | None, Ints | None]:
    """Indices of all pairs of columns of the same draw; left and right count columns by draw."""
    if (left == 1).all() and (right == 1).all():
        return None, None
    count = left * right
    draw = np.repeat(np.arange(len(count)), count)
    within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    first, second = np.cumsum(left) - left, np.cumsum(right) - right
    return first[draw] + within // right[draw], second[draw] + within % right[draw]
