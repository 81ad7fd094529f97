"""Rows that come in batches, or to several workers: states whose sums grow."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from kitchensinks.features.blocks import BLOCK_ROWS, FeatureBlocks
from kitchensinks.fitting.plan import Plan, Shape, make_plan
from kitchensinks.fitting.settings import Settings
from kitchensinks.fitting.stochastic import Stochastic
from kitchensinks.law import Law
from kitchensinks.problem.losses import Loss
from kitchensinks.problem.moments import BlockSums, Moments
from kitchensinks.problem.targets import Batch, Targets
from kitchensinks.state.state import FewRows, State
from kitchensinks.tables import block_slices
from kitchensinks.tables.columns import Columns

# blocks(work): slices of rows with what `work` makes of their features.
Blocks = Callable[[Callable[[slice, Any], Any]], Iterator[tuple[slice, Any]]]


def frozen_state(
    columns: Columns | None,
    targets: Targets,
    loss: Loss,
    law: Law,
    settings: Settings,
    batch: Batch,
    memory: float,
) -> State:
    """What batches and workers must share, learned from the rows of a batch; nothing is summed."""
    blocks = FeatureBlocks(batch.rows, law.features, memory)
    plan = make_plan(Shape.of(blocks, stream=True), settings)
    sums = _empty(plan, blocks, settings, batch)
    return State(columns, targets, loss, settings.bare(), law, plan, sums=sums)


def _empty(
    plan: Plan, blocks: FeatureBlocks, settings: Settings, batch: Batch
) -> Moments | Stochastic:
    n_outputs = batch.targets.shape[1]
    if plan.solver == "stochastic":
        return Stochastic.start(blocks.frozen, n_outputs)
    shift = blocks.pilot() if settings.fit_intercept else np.zeros(blocks.n_columns)
    return Moments.zeros(shift, n_outputs)


def with_rows(state: State, settings: Settings, batch: Batch, memory: float) -> State:
    """The state with the rows of one more batch: exact sums, or a stochastic step for each 512."""
    blocks = FeatureBlocks(batch.rows, state.law.features, memory)
    state = replace(state, settings=settings.bare())
    known = state.moments or state.sums
    if not isinstance(known, Moments | Stochastic):
        plan = make_plan(Shape.of(blocks, stream=True), settings)
        known = _from_fit(state, _empty(plan, blocks, settings, batch))
        state = replace(state, plan=plan)
    if isinstance(known, Stochastic):
        steps = known.copy()
        steps.add(batch.rows, batch.targets, batch.weights, settings)
        return state.with_sums(steps, batch)
    more = _summed(partial(blocks.fresh, 0), batch, known)
    return state.with_sums(known.merge(more), batch)


def _from_fit(state: State, empty: Moments | Stochastic) -> Moments | Stochastic:
    """Sums or steps that stand for the rows of an earlier fit."""
    few = state.sums
    if not isinstance(few, FewRows):
        if state.loss.squared:
            raise ValueError(
                f"partial_fit cannot go on from a fit by {state.fitted.evidence.solver}, which "
                "keeps no sums. Use solver='direct', or freeze first."
            )
    elif isinstance(empty, Moments):

        def blocks(work: Callable[[slice, Any], Any]) -> Iterator[tuple[slice, Any]]:
            for part in block_slices(few.features.shape[0], BLOCK_ROWS):
                yield part, work(part, few.features[part].copy())

        batch = Batch(few.features, few.targets, few.weights)
        return empty.merge(_summed(blocks, batch, empty))
    weights, intercept = state.fitted.in_own_units(state.targets)
    return Stochastic.after(state.law.features, weights, intercept, state.n_rows)


def _summed(blocks: Blocks, batch: Batch, like: Moments) -> Moments:
    """The sums of a batch about the shift of others.

    They are sums of their own: where a batch breaks off, none of its rows count.
    """
    own = Moments.zeros(like.shift, batch.targets.shape[1])

    def sums(rows: slice, features: Any) -> BlockSums:
        dense = features.toarray() if hasattr(features, "toarray") else features
        return own.sums_of(
            dense,
            batch.targets[rows],
            None if batch.weights is None else batch.weights[rows],
        )

    for _, block in blocks(sums):
        own.take(block)
    own.close()
    return own


def merged(state: State, other: State) -> State:
    """Both states' rows together; both must have been frozen alike."""
    mine, theirs = state.moments, other.moments
    if mine is None or theirs is None:
        raise ValueError(
            "merge adds sums of squared-loss fits: call freeze or partial_fit on both first, "
            "with loss='squared'."
        )
    difference = state.difference(other)
    if difference is not None:
        raise ValueError(
            f"The estimators differ in their {difference}, so their sums cannot be added. "
            "Freeze one estimator, copy it, and give the copies different rows."
        )
    sample = state.sample or other.sample
    if state.sample is not None and other.sample is not None:
        sample = state.sample.merge(other.sample)
    return replace(state.with_sums(mine.merge(theirs), None), sample=sample)
