"""Settings of a fit: what to minimise, how accurately, and with which solver."""

import functools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.base import BaseEstimator

from kitchensinks.numerics.arrays import Arrays, Block, DType
from kitchensinks.numerics.checks import check_count, check_positive
from kitchensinks.problem.constraints import Constraint
from kitchensinks.problem.losses import Loss
from kitchensinks.problem.targets import Batch
from kitchensinks.tables.keys import row_keys
from kitchensinks.tables.memory import memory_budget

# Called with a text that says what a fit is doing and, where rows, tasks or percents are counted,
# with `done` of `total`.
Progress = Callable[..., None]
# Whether progress is shown, or the function that it is reported to.
Verbose = bool | Progress

SOLVERS = ("auto", "direct", "conjugate", "blocks", "stochastic")
# Fields that belong to one run, and are not stored in files.
_OF_RUN = {"stored": False}
# Solvers that are made for squared loss alone.
_SQUARED_ONLY = ("direct", "conjugate", "blocks")
# Solvers that need a given ridge and no constraint.
_RIDGE_ONLY = ("conjugate", "blocks")
# Parameters of stochastic gradients alone, and how they are checked.
_STOCHASTIC: dict[str, Callable[[str, Any], Any]] = {
    "step": check_positive,
    "batch_size": check_count,
    "epochs": check_count,
}


def silent(text: str, done: int | None = None, total: int | None = None) -> None:
    """Progress that is not reported."""


class Checkpoint(Protocol):
    """What a fit asks of a checkpoint (`kitchensinks.files.checkpoint` is one): sums over the rows,
    and the weights so far, that outlive the process.
    """

    def begin(self, identity: dict[str, str], choices: dict[str, float]) -> dict[str, float]:
        """Start or take up a fit; returns the choices that were made when it began.

        Until `patience` ends no other fit may begin.
        """

    def over(
        self,
        phase: str,
        source: Callable[..., Iterator[Block]],
        state: Callable[[], Arrays],
        restore: Callable[[Arrays], None],
    ) -> Iterator[Block]:
        """The blocks of a pass, from where it stopped; the state is saved now and then."""

    def store(self, name: str, arrays: Arrays) -> None:
        """Keep arrays under a name."""

    def stored(self, name: str) -> Arrays | None:
        """The arrays of a name, or None."""

    def patience(self) -> AbstractContextManager[None]:
        """Hold back Ctrl-C until the next save."""


@dataclass(frozen=True)
class Settings:
    """What to minimise: Σw·loss/Σw + alpha·‖β‖², in the ball of the constraint, and how closely."""

    loss: Loss
    alpha: float | str
    constraint: Constraint | None
    fit_intercept: bool
    tol: float
    max_iter: int
    solver: str
    seed: int
    # Fits on bins also stop where a step lowers the objective by less than this share.
    least_gain: float = 0.0
    # Where the search of alpha="auto" begins for other losses than squared; None: nowhere known.
    near: float | None = None
    # The ridge of a second stage, fitted to the residuals of the first by the bins of a union.
    second: float | None = None
    # Of stochastic gradients; None: the solver's own.
    step: float | None = None
    batch_size: int | None = None
    epochs: int | None = None
    # Keys of the rows by their content, computed when they are needed.
    keys: Callable[[], NDArray[np.uint64]] | None = field(default=None, metadata=_OF_RUN)
    progress: Progress = field(default=silent, metadata=_OF_RUN)
    # Where sums over the rows are kept between runs.
    checkpoint: Checkpoint | None = field(default=None, metadata=_OF_RUN)

    def bare(self) -> "Settings":
        """The settings without fields of one run: they can be pickled."""
        return replace(self, keys=None, progress=silent, checkpoint=None)

    def of_run(self, batch: Batch, checkpoint: Checkpoint | None = None) -> "Settings":
        """These settings for the rows of one run."""
        keys = functools.cache(lambda: row_keys(batch.rows, self.seed))
        return replace(self, keys=keys, checkpoint=checkpoint)

    @property
    def summed(self) -> DType | None:
        """The dtype that features are multiplied and summed in; None: their own.

        Float64 where no ridge hides the rounding of float32 products: in a ball, or with alpha=0.
        """
        return np.dtype(np.float64) if self.loss.squared and self.alpha == 0.0 else None

    def row_keys(self) -> NDArray[np.uint64]:
        """The keys of the rows that are fitted."""
        assert self.keys is not None, "these rows have no keys here"
        return self.keys()


@dataclass(eq=False, repr=False)
class Solver(BaseEstimator):
    """How the outer weights are computed: algorithm, accuracy, precision and memory.

    Estimators take a name (``solver="direct"``) or this (``solver=ks.Solver(tol=1e-6)``).

    Parameters
    ----------
    name : "auto", the cheapest certified algorithm for the sizes at hand (``model.plan_`` says
        which and why), or one by name: "direct" (the Gram matrix), "conjugate" (conjugate
        gradients), "blocks" (of features, for K too large for a Gram), "stochastic".
    tol : relative gap between objective and optimum at which solvers stop. 1e-3 changes no
        prediction that anyone would notice.
    max_iter : most iterations of an iterative solver. 200 is several times what the default
        accuracy takes; a learned law on bins takes up to 2000 where it is left at 200.
    dtype : of the features; sums are in float64 all the same. None: float64 for float64 rows while
        n·K ≤ 2²³ and the rows come at once, where it costs no time, else float32.
    memory_budget : bytes, text such as "2GB", or None for a quarter of the free memory. Features
        are kept between passes only where they fit in half of it.
    step : of "stochastic": s in β ← β − s·∇, plain gradient descent whose last weights count, as
        in the experiments of the thesis (section 3.7). None: averaged proximal steps, whose length
        follows from each batch.
    batch_size : of "stochastic": rows of one step. None: 512, enough for fast products and few
        enough for many steps.
    epochs : of "stochastic": passes of a fit over the rows. None: 10, because every pass makes the
        features anew; more for few rows, which make few steps a pass; at most `max_iter`.

    Examples
    --------
    >>> import kitchensinks as ks
    >>> ks.Solver("direct", dtype="float64")
    Solver(dtype='float64', name='direct')
    """

    name: str = "auto"
    tol: float = 1e-3
    max_iter: int = 200
    dtype: Any = None
    memory_budget: Any = None
    step: float | None = None
    batch_size: int | None = None
    epochs: int | None = None

    @classmethod
    def of(cls, given: Any) -> "Solver":
        """The solver that a parameter names, checked."""
        solver = given if isinstance(given, Solver) else cls(name=given)
        solver.check()
        return solver

    def check(self) -> None:
        """An error that names the parameter that makes no sense."""
        if not (isinstance(self.name, str) and self.name in SOLVERS):
            raise ValueError(f"solver={self.name!r}: need one of {', '.join(SOLVERS)}.")
        check_positive("tol", self.tol, ", the relative gap at which solvers stop")
        check_count("max_iter", self.max_iter)
        if self.dtype is not None:
            check_dtype(self.dtype)
        memory_budget(self.memory_budget)
        for name, value in steps_of(self).items():
            if self.name != "stochastic":
                raise ValueError(
                    f"{name}={value!r} is for ks.Solver('stochastic'), not for {self.name!r}: "
                    "leave it out, or name that solver."
                )

    def check_problem(self, loss: Loss, alpha: float | str, constraint: Constraint | None) -> None:
        """An error where this solver cannot do what is asked of it."""
        if self.name in _SQUARED_ONLY and not loss.squared:
            raise ValueError(
                f"solver={self.name!r} is for loss='squared', not {loss.name!r}: use "
                "solver='auto' or 'stochastic'."
            )
        if self.name in _RIDGE_ONLY and (alpha == "auto" or constraint is not None):
            raise ValueError(
                f"solver={self.name!r} needs a number for alpha and no constraint. Use "
                "solver='auto' for the others."
            )
        if self.name == "blocks" and alpha == 0.0:
            raise ValueError("solver='blocks' needs an alpha above zero: blocks may be singular.")


def steps_of(solver: Solver) -> dict[str, Any]:
    """The parameters of stochastic gradients that are given, checked."""
    given = {name: getattr(solver, name) for name in _STOCHASTIC}
    return {
        name: _STOCHASTIC[name](name, value) for name, value in given.items() if value is not None
    }


def check_dtype(dtype: DTypeLike) -> type[np.float32] | type[np.float64]:
    for kind in (np.float32, np.float64):
        if dtype is kind or dtype == kind.__name__ or dtype == np.dtype(kind):
            return kind
    raise ValueError(f"dtype={dtype!r}: need 'float32', 'float64' or None.")
