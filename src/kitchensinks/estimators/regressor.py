"""The regressor."""

import math
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_array

from kitchensinks.estimators.base import Batch
from kitchensinks.estimators.batches import Batches
from kitchensinks.estimators.summaries import FARTHEST, TargetSizes
from kitchensinks.estimators.tables import table_targets
from kitchensinks.execution import is_dask
from kitchensinks.fitting import Fit
from kitchensinks.fitting.posterior import Posterior
from kitchensinks.problem.losses import Array, Huber, Loss
from kitchensinks.problem.moments import copies_of
from kitchensinks.tables import block_slices
from kitchensinks.tables.table import Table

# Huber's loss turns linear at this many robust standard deviations of the targets, and such a
# deviation is this many times the median absolute one (as it is for a normal law).
HUBER, NORMAL_DEVIATION = 1.345, 1.4826


class KitchenSinkRegressor(RegressorMixin, Batches):
    """Weighted sum of K random features for regression (Algorithm 1); several outputs at once.

    Parameters are those of :class:`KitchenSinkClassifier` without `class_weight`, with losses
    "squared", "huber" and "quantile". "huber" alone turns linear at 1.345 robust standard
    deviations of the targets, and "quantile" alone is the median;
    ``ks.losses.Huber(delta)`` and ``ks.losses.Quantile(tau)`` set others.

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
    _posterior: Posterior | None = None

    def freeze(self, X: Any, y: Any, sample_weight: Any = None) -> "KitchenSinkRegressor":
        """Learn what batches and workers must share (scaler, law, bins, unit), and sum nothing.

        Copies of a frozen estimator can be given different rows by `partial_fit` and put
        together by `merge`: the result is that of one fit.
        """
        self._freeze_stream(X, y, sample_weight, None)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> "KitchenSinkRegressor":
        """Add a batch of rows, to those of earlier batches or of `fit`.

        Squared loss: exact. Scaler, law and bins are frozen by `freeze` or `fit`, or by the first
        batch (with a warning, because later batches are then measured by the first one); after
        that any split into batches gives the same weights, which are worked out when they are
        asked for. alpha="auto" is chosen by generalised cross-validation, because batches are
        seen once. Other losses, and K too large for sums: one averaged stochastic gradient step
        for each 512 rows, from features made anew by their seed.
        """
        self._partial_fit(X, y, sample_weight, None)
        return self

    def _validate_targets(self, y: Any) -> np.ndarray:
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        try:
            y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        except ValueError as error:
            if "could not convert" not in str(error):
                raise
            raise ValueError(
                f"y: {error}. Need numbers; for labels use KitchenSinkClassifier."
            ) from None
        if y.ndim > 2:
            raise ValueError(f"y has shape {y.shape}: need (rows,) or (rows, outputs).")
        return np.asarray(y)

    def _learn_targets(self, y: np.ndarray, weights: Array | None, classes: Any) -> None:
        """The unit of the targets, a power of two near their size, so that nothing overflows."""
        self._learn_summary(TargetSizes.of(y, weights))
        if self.loss == "huber":
            self.loss_ = Huber(HUBER * _robust_spread(y.reshape(len(y), -1), weights))

    def _summary(self, y: np.ndarray, weights: Array | None) -> TargetSizes:
        return TargetSizes.of(y, weights)

    def _learn_summary(self, summary: TargetSizes) -> None:
        self._one_output = summary.one_output
        self._n_outputs = len(summary.largest)
        self._degree = 1 if self.loss_.name == "quantile" else 2
        self._unit = summary.unit()
        # Centred in float64, so that float32 products do not lose targets with a large mean.
        self._centre = summary.mean if self.fit_intercept else np.zeros(self._n_outputs)

    def _encode(self, y: np.ndarray) -> Array:
        columns = y.reshape(len(y), -1)
        if columns.shape[1] != self._n_outputs:
            raise ValueError(
                f"y has {columns.shape[1]} outputs; the first rows had {self._n_outputs}."
            )
        coded = columns / self._unit - self._centre / self._unit
        largest = float(np.abs(coded).max(initial=0.0))
        if not largest < 1.0 / FARTHEST:
            raise ValueError(
                f"y has entries {largest:.0e} times as large as the first rows had: call "
                "freeze(X, y) with representative targets first, or scale y."
            )
        return coded

    def _scaled_loss(self) -> Loss:
        if isinstance(self.loss_, Huber):
            return Huber(self.loss_.delta / self._unit)
        return self.loss_

    def _frozen_difference(self, other: Any) -> str | None:
        difference = super()._frozen_difference(other)
        same = self._unit == other._unit and np.array_equal(self._centre, other._centre)
        return difference if same or difference else "unit, centre or number of the targets"

    def _after_fit(self, fit: Fit, batch: Batch | None) -> None:
        self._posterior = None
        if fit.span is not None and batch is not None and fit.errors is not None:
            # Few rows: keep what the deviation needs, because no Gram is kept.
            self._posterior = Posterior.of_span(
                fit.span,
                fit.errors,
                fit.alpha,
                copies_of(len(batch.targets), batch.weights, batch.one),
                bool(self.fit_intercept),
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """f(x), shaped as the targets were; with `return_std` also the standard deviation.

        The deviation is that of Bayesian ridge regression, noise included, for squared loss.
        """
        if is_dask(X):
            if return_std:
                raise ValueError(
                    "return_std of Dask collections would send the Gram matrix to every worker: "
                    "predict without it, or call predict on the partitions that need it."
                )
            return self._lazily("predict", X)
        scores = self._scores(X)
        result = scores[:, 0] if self._one_output else scores
        if not return_std:
            return result
        deviation = self._deviation(X)
        return result, deviation[:, 0] if self._one_output else deviation

    def _output_of(self, method: str) -> tuple[int | None, Any]:
        return (None if self._one_output else self._n_outputs), np.dtype(np.float64)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R², the mean over outputs; of Dask collections, partition by partition."""
        if is_dask(X):
            from kitchensinks.estimators.cluster import score_partitions

            return score_partitions(self, X, y, sample_weight)
        if isinstance(X, Table) and isinstance(y, str):
            X, y, sample_weight = table_targets(self, X, y, sample_weight, reset=False)
        return float(super().score(X, y, sample_weight))

    def _deviation(self, X: Any) -> Array:
        if self.loss_.name != "squared" or self.constraint is not None:
            raise ValueError(
                "return_std needs loss='squared' without a constraint; this is "
                f"loss={self.loss_.name!r}, constraint={self.constraint!r}."
            )
        if self._posterior is None:
            self._posterior = self._make_posterior()
        X = self._validate_rows(X)
        features = self.frozen_.features
        parts = [
            self._posterior.deviation(features(X[part])) for part in block_slices(X.shape[0], 2048)
        ]
        return np.concatenate(parts) * self._unit

    def _make_posterior(self) -> Posterior:
        if self.moments_ is None:
            raise ValueError(
                f"return_std needs the Gram matrix, which solver {self.solver_!r} does not form "
                "(use solver='direct') and model files do not hold (fit again)."
            )
        intercept = self._had_intercept
        equations = self.moments_.normal_equations(intercept)
        weights = self.model_.weights / self._unit
        return Posterior.of_equations(equations, weights, self.alpha_, intercept)


def _robust_spread(columns: Array, weights: Array | None) -> float:
    """NORMAL_DEVIATION times the median absolute deviation, or the mean one where that is zero."""
    own = None if weights is None else np.repeat(weights[:, None], columns.shape[1], axis=1)

    def middle(values: Array, axis: int | None) -> Any:
        return np.quantile(values, 0.5, axis=axis, weights=own, method="inverted_cdf")

    def median(values: Array, axis: int | None) -> Any:
        # The mean of the two middle values, which turns with its sign.
        return 0.5 * (middle(values, axis) - middle(-values, axis))

    deviation = np.abs(columns - median(columns, 0))
    spread = NORMAL_DEVIATION * float(median(deviation, None))
    if spread <= 0.0:
        spread = float(np.average(deviation, weights=own))
    return spread if spread > 0.0 and math.isfinite(spread) else 1.0
