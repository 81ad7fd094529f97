"""Algorithm 1 as scikit-learn estimators: draw, freeze, fit the outer weights."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numba
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import (
    _check_sample_weight,
    check_array,
    check_is_fitted,
    validate_data,
)
from threadpoolctl import threadpool_limits

from kitchensinks.bases.base import check_count
from kitchensinks.constraints import Constraint, SupBall
from kitchensinks.features import FeatureBlocks
from kitchensinks.fitting import (
    Fit,
    Growth,
    Settings,
    fit_weights,
    grow,
    prefix_errors,
    solve_moments,
)
from kitchensinks.losses import LOSSES, Array, Loss, get_loss
from kitchensinks.model import Model, Recipe
from kitchensinks.moments import Moments
from kitchensinks.rows import block_slices, subsample
from kitchensinks.rows.keys import row_keys
from kitchensinks.rows.memory import memory_budget
from kitchensinks.solvers.stochastic import StochasticState, stochastic_step
from kitchensinks.standardise import Scaler, Spread
from kitchensinks.transform import SAMPLE_ROWS, check_basis, check_dtype, seed_of

_SOLVERS = ("auto", "direct", "conjugate", "stochastic")
# Rows of one stochastic step, and passes over the rows of a stochastic fit.
_BATCH = 512
_EPOCHS = 10
_FLOATS = [np.float64, np.float32]
# Up to this many features in all, float64 costs no time that anyone would notice.
SMALL_FIT = 2**23


class KitchenSink(BaseEstimator):
    """What classifier and regressor share."""

    _task: str
    _streams = False

    def __init__(
        self,
        basis: Any = None,
        n_components: int | str = 1000,
        loss: Any = "squared",
        alpha: float | str = "auto",
        constraint: Constraint | None = None,
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

    # -- fitting -------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit to rows X (n, d) and targets y; weights count as copies of a row."""
        self._check_parameters()
        X, y, weights = self._validate(X, y, sample_weight, reset=True)
        targets = self._encode(y, weights, first=True)
        weights = self._with_class_weights(y, weights)
        self._total_weight = float(len(targets) if weights is None else weights.sum())
        with threads(self.n_jobs):
            self._freeze(X, targets, weights)
            if self._uses_stochastic():
                self._fit_stochastic(X, targets, weights)
            else:
                self._fit_convex(X, y, targets, weights)
        return self

    def _fit_convex(self, X: Any, y: Any, targets: Array, weights: Array | None) -> None:
        blocks = self._blocks(X)
        settings = self._settings(X)
        moments = None
        if self.n_components == "auto":
            growth = grow(blocks, targets, weights, settings)
            self.n_components_ = growth.n_components
            self._set_draw(self.n_components_)
            blocks = self._blocks(X)
            settings = self._settings(X)
            moments, self.k_path_ = growth.moments, replace(growth, moments=None)
        fit = fit_weights(blocks, targets, weights, settings, self._needs_calibration(), moments)
        self._keep(fit)
        self._calibrate(fit, y, weights)

    def _check_parameters(self) -> None:
        check_basis(self.basis)
        if self.n_components != "auto":
            if isinstance(self.n_components, str):
                raise ValueError(
                    f"n_components={self.n_components!r}: need a whole number of 1 or more, "
                    "or 'auto'."
                )
            check_count("n_components", self.n_components)
        if isinstance(self.alpha, str):
            if self.alpha != "auto":
                raise ValueError(f"alpha={self.alpha!r}: need a number of 0 or more, or 'auto'.")
        elif not (np.isreal(self.alpha) and np.isfinite(self.alpha) and self.alpha >= 0):
            raise ValueError(
                f"alpha={self.alpha!r}: need a number of 0 or more, or 'auto' to choose it."
            )
        if self.constraint is not None and not isinstance(self.constraint, Constraint):
            raise TypeError(
                f"constraint={self.constraint!r}: need ks.SupBall(C), ks.L2Ball(R) or None."
            )
        if self.solver not in _SOLVERS:
            raise ValueError(f"solver={self.solver!r}: need one of {', '.join(_SOLVERS)}.")
        if not (np.isreal(self.tol) and self.tol > 0):
            raise ValueError(f"tol={self.tol!r}: need a positive number, the relative gap.")
        check_count("max_iter", self.max_iter)
        if self.dtype is not None:
            check_dtype(self.dtype)
        self._budget = memory_budget(self.memory_budget)
        self.loss_ = self._loss()

    def _loss(self) -> Loss:
        """The loss object, if it fits the task."""
        if isinstance(self.loss, Loss):
            loss = self.loss
        elif isinstance(self.loss, str) and self.loss in LOSSES:
            loss = get_loss(self.loss)
        else:
            names = [name for name, loss in LOSSES.items() if self._task in loss.tasks]
            names.remove("multinomial") if "multinomial" in names else None
            raise ValueError(f"loss={self.loss!r}: need one of {', '.join(names)}.")
        if self._task not in loss.tasks:
            names = [name for name, loss in LOSSES.items() if self._task in loss.tasks]
            raise ValueError(
                f"loss={self.loss!r} does not fit {self._task}: need one of {', '.join(names)}."
            )
        return loss

    def _validate(
        self, X: Any, y: Any, sample_weight: Any, reset: bool
    ) -> tuple[Any, Any, Array | None]:
        X = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=_FLOATS)
        y = self._validate_targets(y)
        check_consistent_length(X, y)
        if sample_weight is None:
            return X, y, None
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
        if (weights < 0).any():
            raise ValueError(
                f"sample_weight has negative entries (the least is {weights.min():.3g}): "
                "need weights of 0 or more."
            )
        if not weights.any():
            raise ValueError("sample_weight is zero for every row: need a positive weight.")
        return X, y, weights

    def _freeze(self, X: Any, targets: Array, weights: Array | None) -> None:
        """Learn scaler, law and bins from rows: what partial sums need to have in common."""
        self._dtype = np.dtype(self._working_dtype(X))
        self.scaler_ = None
        if self.standardize:
            spread = Spread(0.0, np.zeros(X.shape[1]), np.zeros(X.shape[1]))
            for part in block_slices(X.shape[0], max(1, 2**22 // X.shape[1])):
                own = None if weights is None else weights[part]
                spread = spread.merge(Spread.of(X[part], own))
            self.scaler_ = Scaler.over(spread)
        elif self._dtype == np.float32 and X.dtype == np.float64:
            check_array(X, accept_sparse="csr", dtype=np.float32, input_name="X")
        self.seed_ = seed_of(self.random_state)
        sample, sample_weights = subsample(X, weights, SAMPLE_ROWS, self.seed_)
        self._sample = sample if self.scaler_ is None else self.scaler_.apply(sample, np.float64)
        self.basis_ = check_basis(self.basis).resolve(self._sample, sample_weights)
        self.n_components_ = 256 if self.n_components == "auto" else int(self.n_components)
        self._set_draw(self.n_components_, X)

    def _working_dtype(self, X: Any) -> Any:
        """float32 where speed counts; float64 where the fit is small anyway."""
        if self.dtype is not None:
            return check_dtype(self.dtype)
        count = 1000 if self.n_components == "auto" else int(self.n_components)
        small = X.shape[0] * count <= SMALL_FIT and not self._streams
        return np.float64 if small and X.dtype == np.float64 else np.float32

    def _set_draw(self, n_components: int, X: Any = None) -> None:
        n_inputs = self._sample.shape[1]
        self._recipe = Recipe(self.basis_, self.seed_, n_inputs, n_components, self._dtype)
        self._draw = None
        self._shift = np.zeros(0)
        if not self._recipe.held and not self.basis_.sparse:
            return
        draw = self.basis_.draw(self.seed_, n_inputs, n_components, self._dtype)
        if X is not None and self.basis_.sparse:
            rows = (
                X[part] if self.scaler_ is None else self.scaler_.apply(X[part], self._dtype)
                for part in block_slices(X.shape[0], 16384)
            )
            rows = (r.toarray() if hasattr(r, "toarray") else r for r in rows)
            draw = draw.tabulate(rows)
        self._draw = draw
        self._shift = np.zeros(draw.n_columns)
        if self.fit_intercept and not self.basis_.sparse:
            pilot = draw.scaled_features(self._sample.astype(self._dtype))
            self._shift = pilot.mean(axis=0, dtype=np.float64)

    def _blocks(self, X: Any) -> FeatureBlocks:
        assert self._draw is not None
        return FeatureBlocks(X, self.scaler_, self._draw, self._budget)

    def _settings(self, X: Any = None) -> Settings:
        alpha = self.alpha
        if self.constraint is not None and alpha == "auto":
            alpha = 0.0
        elif alpha != "auto":
            alpha = float(alpha) * self._alpha_factor()
        return Settings(
            loss=self._scaled_loss(),
            alpha=alpha,
            constraint=self._scaled_constraint(),
            fit_intercept=bool(self.fit_intercept),
            tol=float(self.tol),
            max_iter=int(self.max_iter),
            solver=self.solver,
            seed=self.seed_,
            shift=self._shift,
            keys=lambda: row_keys(X, self.seed_),
            progress=self._progress,
        )

    def _progress(self, text: str) -> None:
        if self.verbose:
            print(f"[kitchensinks] {text}", flush=True)

    # What scaling the targets does to the other parts of the problem (regression only).
    def _alpha_factor(self) -> float:
        return 1.0

    def _scaled_loss(self) -> Loss:
        return self.loss_

    def _weight_unit(self) -> Any:
        return 1.0

    def _scaled_constraint(self) -> Constraint | None:
        """The ball in the units of β: features are scaled, targets may be."""
        if self.constraint is None:
            return None
        scale, bound = self._feature_scale(), self._bound()
        unit = 1.0 / self._weight_unit()
        if isinstance(self.constraint, SupBall):
            # |α_k| ≤ C/K with α_k = β_k·scale·bound.
            return self.constraint.scaled(unit / (self._n_columns() * scale * bound))
        return self.constraint.scaled(unit / scale)

    def _feature_scale(self) -> float:
        return float(1.0 / np.sqrt(self.n_components_ * self.basis_.features_per_draw))

    def _bound(self) -> float:
        """sup |φ|, or one where there is none."""
        inputs = self.n_features_in_
        bound = self.basis_.bound_in(inputs) if hasattr(self.basis_, "bound_in") else None
        bound = self.basis_.bound if bound is None else bound
        return float(bound) if np.isfinite(bound) else 1.0

    def _n_columns(self) -> int:
        """K of C/K: features, or grids for Binning."""
        return int(self.n_components_ * self.basis_.features_per_draw)

    def _keep(self, fit: Fit) -> None:
        unit = self._weight_unit()
        self.solution_ = fit.solution
        self.solver_ = fit.solution.solver
        self.gap_ = fit.solution.gap
        self.n_iter_ = max(1, fit.solution.iterations)
        self.alpha_ = fit.alpha / self._alpha_factor()
        self.alphas_ = fit.alphas
        self.alpha_errors_ = fit.alpha_errors
        self.condition_number_ = fit.condition
        self.effective_dimension_ = fit.freedom
        self.gram_noise_ = fit.noise
        self.moments_ = fit.moments
        self._set_model(fit.weights, fit.intercept, unit)
        if not fit.solution.converged:
            warnings.warn(
                f"{fit.solution.solver} stopped after {fit.solution.iterations} iterations with "
                f"a relative gap of {fit.solution.gap / max(fit.solution.objective, 1e-300):.2g}, "
                f"above tol={self.tol}. Raise max_iter or tol, or alpha.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _set_model(self, weights: Array, intercept: Array, unit: Any) -> None:
        self.model_ = Model(
            self.scaler_,
            self._recipe,
            self._draw,
            weights * unit,
            intercept * unit,
        )
        # α on features divided by their bound, as in the kitchen-sinks paper.
        largest = float(np.abs(self.model_.weights).max(initial=0.0))
        self.alpha_sup_norm_ = largest * self._feature_scale() * self._bound()

    def _needs_calibration(self) -> bool:
        return False

    def _settle_calibration(self, fit: Fit, path: Any) -> None:
        pass

    def _calibrate(self, fit: Fit, y: Any, weights: Array | None) -> None:
        pass

    def _labels(self, y: Any) -> Any:
        return None

    def _note_scores(self, scores: Array, targets: Array, weights: Array | None) -> None:
        """Scores that a batch had before its own step (used to calibrate probabilities)."""

    def _note_rows(self, X: Any, targets: Array, weights: Array | None) -> None:
        """Rows that have gone into the sums (used to calibrate probabilities)."""

    # -- many small batches --------------------------------------------------------------

    def _uses_stochastic(self) -> bool:
        if self.solver == "stochastic":
            if self.basis_.sparse:
                raise ValueError("solver='stochastic' needs a basis with dense features.")
            return True
        if self.basis_.sparse or self.n_components == "auto":
            return False
        gram = 8.0 * (self.n_components_ * self.basis_.features_per_draw) ** 2
        return self._draw is None or (self.solver == "auto" and 3 * gram > 4 * self._budget)

    def _stochastic_columns(self) -> int:
        return self.n_components_ * self.basis_.features_per_draw

    def _parts(self, rows: Any) -> Any:
        """A function that walks the features of a batch part by part, made from the seed."""
        scaled = rows if self.scaler_ is None else self.scaler_.apply(rows, self._dtype)
        scale = self._dtype.type(self._feature_scale())

        def parts() -> Iterator[tuple[slice, np.ndarray]]:
            done = 0
            draws = iter([self._draw]) if self._draw is not None else self._recipe.parts()
            for draw in draws:
                features = draw.features(scaled)
                features *= scale
                yield slice(done, done + draw.n_columns), features
                done += draw.n_columns

        return parts

    def _stochastic_batch(self, X: Any, targets: Array, weights: Array | None) -> None:
        settings = self._settings()
        alpha = 1e-6 if settings.alpha == "auto" else float(settings.alpha)
        shares = np.full(len(targets), 1.0 / len(targets))
        if weights is not None:
            if not weights.any():
                return
            shares = weights / weights.sum()
        scores = stochastic_step(
            self._state,
            self._parts(X),
            settings.loss,
            targets,
            shares,
            alpha,
            settings.fit_intercept,
        )
        self._note_scores(scores, targets, weights)
        if settings.constraint is not None:
            self._state.weights = settings.constraint.project(self._state.weights)
            self._state.mean_weights = settings.constraint.project(self._state.mean_weights)
        self.alpha_ = alpha / self._alpha_factor()

    def _fit_stochastic(self, X: Any, targets: Array, weights: Array | None) -> None:
        self._state = StochasticState.zeros(self._stochastic_columns(), targets.shape[1])
        random = np.random.default_rng(self.seed_)
        n_rows = X.shape[0]
        batch = min(_BATCH, n_rows)
        epochs = min(self.max_iter, _EPOCHS)
        for epoch in range(epochs):
            order = random.permutation(n_rows)
            for part in block_slices(n_rows, batch):
                chosen = np.sort(order[part])
                own = None if weights is None else weights[chosen]
                self._stochastic_batch(X[chosen], targets[chosen], own)
            self._progress(f"epoch {epoch + 1} of {epochs}")
        self._settle_stochastic()

    def _settle_stochastic(self) -> None:
        self.solver_ = "stochastic gradients"
        self.solution_ = None
        self.gap_ = np.inf
        self.n_iter_ = max(1, self._state.steps)
        self.moments_ = None
        self._set_model(self._state.mean_weights, self._state.mean_intercept, self._weight_unit())

    def freeze(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Learn what batches and workers must share (scaler, law, bins, classes), and sum nothing.

        Copies of a frozen estimator can be given different rows by `partial_fit` and put
        together by `merge`: the result is that of one fit.
        """
        self._check_parameters()
        if self.n_components == "auto":
            raise ValueError("n_components='auto' looks at all rows: give a number to stream.")
        self._streams = True
        X, y, weights = self._validate(X, y, sample_weight, reset=True)
        targets = self._encode(y, weights, first=True)
        self._freeze(X, targets, weights)
        self._start_stream(targets.shape[1])
        return self

    def _start_stream(self, n_outputs: int) -> None:
        exact = self.loss_.name == "squared" and not self._uses_stochastic()
        if exact and self.basis_.sparse and self._draw.n_columns > 20_000:
            raise ValueError(
                f"partial_fit sums a Gram matrix, and {self.basis_!r} has {self._draw.n_columns} "
                "columns here: at most 20000. Use fewer components or fit all rows at once."
            )
        self.moments_ = Moments.zeros(self._shift, n_outputs) if exact else None
        self._state = None
        if not exact:
            self._state = StochasticState.zeros(
                self._draw.n_columns if self._draw is not None else self._stochastic_columns(),
                n_outputs,
            )
        self._pending = False

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, **first_call: Any) -> Any:
        """Add a batch of rows.

        Squared loss: exact. Scaler, law and bins are frozen by `freeze`, or by the first batch
        (with a warning, because later batches are then measured by the first one); after that
        any split into batches gives the same weights. alpha="auto" is chosen by generalised
        cross-validation, because batches are seen once. Other losses: one averaged stochastic
        gradient step for each 512 rows.
        """
        first = not hasattr(self, "_pending")
        if first:
            self._check_parameters()
            self._streams = True
        X, y, weights = self._validate(X, y, sample_weight, reset=first)
        targets = self._encode(y, weights, first=first, **first_call)
        weights = self._with_class_weights(y, weights)
        with threads(self.n_jobs):
            if first:
                if self.n_components == "auto":
                    raise ValueError(
                        "n_components='auto' looks at all rows: give a number to stream."
                    )
                if self.standardize or check_basis(self.basis).unresolved() is not None:
                    warnings.warn(
                        "The first batch of partial_fit freezes the scaler and the law of the "
                        "features; later batches are measured by it. Call freeze(X, y) with "
                        "representative rows first to choose them yourself.",
                        stacklevel=2,
                    )
                self._freeze(X, targets, weights)
                self._start_stream(targets.shape[1])
            if self.moments_ is None:
                for part in block_slices(X.shape[0], _BATCH):
                    own = None if weights is None else weights[part]
                    self._stochastic_batch(X[part], targets[part], own)
                self._settle_stochastic()
            else:
                self._add(X, targets, weights)
        return self

    def _add(self, X: Any, targets: Array, weights: Array | None) -> None:
        for rows, features in self._blocks(X).fresh():
            own = None if weights is None else weights[rows]
            dense = features.toarray() if self.basis_.sparse else features
            self.moments_.add(dense, targets[rows], own)
        self._note_rows(X, targets, weights)
        self._pending = True

    def merge(self, other: Any) -> Any:
        """Add what another estimator has summed; both must be frozen alike. Returns self."""
        if type(other) is not type(self):
            raise TypeError(
                f"merge needs another {type(self).__name__}, not {type(other).__name__}."
            )
        for estimator in (self, other):
            if getattr(estimator, "moments_", None) is None:
                raise ValueError(
                    "merge adds sums of squared-loss fits: call partial_fit or freeze on both "
                    "first, with loss='squared' and a dense basis."
                )
        difference = self._frozen_difference(other)
        if difference is not None:
            raise ValueError(
                f"The estimators differ in their {difference}, so their sums cannot be added. "
                "Freeze one estimator, copy it, and give the copies different rows."
            )
        self.moments_ = self.moments_.merge(other.moments_)
        self._pending = True
        return self

    def _frozen_difference(self, other: Any) -> str | None:
        """What keeps two sums apart, or None."""
        if (self.scaler_ is None) != (other.scaler_ is None):
            return "scaler"
        if self.scaler_ is not None and not self.scaler_.equals(other.scaler_):
            return "scaler"
        if self.seed_ != other.seed_ or self.n_components_ != other.n_components_:
            return "draw (random_state or n_components)"
        if repr(self.basis_.get_params()) != repr(other.basis_.get_params()):
            return "basis"
        if self._dtype != other._dtype or self.fit_intercept != other.fit_intercept:
            return "dtype or fit_intercept"
        if not np.array_equal(self._shift, other._shift):
            return "shift of the features"
        return None

    def _settle(self) -> None:
        """Solve for the weights if sums have come in since the last time."""
        if getattr(self, "_pending", False):
            if self.moments_.weight == 0.0:
                raise NotFittedError("No rows yet: call partial_fit.")
            fit, path = solve_moments(self.moments_, self._settings())
            fit.moments = self.moments_
            self._keep(fit)
            self._settle_calibration(fit, path)
            self._pending = False

    # -- predicting ----------------------------------------------------------------------

    def _scores(self, X: Any) -> Array:
        self._settle()
        check_is_fitted(self, "model_")
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=_FLOATS)
        if self.scaler_ is None and self._dtype == np.float32:
            X = check_array(X, accept_sparse="csr", dtype=np.float32, input_name="X")
        with threads(self.n_jobs):
            return self.model_.scores(X)

    def k_path(self, X: Any, y: Any) -> Growth:
        """Error on the rows given for every prefix of the features, from one pass over them.

        Squared loss. The ridge on the raw coefficients is that of the fit, α·K, for every
        prefix, so that one factorisation serves all of them.
        """
        self._settle()
        check_is_fitted(self, "model_")
        if getattr(self, "moments_", None) is None:
            raise ValueError("k_path needs a squared-loss fit with at least as many rows as K.")
        X, y, weights = self._validate(X, y, None, reset=False)
        targets = self._encode(y, weights, first=False)
        return prefix_errors(
            self._blocks(X),
            targets,
            self.moments_,
            self.alpha_,
            bool(self.fit_intercept),
            self._labels(y),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_") or getattr(self, "_pending", False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


@contextmanager
def threads(n_jobs: int | None) -> Iterator[None]:
    """Use n_jobs threads in BLAS and compiled loops, and put things back."""
    if n_jobs is None:
        yield
        return
    count = check_count("n_jobs", n_jobs) if n_jobs != -1 else numba.config.NUMBA_NUM_THREADS
    before = numba.get_num_threads()
    numba.set_num_threads(min(count, numba.config.NUMBA_NUM_THREADS))
    try:
        with threadpool_limits(limits=count):
            yield
    finally:
        numba.set_num_threads(before)
