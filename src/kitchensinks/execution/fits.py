"""Fits and scores of Dask collections: the flow of one machine, on partitions where they are.

A look (targets, scaler, sample) gives what a law, a plan and the encoding of the targets are made
from; then walks sum, and only summaries leave a worker.
"""

from dataclasses import replace

import numpy as np
from dask import delayed
from numpy.typing import ArrayLike

from kitchensinks.execution.cluster import tree
from kitchensinks.execution.convex import calibration_of, fit_blocks, fit_convex
from kitchensinks.execution.job import Job
from kitchensinks.execution.order import robust_spread
from kitchensinks.execution.partitions import Partitions
from kitchensinks.execution.recipe import Recipe, ScoreSums
from kitchensinks.execution.squared import fit_squared
from kitchensinks.features.bases import Basis, Fourier
from kitchensinks.features.frozen import Frozen
from kitchensinks.fitting.plan import make_plan
from kitchensinks.fitting.settings import Checkpoint, silent
from kitchensinks.fitting.sizes import Sizes
from kitchensinks.fitting.space import CALIBRATION_ROWS, HELD_OUT
from kitchensinks.law import Law, Learned, constants, find_law
from kitchensinks.law.copies import by_chance, in_words, many
from kitchensinks.law.find import components, warn_one_row, working_dtype
from kitchensinks.numerics.arrays import SampleWeight
from kitchensinks.numerics.warned import warn
from kitchensinks.problem.targets import Batch
from kitchensinks.state import Spec, State
from kitchensinks.state.fits import resuming
from kitchensinks.state.remembered import (
    COMPARED,
    REMEMBERED,
    Limits,
    batch_of,
    copies_in,
    remembered,
)
from kitchensinks.tables.keys import RowSample
from kitchensinks.tables.view import Given

# Sample that calibrates probabilities where the loss is not squared: the rows held out, and those
# that the weights of the calibration are fitted to.
_CALIBRATION = Limits(round(CALIBRATION_ROWS / HELD_OUT), 2**24)
# Sample that a law is learned from in this process.
_LEARNED = Limits(constants.POOL, constants.POOL_ENTRIES)
# How errors about what is not supported for collections end.
_ELSEWHERE = "Rows that fit on one machine's disk can be fitted from there, see ks.open_table."


def fit_collections(
    spec: Spec,
    X: Given,
    y: ArrayLike,
    sample_weight: SampleWeight = None,
    checkpoint: Checkpoint | None = None,
) -> State:
    """Fit to Dask collections: the same weights as in memory, whatever the partitions."""
    check_possible(spec)
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    partitions = Partitions.of(X, y, sample_weight)
    with resuming(spec, checkpoint, partitions.identity, here=False) as spec:
        spec, job = _look(spec, _job(spec, partitions, checkpoint))
        # Rows without weight are not sampled.
        warn_one_row(int(job.sample.counts.sum()))
        law = _law(spec, job)
        return _fit(spec, law, job.with_features(law.features, law.trend))


def score_collections(
    spec: Spec, state: State, X: Given, y: ArrayLike, sample_weight: SampleWeight = None
) -> float:
    """Accuracy, or R², from sums over the partitions."""
    job = _job(spec, Partitions.of(X, y, sample_weight))
    job = replace(job, recipe=replace(job.recipe, missing=True))
    tasks = tree(job.each(Recipe.hits, delayed(state)), ScoreSums.merge)
    (score,) = job.compute(f"scoring {job.partitions}", tasks)
    return ScoreSums(*score).value


def _job(spec: Spec, partitions: Partitions, checkpoint: Checkpoint | None = None) -> Job:
    """The walks of a fit."""
    budget = spec.solver.memory_budget
    recipe = Recipe(partitions.schema, spec.seed, spec.standardize, budget, spec=_sent(spec))
    return Job(recipe, partitions, spec.progress, checkpoint)


def _sent(spec: Spec) -> Spec:
    """The parameters without what belongs to this process."""
    return replace(spec, progress=silent, columns=None)


def _look(spec: Spec, job: Job) -> tuple[Spec, Job]:
    """What a look at the targets and at the columns has found.

    The weights of classes follow from the targets: where there are any, a second look counts them.
    """
    job = job.looked()
    summary = job.seen.targets
    if summary is None:
        raise ValueError("All partitions are empty. Need at least one row.")

    def spread() -> float:
        return robust_spread(job.partitions, job.each(Recipe.values, len(summary.mean)))

    spec = spec.with_targets(summary, spread)
    job = replace(job, recipe=replace(job.recipe, spec=_sent(spec)))
    weighted = spec.class_weight is not None
    if weighted:
        job = job.looked()
    if job.seen.weight == 0.0:
        raise ValueError(
            f"{'class_weight' if weighted else 'sample_weight'} leaves every row a weight of "
            "zero: need a positive weight."
        )
    return spec, job


def _law(spec: Spec, job: Job) -> Law:
    """The law: of a given basis as a fit in memory finds it, or learned from a sample."""
    basis, note = spec.basis, ""
    request = spec.request()
    if not isinstance(basis, Basis):
        again = not isinstance(basis, Learned)
        batch = Batch(job.sample.rows, np.zeros((len(job.sample.rows), 1)))
        if not again:
            sample = job.sampled(_LEARNED)
            copies, batch = copies_in(sample), batch_of(sample)
            places = np.repeat(np.arange(len(sample.rows)), sample.counts)
            if many(copies) and not by_chance(sample.rows, places, copies, spec.seed):
                warn(in_words(copies))
        law, _ = find_law(basis, batch, spec.request(stream=True))
        if again or not law.note:
            # The law knows the range of a sample, and all rows are summed.
            spread = job.seen.rows_summary.spread
            if spread is None:
                return law
            return replace(law, features=law.features.covering(spread.low, spread.high))
        # It could not be learned: the plain law is that of all rows.
        basis, note = _plain_basis(spec), law.note
        request = replace(request, n_components=law.features.n_components)
    schema = job.partitions.schema
    # Nothing but the shape and the dtype of the rows is looked at.
    rows = np.broadcast_to(np.zeros((), schema.dtype), (job.seen.n_rows, schema.n_inputs))
    kind = working_dtype(basis, rows, request)
    count = components(basis, schema.n_inputs, request)
    sizes = spec.seed, schema.n_inputs, count, kind
    return Law(Frozen.of_summary(job.seen.rows_summary, basis, *sizes, request.unscaled), note=note)


def _fit(spec: Spec, law: Law, job: Job) -> State:
    """Plan, fit, and what is kept of it."""
    features, n_rows, settings = law.features, job.seen.n_rows, spec.settings(law)
    entry = features.dtype.itemsize
    size = float(entry) * n_rows * features.n_columns
    shape = Sizes(n_rows, features.n_columns, False, size, spec.memory, entry, place="dask")
    plan = make_plan(shape, settings)
    held_out = spec.calibrates and not spec.loss.squared
    limits = _CALIBRATION if held_out else REMEMBERED if spec.loss.squared else COMPARED
    sample: RowSample | None
    if plan.solver == "blocks":
        fit, sample = fit_blocks(job, settings, spec.memory), job.sampled(limits)
    elif plan.solver == "direct":
        fit, sample = fit_squared(job, settings, limits)
    else:
        fit, sample = fit_convex(job, plan, settings, limits)
    state = State.of(spec, law, plan, settings, fit, n_rows)
    if sample is None or not held_out:
        return replace(state, sample=sample)
    found = calibration_of(job, spec, settings, fit.alpha, sample)
    few = remembered(batch_of(sample), sample.seed, squared=False)
    return replace(state, calibrated=found, sample=few)


def _plain_basis(spec: Spec) -> Basis:
    """The basis that was given, or whose law is to be learned."""
    basis = spec.basis
    if isinstance(basis, Basis):
        return basis
    if isinstance(basis, Learned):
        return Fourier() if basis.basis is None else basis.basis
    return basis.features.basis


def check_solver(name: str) -> None:
    """An error for the solvers that pass over the rows many times."""
    if name in ("conjugate", "stochastic"):
        raise ValueError(
            f"solver={name!r} is not supported for Dask collections, because it passes over the "
            f"rows many times: use solver='auto'. {_ELSEWHERE}"
        )


def check_possible(spec: Spec) -> None:
    """An error for parameters that collections cannot be fitted with."""
    check_solver(spec.solver.name)
    basis = _plain_basis(spec)
    learned = spec.basis if isinstance(spec.basis, Learned) else Learned()
    order = {name: getattr(learned, name) for name in ("split", "groups", "time")}
    asked = [f"{name}={value!r}" for name, value in order.items() if value is not None]
    dense = "a basis with dense features that a seed draws, such as ks.Fourier()"
    refused = [
        (
            bool(asked),
            ", ".join(asked),
            "ks.Learned() without them: a law is learned from a sample",
        ),
        (basis.learns_draw, f"basis={basis!r}", dense),
        (spec.n_components == "auto" and basis is spec.basis, "n_components='auto'", "a number"),
    ]
    for wrong, what, need in refused:
        if wrong:
            raise ValueError(
                f"{what} is not supported for Dask collections: need {need}. {_ELSEWHERE}"
            )
