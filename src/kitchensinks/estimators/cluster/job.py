"""A fit on a cluster: what is settled before any sum, and the walks that everything else takes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from kitchensinks.estimators.adapting import adapted, plain_basis, plain_components, wanted
from kitchensinks.estimators.base import Batch
from kitchensinks.estimators.cluster.recipe import Recipe, Seen, Split, Sums, both
from kitchensinks.estimators.tables import importances_of
from kitchensinks.execution.cluster import delayed, slots, tree
from kitchensinks.execution.partitions import Part, Partitions, pilot_rows
from kitchensinks.features.frozen import Frozen
from kitchensinks.fitting import Settings
from kitchensinks.fitting.keeping import Checkpoint
from kitchensinks.problem.moments import Moments
from kitchensinks.tables.keys import RowSample

# Tasks for each thread of the cluster, at least, where there are as many partitions.
_TASKS_A_SLOT = 4
# Rows, and entries of them, that a law is learned from here.
_LEARNED_ROWS, _LEARNED_ENTRIES = 45_000, 2**24


@dataclass(frozen=True)
class Job:
    """A fit whose scaler, law and classes are settled."""

    estimator: Any
    partitions: Partitions
    seen: Seen
    settings: Settings
    checkpoint: Checkpoint | None = None

    @property
    def frozen(self) -> Frozen:
        frozen: Frozen = self.estimator.frozen_
        return frozen

    @cached_property
    def recipe(self) -> Any:
        sample = self.seen.look.sample
        assert sample is not None
        rows = pilot_rows(sample)
        return delayed(Recipe.of(self.estimator, self.partitions.schema, self.frozen.seed, rows))

    @cached_property
    def n_outputs(self) -> int:
        return self.estimator._output_of("decision_function")[0] or 1

    def bundles(self, start: int = 0, gram: bool = True) -> list[list[Part]]:
        """Neighbouring partitions that one task takes, from partition `start` on.

        Together their rows take no more memory than one Gram, so that few sums are made and
        moved; and there are enough tasks for every thread of the cluster to have some.
        """
        schema, counts = self.partitions.schema, self.seen.rows
        row_bytes = np.dtype(schema.dtype).itemsize * schema.n_inputs
        limit = self.seen.n_rows * row_bytes / (_TASKS_A_SLOT * slots())
        if gram:
            limit = min(8.0 * self.frozen.n_columns**2, limit)
        bundles: list[list[Part]] = []
        held = 0.0
        for part in self.partitions.parts[start:]:
            size = float(counts[part.number] * row_bytes)
            if size == 0.0:
                continue
            if not bundles or held + size > limit:
                bundles.append([])
                held = 0.0
            bundles[-1].append(part)
            held += size
        return bundles

    def sums(self, bundles: list[list[Part]], limit: int = 0, split: Split | None = None) -> Any:
        """The task of the sums over bundles; `limit` and `split` are those of `Recipe.sums`."""
        shift = delayed(Recipe.shift)(self.recipe)
        call = delayed(Recipe.sums)
        nodes = [call(self.recipe, part, shift, self.n_outputs, limit, split) for part in bundles]
        return tree(nodes, Sums.merge)

    def compute(self, *nodes: Any) -> tuple[Any, ...]:
        return self.partitions.compute(*nodes, told=self.estimator._watcher)

    def summed(self, limit: int = 0, split: Split | None = None, phase: str = "sums") -> Sums:
        """All the sums, here; with a checkpoint they come in waves, saved now and then."""
        self.estimator._progress(f"summing {len(self.partitions.parts)} partitions")
        if self.checkpoint is None:
            (found,) = self.compute(self.sums(self.bundles(), limit, split))
            return found
        total: list[Sums] = []

        def state() -> dict[str, Any]:
            moments, sample = total[-1]
            return {**moments.state(), **_packed(sample), "rows": _identity(self.seen)}

        def restore(arrays: dict[str, Any]) -> None:
            same_rows(arrays["rows"], _identity(self.seen))
            moments = Moments.zeros(np.zeros(0), 0)
            moments.restore(arrays)
            total.append(Sums(moments, _unpacked(arrays)))

        def wave(bundles: list[list[Part]]) -> Any:
            return self.sums(bundles, limit, split)

        for _, sums in self.checkpoint.over(phase, self.waves(wave), state, restore):
            total[:] = [total[-1].merge(sums) if total else sums]
        return total[-1]

    def waves(
        self, node: Callable[[list[list[Part]]], Any]
    ) -> Callable[[int], Iterator[tuple[slice, Any]]]:
        """From a partition on: pairs of the partitions of a wave of tasks, and what they give."""

        def from_partition(start: int) -> Iterator[tuple[slice, Any]]:
            if start:
                self.estimator._progress(f"going on from partition {start}")
            bundles, size = self.bundles(start), _TASKS_A_SLOT * slots()
            for first in range(0, len(bundles), size):
                wave = bundles[first : first + size]
                (found,) = self.compute(node(wave))
                yield slice(wave[0][0].number, wave[-1][-1].number + 1), found

        return from_partition


# -- settled first -----------------------------------------------------------------------


def look(estimator: Any, partitions: Partitions, seed: int) -> Seen:
    """The first walk; where classes have weights, one over the targets goes before it."""
    parts = partitions.parts
    weighted = getattr(estimator, "class_weight", None) is not None
    estimator._progress(f"looking at {len(parts)} partitions")
    recipe = delayed(Recipe.of(estimator, partitions.schema, seed))
    if weighted:
        nodes = [delayed(Recipe.summary)(recipe, part) for part in parts]
        (summary,) = partitions.compute(tree(nodes, both))
        _learn(estimator, summary)
        recipe = delayed(Recipe.of(estimator, partitions.schema, seed))
    nodes = [delayed(Recipe.look)(recipe, part, weighted) for part in parts]
    (seen,) = partitions.compute(tree(nodes, Seen.merge), told=estimator._watcher)
    if not weighted:
        _learn(estimator, seen.targets)
    if seen.weight == 0.0:
        raise ValueError(
            f"{'class_weight' if weighted else 'sample_weight'} leaves every row a weight of "
            "zero: need a positive weight."
        )
    return seen


def _learn(estimator: Any, summary: Any) -> None:
    if summary is None:
        raise ValueError("All partitions are empty. Need at least one row.")
    estimator._learn_summary(summary)


def freeze(estimator: Any, seen: Seen, partitions: Partitions, seed: int) -> None:
    """Scaler and law as a fit in memory would learn them; a law that is learned, from a sample."""
    schema = partitions.schema
    if wanted(estimator) is not None:
        batch = sampled(estimator, partitions, seed, _LEARNED_ROWS, _LEARNED_ENTRIES)
        found = adapted(estimator, batch, estimator.dtype or np.float32, stream=True)
        if found is not None:
            frozen, _, estimator.adaptation_ = found
            estimator.feature_importances_ = importances_of(estimator)
            estimator._set_frozen(frozen)
            return
    shape = seen.n_rows, schema.n_inputs
    frozen = Frozen.of_look(
        seen.look,
        plain_basis(estimator),
        seed,
        schema.n_inputs,
        int(plain_components(estimator)),
        estimator._working_dtype(np.broadcast_to(np.zeros((), schema.dtype), shape), False),
        estimator._unscaled,
    )
    estimator._set_frozen(frozen)


def sampled(estimator: Any, partitions: Partitions, seed: int, most: int, entries: int) -> Batch:
    """A sample of the rows by their keys, brought here; copies of a row are one of more weight."""
    limit = min(most, max(500, entries // partitions.schema.n_inputs))
    estimator._progress(f"sampling {limit} rows")
    recipe = delayed(Recipe.of(estimator, partitions.schema, seed))
    nodes = [delayed(Recipe.sample)(recipe, [part], limit) for part in partitions.parts]
    (sample,) = partitions.compute(tree(nodes, both))
    return batch_of(sample)


def batch_of(sample: RowSample) -> Batch:
    """The rows of a sample, as a fit in memory has them."""
    targets, one = sample.notes[:, :-1], sample.notes[:, -1]
    single = None if (one == 1.0).all() else one
    return Batch(sample.rows, targets, targets, sample.weights, single)


def settings_of(estimator: Any) -> Settings:
    """What to minimise; rows on a cluster have no keys here."""

    def no_keys() -> np.ndarray:
        raise AssertionError("rows on a cluster have no keys here")

    return replace(estimator._settings(None), keys=no_keys)


# -- sums in a checkpoint ----------------------------------------------------------------


def _identity(seen: Seen) -> np.ndarray:
    """What tells rows from other rows: the lowest of their keys, and a digest of the targets."""
    assert seen.look.sample is not None
    return np.append(seen.look.sample.keys[:64], np.uint64(seen.digest))


def same_rows(theirs: np.ndarray, mine: np.ndarray) -> None:
    """An error where a checkpoint is of other rows."""
    if not np.array_equal(theirs, mine):
        raise ValueError(
            "The checkpoint is of another fit: its rows are not these. Use another folder, or "
            "delete this one to begin anew."
        )


def _packed(sample: RowSample | None) -> dict[str, Any]:
    if sample is None:
        return {}
    names = ("keys", "rows", "notes", "weights")
    numbers = np.array([sample.limit, sample.seed], dtype=np.uint64)
    return {"sample_numbers": numbers} | {f"sample_{n}": getattr(sample, n) for n in names}


def _unpacked(arrays: dict[str, Any]) -> RowSample | None:
    if "sample_numbers" not in arrays:
        return None
    limit, seed = arrays["sample_numbers"].tolist()
    names = ("keys", "rows", "notes", "weights")
    return RowSample(limit, seed, *(arrays[f"sample_{name}"] for name in names))
