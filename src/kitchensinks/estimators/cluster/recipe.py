"""What runs on the workers: each partition is read, checked and summed where it is."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from kitchensinks.estimators.base import Batch
from kitchensinks.execution.cluster import check_versions, versions
from kitchensinks.execution.partitions import Part, Schema, naming
from kitchensinks.features.frozen import Look
from kitchensinks.features.scaling import Spread
from kitchensinks.fitting import LookedPath
from kitchensinks.fitting.held import HeldRows
from kitchensinks.problem.losses import Array
from kitchensinks.problem.moments import Moments
from kitchensinks.tables import block_slices
from kitchensinks.tables.keys import RowSample, row_keys
from kitchensinks.tables.memory import memory_budget

# What a worker does without: sums of other rows, what a fit keeps for later, and the screen.
_STAYS = {
    "moments_",
    "feature_names_in_",
    "_condensed",
    "_sampled",
    "_few",
    "_listener",
    "_watcher",
    "_posterior",
    "_stochastic",
}
# Entries of rows that are sampled from at a time.
_SAMPLED_ENTRIES = 2**21


def both(mine: Any, theirs: Any) -> Any:
    """The merger of two summaries, either of which may be missing."""
    return theirs if mine is None else mine if theirs is None else mine.merge(theirs)


def _digest(number: int, targets: Any, weights: Any) -> int:
    """What tells the targets and weights of a partition from others."""
    found = hashlib.sha256(str(number).encode())
    for values in (targets, weights):
        plain = np.asarray(values)
        plain = plain.astype(str) if plain.dtype == object else plain
        found.update(np.ascontiguousarray(plain).tobytes())
    return int.from_bytes(found.digest()[:8], "little")


class Seen(NamedTuple):
    """What a look at partitions has found: targets, scaler and sample, rows of each partition.

    `memory`: the least budget of a worker, in bytes; `digest`: of targets and weights.
    """

    targets: Any
    look: Look
    rows: dict[int, int]
    weight: float
    memory: float
    digest: int = 0

    def merge(self, other: "Seen") -> "Seen":
        return Seen(
            both(self.targets, other.targets),
            self.look.merge(other.look),
            {**self.rows, **other.rows},
            self.weight + other.weight,
            min(self.memory, other.memory),
            self.digest ^ other.digest,
        )

    @property
    def n_rows(self) -> int:
        return sum(self.rows.values())


class Sums(NamedTuple):
    """Sums over rows, and the rows that are remembered of them."""

    moments: Moments
    sample: RowSample | None

    def merge(self, other: "Sums") -> "Sums":
        return Sums(self.moments.merge(other.moments), both(self.sample, other.sample))


class Split(NamedTuple):
    """One side of the rows: those held out, whose keys are `last` or below, or the others."""

    last: int
    held: bool

    def counted(self, keys: np.ndarray) -> np.ndarray:
        return (keys <= np.uint64(self.last)) == self.held


class Score(NamedTuple):
    """Weighted hits of classes, or squared errors with the spread of the targets."""

    weight: float
    hits: Array
    spread: Spread | None

    def merge(self, other: "Score") -> "Score":
        # An empty partition has hits of one zero, which adds to any number of outputs.
        hits, spread = self.hits + other.hits, both(self.spread, other.spread)
        return Score(self.weight + other.weight, hits, spread)

    def value(self, task: str) -> float:
        if self.weight == 0.0:
            raise ValueError("There are no rows of positive weight to score.")
        if task == "classification":
            return float(self.hits[0] / self.weight)
        assert self.spread is not None
        explained = 1.0 - self.hits / np.where(self.spread.squares > 0, self.spread.squares, 1.0)
        constant = np.where(self.hits > 0, 0.0, 1.0)
        return float(np.mean(np.where(self.spread.squares > 0, explained, constant)))


@dataclass(frozen=True)
class Recipe:
    """What every task needs: the estimator without its sums, the columns, the seed.

    `pilot`: some rows that say where the mean of the features is.
    """

    estimator: Any
    schema: Schema
    seed: int
    pilot: Array | None = None
    versions: dict[str, str] = field(default_factory=versions)

    @classmethod
    def of(cls, estimator: Any, schema: Schema, seed: int, pilot: Any = None) -> "Recipe":
        return cls(small_copy(estimator), schema, seed, pilot)

    def batch(self, part: Part) -> Batch | None:
        """The checked and encoded rows of a partition, None where it is empty."""
        read = self._read(part)
        return None if read is None else self.estimator._encoded(*read)

    def _read(self, part: Part) -> tuple[Any, Any, Any] | None:
        check_versions(self.versions)
        rows = self.schema.array(part.rows)
        targets = _plain(np.asarray(part.targets))
        weights = None if part.weights is None else np.asarray(part.weights)
        if rows.shape[0] == 0 and len(targets) == 0:
            return None
        return self.estimator._validate(rows, targets, weights, reset=False)

    # -- the look ------------------------------------------------------------------------

    def summary(self, part: Part) -> Any:
        """The summary of the targets, None where there are none."""
        with naming(part.number):
            read = self._read(part)
            return None if read is None else self.estimator._summary(read[1], read[2])

    def look(self, part: Part, encoded: bool) -> Seen:
        """Targets, scaler and sample; `encoded`: with the weights of the classes."""
        with naming(part.number):
            read = self._read(part)
            memory = memory_budget(self.estimator.memory_budget)
            if read is None:
                return Seen(None, Look(None, None), {part.number: 0}, 0.0, memory)
            rows, y, weights = read
            summary = None if encoded else self.estimator._summary(y, weights)
            if encoded:
                weights = self.estimator._encoded(*read).weights
            look = Look.of(rows, weights, self.seed, bool(self.estimator.standardize), True)
            total = float(len(y) if weights is None else weights.sum())
            digest = _digest(part.number, y, weights)
            return Seen(summary, look, {part.number: len(y)}, total, memory, digest)

    def targets(self, part: Part, n_outputs: int) -> tuple[Array, Array]:
        """The targets as they came, (n, outputs), and their weights."""
        with naming(part.number):
            read = self._read(part)
            if read is None:
                return np.zeros((0, n_outputs)), np.zeros(0)
            _, y, weights = read
            return y.reshape(-1, n_outputs), np.ones(len(y)) if weights is None else weights

    def sample(self, parts: Sequence[Part], limit: int) -> RowSample | None:
        """Rows by their keys, with their targets and the weight of one copy as notes."""
        found = None
        for part in parts:
            with naming(part.number):
                batch = self.batch(part)
                if batch is not None:
                    found = both(found, sample_of(batch, self.seed, limit))
        return found

    # -- sums ----------------------------------------------------------------------------

    def shift(self) -> Array:
        """The rough mean of the features: sums about it keep their digits."""
        frozen = self.estimator.frozen_
        if not self.estimator.fit_intercept:
            return np.zeros(frozen.n_columns)
        return np.asarray(frozen.features(self.pilot).mean(axis=0, dtype=np.float64))

    def sums(
        self,
        parts: Sequence[Part],
        shift: Array,
        n_outputs: int,
        limit: int,
        split: Split | None = None,
    ) -> Sums:
        """Sums over neighbouring partitions, or one side of a split of their rows.

        With a sample of at most `limit` rows.
        """
        moments, sample = Moments.zeros(shift, n_outputs), None
        for part in parts:
            with naming(part.number):
                batch = self.batch(part)
                if batch is None:
                    continue
                if limit:
                    sample = both(sample, sample_of(batch, self.seed, limit))
                if split is not None:
                    batch = _rows_of(batch, split.counted(row_keys(batch.rows, self.seed)))
                for rows, features in self.estimator._blocks(batch.rows).fresh():
                    own = _rows_of(batch, rows)
                    moments.add(features, own.targets, own.weights, own.one)
        moments.close()
        return Sums(moments, sample)

    def errors(self, parts: Sequence[Part], looked: LookedPath) -> Array:
        """Leave-one-out Σw·e²/Σw over neighbouring partitions, (alphas, outputs)."""
        path, alphas = looked.path, looked.alphas
        total = np.zeros((len(alphas), len(path.equations.target)))
        for part in parts:
            with naming(part.number):
                batch = self.batch(part)
                if batch is not None:
                    blocks = self.estimator._blocks(batch.rows).fresh()
                    path.leave_one_out(
                        blocks, batch.targets, batch.weights, alphas, batch.one, total
                    )
        return total / path.equations.weight

    def rows(
        self, parts: Sequence[Part], memory: float, keep: bool
    ) -> tuple[HeldRows, Array, Array, Array]:
        """Rows for the solvers of many passes, their targets, weights and keys."""
        batches = []
        for part in parts:
            with naming(part.number):
                batch = self.batch(part)
                if batch is not None:
                    batches.append(batch)
        ones = [np.ones(len(b.targets)) if b.weights is None else b.weights for b in batches]
        return (
            HeldRows([batch.rows for batch in batches], self.estimator.frozen_, memory, keep),
            np.concatenate([batch.targets for batch in batches]),
            np.concatenate(ones),
            np.concatenate([row_keys(batch.rows, self.seed) for batch in batches]),
        )

    # -- the score -----------------------------------------------------------------------

    def hits(self, part: Part) -> Score:
        """What the score of a partition adds."""
        with naming(part.number):
            read = self._read(part)
            if read is None:
                return Score(0.0, np.zeros(1), None)
            rows, y, weights = read
            own = np.ones(len(y)) if weights is None else weights
            found = self.estimator.predict(rows)
            if self.estimator._task == "classification":
                return Score(float(own.sum()), np.array([own @ (found == y)]), None)
            columns = y.reshape(len(y), -1)
            errors = own @ (columns - found.reshape(len(y), -1)) ** 2
            return Score(float(own.sum()), errors, Spread.of(columns, own))


def _plain(targets: np.ndarray) -> np.ndarray:
    """Text as NumPy has it, whatever a DataFrame holds it as."""
    text = targets.dtype == object and all(isinstance(label, str) for label in targets.flat)
    return targets.astype(str) if text else targets


def small_copy(estimator: Any) -> Any:
    """A copy of the estimator that is small enough to be sent around."""
    worker = object.__new__(type(estimator))
    vars(worker).update({k: v for k, v in vars(estimator).items() if k not in _STAYS})
    worker._sample = None
    return worker


def sample_of(batch: Batch, seed: int, limit: int) -> RowSample | None:
    found = None
    for part in block_slices(len(batch.targets), max(1, _SAMPLED_ENTRIES // batch.rows.shape[1])):
        own = _rows_of(batch, part)
        one = np.ones(len(own.targets)) if own.one is None else own.one
        notes = np.column_stack([own.targets, one])
        found = both(found, RowSample.of(own.rows, own.weights, limit, seed, notes))
    return found


def _rows_of(batch: Batch, rows: Any) -> Batch:
    weights = None if batch.weights is None else batch.weights[rows]
    one = None if batch.one is None else batch.one[rows]
    return Batch(batch.rows[rows], batch.y[rows], batch.targets[rows], weights, one)
