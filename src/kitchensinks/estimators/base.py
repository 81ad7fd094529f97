"""Algorithm 1 as a scikit-learn estimator: draw, freeze, fit the outer weights."""

import functools
import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

from kitchensinks.estimators.adapting import adapted, plain_basis, plain_components
from kitchensinks.estimators.checks import check_loss, check_parameters
from kitchensinks.estimators.resume import Resume, resuming
from kitchensinks.estimators.tables import (
    frame_rows,
    frame_table,
    importances_of,
    is_mixed,
    table_rows,
    table_targets,
)
from kitchensinks.estimators.transform import check_basis, check_dtype, seed_of
from kitchensinks.execution import is_dask
from kitchensinks.features.blocks import FeatureBlocks
from kitchensinks.features.frozen import Frozen
from kitchensinks.fitting import (
    FIRST_COMPONENTS,
    SETTLED,
    Fit,
    Groups,
    Growth,
    Settings,
    Stochastic,
    condense,
    expand,
    fit_weights,
    grow,
    prefix_errors,
    takes_stochastic,
)
from kitchensinks.fitting.keeping import Checkpoint
from kitchensinks.law import encode
from kitchensinks.numerics.threads import threads
from kitchensinks.problem.constraints import Constraint, SupBall
from kitchensinks.problem.losses import Array, Loss
from kitchensinks.problem.moments import Moments
from kitchensinks.state import Model
from kitchensinks.tables import advice, check_size, describe
from kitchensinks.tables.columns import Columns
from kitchensinks.tables.keys import row_keys
from kitchensinks.tables.memory import memory_budget
from kitchensinks.tables.table import Table
from kitchensinks.tables.view import Rows

_FLOATS = [np.float64, np.float32]
# Up to this many features in all, float64 costs no time that anyone would notice.
SMALL_FIT = 2**23
# Names that a fit sets, and a later fit must not find: those that end in _, and these.
_PRIVATE = {
    "_binned",
    "_stochastic",
    "_pending",
    "_few",
    "_n_rows",
    "_sample",
    "_posterior",
    "_condensed",
    "_sampled",
    "_unit",
    "_centre",
    "_plain",
}
_KEPT = {"n_features_in_", "feature_names_in_", "columns_"}


def _check_weights(given: Any, X: Any, positive: bool) -> Array:
    """Weights of 0 or more, one a row; `positive`: at least one of them is not 0."""
    weights = _check_sample_weight(given, X, dtype=np.float64, allow_all_zero_weights=True)
    if (weights < 0).any():
        raise ValueError(
            f"sample_weight has negative entries (the least is {weights.min():.3g}): "
            "need weights of 0 or more."
        )
    if positive and not weights.any():
        raise ValueError("sample_weight is zero for every row: need a positive weight.")
    return np.asarray(weights)


class Batch(NamedTuple):
    """Rows with their raw and encoded targets.

    weights (n,) or None for ones; one (n,): the weight of one copy of a row where classes have
    weights, else None.
    """

    rows: Any
    y: np.ndarray
    targets: Array
    weights: Array | None
    one: Array | None

    @property
    def total(self) -> float:
        return float(len(self.targets) if self.weights is None else self.weights.sum())


class KitchenSink(BaseEstimator):
    """What classifier and regressor share."""

    _task: str
    columns_: Columns | None
    _resume: Resume | None = None

    def __init__(
        self,
        basis: Any = None,
        n_components: int | str | None = None,
        loss: Any = "squared",
        alpha: float | str = "auto",
        constraint: Constraint | None = None,
        adapt: Any = None,
        standardize: bool = True,
        fit_intercept: bool = True,
        dtype: Any = None,
        memory_budget: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        solver: str = "auto",
        tol: float = 1e-3,
        max_iter: int = 200,
        verbose: bool = False,
    ) -> None:
        self.basis = basis
        self.n_components = n_components
        self.loss = loss
        self.alpha = alpha
        self.constraint = constraint
        self.adapt = adapt
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.dtype = dtype
        self.memory_budget = memory_budget
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def set_params(self, **params: Any) -> Any:
        # None stands for Fourier(), also where one of its parameters is searched over.
        if self.basis is None and any(name.startswith("basis__") for name in params):
            self.basis = check_basis(None)
        return super().set_params(**params)

    # -- fitting -------------------------------------------------------------------------

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, checkpoint: Checkpoint | None = None
    ) -> Any:
        """Fit to rows X (n, d) and targets y; weights count as copies of a row.

        X may be a table (``ks.open_table``), with the name of its target column as y, or
        ``ks.Rows`` of one: both are read block by block. With a ``ks.Checkpoint(folder)`` the
        sums over the rows are saved as they grow: after a crash the same call goes on from there,
        and the direct solver ends with the same bits. Dask collections are
        fitted where their partitions are: see docs/cluster.md.
        """
        if is_dask(X):
            from kitchensinks.estimators.cluster import fit_partitions

            return fit_partitions(self, X, y, sample_weight, checkpoint)
        batch = self._first_batch(X, y, sample_weight)
        try:
            self._fit_batch(batch, checkpoint)
        except BaseException:
            # Half a fit is none: what comes next starts anew.
            self._forget()
            raise
        return self

    def _fit_batch(self, batch: Batch, checkpoint: Checkpoint | None) -> None:
        with resuming(self, batch, checkpoint):
            self._freeze(batch, stream=False)
            settings = self._settings(batch.rows, batch.one)
            moments = None
            if self.n_components == "auto" and not hasattr(self, "adaptation_"):
                labels = self._labels(batch.y)
                self.k_path_, moments = grow(
                    self._blocks(batch.rows), batch.targets, batch.weights, settings, labels
                )
                self.k_path_ = self._in_target_units(self.k_path_)
                self._set_frozen(replace(self.frozen_, n_components=self.k_path_.n_components))
                settings = self._settings(batch.rows, batch.one)
            blocks = self._blocks(batch.rows)
            fewer = condense(blocks, settings) if moments is None else None
            if fewer is not None:
                blocks = fewer[0]
            if takes_stochastic(blocks, settings):
                self._fit_stochastic(batch, settings)
                return
            fit = fit_weights(
                blocks,
                batch.targets,
                batch.weights,
                settings,
                self._needs_calibration(),
                moments,
            )
            self._keep(fit if fewer is None else expand(fit, fewer[1]), batch)

    def _first_batch(
        self, X: Any, y: Any, sample_weight: Any, classes: Any = None, stream: bool = False
    ) -> Batch:
        """Checked parameters and rows; all that an earlier fit has learned is forgotten."""
        loss = check_loss(self.loss, self._task)
        check_parameters(self, loss)
        X, y, weights = self._validate(X, y, sample_weight, reset=True, stream=stream)
        self._forget()
        self.loss_ = loss
        self._learn_targets(y, weights, classes)
        batch = self._encoded(X, y, weights)
        if batch.weights is not None and not batch.weights.any():
            raise ValueError(
                "class_weight leaves every row a weight of zero: need a positive weight."
            )
        return batch

    def _forget(self) -> None:
        """Drop all that a fit has learned but the columns."""
        for name in list(vars(self)):
            public = name.endswith("_") and not name.startswith("_")
            if (public and name not in _KEPT) or name in _PRIVATE:
                delattr(self, name)

    def _encoded(self, X: Any, y: Any, weights: Array | None) -> Batch:
        one = self._class_weights(y)
        if one is not None:
            weights = one if weights is None else weights * one
        return Batch(X, y, self._encode(y), weights, one)

    def _validate(
        self, X: Any, y: Any, sample_weight: Any, reset: bool, stream: bool = False
    ) -> tuple[Any, Any, Array | None]:
        """Rows, targets and weights, checked.

        stream: the same rows may come again, which means of their targets would give away.
        """
        if isinstance(X, Table):
            X, y, sample_weight = table_targets(self, X, y, sample_weight, reset)
        elif isinstance(y, str):
            raise ValueError(
                f"y={y!r} names a column, and X is a {type(X).__name__}: give the targets "
                "themselves, or ks.open_table(X) as X."
            )
        frame = X if reset and is_mixed(X) else None
        X = self._validate_rows(X if frame is None else frame_rows(X), reset)
        y = self._validate_targets(y)
        check_consistent_length(X, y)
        weights = None if sample_weight is None else _check_weights(sample_weight, X, reset)
        if reset and isinstance(X, Rows):
            X = self._learn_columns(X if stream else encode(X, y, weights, self._task), frame)
        return X, y, weights

    def _learn_columns(self, rows: Rows, frame: Any) -> Any:
        """Keep the recipe of a table's columns; of a frame, which is in memory, all its numbers."""
        self.columns_, self.n_features_in_ = rows.columns, rows.shape[1]
        if frame is None:
            return rows
        _check_feature_names(self, frame, reset=True)
        _check_n_features(self, frame, reset=True)
        return rows[:]

    def _validate_rows(self, X: Any, reset: bool = False) -> Any:
        if not reset and hasattr(X, "columns"):
            X = self._known_columns(X)
        if isinstance(X, Table | Rows):
            return table_rows(self, X, reset)
        if reset:
            self.columns_ = None
        elif self.columns_ is not None and (
            hasattr(self, "feature_names_in_") or self.n_features_in_ != self.columns_.width
        ):
            raise ValueError(
                f"X is {describe(X)}, and fit had a table: give a table with the same columns."
            )
        with advice(tables=not hasattr(X, "columns")):
            X = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=_FLOATS)
        if self.standardize and X.dtype == np.float64:
            check_size(X, np.float64)
        return X

    def _known_columns(self, X: Any) -> Any:
        """A frame as a table, where the fit had one."""
        columns = getattr(self, "columns_", None)
        if isinstance(X, Table | Rows) or columns is None:
            return X
        return frame_table(X, columns)

    def _freeze(self, batch: Batch, stream: bool) -> None:
        """Learn scaler, law and bins from rows: what partial sums need to have in common."""
        found = adapted(self, batch, self.dtype or np.float32, stream)
        if found is not None:
            frozen, columns, self.adaptation_ = found
            own = batch.weights
            self._counted = batch.rows.shape[0] if own is None else int(np.count_nonzero(own))
            if columns is not None:
                self._binned = (batch.rows, columns)
            self.feature_importances_ = importances_of(self)
            self._set_frozen(frozen)
            return
        count = plain_components(self)
        frozen = Frozen.learn(
            batch.rows,
            batch.weights,
            plain_basis(self),
            self._seed(),
            FIRST_COMPONENTS if count == "auto" else int(count),
            self._working_dtype(batch.rows, stream),
            bool(self.standardize),
            None if self.columns_ is None else self.columns_.unscaled,
        )
        self._set_frozen(frozen)

    def _set_frozen(self, frozen: Frozen) -> None:
        self.frozen_ = frozen
        self.scaler_, self.basis_ = frozen.scaler, frozen.basis
        self.seed_, self.n_components_ = frozen.seed, frozen.n_components

    def _working_dtype(self, X: Any, stream: bool) -> Any:
        """float32 where speed counts; float64 where the fit is small anyway."""
        if self.dtype is not None:
            return check_dtype(self.dtype)
        given = plain_components(self)
        count = 1000 if given == "auto" else int(given)
        small = X.shape[0] * count <= SMALL_FIT and not stream
        return np.float64 if small and X.dtype == np.float64 else np.float32

    def _blocks(self, X: Any) -> FeatureBlocks:
        resume = self._resume
        budget = memory_budget(self.memory_budget) if resume is None else resume.memory
        # The bins of the rows that the law was learned from are known; the first fit takes them.
        rows, columns = self.__dict__.pop("_binned", (None, None))
        return FeatureBlocks(X, self.frozen_, budget, columns if rows is X else None)

    def _settings(self, X: Any, one: Array | None = None) -> Settings:
        alpha: float | str = self.alpha
        if self.constraint is not None and alpha == "auto":
            alpha = 0.0
        elif alpha != "auto":
            alpha = float(alpha) * self._alpha_unit()
        elif X is not None:
            alpha = self._adapted_alpha()
        chosen = self.alpha == "auto" and alpha != "auto" and self.constraint is None
        return Settings(
            loss=self._scaled_loss(),
            alpha=alpha,
            constraint=self._scaled_constraint(),
            fit_intercept=bool(self.fit_intercept),
            tol=float(self.tol),
            max_iter=int(self.max_iter),
            solver=self.solver,
            seed=self.seed_,
            keys=functools.cache(lambda: row_keys(X, self.seed_)),
            one=one,
            progress=self._progress,
            checkpoint=None if self._resume is None else self._resume.checkpoint,
            settled=SETTLED if chosen else 0.0,
            second=self._adapted_second() if chosen else None,
        )

    def _seed(self) -> int:
        return seed_of(self.random_state) if self._resume is None else self._resume.seed

    def _adapted_alpha(self) -> float | str:
        """The ridge that was chosen with the law, for the loss that it was chosen for."""
        found = getattr(self, "adaptation_", None)
        if found is None or self.loss_.name != "squared" or math.isnan(found.ridge):
            return "auto"
        return float(found.ridge / self._counted)

    def _adapted_second(self) -> float | None:
        """The ridge of a second stage, where one was chosen with the law."""
        found = getattr(self, "adaptation_", None)
        if found is None or math.isnan(found.second):
            return None
        return float(found.second / self._counted)

    # Rows of positive weight that the law was learned from: its ridges are λ = α·n.
    _counted: int = 0
    # Which columns of a Dask collection keep their own scale, as `Columns.unscaled` says.
    _unscaled: Any = None
    # Whom progress is told to, beside the screen.
    _listener: Callable[[str], None] | None = None
    # ... and whom the tasks of a cluster that are done are counted for.
    _watcher: Callable[[int, int], None] | None = None

    def _progress(self, text: str) -> None:
        if self._listener is not None:
            self._listener(text)
        if self.verbose:
            print(f"[kitchensinks] {text}", flush=True)

    # Targets are fitted in a unit of their own: the objective is in units of unit**degree, and
    # alpha in units of unit**(degree - 2).
    _had_intercept = True
    _unit = 1.0
    _centre: Any = 0.0
    _degree = 2

    def _alpha_unit(self) -> float:
        return self._unit if self._degree == 1 else 1.0

    def _scaled_loss(self) -> Loss:
        return self.loss_

    def _scaled_constraint(self) -> Constraint | None:
        """The ball in the units of β: features are scaled, targets may be."""
        if self.constraint is None:
            return None
        frozen = self.frozen_
        if isinstance(self.constraint, SupBall):
            # |α_k| ≤ C/K with α_k = β_k·scale·bound; K counts features, or grids for Binning.
            count = frozen.n_components * frozen.basis.features_per_draw
            radius = self.constraint.radius / (count * frozen.scale * frozen.bound)
        else:
            radius = self.constraint.radius / frozen.scale
        return replace(self.constraint, radius=float(radius) / self._unit)

    # -- keeping what a fit has found ----------------------------------------------------

    def _keep(self, fit: Fit, batch: Batch | None) -> None:
        """The evidence, in the units of the targets; `batch`: the rows, where they came at once."""
        solution = fit.solution
        alpha_unit = self._alpha_unit()
        self.solver_ = solution.solver
        self.objective_ = self._in_loss_units(solution.objective)
        self.gap_ = self._in_loss_units(solution.gap)
        self.converged_ = solution.converged
        self.n_iter_ = max(1, solution.iterations)
        self.alpha_ = fit.alpha / alpha_unit
        self.alphas_ = None if fit.alphas is None else fit.alphas / alpha_unit
        self.alpha_errors_ = fit.alpha_errors
        if fit.alpha_errors is not None and self._unit != 1.0:
            errors = [self._in_loss_units(float(error)) for error in fit.alpha_errors.flat]
            self.alpha_errors_ = np.array(errors).reshape(fit.alpha_errors.shape)
        self.condition_number_ = fit.condition
        self._sampled = fit.sampled
        known = fit.moments is None and fit.sampled is None
        if known or not math.isnan(fit.freedom):
            self.effective_dimension_ = fit.freedom
        self.gram_noise_ = fit.noise
        self._keep_moments(fit.moments, fit.groups)
        self._had_intercept = bool(self.fit_intercept)
        # Few rows: sums are made of them if more come in.
        self._few = None
        if batch is not None:
            self._n_rows = len(batch.targets)
        if fit.span is not None and batch is not None and self.loss_.name == "squared":
            self._few = (fit.span.rows, batch.targets, batch.weights, batch.one)
        self._set_model(fit.weights, fit.intercept)
        self._after_fit(fit, batch)
        if not solution.converged:
            share = solution.gap / max(solution.objective, 1e-300)
            warnings.warn(
                f"{solution.solver} stopped after {solution.iterations} iterations with a "
                f"relative gap of {share:.2g}, above tol={self.tol}. Raise max_iter or tol, or "
                "alpha.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _in_loss_units(self, value: float) -> float:
        for _ in range(self._degree):
            value = value * self._unit
        return float(value)

    def _set_model(self, weights: Array, intercept: Array) -> None:
        intercept = intercept * self._unit + self._centre
        self.model_ = Model(self.frozen_, weights * self._unit, intercept)
        # α on features divided by their bound, as in the kitchen-sinks paper.
        largest = float(np.abs(self.model_.weights).max(initial=0.0))
        self.alpha_sup_norm_ = largest * self.frozen_.scale * self.frozen_.bound

    def _fit_stochastic(self, batch: Batch, settings: Settings) -> None:
        if settings.solver == "auto":
            warnings.warn(
                f"n_components={self.n_components} needs more than the memory budget for its "
                "Gram matrix: fitted by stochastic gradients, which certify nothing. Raise "
                "memory_budget, or say solver='stochastic' to agree.",
                stacklevel=3,
            )
        self._stochastic = Stochastic.start(self.frozen_, batch.targets.shape[1])
        self._stochastic.fit(batch.rows, batch.targets, batch.weights, settings)
        self._keep_stochastic(settings)

    def _keep_stochastic(self, settings: Settings) -> None:
        state = self._stochastic.state
        self.solver_ = "stochastic gradients"
        self.objective_ = self.gap_ = np.inf
        self.converged_ = False
        self.n_iter_ = max(1, state.steps)
        self.alpha_ = self._stochastic.alpha_of(settings) / self._alpha_unit()
        self.alphas_ = self.alpha_errors_ = None
        self._keep_moments(None, None)
        self.condition_number_ = self.effective_dimension_ = np.nan
        self.gram_noise_ = 0.0
        self._set_model(state.mean_weights, state.mean_intercept)

    # What a subclass adds.

    def _keep_moments(self, moments: Moments | None, groups: Groups | None) -> None:
        raise NotImplementedError

    def _needs_calibration(self) -> bool:
        return False

    def _after_fit(self, fit: Fit, batch: Batch | None) -> None:
        pass

    def _labels(self, y: Any) -> np.ndarray | None:
        """Which output should win, for errors by class; None for regression."""
        return None

    def _class_weights(self, y: Any) -> Array | None:
        return None

    def _validate_targets(self, y: Any) -> Any:
        raise NotImplementedError

    def _learn_targets(self, y: Any, weights: Array | None, classes: Any) -> None:
        """Classes, or the unit of the targets."""
        raise NotImplementedError

    def _encode(self, y: Any) -> Array:
        """Targets as the losses take them, (n, outputs)."""
        raise NotImplementedError

    def _summary(self, y: Any, weights: Array | None) -> Any:
        """Of targets, mergeable: all that `_learn_summary` needs."""
        raise NotImplementedError

    def _learn_summary(self, summary: Any) -> None:
        """As `_learn_targets`, from the merged summaries of all partitions."""
        raise NotImplementedError

    # -- predicting ----------------------------------------------------------------------

    def _settle(self) -> None:
        """Solve for the weights if sums have come in since the last time."""

    def _lazily(self, method: str, X: Any) -> Any:
        """The Dask array of what a method gives for the partitions of X."""
        from kitchensinks.estimators.cluster import predict_partitions

        self._settle()
        check_is_fitted(self, "model_")
        return predict_partitions(self, method, X)

    def _output_of(self, method: str) -> tuple[int | None, Any]:
        """Columns (None: one number a row) and dtype of what a method gives."""
        raise NotImplementedError

    def _scores(self, X: Any) -> Array:
        self._settle()
        check_is_fitted(self, "model_")
        X = self._validate_rows(X)
        with threads(self.n_jobs):
            return self.model_.scores(X)

    def k_path(self, X: Any, y: Any) -> Growth:
        """Error on the rows given for every prefix of the features, from one pass over them.

        Squared loss; for a classifier one more pass gives the share of wrong classes. The ridge
        on the raw coefficients is that of the fit, α·K, for every prefix (as an alpha of its own,
        the prefix of k features has α·K/k), so that one factorisation serves all of them.
        """
        self._settle()
        check_is_fitted(self, "model_")
        if self.moments_ is None or self.constraint is not None:
            raise ValueError(
                "k_path needs the sums of a squared-loss fit without a constraint, on at least "
                f"as many rows as features; this fit was by {self.solver_}."
            )
        X, y, weights = self._validate(X, y, None, reset=False)
        batch = self._encoded(X, y, weights)
        growth = prefix_errors(
            self._blocks(X),
            batch.targets,
            self.moments_,
            self.alpha_,
            bool(self.fit_intercept),
            self._labels(y),
        )
        return self._in_target_units(growth)

    def _in_target_units(self, growth: Growth) -> Growth:
        errors = [self._in_loss_units(float(error)) for error in growth.squared_errors]
        return replace(growth, squared_errors=np.array(errors))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
