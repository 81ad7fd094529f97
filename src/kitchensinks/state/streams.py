"""Rows that come in batches, or to several workers: states whose sums grow."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from kitchensinks.features.blocks import BLOCK_ROWS, FeatureBlocks
from kitchensinks.features.scaling import Spread
from kitchensinks.fitting.plan import SUMS, Plan, continued, make_plan
from kitchensinks.fitting.settings import Settings, Verbose
from kitchensinks.fitting.sizes import Sizes
from kitchensinks.fitting.stochastic import Stochastic
from kitchensinks.law import Law, find_law
from kitchensinks.numerics.arrays import Matrix
from kitchensinks.problem.losses import Loss
from kitchensinks.problem.moments import Moments
from kitchensinks.problem.targets import Batch, Targets
from kitchensinks.state.fits import fitted_state
from kitchensinks.state.remembered import KEPT_ENTRIES, Kept, is_kept, own_copy
from kitchensinks.state.spec import Spec
from kitchensinks.state.state import SUMMED, Condensed, FewRows, State
from kitchensinks.tables.arrays import block_slices, densify
from kitchensinks.tables.columns import Columns

# A stream learns its law again when it has this many times the rows of the last time: all laws
# together then cost at most three times the last one.
_GROWTH = 1.5
# Below this many rows, a stream learns its law again whenever the model is used.
_FIRST = 600


def learned_from(n_rows: int) -> int:
    """The number of first rows that the law of a stream is learned from.

    >>> [learned_from(count) for count in (50, 600, 899, 900, 2000)]
    [50, 600, 600, 900, 1350]
    """
    if n_rows < _FIRST:
        return n_rows
    count = _FIRST
    while int(_GROWTH * count) <= n_rows:
        count = int(_GROWTH * count)
    return count


@dataclass(frozen=True, eq=False)
class Waiting:
    """Rows that wait to be fitted together when the model is used.

    columns, targets, loss: as fixed by the first rows; batches: in the order in which they came;
    law, looked: the last law, and the number of rows that it was learned from (None: that of a fit,
    and final); verbose: of the last batch.
    """

    columns: Columns | None
    targets: Targets
    loss: Loss
    batches: tuple[Batch, ...]
    law: Law | None = None
    looked: int | None = 0
    verbose: Verbose = False

    has_rows = True

    def __getstate__(self) -> dict[str, Any]:
        # A function that shows progress belongs to this process.
        return {**vars(self), "verbose": self.verbose is True}

    @property
    def batch(self) -> Batch:
        """All rows in one batch: joined when they are used, because each time copies them all."""
        return self.batches[0] if len(self.batches) == 1 else Batch.joined(self.batches)

    def numbers(self, rows: Matrix) -> Matrix:
        """Checked rows of arrays, in which NaN is a missing value.

        By the recipe where the first rows had missing values; else as the mean of the column.
        """
        if self.columns is not None and self.columns.n_given:
            return self.columns.of_rows(densify(rows))
        values = rows.data if sparse.issparse(rows) else rows
        if not (values.size and np.isnan(values.min())):
            return rows
        rows = densify(rows)
        return np.where(np.isnan(rows), np.asarray(self.batch.rows.mean(axis=0)), rows)


def frozen_state(spec: Spec, law: Law, batch: Batch) -> State:
    """The state that batches and workers share, learned from one batch; nothing is summed."""
    settings = spec.settings(law)
    blocks = FeatureBlocks(batch.rows, law.features, spec.memory)
    plan = make_plan(Sizes.of(blocks, stream=True), settings)
    sums = _nothing_summed(plan, blocks, settings, spec.encoding.n_outputs)
    return State(spec.columns, spec.encoding, spec.loss, settings.bare(), law, plan, sums=sums)


def _nothing_summed(
    plan: Plan, blocks: FeatureBlocks, settings: Settings, n_outputs: int
) -> Moments | Stochastic:
    if plan.solver == "stochastic":
        return Stochastic.start(blocks.frozen, n_outputs, settings)
    shift = blocks.pilot() if settings.fit_intercept else np.zeros(blocks.n_columns)
    return Moments.zeros(shift, n_outputs)


def with_rows(state: State, spec: Spec, batch: Batch) -> State:
    """The state after one more batch: exact sums, or a stochastic step for every 512 rows."""
    state, batch = _covering(state, batch), state.law.left(batch, state.targets.unit)
    blocks = FeatureBlocks(batch.rows, state.law.features, spec.memory)
    # A fit whose ridge λ = α·n is that of its law goes on with it; others choose α by their sums.
    counted = None if state.settings.alpha == "auto" else _counted(state) + batch.counted
    settings = spec.settings(state.law, counted)
    known = state.moments or state.sums
    if state.loss.squared and not isinstance(known, Moments | Stochastic | FewRows):
        raise ValueError(
            "partial_fit goes on from the sums or the rows that a fit keeps, and this model "
            f"({state.fitted.evidence.solver}) has neither: model files and drop_sums() leave "
            "them out, and only direct fits and those with bins keep them. Go on with the "
            "fitted object or its pickle, or fit all rows together."
        )
    # After a fit, the plan is no longer that of its rows.
    plan = make_plan(Sizes.of(blocks, stream=True), settings)
    if isinstance(known, Moments | Stochastic):
        plan = continued(plan, "sums" if isinstance(known, Moments) else "stochastic")
    state = replace(state, settings=settings.bare(), plan=plan)
    if not isinstance(known, Moments | Stochastic):
        nothing = _nothing_summed(plan, blocks, settings, state.targets.n_outputs)
        known = _from_fit(state, nothing)
    if isinstance(known, Stochastic):
        steps = known.copy()
        steps.add(batch, settings)
        return state.with_sums(steps, batch)
    # Separate sums, so that a batch that fails adds none of its rows.
    own = Moments.zeros(known.shift, state.targets.n_outputs)
    # In float64, whatever the dtype of the features: float32 products depend on how rows are
    # batched, and weak ridges and balls magnify the difference.
    own.add_blocks(blocks.fresh, batch.targets, batch.weights, SUMMED)
    return state.with_sums(known.merge(own), batch)


def _counted(state: State) -> int:
    """The rows of positive weight that a state has summed."""
    sums = state.sums.moments if isinstance(state.sums, Condensed) else state.sums
    if isinstance(sums, FewRows):
        return sums.batch.counted
    return sums.count if isinstance(sums, Moments) else state.n_rows


def going_on(state: State | Waiting, batch: Batch) -> Waiting | None:
    """The kept rows together with those of a batch; None if the batch is to be summed."""
    if isinstance(state, Waiting):
        return replace(state, batches=(*state.batches, own_copy(batch)))
    if state.kept is None:
        return None
    rows, looked = (state.kept.batch, own_copy(batch)), state.kept.looked
    if looked is None and not is_kept(*rows):
        raise ValueError(
            f"This fit by {state.fitted.evidence.solver} leaves no sums: partial_fit goes on from "
            f"its rows, of which at most {KEPT_ENTRIES:,} entries are kept. Fit all rows at once, "
            "or use ks.Learned(ks.Fourier()), whose sums take any number of rows."
        )
    return Waiting(state.columns, state.targets, state.loss, rows, state.law, looked)


def fit_waiting(waiting: Waiting, spec: Spec) -> State:
    """Fit all waiting rows, after learning their law where that is due.

    Rows that are too many to be kept are summed instead, under a frozen law of dense features.
    """
    batch, law, looked, bins = waiting.batch, waiting.law, waiting.looked, None
    if not is_kept(batch):
        law, _ = find_law(spec.basis, batch, spec.request(stream=True))
        return with_rows(frozen_state(spec, law, batch), spec, batch)
    count = len(batch.targets)
    if law is None or looked not in (None, learned_from(count)):
        looked = learned_from(count)
        law, bins = find_law(spec.basis, batch.part(slice(0, looked)), spec.request())
    assert law is not None, "it was learned, or is that of a fit"
    if looked != count:
        law, bins = find_law(law, batch, replace(spec.request(), n_components=None))
    return replace(fitted_state(spec, law, bins, batch), kept=Kept(batch, looked))


def _covering(state: State, batch: Batch) -> State:
    """Extend the range of the columns to the rows of a batch."""
    known = features = state.law.features
    if features.scaler is None:
        return state
    for part in block_slices(batch.rows.shape[0], BLOCK_ROWS):
        own = None if batch.weights is None else batch.weights[part]
        spread = Spread.of(batch.rows[part], own)
        features = features.covering(spread.low, spread.high)
    return state if features is known else replace(state, law=replace(state.law, features=features))


def _from_fit(state: State, nothing: Moments | Stochastic) -> Moments | Stochastic:
    """Sums or stochastic steps that represent the rows of an earlier fit."""
    few = state.sums
    if isinstance(few, FewRows) and isinstance(nothing, Moments):
        for part in block_slices(len(few.batch.targets), BLOCK_ROWS):
            own = few.batch.part(part)
            nothing.add(densify(own.rows).astype(SUMMED), own.targets, own.weights)
        nothing.close()
        return nothing
    weights, intercept = state.fitted.in_own_units(state.targets)
    known = weights, intercept, state.n_rows
    return Stochastic.after(state.law.features, *known, state.settings)


def merged(state: State | None, other: State | None) -> State:
    """The state of the rows of both, which must have been frozen alike; None: not fitted."""
    mine, theirs = (None if one is None else one.moments for one in (state, other))
    if state is None or other is None or mine is None or theirs is None:
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
    scaler, features = other.law.features.scaler, state.law.features
    if scaler is not None:
        features = features.covering(scaler.low, scaler.high)
    state = replace(state, law=replace(state.law, features=features))
    both = state.with_sums(mine.merge(theirs), None)
    return replace(both, plan=SUMS, sample=sample, n_rows=state.n_rows + other.n_rows)
