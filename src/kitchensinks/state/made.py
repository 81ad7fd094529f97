"""A plan, a fit and a state from rows and their law."""

import warnings
from dataclasses import replace

from kitchensinks.features.blocks import FeatureBlocks
from kitchensinks.fitting.checkpoint import Checkpoint
from kitchensinks.fitting.gradients import Gradients, fit_gradients
from kitchensinks.fitting.growth import Growth, grow
from kitchensinks.fitting.plan import Plan
from kitchensinks.fitting.run import fit_features
from kitchensinks.law import Law
from kitchensinks.law.ending import Bins
from kitchensinks.problem.moments import Moments
from kitchensinks.problem.targets import Batch
from kitchensinks.state.kept import Kept, is_kept, own_copy
from kitchensinks.state.spec import Spec
from kitchensinks.state.state import Condensed, FewRows, State
from kitchensinks.tables.view import Rows


def fitted_state(
    spec: Spec, law: Law, bins: Bins, batch: Batch, checkpoint: Checkpoint | None = None
) -> State:
    """The state of a fit to a batch; bins: those of its rows, where they are known.

    A learned law whose fit leaves no sums keeps its rows, for those that may follow.
    """
    left = law.left(batch, spec.encoding.unit)
    law, growth, moments = _grown(spec, law, left, checkpoint)
    settings = spec.settings(law, left.counted)
    blocks = FeatureBlocks(left.rows, law.features, spec.memory, bins)
    run = settings.of_run(left, checkpoint)
    folds = 0 if law.held is not None else spec.calibrates
    plan, fit = fit_features(blocks, left, run, folds, moments)
    _warn_stochastic(plan, spec)
    state = State.of(spec, law, plan, settings, fit, len(left.targets), left, growth)
    sums = spec.loss.squared and isinstance(state.sums, Moments | Condensed | FewRows)
    if law.record is None or sums or isinstance(batch.rows, Rows) or not is_kept(batch):
        return state
    return replace(state, kept=Kept(own_copy(batch)))


def gradient_state(spec: Spec, law: Law, batch: Batch, gradients: Gradients) -> State:
    """The state of a fit to values and gradients; no sums are left that more rows could join."""
    settings = spec.settings(law, batch.counted)
    blocks = FeatureBlocks(batch.rows, law.features, spec.memory)
    plan, fit = fit_gradients(blocks, batch, settings.of_run(batch, None), gradients)
    return State.of(spec, law, plan, settings, fit, len(batch.targets))


def _grown(
    spec: Spec, law: Law, batch: Batch, checkpoint: Checkpoint | None
) -> tuple[Law, Growth | None, Moments | None]:
    """With n_components="auto", a given law with K doubled until the held-out error stops falling.

    The curve and the sums over the rows come with it; a learned law has chosen its own K.
    """
    if spec.n_components != "auto" or law.record is not None:
        return law, None, None
    if law.features.basis.selects:
        raise ValueError(
            f"n_components='auto': {law.features.basis!r} selects its draws for one K, so that "
            "prefixes say nothing about a larger one: give n_components a number."
        )
    blocks = FeatureBlocks(batch.rows, law.features, spec.memory)
    run = spec.settings(law, batch.counted).of_run(batch, checkpoint)
    own = batch._replace(targets=spec.loss.working(batch.targets))
    growth, moments = grow(blocks, own, run, spec.encoding.winners(batch.targets))
    features = replace(law.features, n_components=growth.n_components)
    return replace(law, features=features), growth, moments


def _warn_stochastic(plan: Plan, spec: Spec) -> None:
    if plan.solver == "stochastic" and spec.solver.name == "auto":
        warnings.warn(
            f"{plan.reason}, more than the memory budget allows: fitted by stochastic gradients, "
            "which certify nothing. Raise memory_budget, or pass solver='stochastic' to silence "
            "this warning.",
            stacklevel=4,
        )
