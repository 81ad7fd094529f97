"""The feature map: scaler, resolved basis and draw."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse
from sklearn.base import clone

import kitchensinks
from kitchensinks.features.bases import Basis, Draw
from kitchensinks.features.bases.parameters import same_value
from kitchensinks.features.scaling import Scaler, Spread
from kitchensinks.numerics.arrays import AnyArray, Arrays, Block, Bools, DType, Floats, Matrix
from kitchensinks.numerics.threads import in_order
from kitchensinks.tables.arrays import block_slices
from kitchensinks.tables.keys import RowSample, sample_size

# Entries of a block of rows in the first pass: it fits into cache.
_SPREAD_ENTRIES = 2**18
# Summaries of blocks that are merged at a time: each merge copies the sample.
_MERGED = 16
# Entries of features that are computed at a time, part by part of the draw.
WALKED_ENTRIES = 2**25
# A draw larger than this many bytes is redrawn, part by part, each time it is used.
HELD_DRAW = 2**28
# Where a pickle has the version that made it.
_VERSION = "version of kitchensinks"


@dataclass(frozen=True, eq=False)
class Frozen:
    """The feature map, fixed before any outer weight: scaler, resolved basis, seed.

    Sums over different rows can be added if their feature maps are equal. The draw itself is made
    from the seed when needed, kept in memory while it is small, and never saved. `learned` is the
    draw where part of it depends on rows: the bins that they occupy, or which draws were selected.
    `spread` has mean, deviation and range of columns that are not scaled, where rows were sampled.
    """

    scaler: Scaler | None
    basis: Basis
    seed: int
    n_inputs: int
    n_components: int
    dtype: DType
    learned: Draw | None = field(default=None, metadata={"stored": False})
    spread: Scaler | None = None

    @classmethod
    def learn(
        cls,
        rows: Matrix,
        weights: Floats | None,
        basis: Basis,
        seed: int,
        n_components: int,
        dtype: DTypeLike,
        standardize: bool,
        unscaled: Bools | None = None,
        sampled: bool = False,
    ) -> "Frozen":
        """Scaler from all rows, basis resolved on a sample of them, learned part of the draw.

        `unscaled` (d,): columns that must not be standardised, as in `Columns.unscaled`. `sampled`:
        without a scaler, sample the rows all the same, so that `spread` is known.
        """
        basis.check()
        n_inputs = rows.shape[1]
        asked = basis.unresolved() is not None or (sampled and not standardize)
        summary = RowSummary.of(rows, weights, seed, standardize, asked)
        frozen = cls.of_summary(summary, basis, seed, n_inputs, n_components, dtype, unscaled)
        return frozen.with_learned(rows, weights)

    def with_learned(self, rows: Matrix, weights: Floats | None = None) -> "Frozen":
        """The same with what the draw learns from rows of positive weight."""
        if not self.basis.learns_draw:
            return self
        learned = self.basis.learn_draw(self._seeded, rows, weights, self.scaler)
        return replace(self, learned=learned)

    def with_bins(
        self, rows: Matrix, weights: Floats | None = None, in_stages: bool = False
    ) -> "tuple[Frozen, AnyArray | None]":
        """As `with_learned`, and the bins (draws, n) of the rows, which a fit needs next.

        in_stages: those of the one part of a union that has bins, for a fit in two stages. None in
        their place where there are no bins, or the rows are not an array in memory: then they take
        a second pass.
        """
        known = self.basis.tells_bins if in_stages else self.basis.binned
        if not isinstance(rows, np.ndarray) or not known:
            return self.with_learned(rows, weights), None
        counted = np.ones(len(rows), dtype=bool) if weights is None else weights > 0
        if counted.all():
            learned, bins = self._seeded.tabulate_with_bins(self.scaled(rows))
            return replace(self, learned=learned), bins
        scaled = self.scaled(rows)
        # Rows without weight have no bins of their own.
        learned, own = self._seeded.tabulate_with_bins(scaled[counted])
        bins = np.empty((len(own), len(rows)), dtype=own.dtype)
        others = learned.bins(scaled[~counted])
        places, rest = np.flatnonzero(counted), np.flatnonzero(~counted)
        # A seventh of the time of one assignment to all draws.
        for draw, values in enumerate(own):
            bins[draw, places], bins[draw, rest] = values, others[draw]
        return replace(self, learned=learned), bins

    def pack(self) -> Arrays:
        """What the draw has learned from rows, as arrays that a file can hold."""
        return {} if self.learned is None else self.basis.pack(self.learned)

    def unpack(self, arrays: Arrays) -> "Frozen":
        """The same with what `pack` has stored."""
        if not self.basis.learns_draw:
            return self
        return replace(self, learned=self.basis.unpack(self._seeded, arrays))

    @property
    def _seeded(self) -> Draw:
        """The draw of the seed, without its learned part."""
        return self.basis.draw(self.seed, self.n_inputs, self.n_components, self.dtype)

    @classmethod
    def of_summary(
        cls,
        summary: "RowSummary",
        basis: Basis,
        seed: int,
        n_inputs: int,
        n_components: int,
        dtype: DTypeLike,
        unscaled: Bools | None = None,
    ) -> "Frozen":
        """Scaler and resolved basis from the summary of the rows; nothing `learned`."""
        scaler = None if summary.spread is None else Scaler.over(summary.spread, unscaled)
        sample = summary.sample
        spread = None
        if scaler is None and sample is not None and len(sample.rows):
            spread = Scaler.over(spread_of(sample.rows, sample.weights))
        if basis.unresolved() is None:
            basis.check()
            # A copy: changes of the given basis must not affect a draw that is made again later.
            basis = clone(basis)
        else:
            assert sample is not None, "the law is learned from rows, and none were sampled"
            shown = sample.rows if scaler is None else scaler.apply(sample.rows, np.float64)
            basis = basis.resolve(shown, sample.shares)
        kind = np.dtype(dtype)
        return cls(scaler, basis, seed, n_inputs, n_components, kind, spread=spread)

    @property
    def held(self) -> bool:
        """Whether the whole draw is kept in memory: it is small, or part of it is learned."""
        size = self.dtype.itemsize * self.n_inputs * self.n_components
        return self.basis.learns_draw or self.learned is not None or size <= HELD_DRAW

    @cached_property
    def draw(self) -> Draw:
        if self.learned is None and self.basis.selects:
            raise ValueError(f"{self.basis!r} has been shown no rows to select draws for.")
        return self._seeded if self.learned is None else self.learned

    def __getstate__(self) -> dict[str, Any]:
        known = {name: value for name, value in vars(self).items() if name != "draw"}
        return known | {_VERSION: kitchensinks.__version__}

    def __setstate__(self, known: dict[str, Any]) -> None:
        made = known.pop(_VERSION, "before its release")
        if made != kitchensinks.__version__:
            raise ValueError(
                f"This pickle was made by kitchensinks {made}, and this is "
                f"{kitchensinks.__version__}: pickles are read by the version that made them. Fit "
                "again, or save the model by ks.save in that version, and ks.load it here."
            )
        vars(self).update(known)

    def piece(self, part: slice) -> Draw:
        """Some of the draws: a slice of those in memory, or drawn from the seed."""
        if self.held:
            return self.draw.part(part.start, part.stop)
        return self.basis.draw(self.seed, self.n_inputs, part.stop, self.dtype, start=part.start)

    @cached_property
    def n_columns(self) -> int:
        if self.learned is None and not self.basis.learns_draw:
            return self.basis.n_columns(self.n_components)
        return self.draw.n_columns

    @property
    def n_functions(self) -> int:
        """How many features may be non-zero at one row: all, or one in each grid of bins."""
        return self.basis.n_functions(self.n_components) if self.basis.sparse else self.n_columns

    @property
    def n_given(self) -> int:
        """Columns of the rows as they come: the scaler may leave some of them out."""
        return self.n_inputs if self.scaler is None else len(self.scaler.mean)

    @property
    def measured(self) -> Scaler | None:
        """Mean, deviation and range of the columns, scaled or not; None where nothing is known."""
        return self.spread or self.scaler

    @property
    def scale(self) -> float:
        """1/√(number of features averaged)."""
        return 1.0 / math.sqrt(self.n_components * self.basis.features_per_draw)

    @property
    def bound(self) -> float:
        """sup |φ|, or 1 where it is infinite."""
        drawn = self.learned
        bound = self.basis.bound_in(self.n_inputs) if drawn is None else drawn.bound
        return float(bound) if math.isfinite(bound) else 1.0

    def scaled(self, rows: Matrix) -> Matrix:
        """Scaled rows, the input of the draw."""
        return rows if self.scaler is None else self.scaler.apply(rows, self.dtype)

    def walk(self, rows: Matrix, entries: int = WALKED_ENTRIES) -> Iterator[Block]:
        """Scaled features of the rows in parts (columns, features) of about `entries` entries."""
        shown, done = self.scaled(rows), 0
        most = max(256, entries // max(1, rows.shape[0] * self.basis.features_per_draw))
        size = max(256, HELD_DRAW // (8 * self.dtype.itemsize * (self.n_inputs + 2)))
        parts = map(self.piece, block_slices(self.n_components, size))
        for draw in [self.draw] if self.held else parts:
            for piece in draw.blocks(most):
                features = piece.scaled_features(shown, self.scale)
                yield slice(done, done + features.shape[1]), features
                done += features.shape[1]

    def features(self, rows: Matrix, out: AnyArray | None = None) -> Matrix:
        """Scaled features of the rows, (n, columns), CSR for a sparse basis.

        out (n, columns): memory that dense ones may be written to.
        """
        if self.held:
            return self.draw.scaled_features(self.scaled(rows), out=out)
        if out is None:
            out = np.empty((rows.shape[0], self.n_columns), dtype=self.dtype)
        for columns, features in self.walk(rows):
            out[:, columns] = features
        return out

    def covering(self, low: Floats, high: Floats) -> "Frozen":
        """The same with a range that also covers low to high."""
        if self.scaler is None:
            return self
        scaler = self.scaler.covering(low, high)
        return self if scaler is self.scaler else replace(self, scaler=scaler)

    def difference(self, other: "Frozen") -> str | None:
        """What differs, if sums over the features of both cannot be added; else None."""
        if self.n_given != other.n_given:
            return "number of columns"
        if not same_value(self.scaler, other.scaler):
            return "scaler"
        if (self.seed, self.n_components) != (other.seed, other.n_components):
            return "draw (random_state or n_components)"
        if not self.basis.same(other.basis):
            return "basis"
        if self.dtype != other.dtype:
            return "dtype"
        own, others = (list(one.pack().values()) for one in (self, other))
        if own and others and not same_value(own, others):
            return "bins" if self.basis.sparse else "selection"
        return None


class RowSummary(NamedTuple):
    """Mean and spread of rows, and a sample that a law is resolved on; parts merge."""

    spread: Spread | None
    sample: RowSample | None

    @classmethod
    def of(
        cls, rows: Matrix, weights: Floats | None, seed: int, standardize: bool, asked: bool
    ) -> "RowSummary":
        """One walk over the rows, for the spread, the sample, or both."""
        n_inputs = rows.shape[1]
        limit = sample_size(n_inputs)
        found = cls(None, None)
        if not (standardize or asked):
            return found
        if asked and sparse.issparse(rows):
            # The keys of sparse rows are computed without dense blocks.
            sample = RowSample.of(rows, weights, limit, seed)
            return cls(cls.of(rows, weights, seed, standardize, asked=False).spread, sample)

        def summarise(block: tuple[Any, Any]) -> RowSummary:
            highest = None if found.sample is None else found.sample.highest
            spread = Spread.of(*block) if standardize else None
            sample = RowSample.of(*block, limit, seed, highest=highest) if asked else None
            return cls(spread, sample)

        parts = list(block_slices(rows.shape[0], max(1, _SPREAD_ENTRIES // n_inputs)))
        blocks = ((rows[part], None if weights is None else weights[part]) for part in parts)
        summaries = (in_order if len(parts) > 8 else map)(summarise, blocks)
        while group := list(islice(summaries, _MERGED)):
            found = found.merge(*group)
        return found

    def merge(self, *others: "RowSummary") -> "RowSummary":
        """The summary of all parts."""
        summaries = (self, *others)
        spreads = [one.spread for one in summaries if one.spread is not None]
        samples = [one.sample for one in summaries if one.sample is not None]
        return RowSummary(
            reduce(Spread.merge, spreads) if spreads else None,
            samples[0].merge(*samples[1:]) if samples else None,
        )


def spread_of(rows: Matrix, weights: Floats | None) -> Spread:
    """Mean and spread of every column, in blocks of bounded size."""
    spread = RowSummary.of(rows, weights, 0, standardize=True, asked=False).spread
    assert spread is not None
    return spread
