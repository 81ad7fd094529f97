"""Several bases side by side."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from kitchensinks.features.bases.base import Basis, check_draw, check_positive
from kitchensinks.features.bases.draw import Arrays, Draw, Floats, Graph, Scorer, Theta
from kitchensinks.numerics.words import Stream, Words


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
    def rescales(self) -> bool:  # type: ignore[override]
        return all(basis.rescales for basis in self.bases)

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
            if basis.selects:
                raise ValueError(
                    f"{basis!r} stands inside a Union: draws are selected among those of the whole "
                    "basis. Use ks.Reweighted(ks.Union([...]))."
                )

    def unresolved(self) -> str | None:
        return next((p for basis in self.bases if (p := basis.unresolved())), None)

    def learn_parameters(self, rows: Floats, weights: Floats | None) -> dict[str, Any]:
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

    def pack(self, draw: Draw) -> Arrays:
        return {
            f"{k}-{name}": array
            for k, part in enumerate(draw.theta["parts"].parts)
            if part is not None
            for name, array in part.basis.pack(part).items()
        }

    def unpack(self, draw: Draw, arrays: Arrays) -> Draw:
        union: UnionParts = draw.theta["parts"]
        parts: list[Draw | None] = []
        for k, part in enumerate(union.parts):
            prefix = f"{k}-"
            own = {
                name.removeprefix(prefix): array
                for name, array in arrays.items()
                if name.startswith(prefix)
            }
            parts.append(None if part is None else part.basis.unpack(part, own))
        return replace(draw, theta={"parts": UnionParts(parts, union.owners)})

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

    def n_columns(self, n_draws: int) -> int:
        counts = np.bincount(self.owners(n_draws), minlength=len(self.bases))
        pairs = zip(self.bases, counts, strict=True)
        return sum(basis.n_columns(int(count)) for basis, count in pairs)

    def onnx(self, graph: Graph, draw: Draw, rows: str) -> str:
        union: UnionParts = draw.theta["parts"]
        offsets = draw.offsets
        pieces, places = [], []
        for j, part in enumerate(union.parts):
            if part is not None:
                share = np.array(1.0 / math.sqrt(part.basis.features_per_draw), draw.dtype)
                pieces.append(graph.node("Mul", part.onnx(graph, rows), share))
                mine = np.flatnonzero(union.owners == j)
                places += [np.arange(offsets[k], offsets[k + 1]) for k in mine]
        together = graph.node("Concat", *pieces, axis=1)
        return graph.node("Gather", together, np.argsort(np.concatenate(places)), axis=1)

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
