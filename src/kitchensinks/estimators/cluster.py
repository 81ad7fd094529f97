"""Fits on Dask collections: each partition is summed where it is, and sums are added in a tree.

Three walks over the partitions: a look (targets, scaler, sample), the sums, and, for
alpha="auto", leave-one-out. Only summaries leave a worker. The second and third are one graph, so
that the factored Gram goes from worker to worker and not through the scheduler.
"""

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import validate_data

from kitchensinks.estimators.adapting import plain_basis, plain_components
from kitchensinks.estimators.base import Batch
from kitchensinks.estimators.checks import check_loss, check_parameters
from kitchensinks.execution.cluster import all_threads, delayed, slots, tree
from kitchensinks.execution.lazily import lazily
from kitchensinks.execution.partitions import Part, Partitions, Schema, naming, whole_rows
from kitchensinks.features import Frozen, Look
from kitchensinks.fitting import (
    Fit,
    LeftOut,
    LookedPath,
    Settings,
    left_out_of,
    solve_moments,
)
from kitchensinks.losses import Array
from kitchensinks.moments import Moments
from kitchensinks.numerics.threads import threads
from kitchensinks.rows.keys import RowSample
from kitchensinks.standardise import Spread
from kitchensinks.transform import seed_of

# What a worker does without: sums of other rows, what a fit keeps for later, and the screen.
_STAYS = {
    "moments_",
    "feature_names_in_",
    "_condensed",
    "_few",
    "_listener",
    "_posterior",
    "_stochastic",
}
# Rows of the sample that say where the mean of the features is, and their bytes at most.
_PILOT_ROWS, _PILOT_BYTES = 256, 2**15
# Tasks for each thread of the cluster, at least, where there are as many partitions.
_TASKS_A_SLOT = 4


def fit_partitions(
    estimator: Any, X: Any, y: Any, sample_weight: Any, checkpoint: Any = None
) -> Any:
    """Fit to Dask collections: the same weights as in memory, whatever the partitions."""
    loss = check_loss(estimator.loss, estimator._task)
    check_parameters(estimator, loss)
    _check_possible(estimator, loss.name, checkpoint)
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    partitions = Partitions.of(X, y, sample_weight)
    _check_columns(estimator, X, partitions.schema, reset=True)
    estimator._forget()
    estimator.loss_ = loss
    seed = seed_of(estimator.random_state)
    seen = _look(estimator, partitions, seed)
    _freeze(estimator, seen, partitions.schema, seed)
    sums, fit = _sums_and_fit(estimator, seen, partitions)
    estimator._sample, estimator._n_rows = sums.sample, sum(seen.rows.values())
    estimator._keep(fit, None)
    return estimator


def predict_partitions(estimator: Any, method: str, X: Any) -> Any:
    """The lazy Dask array of a fitted estimator's method over the partitions of X."""
    rows = whole_rows(X)
    _check_columns(estimator, X, Schema.of(rows), reset=False)
    n_columns, dtype = estimator._output_of(method)
    return lazily(_worker(estimator), method, rows, n_columns, dtype)


def score_partitions(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Accuracy, or R², from sums over the partitions."""
    estimator._settle()
    partitions = Partitions.of(X, y, sample_weight)
    _check_columns(estimator, X, partitions.schema, reset=False)
    recipe = delayed(Recipe(_worker(estimator), partitions.schema, 0))
    nodes = [delayed(Recipe.hits)(recipe, part) for part in partitions.parts]
    (score,) = partitions.compute(tree(nodes, Score.merge))
    return float(score.value(estimator._task))


def _check_possible(estimator: Any, loss: str, checkpoint: Any) -> None:
    basis = plain_basis(estimator)
    refused = [
        (estimator.adapt is not None, f"adapt={estimator.adapt!r}", "adapt=None"),
        (loss != "squared", f"loss={loss!r}", "loss='squared'"),
        (basis.sparse, f"basis={basis!r}", "a basis with dense features, such as ks.Fourier()"),
        (estimator.n_components == "auto", "n_components='auto'", "a number"),
        (estimator.selection is not None, "selection", "selection=None"),
        (estimator.solver not in ("auto", "direct"), f"solver={estimator.solver!r}", "'direct'"),
        (checkpoint is not None, "checkpoint", "none: Dask makes up for workers that are lost"),
    ]
    for wrong, what, need in refused:
        if wrong:
            raise ValueError(
                f"{what} is not there for Dask collections: need {need}. Rows that fit on one "
                "machine's disk can be fitted from there, see ks.open_table."
            )


def _check_columns(estimator: Any, X: Any, schema: Schema, reset: bool) -> None:
    """Number and names of the columns, by scikit-learn's own checks."""
    if reset:
        estimator.columns_ = None
    shown = X._meta if hasattr(X, "columns") else np.empty((0, schema.n_inputs))
    validate_data(estimator, shown, reset=reset, skip_check_array=True)


# -- what runs on the workers ------------------------------------------------------------


def _both(mine: Any, theirs: Any) -> Any:
    """The merger of two summaries, either of which may be missing."""
    return theirs if mine is None else mine if theirs is None else mine.merge(theirs)


class Seen(NamedTuple):
    """What a look at partitions has found: targets, scaler and sample, rows of each partition."""

    targets: Any
    look: Look
    rows: dict[int, int]
    weight: float

    def merge(self, other: "Seen") -> "Seen":
        targets, rows = _both(self.targets, other.targets), {**self.rows, **other.rows}
        return Seen(targets, self.look.merge(other.look), rows, self.weight + other.weight)


class Sums(NamedTuple):
    """Sums over rows, and the rows that are remembered of them."""

    moments: Moments
    sample: RowSample | None

    def merge(self, other: "Sums") -> "Sums":
        return Sums(self.moments.merge(other.moments), _both(self.sample, other.sample))


class Score(NamedTuple):
    """Weighted hits of classes, or squared errors with the spread of the targets."""

    weight: float
    hits: Array
    spread: Spread | None

    def merge(self, other: "Score") -> "Score":
        # An empty partition has hits of one zero, which adds to any number of outputs.
        hits, spread = self.hits + other.hits, _both(self.spread, other.spread)
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

    def batch(self, part: Part) -> Batch | None:
        """The checked and encoded rows of a partition, None where it is empty."""
        read = self._read(part)
        return None if read is None else self.estimator._encoded(*read)

    def _read(self, part: Part) -> tuple[Any, Any, Any] | None:
        rows = self.schema.array(part.rows)
        targets = np.asarray(part.targets)
        weights = None if part.weights is None else np.asarray(part.weights)
        if rows.shape[0] == 0 and len(targets) == 0:
            return None
        return self.estimator._validate(rows, targets, weights, reset=False)

    def summary(self, part: Part) -> Any:
        """The summary of the targets, None where there are none."""
        with naming(part.number):
            read = self._read(part)
            return None if read is None else self.estimator._summary(read[1], read[2])

    def look(self, part: Part, encoded: bool) -> Seen:
        """Targets, scaler and sample; `encoded`: with the weights of the classes."""
        with naming(part.number):
            read = self._read(part)
            if read is None:
                return Seen(None, Look(None, None), {part.number: 0}, 0.0)
            rows, y, weights = read
            summary = None if encoded else self.estimator._summary(y, weights)
            if encoded:
                weights = self.estimator._encoded(*read).weights
            look = Look.of(rows, weights, self.seed, bool(self.estimator.standardize), True)
            total = float(len(y) if weights is None else weights.sum())
            return Seen(summary, look, {part.number: len(y)}, total)

    def shift(self) -> Array:
        """The rough mean of the features: sums about it keep their digits."""
        frozen = self.estimator.frozen_
        if not self.estimator.fit_intercept:
            return np.zeros(frozen.n_columns)
        return np.asarray(frozen.features(self.pilot).mean(axis=0, dtype=np.float64))

    def sums(self, parts: Sequence[Part], shift: Array, n_outputs: int) -> Sums:
        """Sums over neighbouring partitions."""
        moments, sample = Moments.zeros(shift, n_outputs), None
        for part in parts:
            with naming(part.number):
                batch = self.batch(part)
                if batch is None:
                    continue
                estimator = _worker(self.estimator)
                for rows, features in estimator._blocks(batch.rows).fresh():
                    moments.add(features, *_rows_of(batch, rows))
                estimator._note(batch)
                sample = _both(sample, estimator._sample)
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


def _rows_of(batch: Batch, rows: slice) -> tuple[Array, Array | None, Array | None]:
    weights = None if batch.weights is None else batch.weights[rows]
    return batch.targets[rows], weights, None if batch.one is None else batch.one[rows]


def _worker(estimator: Any) -> Any:
    """A copy of the estimator that is small enough to be sent around."""
    worker = object.__new__(type(estimator))
    vars(worker).update({k: v for k, v in vars(estimator).items() if k not in _STAYS})
    worker._sample = None
    return worker


def _looked_path(sums: Sums, settings: Settings, dtype: Any) -> LookedPath:
    with all_threads():
        return LookedPath.of(sums.moments, settings, dtype)


def _light(looked: LookedPath, dtype: Any) -> LookedPath:
    """What leave-one-out needs of the path: eigenvectors in the dtype of the features, no Gram."""
    path = object.__new__(type(looked.path))
    vars(path).update(vars(looked.path))
    nothing = np.zeros((0, 0))
    path.equations = replace(path.equations, gram=nothing)
    factored = object.__new__(type(path.factored))
    vars(factored).update(vars(path.factored))
    factored.gram, factored.vectors = nothing, factored.vectors.astype(dtype)
    path.factored = factored
    return replace(looked, path=path)


def _best(looked: LookedPath, errors: Array, settings: Settings) -> Fit:
    """The weights at the strength of least error; what holds a Gram stays behind."""
    with all_threads():
        fit = looked.best(errors, settings)
    fit.left_out = None
    return fit


# -- what runs here ----------------------------------------------------------------------


def _look(estimator: Any, partitions: Partitions, seed: int) -> Seen:
    """The first walk; where classes have weights, one over the targets goes before it."""
    parts = partitions.parts
    weighted = getattr(estimator, "class_weight", None) is not None
    estimator._progress(f"looking at {len(parts)} partitions")
    recipe = delayed(Recipe(_worker(estimator), partitions.schema, seed))
    if weighted:
        nodes = [delayed(Recipe.summary)(recipe, part) for part in parts]
        (summary,) = partitions.compute(tree(nodes, _both))
        _learn(estimator, summary)
        recipe = delayed(Recipe(_worker(estimator), partitions.schema, seed))
    nodes = [delayed(Recipe.look)(recipe, part, weighted) for part in parts]
    (seen,) = partitions.compute(tree(nodes, Seen.merge))
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


def _freeze(estimator: Any, seen: Seen, schema: Schema, seed: int) -> None:
    """Scaler and law, as a fit in memory would learn them from all rows."""
    shape = sum(seen.rows.values()), schema.n_inputs
    frozen = Frozen.of_look(
        seen.look,
        plain_basis(estimator),
        seed,
        schema.n_inputs,
        int(plain_components(estimator)),
        estimator._working_dtype(np.broadcast_to(np.zeros((), schema.dtype), shape), False),
    )
    estimator._set_frozen(frozen)


def _sums_and_fit(estimator: Any, seen: Seen, partitions: Partitions) -> tuple[Sums, Fit]:
    """The second walk, and for alpha="auto" the third, as one graph."""
    frozen, sample = estimator.frozen_, seen.look.sample
    settings = estimator._settings(None)
    sent = replace(settings, keys=_no_keys, progress=_silent)
    assert sample is not None
    pilot = sample.rows[: min(_PILOT_ROWS, max(1, _PILOT_BYTES // sample.rows[0].nbytes))]
    recipe = delayed(Recipe(_worker(estimator), partitions.schema, frozen.seed, pilot))
    bundles = _bundles(partitions, seen.rows, frozen.n_columns)
    n_outputs = estimator._output_of("decision_function")[0] or 1
    shift = delayed(Recipe.shift)(recipe)
    nodes = [delayed(Recipe.sums)(recipe, bundle, shift, n_outputs) for bundle in bundles]
    sums = tree(nodes, Sums.merge)
    estimator._progress(f"summing {len(partitions.parts)} partitions in {len(bundles)} tasks")
    if settings.alpha != "auto":
        (found,) = partitions.compute(sums)
        with threads(estimator.n_jobs):
            fit = solve_moments(found.moments, settings, frozen.dtype)
    else:
        looked = delayed(_looked_path)(sums, sent, frozen.dtype)
        light = delayed(_light)(looked, frozen.dtype)
        nodes = [delayed(Recipe.errors)(recipe, bundle, light) for bundle in bundles]
        best = delayed(_best)(looked, tree(nodes, operator.add), sent)
        found, fit = partitions.compute(sums, best)
    fit.moments = found.moments
    if settings.constraint is None:
        # Made from the sums when they are asked for.
        fit.left_out = _left_out(found.moments, fit.alpha, settings)
    return found, fit


def _left_out(moments: Moments, alpha: float, settings: Settings) -> LeftOut:
    def scores(*rows: Any) -> Array:
        found = left_out_of(moments.normal_equations(settings.fit_intercept), alpha, settings)
        assert found is not None
        return found(*rows)

    return scores


def _bundles(partitions: Partitions, rows: dict[int, int], n_columns: int) -> list[list[Part]]:
    """Neighbouring partitions that are summed by one task.

    Together their rows take no more memory than one Gram, so that few sums are made and moved;
    and there are enough tasks for every thread of the cluster to have some.
    """
    row_bytes = np.dtype(partitions.schema.dtype).itemsize * partitions.schema.n_inputs
    fair = sum(rows.values()) * row_bytes / (_TASKS_A_SLOT * slots())
    limit = min(8.0 * n_columns**2, fair)
    bundles: list[list[Part]] = []
    held = 0.0
    for part in partitions.parts:
        size = float(rows[part.number] * row_bytes)
        if not bundles or held + size > limit:
            bundles.append([])
            held = 0.0
        bundles[-1].append(part)
        held += size
    return bundles


def _no_keys() -> np.ndarray:
    raise AssertionError("rows on a cluster have no keys here")


def _silent(text: str) -> None:
    """Progress is told where the fit was called."""
