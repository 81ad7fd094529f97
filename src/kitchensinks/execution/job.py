"""The walks of a fit over partitions: the look that goes first, then sums, in waves if saved."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from dask import delayed
from numpy.typing import DTypeLike, NDArray

from kitchensinks.execution.cluster import Task, slots, tree
from kitchensinks.execution.partitions import Partition, Partitions
from kitchensinks.execution.recipe import NOTHING, Recipe, RowSums, Seen, SplitSide, both
from kitchensinks.features.bases import Basis
from kitchensinks.features.frozen import Frozen
from kitchensinks.features.trend import Trend
from kitchensinks.fitting.settings import Checkpoint, Progress, silent
from kitchensinks.numerics.arrays import Arrays, Block, DType, SampleWeight
from kitchensinks.problem.moments import Moments
from kitchensinks.state.remembered import Limits
from kitchensinks.tables.keys import RowSample
from kitchensinks.tables.view import Given

# Tasks for each thread of the cluster, at least, where there are as many partitions.
_TASKS_A_SLOT = 4
# Rows that estimate the mean of the features.
_PILOT_ROWS = 256
# Bytes of these rows, which go with every task.
_PILOT_BYTES = 2**15
# Lowest keys of the rows that identify a fit in a checkpoint.
_KEYS = 64

Bundle = list[Partition]


@dataclass(frozen=True)
class Job:
    """Passes over the partitions: the first collects summaries for the scaler and a sample, later
    ones use them.
    """

    recipe: Recipe
    partitions: Partitions
    progress: Progress = silent
    checkpoint: Checkpoint | None = None
    seen: Seen = NOTHING

    @cached_property
    def sent(self) -> Task:
        """The recipe as a task, which goes once to each worker."""
        return delayed(self.recipe)

    @property
    def frozen(self) -> Frozen:
        return self.recipe.features

    def each(self, method: Callable[..., Any], *given: object) -> list[Task]:
        """A task for each partition."""
        call = delayed(method)
        return [call(self.sent, part, *given) for part in self.partitions.parts]

    def compute(self, text: str, *nodes: Task) -> tuple[Any, ...]:
        """The values of tasks; the progress says which, and how many tasks are done."""
        self.progress(text)
        return self.partitions.compute(*nodes, told=partial(self.progress, text))

    def looked(self) -> "Job":
        """With what a look at all partitions has found."""
        text = f"looking at {self.partitions}"
        (seen,) = self.compute(text, tree(self.each(Recipe.look), Seen.merge))
        return replace(self, seen=seen)

    def with_features(self, frozen: Frozen, trend: Trend | None = None) -> "Job":
        """With the law of the features; a few rows of the sample say where their mean is."""
        rows = self.sample.rows
        count = min(_PILOT_ROWS, max(1, _PILOT_BYTES // rows[0].nbytes))
        recipe = replace(self.recipe, seed=frozen.seed, frozen=frozen, trend=trend)
        return replace(self, recipe=replace(recipe, pilot=rows[:count]))

    @property
    def sample(self) -> RowSample:
        """The rows that the look has found: a law is learned from them."""
        assert self.seen.rows_summary.sample is not None, "a look goes before all else"
        return self.seen.rows_summary.sample

    def sampled(self, limits: Limits) -> RowSample:
        """Rows with their targets, by their keys; copies of a row are one of more weight."""
        tasks = tree(self.each(Recipe.sample, limits), both)
        (sample,) = self.compute(f"sampling at most {limits[0]:,} rows", tasks)
        assert isinstance(sample, RowSample)
        return sample

    def bundles(self, start: int = 0, gram: bool = True) -> list[Bundle]:
        """Neighbouring partitions that one task takes, from partition `start` on.

        Together their rows take no more memory than one Gram, so that few sums are made and
        moved; and there are enough tasks for every thread of the cluster to have some.
        """
        schema = self.partitions.schema
        row_bytes = np.dtype(schema.dtype).itemsize * schema.n_inputs
        limit = self.seen.n_rows * row_bytes / (_TASKS_A_SLOT * slots())
        if gram:
            limit = min(8.0 * self.frozen.n_columns**2, limit)
        bundles: list[Bundle] = []
        held = 0.0
        for part in self.partitions.parts[start:]:
            size = float(self.seen.rows[part.number] * row_bytes)
            if size == 0.0:
                continue
            if not bundles or held + size > limit:
                bundles.append([])
                held = 0.0
            bundles[-1].append(part)
            held += size
        return bundles

    def sums(
        self,
        bundles: list[Bundle],
        limits: Limits | None = None,
        split: SplitSide | None = None,
        dtype: DType | None = None,
    ) -> Any:
        """The task of the sums over bundles; the rest is as for `Recipe.sums`."""
        shift, call = delayed(Recipe.shift)(self.sent), delayed(Recipe.sums)
        given = shift, limits, split, dtype
        return tree([call(self.sent, part, *given) for part in bundles], RowSums.merge)

    def summed(
        self,
        limits: Limits | None = None,
        split: SplitSide | None = None,
        phase: str = "sums",
        dtype: DType | None = None,
    ) -> RowSums:
        """All the sums, here; with a checkpoint they come in waves, saved now and then."""
        text = f"summing {self.partitions}"
        if self.checkpoint is None:
            (found,) = self.compute(text, self.sums(self.bundles(), limits, split, dtype))
            return RowSums(*found)
        total: list[RowSums] = []

        def state() -> Arrays:
            moments, sample = total[-1]
            return {**moments.state(), **_packed(sample), "rows": self._identity()}

        def restore(arrays: Arrays) -> None:
            if not np.array_equal(arrays["rows"], self._identity()):
                raise ValueError(
                    "The checkpoint is of another fit: its rows are not these. Use another "
                    "folder, or delete this one to begin anew."
                )
            moments = Moments.zeros(np.zeros(0), 0)
            moments.restore(arrays)
            total.append(RowSums(moments, _unpacked(arrays)))

        source = partial(self.waves, text, lambda wave: self.sums(wave, limits, split, dtype))
        for _, sums in self.checkpoint.over(phase, source, state, restore):
            total[:] = [total[-1].merge(sums) if total else sums]
        return total[-1]

    def waves(self, text: str, node: Callable[[list[Bundle]], Task], start: int) -> Iterator[Block]:
        """From partition `start` on: the partitions of a wave of tasks, and what they give."""
        if start:
            self.progress(f"going on from partition {start}")
        bundles, size = self.bundles(start), _TASKS_A_SLOT * slots()
        for first in range(0, len(bundles), size):
            wave = bundles[first : first + size]
            (found,) = self.compute(text, node(wave))
            yield slice(wave[0][0].number, wave[-1][-1].number + 1), found

    def _identity(self) -> NDArray[np.uint64]:
        """What tells rows from other rows: the lowest of their keys, and a digest of targets."""
        return np.append(self.sample.keys[:_KEYS], np.uint64(self.seen.digest))


def rows_job(
    X: Given,
    sample_weight: SampleWeight,
    basis: Basis,
    n_components: int,
    seed: int,
    standardize: bool,
    dtype: DTypeLike | None,
    memory_budget: Any,
) -> Job:
    """Sums over the features of rows alone: scaler and law from one look, nothing summed yet."""
    partitions = Partitions.of(X, None, sample_weight)
    schema = partitions.schema
    dtype = np.dtype(schema.dtype if dtype is None else dtype)
    job = Job(Recipe(schema, seed, standardize, memory_budget, dtype), partitions).looked()
    if job.seen.weight == 0.0:
        raise ValueError("There are no rows of positive weight in any partition: need some.")
    summary, n_inputs = job.seen.rows_summary, schema.n_inputs
    return job.with_features(Frozen.of_summary(summary, basis, seed, n_inputs, n_components, dtype))


def _packed(sample: RowSample | None) -> Arrays:
    found = {} if sample is None else vars(sample)
    return {f"sample_{name}": np.asarray(value) for name, value in found.items()}


def _unpacked(arrays: Arrays) -> RowSample | None:
    if "sample_keys" not in arrays:
        return None
    limit, seed = int(arrays["sample_limit"]), int(arrays["sample_seed"])
    names = ("keys", "rows", "notes", "weights", "counts")
    return RowSample(limit, seed, *(arrays[f"sample_{name}"] for name in names))
