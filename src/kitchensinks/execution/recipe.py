"""What runs on the workers: each partition is read, checked and summed where it is.

Tasks take plain values, and only summaries leave a worker.
"""

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length

from kitchensinks.execution.cluster import check_versions, versions
from kitchensinks.execution.partitions import Partition, Schema, checked_rows, in_partition
from kitchensinks.features.blocks import FeatureBlocks
from kitchensinks.features.frozen import Frozen, RowSummary
from kitchensinks.features.scaling import Spread
from kitchensinks.features.trend import Trend
from kitchensinks.fitting.pieces import RowPieces
from kitchensinks.fitting.refine import added, residual_sums
from kitchensinks.fitting.squared import RidgeCandidates
from kitchensinks.numerics.arrays import AnyArray, DType
from kitchensinks.problem.losses import Array
from kitchensinks.problem.moments import Moments, NormalEquations
from kitchensinks.problem.targets import Batch, Classes
from kitchensinks.state import Spec, State
from kitchensinks.state.remembered import Limits, sample_of
from kitchensinks.tables.arrays import check_weights
from kitchensinks.tables.keys import Keys, RowSample, row_keys
from kitchensinks.tables.memory import memory_budget


def both(mine: Any, theirs: Any) -> Any:
    """The merger of two summaries, either of which may be missing."""
    return theirs if mine is None else mine if theirs is None else mine.merge(theirs)


class Seen(NamedTuple):
    """The summary of a first pass over partitions: of the targets, for the scaler, and a sample.

    rows: of each partition; memory: the least budget of a worker, in bytes; digest: of targets
    and weights.
    """

    targets: Any
    rows_summary: RowSummary
    rows: dict[int, int]
    weight: float
    memory: float
    digest: int = 0

    def merge(self, other: "Seen") -> "Seen":
        return Seen(
            both(self.targets, other.targets),
            self.rows_summary.merge(other.rows_summary),
            {**self.rows, **other.rows},
            self.weight + other.weight,
            min(self.memory, other.memory),
            self.digest ^ other.digest,
        )

    @property
    def n_rows(self) -> int:
        return sum(self.rows.values())


# The summary of no partitions.
NOTHING = Seen(None, RowSummary(None, None), {}, 0.0, math.inf)


class RowSums(NamedTuple):
    """Sums over rows, and the rows that are remembered of them."""

    moments: Moments
    sample: RowSample | None

    def merge(self, other: "RowSums") -> "RowSums":
        return RowSums(self.moments.merge(other.moments), both(self.sample, other.sample))


class SplitSide(NamedTuple):
    """One side of the rows: those held out, whose keys are `last` or below, or the others."""

    last: int
    held: bool

    def counted(self, keys: Keys) -> NDArray[np.bool_]:
        return np.asarray((keys <= np.uint64(self.last)) == self.held)


class ScoreSums(NamedTuple):
    """Weighted hits of classes, or squared errors with the spread of the targets; they add up."""

    weight: float
    hits: Array
    spread: Spread | None = None

    def merge(self, other: "ScoreSums") -> "ScoreSums":
        # An empty partition has hits of one zero, which adds to any number of outputs.
        hits, spread = self.hits + other.hits, both(self.spread, other.spread)
        return ScoreSums(self.weight + other.weight, hits, spread)

    @property
    def value(self) -> float:
        """The share of hits, or R²."""
        if self.weight == 0.0:
            raise ValueError("There are no rows of positive weight to score.")
        if self.spread is None:
            return float(self.hits[0] / self.weight)
        squares = self.weight * self.spread.variance
        explained = 1.0 - self.hits / np.where(squares > 0, squares, 1.0)
        constant = np.where(self.hits > 0, 0.0, 1.0)
        return float(np.mean(np.where(squares > 0, explained, constant)))


@dataclass(frozen=True)
class Recipe:
    """How a worker reads rows and makes features of them.

    dtype: that rows are read in, None for their own; spec: what their targets are and, once that
    is known, how these are encoded, None for rows alone; frozen: how features are made, once that
    is known; pilot: a few rows whose features estimate the mean; trend: what is taken off the
    targets before features are fitted; missing: NaN may be there.
    """

    schema: Schema
    seed: int
    standardize: bool
    memory_budget: Any
    dtype: Any = None
    spec: Spec | None = None
    frozen: Frozen | None = None
    pilot: AnyArray | None = None
    trend: Trend | None = None
    missing: bool = False
    versions: dict[str, str] = field(default_factory=versions)

    @property
    def n_outputs(self) -> int:
        return 0 if self.spec is None else self.spec.encoding.n_outputs

    @property
    def features(self) -> Frozen:
        assert self.frozen is not None, "the law is found before any sum"
        return self.frozen

    def read(self, part: Partition) -> Batch | None:
        """The rows of a partition, checked, with targets as they came; None where it is empty."""
        check_versions(self.versions)
        rows = self.schema.array(part.rows)
        y = np.zeros((rows.shape[0], 0)) if self.spec is None else _plain(np.asarray(part.targets))
        if rows.shape[0] == 0 and len(y) == 0:
            return None
        rows = checked_rows(rows, self.dtype, self.missing, limited=self.standardize)
        if self.spec is not None:
            y = self.spec.kind.check(y)
            check_consistent_length(rows, y)
        weights = None if part.weights is None else check_weights(np.asarray(part.weights), rows)
        return Batch(rows, y, weights)

    def encoded(self, read: Batch) -> Batch:
        """Rows with encoded targets, less the trend where one is known; or with none."""
        if self.spec is None:
            return read
        batch = self.spec.encode(*read[:3])
        if self.trend is None:
            return batch
        return batch.less(self.trend.in_units(self.spec.encoding.unit).values)

    def batches(self, parts: Sequence[Partition]) -> Iterator[Batch]:
        """The encoded rows of each partition that has any."""
        for part in parts:
            with in_partition(part.number):
                read = self.read(part)
                if read is not None:
                    yield self.encoded(read)

    def look(self, part: Partition) -> Seen:
        """Scaler and sample, with the weights of classes where these are known.

        With a summary of the targets where it is not known yet how they are encoded.
        """
        with in_partition(part.number):
            read, memory = self.read(part), memory_budget(self.memory_budget)
            if read is None:
                return Seen(None, RowSummary(None, None), {part.number: 0}, 0.0, memory)
            summary, weights = None, read.weights
            if self.spec is not None and self.spec.targets is None:
                summary = self.spec.kind.summarise(read.targets, weights)
            else:
                weights = self.encoded(read).weights
            n_rows = read.rows.shape[0]
            found = RowSummary.of(read.rows, weights, self.seed, self.standardize, asked=True)
            total = float(n_rows if weights is None else weights.sum())
            digest = _digest(part.number, read.targets, weights)
            return Seen(summary, found, {part.number: n_rows}, total, memory, digest)

    def values(self, part: Partition, n_outputs: int) -> tuple[Array, Array]:
        """The targets as they came, (n, outputs), and their weights."""
        with in_partition(part.number):
            read = self.read(part)
            if read is None:
                return np.zeros((0, n_outputs)), np.zeros(0)
            return read.targets.reshape(-1, n_outputs), read.own_weights

    def sample(self, part: Partition, limits: Limits) -> RowSample | None:
        """Rows by their keys, with their targets as notes."""
        found = [sample_of(batch, self.seed, None, limits) for batch in self.batches([part])]
        return found[0] if found else None

    def shift(self) -> Array:
        """The rough mean of the features: sums about it keep their digits."""
        if self.spec is not None and not self.spec.fit_intercept:
            return np.zeros(self.features.n_columns)
        return np.asarray(self.features.features(self.pilot).mean(axis=0, dtype=np.float64))

    def sums(
        self,
        parts: Sequence[Partition],
        shift: Array,
        limits: Limits | None,
        split: SplitSide | None,
        dtype: DType | None = None,
    ) -> RowSums:
        """Sums over neighbouring partitions, or over one side of a split of their rows.

        limits: of the sample of their rows, None for no sample; dtype: as `Settings.summed`.
        """
        moments, sample = Moments.zeros(shift, self.n_outputs), None
        for batch in self.batches(parts):
            if limits is not None:
                sample = sample_of(batch, self.seed, sample, limits)
            if split is not None:
                batch = batch.part(split.counted(row_keys(batch.rows, self.seed)))
            moments.add_blocks(self._blocks(batch).fresh, batch.targets, batch.weights, dtype)
        return RowSums(moments, sample)

    def errors(self, parts: Sequence[Partition], candidates: RidgeCandidates) -> Array:
        """Leave-one-out Σw·e²/Σw over neighbouring partitions, (alphas, outputs)."""
        path, alphas = candidates.path, candidates.alphas
        total = np.zeros((len(alphas), self.n_outputs))
        for batch in self.batches(parts):
            for rows, features in self._blocks(batch).fresh():
                own = batch.part(rows)
                given = own.targets, own.weights, None
                total += path.left_out_squares(features, *given, alphas)
        return np.asarray(total / path.equations.weight)

    def residuals(
        self, parts: Sequence[Partition], given: tuple[NormalEquations, Array]
    ) -> list[Array]:
        """`residual_sums` over neighbouring partitions, by equations without a Gram and weights."""
        n_columns, n_outputs = given[1].shape
        total = [np.zeros(given[1].shape), *np.zeros((2, n_outputs)), np.zeros(n_columns)]
        for batch in self.batches(parts):
            for rows, features in self._blocks(batch).fresh():
                own = batch.part(rows)
                total = added([total, residual_sums(features, own.targets, own.weights, *given)])
        return total

    def held(
        self, parts: Sequence[Partition], memory: float, keep: bool
    ) -> tuple[RowPieces, Array, Array, Keys]:
        """Rows for the solvers of many passes, their targets, weights and keys."""
        batches = list(self.batches(parts))
        return (
            RowPieces([batch.rows for batch in batches], self.features, memory, keep),
            np.concatenate([batch.targets for batch in batches]),
            np.concatenate([batch.own_weights for batch in batches]),
            np.concatenate([row_keys(batch.rows, self.seed) for batch in batches]),
        )

    def hits(self, part: Partition, state: State) -> ScoreSums:
        """The contribution of a partition to the score."""
        with in_partition(part.number):
            read = self.read(part)
            if read is None:
                return ScoreSums(0.0, np.zeros(1))
            rows = state.numbers(read.rows)
            y, own, found = read.targets, read.own_weights, state.answer_rows("predict", rows)
            if isinstance(state.targets, Classes):
                return ScoreSums(float(own.sum()), np.array([own @ (found == y)]))
            columns = y.reshape(len(y), -1)
            errors = own @ (columns - found.reshape(len(y), -1)) ** 2
            return ScoreSums(float(own.sum()), errors, Spread.of(columns, own))

    def _blocks(self, batch: Batch) -> FeatureBlocks:
        return FeatureBlocks(batch.rows, self.features, memory_budget(self.memory_budget))


def _plain(targets: AnyArray) -> AnyArray:
    """Text as NumPy has it, whatever a DataFrame holds it as."""
    text = targets.dtype == object and all(isinstance(label, str) for label in targets.flat)
    return targets.astype(str) if text else targets


def _digest(number: int, targets: object, weights: object) -> int:
    """A digest that identifies the targets and weights of a partition."""
    found = hashlib.sha256(str(number).encode())
    for values in (targets, weights):
        plain = np.asarray(values)
        plain = plain.astype(str) if plain.dtype == object else plain
        found.update(np.ascontiguousarray(plain).tobytes())
    return int.from_bytes(found.digest()[:8], "little")
