"""A fit that can go on after a crash: what it is a fit of, and what it must keep as it was."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from kitchensinks.fitting.checkpoint import Checkpoint
from kitchensinks.numerics.arrays import AnyArray
from kitchensinks.numerics.threads import threads
from kitchensinks.problem.targets import Batch
from kitchensinks.state.spec import Spec
from kitchensinks.tables.table import checksum
from kitchensinks.tables.view import Rows

# Parameters of a solver that may differ when a fit goes on.
_FREE = {"memory_budget"}


@contextmanager
def resuming(
    spec: Spec, checkpoint: Checkpoint | None, data: Callable[[], dict[str, str]], here: bool = True
) -> Iterator[Spec]:
    """Threads as the spec says; with a checkpoint, the choices made when the fit began.

    That is the seed and, where the rows are here, the memory, which says how they are cut into
    blocks. data(): what identifies the rows.
    """
    if checkpoint is None:
        with threads(spec.n_jobs):
            yield spec
        return
    choices: dict[str, float] = {"seed": spec.seed} | ({"memory": spec.memory} if here else {})
    choices = checkpoint.begin(identity_of(spec) | data(), choices)
    memory = float(choices.get("memory", spec.memory))
    with threads(spec.n_jobs), checkpoint.patience():
        yield replace(spec, seed=int(choices["seed"]), memory=memory)


def identity_of(spec: Spec) -> dict[str, str]:
    """The parameters that must be the same for sums to be those of the same fit."""
    facts = {one.name: _plain(getattr(spec, one.name)) for one in fields(spec) if one.compare}
    return facts | {"random_state": str(spec.seed)} if spec.seed_given else facts


def batch_identity(batch: Batch) -> dict[str, str]:
    """What tells the rows, targets and weights of a batch from others."""
    facts = {f"data ({name})": value for name, value in _rows_identity(batch.rows).items()}
    facts["targets"] = _digest(np.asarray(batch.targets))
    facts["weights"] = "none" if batch.weights is None else _digest(batch.weights)
    return facts


def _rows_identity(rows: Any) -> dict[str, str]:
    if isinstance(rows, Rows):
        return rows.fingerprint()
    return {
        "shape": " × ".join(map(str, rows.shape)),
        "dtype": str(rows.dtype),
        "sparse": str(sparse.issparse(rows)),
        "content": checksum(rows),
    }


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
    code = getattr(value, "__code__", None)
    if code is not None:
        return f"{value.__qualname__} {hashlib.sha256(code.co_code).hexdigest()[:16]}"
    return str(value)


def _digest(array: AnyArray) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).data).hexdigest()[:16]
