"""The rows of a cluster for solvers that walk over them many times."""

from operator import itemgetter
from typing import Any

import numpy as np

from kitchensinks.estimators.cluster.job import Job
from kitchensinks.estimators.cluster.order import reaching
from kitchensinks.estimators.cluster.recipe import Recipe, Split
from kitchensinks.execution.cluster import delayed, persist, workers
from kitchensinks.execution.design import PartitionedDesign, Vector
from kitchensinks.fitting.held_out import too_few
from kitchensinks.fitting.space import HELD_OUT
from kitchensinks.problem.losses import Array


class RowVectors:
    """Targets, weights and keys of all rows, as row vectors of a design.

    features: whether these are kept by the workers where half of their budgets holds all of them.
    Else the rows are, where those fit; else partitions are read again in each walk.
    """

    def __init__(self, job: Job, features: bool) -> None:
        frozen, seen, schema = job.frozen, job.seen, job.partitions.schema
        count, shared = workers()
        budget = seen.memory if job.estimator.memory_budget is not None else seen.memory / shared
        room = 0.5 * budget * count
        keep = features and frozen.dtype.itemsize * seen.n_rows * frozen.n_columns <= room
        held = keep or np.dtype(schema.dtype).itemsize * seen.n_rows * schema.n_inputs <= room
        call = delayed(Recipe.rows)
        nodes = [call(job.recipe, part, budget, keep) for part in job.bundles(gram=False)]
        tasks, *vectors = ([delayed(itemgetter(i))(node) for node in nodes] for i in range(4))
        size = len(nodes)
        kept = persist(*(tasks if held else ()), *(one for vector in vectors for one in vector))
        if held:
            tasks, kept = kept[:size], kept[size:]
        self.design = PartitionedDesign(
            tasks, job.partitions, seen.n_rows, frozen.n_columns, frozen.dtype
        )
        self.targets = Vector(kept[:size], (seen.n_rows, job.n_outputs))
        self.weights, self.keys = Vector(kept[size : 2 * size]), Vector(kept[2 * size :])
        where = "features are kept" if keep else "rows are kept" if held else "nothing is kept"
        job.estimator._progress(f"{where} by the workers")
        self.job = job

    def shares(self, split: Split | None) -> Vector:
        """Weights that sum to one, of all rows or of one side of a split."""
        rows = self.weights, self.keys
        total = float(self.design.reduce(_weight, *rows, split=split))
        vector: Vector = self.design.each(_share, *rows, split=split, total=total)
        return vector

    def split(self) -> tuple[Split, Split]:
        """The rows to fit, and a fifth of them, by their keys, that is held out."""
        nodes = self.design.each(_counted_keys, self.keys, self.weights).parts

        def rank(total: Array) -> Any:
            if total[0] < 2:
                raise too_few(self.job.settings, self.job.seen.n_rows)
            return np.clip(np.round(HELD_OUT * total), 1, total - 1)

        last = int(reaching(self.job.partitions, nodes, rank)[0])
        return Split(last, False), Split(last, True)


def _counted_keys(keys: np.ndarray, weights: Array) -> tuple[np.ndarray, Array]:
    return keys[:, None], (weights > 0.0).astype(np.float64)


def _share(weights: Array, keys: np.ndarray, split: Split | None, total: float) -> Array:
    counted = True if split is None else split.counted(keys)
    return np.where(counted, weights, 0.0) / total


def _weight(weights: Array, keys: np.ndarray, split: Split | None) -> float:
    return float(_share(weights, keys, split, 1.0).sum())
