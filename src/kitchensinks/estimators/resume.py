"""A fit that can go on after a crash: what it is a fit of, and what it must keep as it was."""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from threadpoolctl import threadpool_info

from kitchensinks.fitting.keeping import Checkpoint
from kitchensinks.numerics.threads import threads
from kitchensinks.problem.targets import Batch
from kitchensinks.state import Spec
from kitchensinks.tables.table import checksum
from kitchensinks.tables.view import Rows

# Parameters that may differ when a fit goes on: they change how, and not what, is computed.
_FREE = {"memory_budget", "n_jobs", "verbose", "random_state"}


@contextmanager
def resuming(
    spec: Spec, parameters: Mapping[str, Any], batch: Batch, checkpoint: Checkpoint | None
) -> Iterator[Spec]:
    """Threads as the spec says; with a checkpoint, threads, memory and seed as they were."""
    if checkpoint is None:
        with threads(spec.n_jobs):
            yield spec
        return
    with threads(spec.n_jobs):
        # Products are split by the threads of BLAS, and rounded by the split.
        pools = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    settled = checkpoint.begin(
        _identity(spec, parameters, batch),
        {"seed": spec.seed, "memory": spec.memory, "threads": max(pools, default=1)},
    )
    spec = replace(spec, seed=int(settled["seed"]), memory=float(settled["memory"]))
    with threads(int(settled["threads"])), checkpoint.patience():
        yield spec


def identity_of(spec: Spec, parameters: Mapping[str, Any]) -> dict[str, str]:
    """The parameters that must be the same for sums to be those of the same fit."""
    facts = {"task": spec.task}
    facts |= {name: _plain(parameters[name]) for name in sorted(parameters) if name not in _FREE}
    given = parameters["random_state"]
    if isinstance(given, int | np.integer):
        facts["random_state"] = str(int(given))
    return facts


def _identity(spec: Spec, parameters: Mapping[str, Any], batch: Batch) -> dict[str, str]:
    """What must be the same for sums to be those of the same fit."""
    facts = identity_of(spec, parameters)
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


def _digest(array: NDArray[Any]) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).data).hexdigest()[:16]
