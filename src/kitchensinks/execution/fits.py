"""Fits and scores of Dask collections: the flow of one machine, on partitions where they are.

A look (targets, scaler, sample) gives what a law, a plan and the encoding of the targets are made
from; then walks sum, and only summaries leave a worker.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

import numpy as np
from dask import delayed

from kitchensinks.execution.cluster import tree
from kitchensinks.execution.convex import calibration_of, fit_blocks, fit_convex
from kitchensinks.execution.job import Job, batch_of
from kitchensinks.execution.order import robust_spread
from kitchensinks.execution.partitions import Partitions
from kitchensinks.execution.recipe import Recipe, Score
from kitchensinks.execution.squared import fit_squared
from kitchensinks.features.bases import Basis, Fourier
from kitchensinks.features.frozen import Frozen
from kitchensinks.fitting.keeping import Checkpoint
from kitchensinks.fitting.plan import Shape, make_plan
from kitchensinks.fitting.settings import silent
from kitchensinks.fitting.space import CALIBRATION_ROWS, HELD_OUT
from kitchensinks.law import Law, Learned, find_law
from kitchensinks.law.find import components, working_dtype
from kitchensinks.numerics.threads import threads
from kitchensinks.problem.losses import Loss
from kitchensinks.problem.targets import Batch, Classes
from kitchensinks.state import Outer, Spec, State
from kitchensinks.state.state import warn_unconverged
from kitchensinks.tables.columns import Columns

# Rows that calibrate probabilities of squared loss, and entries of them.
_REMEMBERED = 2000, 2**21
# Rows that calibrate probabilities of other losses, with those that the weights for it are fitted
# to, and entries of them.
_CALIBRATION = round(CALIBRATION_ROWS / HELD_OUT), 2**24
# Rows that a law is learned from here, and entries of them.
_LEARNED = 45_000, 2**24


def fit_collections(
    spec: Spec,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    checkpoint: Checkpoint | None = None,
    parameters: Mapping[str, str] | None = None,
    columns: Columns | None = None,
) -> State:
    """Fit to Dask collections: the same weights as in memory, whatever the partitions.

    parameters: what identifies the fit in a checkpoint; columns: the recipe by which X was made
    from the columns of a table.
    """
    _check_possible(spec)
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    partitions = Partitions.of(X, y, sample_weight)
    with _resuming(spec, partitions, checkpoint, parameters or {}) as spec, threads(spec.n_jobs):
        spec, loss, job = _look(spec, _job(spec, partitions, checkpoint))
        law = _law(spec, loss, job, columns)
        return _fit(spec, loss, law, job.with_features(law.features), columns)


def score_collections(spec: Spec, state: State, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Accuracy, or R², from sums over the partitions."""
    job = _job(spec, Partitions.of(X, y, sample_weight))
    tasks = tree(job.each(Recipe.hits, delayed(state)), Score.merge)
    (score,) = job.compute(f"scoring {len(job.partitions.parts)} partitions", tasks)
    return Score(*score).value


def _job(spec: Spec, partitions: Partitions, checkpoint: Checkpoint | None = None) -> Job:
    """The walks of a fit; what belongs to this process is not sent."""
    plain, budget = replace(spec, progress=silent), spec.solver.memory_budget
    recipe = Recipe(partitions.schema, spec.seed, spec.standardize, budget, spec=plain)
    return Job(recipe, partitions, spec.progress, checkpoint)


def _look(spec: Spec, job: Job) -> tuple[Spec, Loss, Job]:
    """The loss for these targets, and what a look at them and at the columns has found.

    The weights of classes follow from the targets: where there are any, a second look counts them.
    """
    job = job.looked()
    summary = job.seen.targets
    if summary is None:
        raise ValueError("All partitions are empty. Need at least one row.")
    spec = spec.with_spread(
        lambda: robust_spread(job.partitions, job.each(Recipe.values, len(summary.mean)))
    )
    loss, targets = spec.learn_targets(summary)
    job = replace(job, recipe=replace(job.recipe, targets=targets))
    weighted = spec.class_weight is not None
    if weighted:
        job = job.looked()
    if job.seen.weight == 0.0:
        raise ValueError(
            f"{'class_weight' if weighted else 'sample_weight'} leaves every row a weight of "
            "zero: need a positive weight."
        )
    return spec, loss, job


def _law(spec: Spec, loss: Loss, job: Job, columns: Columns | None) -> Law:
    """The law: of a given basis as a fit in memory finds it, or learned from a sample."""
    basis, schema, note = spec.basis, job.partitions.schema, ""
    unscaled = None if columns is None else columns.unscaled
    if not isinstance(basis, Basis):
        if isinstance(basis, Learned):
            batch = batch_of(job.sampled(_LEARNED))
        else:
            batch = Batch(job.sample.rows, np.zeros((len(job.sample.rows), 1)))
        law, _ = find_law(basis, batch, spec.request(loss, unscaled, stream=True))
        if not law.note:
            return law
        basis, note = _plain_basis(spec), law.note
    request = spec.request(loss, unscaled)
    # Nothing but the shape and the dtype of the rows is looked at.
    rows = np.broadcast_to(np.zeros((), schema.dtype), (job.seen.n_rows, schema.n_inputs))
    kind, count = working_dtype(rows, request), components(request)
    seen, n_inputs = job.seen.look, schema.n_inputs
    return Law(Frozen.of_look(seen, basis, spec.seed, n_inputs, count, kind, unscaled), note=note)


def _fit(spec: Spec, loss: Loss, law: Law, job: Job, columns: Columns | None) -> State:
    """Plan, fit, and what is kept of it."""
    features, targets = law.features, job.recipe.targets
    assert targets is not None
    settings = spec.settings(loss, targets, law)
    n_rows, entry = job.seen.n_rows, features.dtype.itemsize
    size = float(entry) * n_rows * features.n_columns
    shape = Shape(n_rows, features.n_columns, False, size, spec.memory, entry, place="dask")
    plan = make_plan(shape, settings)
    calibrate = isinstance(targets, Classes) and loss.link is None
    limits = None if not calibrate else _REMEMBERED if loss.squared else _CALIBRATION
    if plan.solver == "blocks":
        fit = fit_blocks(job, settings, spec.memory)
        sample = None if limits is None else job.sampled(limits)
    elif plan.solver == "direct":
        fit, sample = fit_squared(job, settings, limits)
    else:
        fit, sample = fit_convex(job, settings, limits)
    outer = Outer.of(fit, targets, loss.degree)
    warn_unconverged(outer.evidence, settings.tol)
    state = State(
        columns,
        targets,
        loss,
        settings.bare(),
        law,
        plan,
        outer,
        sums=fit.moments,
        n_rows=n_rows,
    )
    if sample is None:
        return state
    if loss.squared:
        return replace(state, sample=sample)
    found = calibration_of(job, settings, fit.alpha, sample, spec.memory)
    return replace(state, calibrated=found)


def _plain_basis(spec: Spec) -> Basis:
    """The basis that was given, or whose law is to be learned."""
    basis = spec.basis
    if isinstance(basis, Basis):
        return basis
    if isinstance(basis, Learned):
        return Fourier() if basis.basis is None else basis.basis
    # Nothing else is left; types of scikit-learn are not known here, so that this must be said.
    return cast(Law, basis).features.basis


def _check_possible(spec: Spec) -> None:
    basis, solver = _plain_basis(spec), spec.solver.name
    dense = "a basis with dense features that a seed draws, such as ks.Fourier()"
    refused = [
        (basis.learns_draw, f"basis={basis!r}", dense),
        (spec.grows, "n_components='auto'", "a number"),
        (
            solver in ("conjugate", "stochastic"),
            f"solver={solver!r}",
            "'auto', 'direct' or 'blocks'",
        ),
    ]
    for wrong, what, need in refused:
        if wrong:
            raise ValueError(
                f"{what} is not supported for Dask collections: need {need}. Rows that fit on one "
                "machine's disk can be fitted from there, see ks.open_table."
            )


@contextmanager
def _resuming(
    spec: Spec,
    partitions: Partitions,
    checkpoint: Checkpoint | None,
    parameters: Mapping[str, str],
) -> Iterator[Spec]:
    """The spec; with a checkpoint, its seed is that of the fit which the folder belongs to."""
    if checkpoint is None:
        yield spec
        return
    schema = partitions.schema
    facts = {**parameters, "partitions": str(len(partitions.parts))}
    facts["columns"] = ", ".join(schema.names or [str(schema.n_inputs)])
    settled = checkpoint.begin(facts, {"seed": spec.seed})
    with checkpoint.patience():
        yield replace(spec, seed=int(settled["seed"]))
