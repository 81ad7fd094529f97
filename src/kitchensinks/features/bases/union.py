"""Several bases side by side."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from scipy import sparse

from kitchensinks.features.bases.base import Basis, Universal
from kitchensinks.features.bases.compound import Compound
from kitchensinks.features.bases.draw import Draw, Graph, Scorer, Theta
from kitchensinks.numerics.arrays import AnyArray, Arrays, DType, Floats, Ints, Matrix
from kitchensinks.numerics.checks import check_positive
from kitchensinks.numerics.words import Stream, Words


@dataclass(eq=False, repr=False)
class Union(Compound):
    """Several bases side by side, each with its share of the K draws.

    Draws are interleaved so that every prefix holds each basis in its share (to within one
    draw); the kernel is the sum of the kernels weighted by the shares.

    Parameters
    ----------
    bases : list of bases.
    shares : positive weights; None: equal ones, because no basis is preferred. They are normalised
        to sum to one.

    Examples
    --------
    >>> from kitchensinks.features.bases import Fourier, ReLU
    >>> both = Union([Fourier(gamma=1.0), ReLU(gamma=1.0)])
    >>> both.draw(seed=0, n_inputs=2, n_components=6).n_columns
    6
    """

    bases: Sequence[Basis] = ()
    shares: Sequence[float] | None = None

    _example = "[Fourier(), ReLU()]"

    @property
    def sparse(self) -> bool:  # type: ignore[override]
        return any(basis.sparse for basis in self.bases)

    @property
    def binned(self) -> bool:  # type: ignore[override]
        return all(basis.binned for basis in self.bases)

    @property
    def tells_bins(self) -> bool:  # type: ignore[override]
        with_bins = [basis for basis in self.bases if basis.sparse]
        return self.binned or (len(with_bins) == 1 and with_bins[0].tells_bins)

    @property
    def rescales(self) -> bool:  # type: ignore[override]
        return all(basis.rescales for basis in self.bases)

    @property
    def universal(self) -> Universal:
        """As universal as the most universal part."""
        parts = [basis.universal for basis in self.bases]
        for part in parts:
            if part.answer:
                return Universal(True, f"One part is: {part.reason}")
        if len(parts) == 1 and parts[0].answer is False:
            return parts[0]
        return Universal(None, "No part is known to be universal alone; together they may be.")

    @property
    def bound(self) -> float:
        return max(basis.bound / math.sqrt(basis.features_per_draw) for basis in self.bases)

    def bound_in(self, n_inputs: int) -> float:
        return max(
            basis.bound_in(n_inputs) / math.sqrt(basis.features_per_draw) for basis in self.bases
        )

    def check(self) -> None:
        super().check()
        if self.shares is not None:
            if np.shape(self.shares) != (len(self.bases),):
                raise ValueError(
                    f"shares={self.shares!r}: need {len(self.bases)} positive numbers, one a basis."
                )
            for share in self.shares:
                check_positive("shares", share, " for each basis")
        for basis in self.bases:
            if basis.selects:
                raise ValueError(
                    f"{basis!r} stands inside a Union: draws are selected among those of the whole "
                    "basis. Use ks.Reweighted(ks.Union([...]))."
                )

    def learn_parameters(self, rows: Floats, weights: Floats | None) -> dict[str, Any]:
        return {"bases": [basis.resolve(rows, weights) for basis in self.bases]}

    def normalised_shares(self) -> Floats:
        shares = np.ones(len(self.bases)) if self.shares is None else np.asarray(self.shares, float)
        return np.asarray(shares / shares.sum())

    def owners(self, count: int) -> Ints:
        """The basis of each draw: always the one furthest behind its share."""
        return _owners(tuple(self.normalised_shares().tolist()), count)

    def _with_counts(self, n_draws: int) -> Iterator[tuple[Basis, int]]:
        """Each basis with the number of its draws."""
        counts = np.bincount(self.owners(n_draws), minlength=len(self.bases)).tolist()
        return zip(self.bases, counts, strict=True)

    def n_functions(self, n_draws: int) -> int:
        return sum(basis.n_functions(count) for basis, count in self._with_counts(n_draws))

    def theta(self, seed: int, n_inputs: int, start: int, stop: int) -> Theta:
        owners = self.owners(stop)
        parts = {}
        for j, basis in enumerate(self.bases):
            low, high = int((owners[:start] == j).sum()), int((owners == j).sum())
            if high > low:
                own_seed = int(Words(seed, j, Stream.UNION_PARTS).raw(1)[0])
                parts[j] = basis.draw(own_seed, n_inputs, high, start=low)
        return {"parts": UnionParts(parts, owners[start:])}

    def pack(self, draw: Draw) -> Arrays:
        return {
            f"{j}-{name}": array
            for j, part in draw.theta["parts"].parts.items()
            for name, array in part.basis.pack(part).items()
        }

    def unpack(self, draw: Draw, arrays: Arrays) -> Draw:
        union: UnionParts = draw.theta["parts"]
        own: dict[int, Arrays] = {j: {} for j in union.parts}
        for name, array in arrays.items():
            j, _, inner = name.partition("-")
            own[int(j)][inner] = array
        parts = {j: part.basis.unpack(part, own[j]) for j, part in union.parts.items()}
        return replace(draw, theta={"parts": replace(union, parts=parts)})

    def tabulate(self, theta: Theta, blocks: Iterable[Matrix]) -> Theta:
        union: UnionParts = theta["parts"].map(lambda part: part.tabulate([]))
        for rows in blocks:
            union = union.map(partial(Draw.tabulate, blocks=[rows]))
        return {"parts": union}

    def numbered(self, theta: Theta, rows: AnyArray) -> Iterator[tuple[Any, AnyArray]]:
        """``Binned.numbered`` of the parts, in the order of the draws."""
        union: UnionParts = theta["parts"]
        walks = {j: part.basis.numbered(part.theta, rows) for j, part in union.parts.items()}
        for j in union.owners.tolist():
            yield next(walks[j])

    def tabulate_with_bins(self, theta: Theta, rows: AnyArray) -> tuple[Theta, AnyArray]:
        """The bins of all draws side by side, or of the one part that has bins, as its own."""
        union: UnionParts = theta["parts"]
        tabulated = {
            j: part.tabulate_with_bins(rows) for j, part in union.parts.items() if part.basis.sparse
        }
        union = replace(union, parts=union.parts | {j: part for j, (part, _) in tabulated.items()})
        bins = {j: own for j, (_, own) in tabulated.items()}
        return {"parts": union}, self._together(union, bins, len(rows))

    def bins(self, theta: Theta, rows: AnyArray) -> AnyArray:
        """As those of `tabulate_with_bins`."""
        if not self.tells_bins:
            return super().bins(theta, rows)
        union: UnionParts = theta["parts"]
        found = {j: part.bins(rows) for j, part in union.parts.items() if part.basis.sparse}
        return self._together(union, found, rows.shape[0])

    def _together(self, union: "UnionParts", bins: dict[int, AnyArray], n_rows: int) -> AnyArray:
        if self.binned:
            return union.side_by_side(bins)
        # With few draws, the part with bins may have none.
        return next(iter(bins.values()), np.empty((0, n_rows), dtype=np.int32))

    def merge(self, theta: Theta, other: Theta) -> Theta:
        union, theirs = theta["parts"], other["parts"].parts
        parts = {j: part.merge(theirs[j]) for j, part in union.parts.items()}
        return {"parts": replace(union, parts=parts)}

    def columns(self, theta: Theta, n_draws: int) -> Ints:
        union: UnionParts = theta["parts"]
        return union.columns

    def column_counts(self, n_draws: int) -> Ints:
        owners, counts = self.owners(n_draws), np.empty(n_draws, dtype=np.int64)
        for j, (basis, count) in enumerate(self._with_counts(n_draws)):
            counts[owners == j] = basis.column_counts(count)
        return counts

    def n_columns(self, n_draws: int) -> int:
        return sum(basis.n_columns(count) for basis, count in self._with_counts(n_draws))

    def features(self, theta: Theta, rows: Matrix) -> Matrix:
        union: UnionParts = theta["parts"]
        pieces = []
        for part in union.parts.values():
            features = part.features(rows)
            features *= features.dtype.type(_share(part))
            pieces.append(features)
        if self.sparse:
            together = sparse.hstack([sparse.csr_array(piece) for piece in pieces], format="csc")
            return sparse.csr_array(together[:, union.order])
        owners = union.column_owners
        out = np.empty((rows.shape[0], len(owners)), dtype=pieces[0].dtype)
        for j, features in zip(union.parts, pieces, strict=True):
            out[:, np.flatnonzero(owners == j)] = features
        return out

    def onnx(self, graph: Graph, draw: Draw, rows: str) -> str:
        union: UnionParts = draw.theta["parts"]
        pieces = [
            graph.node("Mul", part.onnx(graph, rows), np.array(_share(part), draw.dtype))
            for part in union.parts.values()
        ]
        return graph.node("Gather", graph.node("Concat", *pieces, axis=1), union.order, axis=1)

    def onnx_scores(self, graph: Graph, draw: Draw, rows: str, weights: AnyArray) -> str:
        """The sum of the scores of the parts, each by its own method."""
        union: UnionParts = draw.theta["parts"]
        parts = union.weighted(weights)
        return graph.node("Sum", *(part.onnx_scores(graph, rows, own) for part, own in parts))

    def scorer(self, theta: Theta, weights: AnyArray) -> Scorer:
        """The sum of the scores of the parts, each by its own method."""
        union: UnionParts = theta["parts"]
        scorers = [part.basis.scorer(part.theta, own) for part, own in union.weighted(weights)]
        return lambda rows: np.asarray(sum(score(rows) for score in scorers))

    def scored_entries(self, n_draws: int) -> int:
        return sum(basis.scored_entries(count) for basis, count in self._with_counts(n_draws))

    def linear_pieces(self, theta: Theta, rows: Matrix, weights: AnyArray) -> AnyArray | None:
        union: UnionParts = theta["parts"]
        total: Any = 0.0
        for part, own in union.weighted(weights):
            found = part.basis.linear_pieces(part.theta, rows, own)
            if found is None:
                return None
            total = total + found
        return np.asarray(total)

    def exact_kernel(self, rows: Floats, others: Floats) -> Floats:
        shares = self.normalised_shares()
        total = np.zeros((len(rows), len(others)))
        for share, basis in zip(shares, self.bases, strict=True):
            total += share * basis.exact_kernel(rows, others)
        return total


@lru_cache(maxsize=4)
def _owners(shares: tuple[float, ...], count: int) -> Ints:
    """``Union.owners``, kept because every prediction asks for them."""
    given = [0] * len(shares)
    owners = np.empty(count, dtype=np.int64)
    for k in range(count):
        behind = [share * (k + 1) - own for share, own in zip(shares, given, strict=True)]
        owners[k] = behind.index(max(behind))
        given[owners[k]] += 1
    owners.flags.writeable = False
    return owners


@dataclass(frozen=True, eq=False)
class UnionParts:
    """The draw of a union: the parts by basis, and the basis that owns each draw."""

    parts: dict[int, Draw]
    owners: Ints

    @property
    def columns(self) -> Ints:
        """Number of columns of each draw."""
        counts = np.empty(len(self.owners), dtype=np.int64)
        for j, part in self.parts.items():
            counts[self.owners == j] = np.diff(part.offsets)
        return counts

    @property
    def column_owners(self) -> Ints:
        """The basis that owns each column. Columns of one part keep their order."""
        return np.repeat(self.owners, self.columns)

    def weighted(self, weights: AnyArray) -> Iterator[tuple[Draw, AnyArray]]:
        """Each part with the weights (columns, outputs) of its columns, scaled as its features."""
        owners = self.column_owners
        for j, part in self.parts.items():
            yield part, weights.dtype.type(_share(part)) * weights[owners == j]

    @property
    def order(self) -> Ints:
        """The position of each column when the features of the parts are concatenated."""
        return np.argsort(np.argsort(self.column_owners, kind="stable"))

    def side_by_side(self, bins: dict[int, AnyArray]) -> AnyArray:
        """The columns (draws, n) of the union for those of each part; −1 stays."""
        counts = self.columns
        starts = np.cumsum(counts) - counts
        kind = np.int32 if counts.sum() < 2**31 else np.int64
        some = next(iter(bins.values()))
        out = np.empty((len(self.owners), some.shape[1]), dtype=kind)
        for j, part in self.parts.items():
            own = np.flatnonzero(self.owners == j)
            for draw, before, columns in zip(own, part.offsets, bins[j], strict=False):
                out[draw] = np.where(columns < 0, -1, columns + (starts[draw] - before))
        return out

    def map(self, change: Callable[[Draw], Draw]) -> "UnionParts":
        return replace(self, parts={j: change(part) for j, part in self.parts.items()})

    def astype(self, dtype: DType) -> "UnionParts":
        return self.map(lambda part: part.astype(dtype))

    def __getitem__(self, index: slice) -> "UnionParts":
        low, high, _ = index.indices(len(self.owners))
        parts = {}
        for j, part in self.parts.items():
            before, after = (int((self.owners[:end] == j).sum()) for end in (low, high))
            if after > before:
                parts[j] = part.part(before, after)
        return UnionParts(parts, self.owners[low:high])

    def take(self, indices: Ints, n_inputs: int) -> "UnionParts":
        owners = self.owners[indices]
        parts = {}
        for j in np.unique(owners).tolist():
            # The index of a draw among those of its own part.
            places = np.cumsum(self.owners == j) - 1
            parts[j] = self.parts[j].choose(places[indices[owners == j]])
        return UnionParts(parts, owners)

    def join(self, unions: "list[UnionParts]") -> "UnionParts":
        parts = {}
        for j in sorted({j for union in unions for j in union.parts}):
            first, *others = [union.parts[j] for union in unions if j in union.parts]
            parts[j] = first.followed_by(others)
        return UnionParts(parts, np.concatenate([union.owners for union in unions]))


def _share(part: Draw) -> float:
    """The factor of the features of a part: every draw counts once, whatever its columns."""
    return 1.0 / math.sqrt(part.basis.features_per_draw)
