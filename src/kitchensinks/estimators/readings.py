"""What can be read from a fitted estimator: all of it comes from its state."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from kitchensinks.estimators.inputs import known_rows, more_rows
from kitchensinks.features.blocks import FeatureBlocks
from kitchensinks.fitting.growth import Growth, prefix_errors
from kitchensinks.numerics.threads import threads
from kitchensinks.problem.constraints import Constraint
from kitchensinks.problem.losses import Array
from kitchensinks.state import Spec, State
from kitchensinks.state.importance import ColumnPlaces, variance_along
from kitchensinks.state.model import LocalModels, local_models
from kitchensinks.tables.view import Given


def reported(read: Callable[[State], Any], doc: str) -> property:
    """An attribute that is read from the state of a fitted estimator."""

    def get(estimator: "Readings") -> Any:
        with threads(estimator.n_jobs):
            return read(estimator._state())

    return property(get, doc=doc)


class Readings(BaseEstimator):
    """Attributes and reports of a fitted estimator; `_state` and `_spec` are the estimator's."""

    n_jobs: int | None
    constraint: Constraint | None
    categorical_features: Any
    _task: ClassVar[str]

    def _state(self) -> State:
        raise NotImplementedError

    def _spec(self, known: State | None = None) -> Spec:
        raise NotImplementedError

    def predict(self, X: Given) -> Any:
        raise NotImplementedError

    law_ = reported(lambda s: s.law, "The law: scaler, basis, seed, K, ridge, how it was found.")
    plan_ = reported(lambda s: s.plan, "Which solver ran, in which space, and why.")
    model_ = reported(lambda s: s.model, "Scaler, draw and weights; scores(rows) predicts.")
    loss_ = reported(lambda s: s.loss, "The loss that was fitted.")
    columns_ = reported(lambda s: s.columns, "The recipe of the columns, None for complete arrays.")
    basis_ = reported(lambda s: s.law.features.basis, "The resolved basis.")
    scaler_ = reported(lambda s: s.law.features.scaler, "The scaler of the columns, or None.")
    seed_ = reported(lambda s: s.law.features.seed, "The seed that names the draw.")
    n_components_ = reported(lambda s: s.law.features.n_components, "K: draws, not columns.")
    moments_ = reported(lambda s: s.moments, "The sums over the rows, or None.")
    k_path_ = reported(lambda s: _growth_of(s), "Held-out error for every prefix of K.")
    solver_ = reported(lambda s: s.fitted.evidence.solver, "The solver that ran.")
    objective_ = reported(lambda s: s.fitted.evidence.objective, "The objective that it reached.")
    gap_ = reported(lambda s: s.fitted.evidence.gap, "Bound on the distance to the optimum.")
    converged_ = reported(lambda s: s.fitted.evidence.converged, "Whether the gap is below tol.")
    n_iter_ = reported(lambda s: s.fitted.evidence.iterations, "Iterations of the solver.")
    alpha_ = reported(lambda s: s.fitted.evidence.alpha, "The ridge strength.")
    alphas_ = reported(lambda s: s.fitted.evidence.alphas, "The ridge path, or None.")
    alpha_errors_ = reported(lambda s: s.fitted.evidence.alpha_errors, "Errors along the path.")
    condition_number_ = reported(
        lambda s: s.fitted.evidence.condition, "Condition number of the Gram with its ridge."
    )
    effective_dimension_ = reported(lambda s: s.freedom, "Σ s/(s + α) of the Gram.")
    gram_noise_ = reported(lambda s: s.fitted.evidence.noise, "Rounding error of the Gram.")
    alpha_sup_norm_ = reported(lambda s: s.sup_norm, "max |α_k| on features over their bound.")

    @property
    def feature_importances_(self) -> Array:
        """How much the function changes along each column, in shares that sum to one.

        Of learned scales: each column's share of the learned distance between rows, which may be
        near zero where f is a steep line. Of a given law, and of a learned one with equal scales:
        each column's share of the variance of f where the other columns are kept
        (`kitchensinks.state.importance`). Neither says how much a column would be missed, which
        `sklearn.inspection.permutation_importance` measures.
        """
        state = self._state()
        own = ColumnPlaces.of(self, state.columns).counted(self)
        record = state.law.record
        if record is not None and not record.uniform:
            return np.array([record.importances[part].sum() for part in own])
        features = state.law.features
        spread = features.measured
        if spread is None:
            raise AttributeError(
                f"This {type(self).__name__} has no feature_importances_: with standardize=False, "
                "model files of earlier versions do not hold the spread of the columns. Fit again, "
                "or use sklearn.inspection.permutation_importance, which works with any model."
            )
        with threads(self.n_jobs):
            return variance_along(state.model, spread, own)

    def local_coefficients(self, X: Given) -> LocalModels:
        """The exact linear model around each row, for sums of ReLU, maxout and linear features.

        Such a sum is piecewise linear (maxout paper, equation 4): on the piece that holds a row,
        f(x) = coefficients·x + intercepts, with no approximation. See `kitchensinks.state.model`.
        """
        state = self._state()
        with threads(self.n_jobs):
            return local_models(state.model, known_rows(self, state, X))

    def k_path(self, X: Given, y: ArrayLike) -> Growth:
        """Error on the rows given for every prefix of the features, from one pass over them.

        Squared loss; for a classifier one more pass gives the share of wrong classes. The ridge
        on the raw coefficients is that of the fit, α·K, for every prefix (as an alpha of its own,
        the prefix of k features has α·K/k), so that one factorisation serves all of them.
        """
        state = self._state()
        if state.moments is None or state.settings.constraint is not None:
            raise ValueError(
                "k_path needs the sums of a squared-loss fit without a constraint, on at least "
                f"as many rows as features; this fit was by {self.solver_}."
            )
        spec = self._spec(state)
        batch = more_rows(self, spec, state, X, y)
        growth = prefix_errors(
            FeatureBlocks(batch.rows, state.law.features, spec.memory),
            state.law.left(batch, state.targets.unit).targets,
            state.moments,
            self.alpha_,
            state.settings.fit_intercept,
            state.targets.winners(batch.targets),
        )
        return growth.in_units(state.targets.unit)


def _growth_of(state: State) -> Growth:
    if state.growth is None:
        raise AttributeError("k_path_ is set only after a fit with n_components='auto'.")
    return state.growth.in_units(state.targets.unit)
