"""Fits, predictions and scores of Dask collections: partitions are worked on where they are.

A look (targets, scaler, sample) settles scaler, law and classes; then walks sum, and only summaries
leave a worker.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from kitchensinks.estimators.adapting import plain_basis, wanted
from kitchensinks.estimators.checks import check_loss, check_parameters
from kitchensinks.estimators.cluster.convex import fit_convex
from kitchensinks.estimators.cluster.job import (
    Job,
    batch_of,
    freeze,
    look,
    sampled,
    settings_of,
)
from kitchensinks.estimators.cluster.order import learn_huber
from kitchensinks.estimators.cluster.recipe import Recipe, Score, small_copy
from kitchensinks.estimators.cluster.squared import fit_squared
from kitchensinks.estimators.cluster.vectors import RowVectors
from kitchensinks.estimators.resume import parameters_of
from kitchensinks.execution.cluster import delayed, tree
from kitchensinks.execution.lazily import lazily
from kitchensinks.execution.partitions import Partitions, Schema, whole_rows
from kitchensinks.fitting.blockwise import Descent, takes_blocks
from kitchensinks.fitting.keeping import Checkpoint
from kitchensinks.fitting.space import gram_bytes
from kitchensinks.state import seed_of
from kitchensinks.tables.memory import memory_budget

# Rows, and entries of them, that calibrate probabilities of squared loss.
_REMEMBERED, _REMEMBERED_ENTRIES = 2000, 2**21


def fit_partitions(
    estimator: Any, X: Any, y: Any, sample_weight: Any, checkpoint: Checkpoint | None = None
) -> Any:
    """Fit to Dask collections: the same weights as in memory, whatever the partitions."""
    loss = check_loss(estimator.loss, estimator._task)
    check_parameters(estimator, loss)
    _check_possible(estimator)
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    partitions = Partitions.of(X, y, sample_weight)
    _check_columns(estimator, X, partitions.schema, reset=True)
    estimator._forget()
    estimator.loss_ = loss
    try:
        with _resuming(estimator, partitions, checkpoint) as seed:
            _fit(estimator, partitions, seed, checkpoint)
    except BaseException:
        # Half a fit is none.
        estimator._forget()
        raise
    return estimator


def _fit(estimator: Any, partitions: Partitions, seed: int, checkpoint: Checkpoint | None) -> None:
    seen = look(estimator, partitions, seed)
    if estimator.loss == "huber":
        learn_huber(estimator, partitions, seed)
    freeze(estimator, seen, partitions, seed)
    job = Job(estimator, partitions, seen, settings_of(estimator), checkpoint)
    calibrate = estimator._needs_calibration()
    batch = None
    memory = memory_budget(estimator.memory_budget)
    columns = estimator.frozen_.n_columns
    if takes_blocks(columns, False, memory, job.settings):
        rows = RowVectors(job, features=False)
        fit = Descent(
            rows.design,
            rows.design.tasks,
            rows.targets,
            rows.shares(None),
            estimator.frozen_,
            job.settings,
            memory,
        ).fit()
        if calibrate:
            batch = sampled(estimator, partitions, seed, _REMEMBERED, _REMEMBERED_ENTRIES)
    elif gram_bytes(columns) > memory:
        raise ValueError(
            f"n_components={estimator.n_components} makes {gram_bytes(columns) / 1e9:.3g} GB of "
            f"Gram matrices, more than the memory budget of {memory / 1e9:.3g} GB: raise "
            "memory_budget, or use loss='squared' with a number for alpha, which goes block by "
            "block."
        )
    elif estimator.loss_.name == "squared":
        limit = min(_REMEMBERED, max(100, _REMEMBERED_ENTRIES // partitions.schema.n_inputs))
        sums, fit = fit_squared(job, limit if calibrate else 0)
        estimator._sample = sums.sample
    else:
        sums, fit = fit_convex(job, calibrate)
        batch = None if sums.sample is None else batch_of(sums.sample)
    estimator._keep(fit, batch)
    estimator._n_rows = seen.n_rows


def predict_partitions(estimator: Any, method: str, X: Any) -> Any:
    """The lazy Dask array of a fitted estimator's method over the partitions of X."""
    rows = whole_rows(X)
    _check_columns(estimator, X, Schema.of(rows), reset=False)
    n_columns, dtype = estimator._output_of(method)
    return lazily(small_copy(estimator), method, rows, n_columns, dtype)


def score_partitions(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Accuracy, or R², from sums over the partitions."""
    estimator._settle()
    partitions = Partitions.of(X, y, sample_weight)
    _check_columns(estimator, X, partitions.schema, reset=False)
    recipe = delayed(Recipe.of(estimator, partitions.schema, 0))
    nodes = [delayed(Recipe.hits)(recipe, part) for part in partitions.parts]
    (score,) = partitions.compute(tree(nodes, Score.merge))
    return float(score.value(estimator._task))


def _check_possible(estimator: Any) -> None:
    learned = wanted(estimator) is not None
    basis = plain_basis(estimator)
    dense = "a basis with dense features that a seed draws, such as ks.Fourier()"
    refused = [
        (basis.learns_draw, f"basis={basis!r}", dense),
        (estimator.n_components == "auto" and not learned, "n_components='auto'", "a number"),
        (
            estimator.solver in ("conjugate", "stochastic"),
            f"solver={estimator.solver!r}",
            "'auto', 'direct' or 'blocks'",
        ),
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


@contextmanager
def _resuming(
    estimator: Any, partitions: Partitions, checkpoint: Checkpoint | None
) -> Iterator[int]:
    """The seed; with a checkpoint, that of the fit which the folder belongs to."""
    seed = seed_of(estimator.random_state)
    if checkpoint is None:
        yield seed
        return
    facts = parameters_of(estimator)
    facts["partitions"] = str(len(partitions.parts))
    facts["columns"] = ", ".join(partitions.schema.names or [str(partitions.schema.n_inputs)])
    settled = checkpoint.begin(facts, {"seed": seed})
    with checkpoint.patience():
        yield int(settled["seed"])
