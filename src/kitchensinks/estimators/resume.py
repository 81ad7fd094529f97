"""A fit that can go on after a crash: what it is a fit of, and what it must keep as it was."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_info

from kitchensinks.estimators.transform import seed_of
from kitchensinks.features.bases import Basis
from kitchensinks.fitting.keeping import Checkpoint
from kitchensinks.numerics.threads import threads
from kitchensinks.tables.memory import memory_budget
from kitchensinks.tables.table import checksum
from kitchensinks.tables.view import Rows

# Parameters that a fit may go on with others of: they change how, and not what, is computed.
_FREE = {"memory_budget", "n_jobs", "verbose", "random_state"}


@dataclass(frozen=True)
class Resume:
    """A checkpoint with the seed and the memory budget of the fit that it belongs to."""

    checkpoint: Checkpoint
    seed: int
    memory: float


@contextmanager
def resuming(estimator: Any, batch: Any, checkpoint: Checkpoint | None) -> Iterator[None]:
    """Threads as the estimator says; with a checkpoint, threads, blocks and seed as they were."""
    if checkpoint is None:
        with threads(estimator.n_jobs):
            yield
        return
    with threads(estimator.n_jobs):
        # Products are split by the threads of BLAS, and rounded by the split.
        pools = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    settled = checkpoint.begin(
        _identity(estimator, batch),
        {
            "seed": seed_of(estimator.random_state),
            "memory": memory_budget(estimator.memory_budget),
            "threads": max(pools, default=1),
        },
    )
    estimator._resume = Resume(checkpoint, int(settled["seed"]), float(settled["memory"]))
    try:
        with threads(int(settled["threads"])), checkpoint.patience():
            yield
    finally:
        del estimator._resume


def parameters_of(estimator: Any) -> dict[str, str]:
    """The parameters that must be the same for sums to be those of the same fit."""
    facts = {"estimator": type(estimator).__name__}
    for name, value in sorted(estimator.get_params(deep=False).items()):
        if name not in _FREE:
            facts[name] = _plain(value)
    if isinstance(estimator.random_state, int | np.integer):
        facts["random_state"] = str(int(estimator.random_state))
    return facts


def _identity(estimator: Any, batch: Any) -> dict[str, str]:
    """What must be the same for sums to be those of the same fit."""
    facts = parameters_of(estimator)
    for name, value in _rows_identity(batch.rows).items():
        facts[f"data ({name})"] = value
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
    if isinstance(value, Basis):
        own = value.get_params(deep=False)
        return f"{type(value).__name__}({', '.join(f'{k}={_plain(v)}' for k, v in own.items())})"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_plain, value))}]"
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}, {_digest(value)}"
    code = getattr(value, "__code__", None)
    if code is not None:
        return f"{value.__qualname__} {hashlib.sha256(code.co_code).hexdigest()[:16]}"
    return str(value)


def _digest(array: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).data).hexdigest()[:16]
