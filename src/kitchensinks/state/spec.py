"""The checked parameters of a fit, as one plain value."""

import numbers
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from kitchensinks.features.bases import Basis
from kitchensinks.features.frozen import Frozen
from kitchensinks.fitting.settings import Progress, Settings, Solver, check_dtype, silent, steps_of
from kitchensinks.fitting.sparse import LEAST_GAIN
from kitchensinks.law import Law, Learned, Request
from kitchensinks.law.splits import NO_ORDER, Order
from kitchensinks.numerics.arrays import AnyArray, Matrix, Seed
from kitchensinks.numerics.checks import check_bool, check_count
from kitchensinks.numerics.threads import check_jobs
from kitchensinks.numerics.warned import warn
from kitchensinks.problem.constraints import Constraint, SupBall
from kitchensinks.problem.losses import LOSSES, Array, Loss, get_loss
from kitchensinks.problem.targets import (
    HUBER,
    Batch,
    ClassCounts,
    Classes,
    Numbers,
    Targets,
    TargetSizes,
)
from kitchensinks.tables.arrays import label_advice
from kitchensinks.tables.columns import Columns
from kitchensinks.tables.memory import memory_budget
from kitchensinks.tables.named import check_categories


@dataclass(frozen=True)
class Spec:
    """The choices of a fit, and later how its targets and columns are encoded.

    task: "classification" or "regression"; huber: the loss turns linear where the spread of the
    targets says; columns: the recipe from the columns of a table to numbers, None for arrays;
    names: of the columns of a frame of numbers; targets: how y is encoded, None before y is
    known; order: groups and times of the rows; seed, memory: of this run.

    Fields with compare=False say how a fit is computed, or follow from its rows. The others say
    which problem is solved.
    """

    task: str
    basis: Basis | Learned | Law
    n_components: int | str | None
    loss: Loss
    alpha: float | str
    constraint: Constraint | None
    standardize: bool
    fit_intercept: bool
    solver: Solver
    n_jobs: int | None = field(compare=False)
    seed: int = field(compare=False)
    memory: float = field(compare=False)
    seed_given: bool = field(default=False, compare=False)
    class_weight: Any = None
    categorical_features: tuple[Any, ...] = ()
    huber: bool = field(default=False, compare=False)
    progress: Progress = field(default=silent, compare=False)
    # When the fit began, by the monotonic clock.
    started: float = field(default_factory=lambda: time.monotonic(), compare=False)
    columns: Columns | None = field(default=None, compare=False)
    names: Sequence[str] | None = field(default=None, compare=False)
    targets: Targets | None = field(default=None, compare=False)
    order: Order = field(default=NO_ORDER, compare=False)

    @classmethod
    def of(cls, task: str, names: Sequence[str] | None = None, **given: Any) -> "Spec":
        """From the parameters of an estimator, or an error that names an invalid one."""
        loss = check_loss(given["loss"], task)
        basis, solver = check_basis(given["basis"]), Solver.of(given["solver"])
        constraint, alpha, count = given["constraint"], given["alpha"], given["n_components"]
        _check_components(count)
        _check_alpha(alpha)
        if constraint is not None and not isinstance(constraint, Constraint):
            raise TypeError(f"constraint={constraint!r}: need ks.SupBall(C), ks.L2Ball(R) or None.")
        solver.check_problem(loss, alpha, constraint)
        if solver.name == "stochastic" and count == "auto":
            raise ValueError("solver='stochastic' cannot choose K: give n_components a number.")
        check_jobs(given["n_jobs"])
        return cls(
            task=task,
            basis=basis,
            n_components=count,
            loss=loss,
            alpha=alpha,
            constraint=constraint,
            standardize=check_bool("standardize", given["standardize"]),
            fit_intercept=check_bool("fit_intercept", given["fit_intercept"]),
            solver=solver,
            n_jobs=given["n_jobs"],
            seed=seed_of(given["random_state"]),
            seed_given=isinstance(given["random_state"], int | np.integer),
            memory=memory_budget(solver.memory_budget),
            class_weight=given.get("class_weight"),
            names=names,
            categorical_features=check_categories(given["categorical_features"]),
            huber=given["loss"] == "huber",
        )

    @property
    def kind(self) -> type[Classes] | type[Numbers]:
        return Classes if self.task == "classification" else Numbers

    @property
    def encoding(self) -> Targets:
        assert self.targets is not None, "targets are looked at before anything is fitted"
        return self.targets

    @property
    def calibrates(self) -> int:
        """Folds of held-out rows whose scores calibrate the fit; zero where none are needed.

        Regression has two: residuals of a fit without a whole fifth of the rows would make the
        intervals wider than necessary.
        """
        if self.loss.link is not None:
            return 0
        return 1 if self.task == "classification" else 2

    @property
    def depends_on_rows(self) -> bool:
        """Whether the features depend on the rows that they are frozen with."""
        if self.standardize or not isinstance(self.basis, Basis):
            return True
        return self.basis.sparse or self.basis.unresolved() is not None

    def with_targets(self, summary: Any, spread: Callable[[], float], given: Any = None) -> "Spec":
        """With the loss for these targets, and how they are encoded.

        summary: what `kind.summarise` made of all targets; spread: their robust standard deviation,
        which Huber's loss asks for; given: all classes, where the targets may lack some.
        """
        if isinstance(summary, TargetSizes):
            loss = get_loss("huber", delta=HUBER * spread()) if self.huber else self.loss
            numbers = Numbers.learn(summary, self.fit_intercept, loss)
            return replace(self, loss=loss, targets=numbers)
        assert isinstance(summary, ClassCounts)
        if given is not None:
            with label_advice(given, "classes"):
                given = Classes.check(given)
        loss, count = self.loss, len(summary.labels if given is None else np.unique(given))
        if count > 2 and loss.for_many_classes is not None:
            loss = get_loss(loss.for_many_classes)
        classes = Classes.learn(summary, loss, self.class_weight, given)
        empty = summary.labels[summary.weights == 0.0].tolist()
        if given is None and empty and summary.weights.any():
            warn(
                f"All rows of the classes {empty} have a weight of zero: predict_proba gives them "
                "about 0. Leave these rows out, or give some of them a weight."
            )
        return replace(self, loss=loss, targets=classes)

    def encode(self, rows: Matrix, y: AnyArray, weights: Array | None) -> Batch:
        """Rows with encoded targets; the weights of classes are multiplied in."""
        if self.task == "regression":
            y = _shown(y, weights)
            check_targets(y, self.loss)
        factors = self.encoding.weights_of(y)
        if factors is not None:
            weights = factors if weights is None else weights * factors
        return Batch(rows, self.encoding.encode(y), weights)

    def request(self, stream: bool = False) -> Request:
        """The request for the law of this fit; stream: rows come in batches."""
        return Request(
            seed=self.seed,
            n_components=self.n_components,
            dtype=None if self.solver.dtype is None else check_dtype(self.solver.dtype),
            standardize=self.standardize,
            names=self.names if self.columns is None else self.columns._outputs_of(self.names),
            unscaled=None if self.columns is None else self.columns.unscaled,
            memory=self.memory,
            stream=stream,
            classes=self.task == "classification",
            # Other losses and a given ridge are fitted in one stage.
            stages=self.loss.squared
            and self.alpha == "auto"
            and self.constraint is None
            and self.solver.name == "auto",
            alpha=None if self.alpha == "auto" or not self.loss.squared else float(self.alpha),
            trend=self.task == "regression" and self.loss.shifts and self.fit_intercept,
            unit=1.0 if self.targets is None else self.targets.unit,
            order=self.order,
            working=self.loss.working,
            progress=self.progress,
            started=self.started,
        )

    def settings(self, law: Law, counted: int | None = None) -> Settings:
        """What to minimise, in the units of the encoded targets.

        counted: the number of rows of positive weight, if the ridge of the law is to be used (its
        ridges are λ = α·n).
        """
        alpha, near, second, least_gain = self.alpha, None, None, 0.0
        first, last = (None, None) if counted is None else law.alphas(counted)
        if alpha != "auto":
            alpha = float(alpha) * alpha_unit(self.encoding, self.loss)
        elif self.constraint is not None:
            alpha = 0.0
        elif first is not None:
            least_gain = LEAST_GAIN
            if self.loss.squared:
                alpha, second = first, last
            else:
                near = first
        return Settings(
            loss=self.loss.in_units(self.encoding.unit),
            alpha=alpha,
            constraint=scaled_constraint(self.constraint, law.features, self.encoding.score_unit),
            fit_intercept=self.fit_intercept,
            tol=float(self.solver.tol),
            max_iter=int(self.solver.max_iter),
            solver=self.solver.name,
            seed=law.features.seed,
            least_gain=least_gain,
            near=near,
            second=second,
            progress=self.progress,
            **steps_of(self.solver),
        )


def alpha_unit(targets: Targets, loss: Loss) -> float:
    """The factor of alpha where the targets are encoded in a unit of their own.

    The objective is then in units of unit**degree, and the squared weights in units of unit**2, or
    of one with a log link.
    """
    unit = targets.unit
    if targets.score_unit != unit:
        return float(unit**-loss.degree)
    return unit if loss.degree == 1 else 1.0


def scaled_constraint(
    constraint: Constraint | None, features: Frozen, unit: float
) -> Constraint | None:
    """The ball in the units of β: features are scaled, and targets may be."""
    if constraint is None:
        return None
    if isinstance(constraint, SupBall):
        # |α_k| ≤ C/K with α_k = β_k·scale·bound; K counts features, or grids for Binning.
        radius = constraint.radius / (features.n_functions * features.scale * features.bound)
    else:
        radius = constraint.radius / features.scale
    return replace(constraint, radius=float(radius) / unit)


def seed_of(random_state: Seed) -> int:
    """A seed for the draw: the int given, or one taken from a generator."""
    if random_state is None or isinstance(random_state, np.random.RandomState):
        return int(check_random_state(random_state).randint(2**32, dtype=np.uint64))
    whole = isinstance(random_state, int | np.integer) and not isinstance(random_state, bool)
    if not (whole and 0 <= random_state < 2**64):
        raise ValueError(
            f"random_state={random_state!r}: need a whole number from 0 to 2**64 - 1, "
            "a RandomState or None."
        )
    return int(random_state)


def check_basis(basis: object) -> Basis | Learned | Law:
    """The basis given, if it is one, or something that finds one; None is ``Learned()``."""
    if basis is None:
        return Learned()
    if isinstance(basis, type) and issubclass(basis, Basis | Learned):
        raise TypeError(f"basis={basis.__name__}: need an instance, such as {basis.__name__}().")
    if not isinstance(basis, Basis | Learned | Law):
        raise TypeError(
            f"basis={basis!r} is of type {type(basis).__name__}: need a basis such as "
            "ks.Fourier(), or ks.Learned() to learn one."
        )
    if not isinstance(basis, Law):
        basis.check()
    return basis


def check_loss(loss: object, task: str) -> Loss:
    """The loss object, if it fits the task."""
    names = ", ".join(
        name for name, one in LOSSES.items() if task in one.tasks and name != "multinomial"
    )
    if isinstance(loss, str) and loss == "multinomial":
        raise ValueError(
            "loss='multinomial': use loss='logistic', which is multinomial for three "
            "or more classes."
        )
    if isinstance(loss, str):
        loss = LOSSES.get(loss, loss)
    if isinstance(loss, type) and issubclass(loss, Loss):
        raise ValueError(f"loss={loss.__name__}: need an instance, such as {loss.__name__}().")
    if not isinstance(loss, Loss):
        raise ValueError(f"loss={loss!r}: need one of {names}.")
    if task not in loss.tasks:
        raise ValueError(f"loss={loss.name!r} does not fit {task}: need one of {names}.")
    return loss


def _shown(y: AnyArray, weights: Array | None) -> AnyArray:
    """Targets in which rows without weight have the first target of some weight: theirs may be
    anything, such as a fill value that no loss takes."""
    if weights is None or (weights > 0).all():
        return y
    shown = y.copy()
    shown[weights <= 0] = y[np.argmax(weights > 0)]
    return shown


def check_targets(y: AnyArray, loss: Loss) -> None:
    """Raise an error for targets outside of the domain of the loss."""
    wrong = ~loss.allowed(y)
    if wrong.any():
        raise ValueError(
            f"y has {np.count_nonzero(wrong)} values outside of the domain of loss={loss.name!r}, "
            f"such as {float(y[wrong][0]):g}: need {loss.takes}. Drop these rows, or use "
            "loss='squared'."
        )


def _check_components(n_components: object) -> None:
    if isinstance(n_components, str) and n_components != "auto":
        raise ValueError(
            f"n_components={n_components!r}: need a whole number of 1 or more, or 'auto'."
        )
    if not (n_components is None or isinstance(n_components, str)):
        check_count("n_components", n_components)


def _check_alpha(alpha: Any) -> None:
    if isinstance(alpha, str) and alpha == "auto":
        return
    number = isinstance(alpha, numbers.Real) and not isinstance(alpha, bool)
    if not (number and 0 <= alpha <= sys.float_info.max):
        raise ValueError(
            f"alpha={alpha!r}: need a finite number of 0 or more, or 'auto' to choose it."
        )
