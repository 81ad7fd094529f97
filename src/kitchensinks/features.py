"""Rows, through scaler and draw, to features: frozen once, then in blocks of bounded size."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from kitchensinks.bases import Basis, Draw
from kitchensinks.rows import block_slices
from kitchensinks.rows.keys import RowSample
from kitchensinks.standardise import Scaler, Spread

# Rows of a block: enough for the products to run at full speed, few enough that
# float32 products summed within a block keep their digits.
BLOCK_ROWS = 8192
_SMALLEST_BLOCK = 64
# Rows that say where the mean of the features is, roughly.
_PILOT_ROWS = 256
# Rows, and entries of them, that a data-dependent law is learned from.
_SAMPLE_ROWS, _SAMPLE_ENTRIES = 2000, 2**24
_SPREAD_ENTRIES = 2**22
# A draw larger than this many bytes is made anew, part by part, each time it is used.
HELD_DRAW = 2**28


@dataclass(frozen=True, eq=False)
class Frozen:
    """What turns a row into features, learned before any outer weight: scaler, law, seed, bins.

    Partial sums of different rows can be added where this is the same. The draw itself is made
    from the seed when it is needed, held while it is small, and never saved; `bins` is the draw
    of a sparse basis with the columns that it has learned from rows.
    """

    scaler: Scaler | None
    basis: Basis
    seed: int
    n_inputs: int
    n_components: int
    dtype: np.dtype[Any]
    bins: Draw | None = None

    @classmethod
    def learn(
        cls,
        rows: Any,
        weights: Any,
        basis: Basis,
        seed: int,
        n_components: int,
        dtype: Any,
        standardize: bool,
    ) -> "Frozen":
        """Scaler from all rows, law from a sample of them, bins from all of them."""
        n_inputs = rows.shape[1]
        scaler = Scaler.over(spread_of(rows, weights)) if standardize else None
        if basis.unresolved() is not None:
            limit = min(_SAMPLE_ROWS, max(100, _SAMPLE_ENTRIES // n_inputs))
            sample = RowSample.of(rows, weights, limit, seed)
            shown = sample.rows if scaler is None else scaler.apply(sample.rows, np.float64)
            basis = basis.resolve(shown, sample.weights / sample.weights.max())
        else:
            basis.check()
        frozen = cls(scaler, basis, seed, n_inputs, n_components, np.dtype(dtype))
        return frozen.tabulated(rows, weights)

    def tabulated(self, rows: Any, weights: Any = None) -> "Frozen":
        """This, with the bins that rows of positive weight occupy, where the basis is sparse."""
        if not self.basis.sparse:
            return self
        draw = self.basis.draw(self.seed, self.n_inputs, self.n_components, self.dtype)
        bins = draw.tabulate(
            self.scaled(rows[part] if weights is None else rows[part][weights[part] > 0])
            for part in block_slices(rows.shape[0], max(1, _SPREAD_ENTRIES // self.n_inputs))
        )
        return replace(self, bins=bins)

    @property
    def held(self) -> bool:
        """Whether the whole draw is small enough to keep in memory."""
        return self.dtype.itemsize * self.n_inputs * self.n_components <= HELD_DRAW

    @cached_property
    def draw(self) -> Draw:
        if self.bins is not None:
            return self.bins
        return self.basis.draw(self.seed, self.n_inputs, self.n_components, self.dtype)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "draw"}

    def parts(self) -> Iterator[Draw]:
        """The draw: whole if it is held, else in pieces of a bounded number of bytes."""
        if self.held or self.bins is not None:
            yield self.draw
            return
        size = max(256, HELD_DRAW // (8 * self.dtype.itemsize * (self.n_inputs + 2)))
        for part in block_slices(self.n_components, size):
            yield self.basis.draw(self.seed, self.n_inputs, part.stop, self.dtype, start=part.start)

    @cached_property
    def n_columns(self) -> int:
        if type(self.basis).columns is Basis.columns:
            return self.n_components * self.basis.features_per_draw
        return sum(draw.n_columns for draw in self.parts())

    @property
    def scale(self) -> float:
        """1/√(number of features averaged)."""
        return 1.0 / math.sqrt(self.n_components * self.basis.features_per_draw)

    @property
    def bound(self) -> float:
        """sup |φ|, or one where there is none."""
        bound = self.basis.bound_in(self.n_inputs)
        return float(bound) if math.isfinite(bound) else 1.0

    def scaled(self, rows: Any) -> Any:
        """Rows as the draw takes them."""
        return rows if self.scaler is None else self.scaler.apply(rows, self.dtype)

    def walk(self, rows: Any) -> Iterator[tuple[slice, Any]]:
        """Scaled features of the rows part by part: (columns, features)."""
        shown, done = self.scaled(rows), 0
        for draw in self.parts():
            features = draw.features(shown)
            features *= self.dtype.type(self.scale)
            yield slice(done, done + features.shape[1]), features
            done += features.shape[1]

    def features(self, rows: Any) -> Any:
        """Scaled features of the rows, (n, columns), CSR for a sparse basis."""
        if self.held or self.bins is not None:
            return self.draw.scaled_features(self.scaled(rows))
        out = np.empty((rows.shape[0], self.n_columns), dtype=self.dtype)
        for columns, features in self.walk(rows):
            out[:, columns] = features
        return out

    def difference(self, other: "Frozen") -> str | None:
        """What keeps sums of the features of both apart, or None."""
        mine, theirs = self.scaler, other.scaler
        same = theirs is None if mine is None else theirs is not None and mine.equals(theirs)
        if not same:
            return "scaler"
        if (self.seed, self.n_components) != (other.seed, other.n_components):
            return "draw (random_state or n_components)"
        if not _same(self.basis, other.basis):
            return "basis"
        if self.dtype != other.dtype:
            return "dtype"
        if self.bins is not None and other.bins is not None:
            own, others = self.bins, other.bins
            names = own.basis.names(own.theta, own.n_components)
            if names != others.basis.names(others.theta, others.n_components):
                return "bins"
        return None


def spread_of(rows: Any, weights: Any) -> Spread:
    """Mean and spread of every column, in blocks of bounded size."""
    n_inputs = rows.shape[1]
    spread = Spread(0.0, np.zeros(n_inputs), np.zeros(n_inputs))
    for part in block_slices(rows.shape[0], max(1, _SPREAD_ENTRIES // n_inputs)):
        own = None if weights is None else weights[part]
        spread = spread.merge(Spread.of(rows[part], own))
    return spread


def _same(mine: Any, theirs: Any) -> bool:
    """Whether two parameters are equal: arrays, nested bases and functions by what they hold."""
    if isinstance(mine, Basis):
        if type(mine) is not type(theirs):
            return False
        own, others = mine.get_params(deep=False), theirs.get_params(deep=False)
        return all(_same(value, others[name]) for name, value in own.items())
    if isinstance(mine, list | tuple):
        return len(mine) == len(theirs) and all(map(_same, mine, theirs))
    if isinstance(mine, np.ndarray):
        return np.array_equal(mine, theirs)
    if hasattr(mine, "__code__"):
        return bool(mine.__code__ == getattr(theirs, "__code__", None))
    return bool(mine == theirs)


@dataclass
class FeatureBlocks:
    """Blocks (slice of rows, features) of rows held in memory.

    Every walk makes the features anew, unless all of them fit into half of `memory_budget` bytes:
    then `walk` keeps them after the first time. A block that `fresh` yields may be overwritten by
    the caller; one that `walk` yields may not.
    """

    rows: Any
    frozen: Frozen
    memory_budget: float
    _kept: list[Any] | None = field(default=None, repr=False)

    @property
    def n_rows(self) -> int:
        return int(self.rows.shape[0])

    @property
    def n_columns(self) -> int:
        return self.frozen.n_columns

    @property
    def sparse(self) -> bool:
        return self.frozen.basis.sparse

    @property
    def total_bytes(self) -> float:
        """Of all features, kept in memory."""
        entry = self.frozen.dtype.itemsize
        if self.sparse:
            return (entry + 4.0) * self.n_rows * self.frozen.n_components
        return float(entry) * self.n_rows * self.n_columns

    @property
    def cached(self) -> bool:
        """Whether all features can be kept between passes."""
        return self.total_bytes <= 0.5 * self.memory_budget

    @property
    def block_rows(self) -> int:
        entry = self.frozen.dtype.itemsize
        row_bytes = entry * 3 * self.frozen.n_inputs
        # Names and places of bins before they become a matrix; features and a copy of them.
        row_bytes += 48 * self.frozen.n_components if self.sparse else 2 * entry * self.n_columns
        fitting = int(0.25 * self.memory_budget / max(1, row_bytes))
        return min(BLOCK_ROWS, max(_SMALLEST_BLOCK, fitting))

    def of(self, rows: Any) -> Any:
        """Features of other rows."""
        return self.frozen.features(rows)

    def pick(self, places: Any) -> Any:
        """Features of the rows at the places given."""
        return self.of(self.rows[places])

    def pilot(self) -> Any:
        """The rough mean of the features: sums about it keep their digits."""
        step = max(1, self.n_rows // _PILOT_ROWS)
        features = self.pick(slice(None, step * _PILOT_ROWS, step))
        mean = features.mean(axis=0) if self.sparse else features.mean(axis=0, dtype=np.float64)
        return np.asarray(mean, dtype=np.float64).ravel()

    def fresh(self) -> Iterator[tuple[slice, Any]]:
        """Blocks of newly made features."""
        for part in block_slices(self.n_rows, self.block_rows):
            yield part, self.of(self.rows[part])

    def walk(self) -> Iterator[tuple[slice, Any]]:
        """Blocks of features, kept in memory after the first walk where they fit."""
        if self._kept is not None:
            parts = block_slices(self.n_rows, self.block_rows)
            yield from zip(parts, self._kept, strict=True)
            return
        kept: list[Any] = []
        for part, block in self.fresh():
            if self.cached:
                kept.append(block)
            yield part, block
        if self.cached:
            self._kept = kept
