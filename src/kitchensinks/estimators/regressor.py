"""The regressor."""

import math
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from kitchensinks.estimators.base import KitchenSink
from kitchensinks.fitting import Fit
from kitchensinks.losses import Array, Huber, Loss
from kitchensinks.posterior import Posterior
from kitchensinks.rows import block_slices


class KitchenSinkRegressor(RegressorMixin, KitchenSink):
    """Weighted sum of K random features for regression (Algorithm 1); several outputs at once.

    Parameters are those of :class:`KitchenSinkClassifier` without `class_weight`, with losses
    "squared", "huber" and "quantile". "huber" alone turns linear at 1.345 robust standard
    deviations of the targets, and "quantile" alone is the median;
    ``kitchensinks.losses.Huber(delta)`` and ``kitchensinks.losses.Quantile(tau)`` set others.

    Examples
    --------
    >>> import kitchensinks as ks
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ks.KitchenSinkRegressor(n_components=200, random_state=0).fit(X[::2], y[::2])
    >>> mean, deviation = model.predict(X[1::2], return_std=True)
    >>> bool(0.5 < np.mean(np.abs(y[1::2] - mean) < deviation) < 0.85)
    True
    """

    _task = "regression"

    def _validate_targets(self, y: Any) -> np.ndarray:
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        if y.ndim > 2:
            raise ValueError(f"y has shape {y.shape}: need (rows,) or (rows, outputs).")
        return np.asarray(y)

    def _encode(
        self, y: np.ndarray, weights: Array | None, first: bool, classes: Any = None
    ) -> Array:
        """Targets in a unit near their own size, a power of two, so that nothing overflows."""
        columns = y.reshape(len(y), -1)
        if first:
            self._one_output = y.ndim == 1
            largest = np.abs(columns).max(axis=0)
            if self.loss_.name != "squared" or self.constraint is not None:
                largest = np.full_like(largest, largest.max())
            exponent = np.floor(np.log2(np.where(largest > 0, largest, 1.0)))
            self._unit = np.exp2(np.clip(exponent, -1000, 1000))
            if self.loss == "huber":
                self.loss_ = Huber(_robust_spread(columns, weights) * 1.345)
        elif columns.shape[1] != len(self._unit):
            raise ValueError(
                f"y has {columns.shape[1]} outputs; the first batch had {len(self._unit)}."
            )
        return columns / self._unit

    def _with_class_weights(self, y: np.ndarray, weights: Array | None) -> Array | None:
        return weights

    def _alpha_factor(self) -> float:
        """Quantile loss is of degree one: in units of c its ridge is alpha·c."""
        return float(self._unit[0]) if self.loss_.name == "quantile" else 1.0

    def _scaled_loss(self) -> Loss:
        if isinstance(self.loss_, Huber):
            return Huber(self.loss_.delta / float(self._unit[0]))
        return self.loss_

    def _weight_unit(self) -> Array:
        return self._unit

    def _scaled_constraint(self) -> Any:
        if self.constraint is None:
            return None
        unit = self._unit
        self._unit = np.ones_like(unit)
        try:
            ball = super()._scaled_constraint()
        finally:
            self._unit = unit
        return ball.scaled(1.0 / float(unit[0]))

    def _keep(self, fit: Fit) -> None:
        super()._keep(fit)
        self._posterior: Posterior | None = None
        if fit.span is not None and self.loss_.name == "squared" and self.constraint is None:
            # Few rows: keep what the deviation needs, because no Gram is kept.
            self._posterior = Posterior.of_span(
                fit.span, fit.errors, fit.alpha, self._total_weight, bool(self.fit_intercept)
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """f(x), shaped as the targets were; with `return_std` also the standard deviation.

        The deviation is that of Bayesian ridge regression, noise included, for squared loss.
        """
        scores = self._scores(X)
        result = scores[:, 0] if self._one_output else scores
        if not return_std:
            return result
        deviation = self._deviation(X)
        return result, deviation[:, 0] if self._one_output else deviation

    def _deviation(self, X: Any) -> Array:
        check_is_fitted(self, "model_")
        if self.loss_.name != "squared" or self.constraint is not None:
            raise ValueError(
                "return_std needs loss='squared' without a constraint; this is "
                f"loss={self.loss_.name!r}, constraint={self.constraint!r}."
            )
        if self._posterior is None:
            self._posterior = self._make_posterior()
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
        blocks = self._blocks(X)
        parts = [
            self._posterior.deviation(blocks.of(X[part])) for part in block_slices(X.shape[0], 2048)
        ]
        return np.concatenate(parts) * self._unit

    def _make_posterior(self) -> Posterior:
        weights = self.model_.weights / self._unit
        if self.moments_ is not None:
            equations = self.moments_.normal_equations(bool(self.fit_intercept))
            return Posterior.of_equations(equations, weights, self.alpha_, bool(self.fit_intercept))
        raise ValueError(
            f"return_std needs the Gram matrix, which solver {self.solver_!r} does not form. "
            "Use solver='direct'."
        )


def _robust_spread(columns: Array, weights: Array | None) -> float:
    """1.4826 times the median absolute deviation, or the mean one where that is zero."""
    own = None if weights is None else np.repeat(weights[:, None], columns.shape[1], axis=1)

    def median(values: Array, axis: int | None) -> Any:
        return np.quantile(values, 0.5, axis=axis, weights=own, method="inverted_cdf")

    deviation = np.abs(columns - median(columns, 0))
    spread = 1.4826 * float(median(deviation, None))
    if spread <= 0.0:
        spread = float(np.average(deviation, weights=own))
    return spread if spread > 0.0 and math.isfinite(spread) else 1.0
