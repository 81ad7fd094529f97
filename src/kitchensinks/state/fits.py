"""From rows and their law to a plan, a fit and a state; checkpoints resume a fit after a crash."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from types import CodeType, FunctionType
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from kitchensinks.features.blocks import FeatureBlocks
from kitchensinks.fitting.gradients import Gradients, fit_gradients
from kitchensinks.fitting.growth import Growth, grow
from kitchensinks.fitting.run import RUNS, Task
from kitchensinks.fitting.settings import Checkpoint
from kitchensinks.law import Law
from kitchensinks.law.ending import BinNumbers
from kitchensinks.numerics.arrays import AnyArray
from kitchensinks.numerics.threads import threads
from kitchensinks.numerics.warned import warn
from kitchensinks.problem.moments import Moments
from kitchensinks.problem.targets import Batch
from kitchensinks.state.remembered import Kept, is_kept, own_copy
from kitchensinks.state.spec import Spec
from kitchensinks.state.state import Condensed, FewRows, State
from kitchensinks.tables.table import checksum
from kitchensinks.tables.view import Rows

# Parameters of a solver that may differ when a fit is resumed.
_FREE = {"memory_budget"}


def fitted_state(
    spec: Spec, law: Law, bins: BinNumbers, batch: Batch, checkpoint: Checkpoint | None = None
) -> State:
    """The state of a fit to a batch; bins: those of its rows, if they are known.

    With a learned law, a fit that leaves no sums keeps its rows, so that later ones can be added.
    """
    left = law.left(batch, spec.encoding.unit)
    law, growth, moments = _grown(spec, law, left, checkpoint)
    settings = spec.settings(law, left.counted)
    blocks = FeatureBlocks(left.rows, law.features, spec.memory, bins)
    run = settings.of_run(left, checkpoint)
    folds = spec.calibrates if law.unseen(settings) is None else 0
    task = Task.of(blocks, left, run, folds, moments)
    plan, fit = RUNS[task.plan.solver](task)
    if plan.solver == "stochastic" and spec.solver.name == "auto":
        warn(
            f"{plan.reason}, more than the memory budget allows: fitted by stochastic gradients, "
            "which certify nothing. Raise memory_budget, or pass solver='stochastic' to silence "
            "this warning.",
        )
    state = State.of(spec, law, plan, settings, task.whole(fit), len(left.targets), left, growth)
    sums = spec.loss.squared and isinstance(state.sums, Moments | Condensed | FewRows)
    if law.record is None or sums or isinstance(batch.rows, Rows) or not is_kept(batch):
        return state
    return replace(state, kept=Kept(own_copy(batch)))


def gradient_state(spec: Spec, law: Law, batch: Batch, gradients: Gradients) -> State:
    """The state of a fit to values and gradients; it keeps no sums, so no rows can be added."""
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


# -- resuming after a crash --------------------------------------------------------------


@contextmanager
def resuming(
    spec: Spec, checkpoint: Checkpoint | None, data: Callable[[], dict[str, str]], here: bool = True
) -> Iterator[Spec]:
    """Open the threads of a fit. With a checkpoint, take over the choices of the interrupted fit.

    These are the seed and, for rows in this process, the memory budget, which decides how rows are
    cut into blocks. data(): what identifies the rows.
    """
    if checkpoint is None:
        with threads(spec.n_jobs):
            yield spec
        return
    if not hasattr(checkpoint, "begin"):
        raise TypeError(
            f"checkpoint={checkpoint!r}: need a ks.Checkpoint, such as ks.Checkpoint('folder')."
        )
    choices: dict[str, float] = {"seed": spec.seed} | ({"memory": spec.memory} if here else {})
    choices = checkpoint.begin(identity_of(spec) | data(), choices)
    memory = float(choices.get("memory", spec.memory))
    with threads(spec.n_jobs), checkpoint.patience():
        yield replace(spec, seed=int(choices["seed"]), memory=memory)


def identity_of(spec: Spec) -> dict[str, str]:
    """The parameters that must be equal for a fit to be resumed."""
    facts = {one.name: _plain(getattr(spec, one.name)) for one in fields(spec) if one.compare}
    return facts | {"random_state": str(spec.seed)} if spec.seed_given else facts


def batch_identity(batch: Batch, groups: AnyArray | None = None) -> dict[str, str]:
    """What identifies the rows, targets, weights and groups of a batch."""
    rows: Any = batch.rows
    if isinstance(rows, Rows):
        known = rows.fingerprint()
    else:
        known = {
            "shape": " × ".join(map(str, rows.shape)),
            "dtype": str(rows.dtype),
            "sparse": str(sparse.issparse(rows)),
            "content": checksum(rows),
        }
    others = {"targets": np.asarray(batch.targets), "weights": batch.weights, "groups": groups}
    facts = {name: "none" if own is None else _digest(own) for name, own in others.items()}
    return {f"data ({name})": value for name, value in known.items()} | facts


def _plain(value: Any) -> str:
    """A parameter as text that is the same in every process."""
    if isinstance(value, BaseEstimator):
        own = value.get_params(deep=False)
        named = (f"{name}={_plain(one)}" for name, one in own.items() if name not in _FREE)
        return f"{type(value).__name__}({', '.join(named)})"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_plain, value))}]"
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}, {_digest(value)}"
    if isinstance(value, FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        bound = [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values(), *cells]
        code = hashlib.sha256(_code_in_text(value.__code__).encode()).hexdigest()[:16]
        return f"{value.__qualname__} {code} {_plain(bound)}"
    return str(value)


def _code_in_text(code: CodeType) -> str:
    """Instructions, names and constants of a function, without its file and lines."""
    constants = [
        _code_in_text(one) if isinstance(one, CodeType) else repr(one) for one in code.co_consts
    ]
    return repr((code.co_code, code.co_names, constants))


def _digest(array: AnyArray) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).data).hexdigest()[:16]
