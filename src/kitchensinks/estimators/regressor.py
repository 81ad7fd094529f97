"""The regressor."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MultiOutputMixin, RegressorMixin

from kitchensinks.estimators.base import KitchenSink
from kitchensinks.estimators.classifier import KitchenSinkClassifier
from kitchensinks.estimators.inputs import known_rows
from kitchensinks.estimators.progress import shown
from kitchensinks.execution import is_dask
from kitchensinks.features.bases import Basis
from kitchensinks.features.borrowed import borrowing, going_on
from kitchensinks.fitting.calibration import check_coverage
from kitchensinks.fitting.gradients import Gradients
from kitchensinks.fitting.settings import Checkpoint, Verbose
from kitchensinks.law import find_law
from kitchensinks.numerics.arrays import SampleWeight
from kitchensinks.numerics.threads import threads
from kitchensinks.problem.losses import Array
from kitchensinks.problem.targets import Numbers
from kitchensinks.state import Spec
from kitchensinks.state.fits import gradient_state
from kitchensinks.tables.view import Given


class Interval(NamedTuple):
    """Lower and upper ends of intervals, each of the shape that predictions have.

    Where several coverages were asked for, they are the last axis.
    """

    lower: Array
    upper: Array


@borrowing(KitchenSinkClassifier)
@dataclass(eq=False, repr=False)
class KitchenSinkRegressor(MultiOutputMixin, RegressorMixin, KitchenSink):
    """Weighted sum of K random features for regression (Algorithm 1); several outputs at once.

    Minimises Σ w_i·loss(y_i, f(x_i))/Σ w_i + alpha·‖β‖² with f(x) = b + Σ_k β_k·φ(x; θ_k)/√K, so
    alpha means the same whatever the numbers of rows and features. b is not penalised.

    Parameters
    ----------
    Those of :class:`KitchenSinkClassifier` without `class_weight`, and other losses.
    loss : "squared" (the default: one linear system), "huber", "quantile", "poisson", "gamma" or
        "tweedie". "huber" turns linear at 1.345 robust standard deviations of the targets, and
        "quantile" is the median; ``ks.losses.Huber(delta)`` and ``ks.losses.Quantile(tau)`` set
        others. The last three are deviances with a log link, f(x) = log E y, for targets that are
        not negative: `predict` returns exp(f(x)). ``ks.losses.Tweedie(power)`` sets a power of the
        variance between 1 and 2 (1.5).

    Attributes
    ----------
    Those of :class:`KitchenSinkClassifier` without `classes_` and `calibration_`.

    Examples
    --------
    >>> import numpy as np
    >>> import kitchensinks as ks
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ks.KitchenSinkRegressor(ks.Fourier(), n_components=200, random_state=0)
    >>> mean, deviation = model.fit(X[::2], y[::2]).predict(X[1::2], return_std=True)
    >>> round(float(np.mean(np.abs(y[1::2] - mean) < deviation)), 1)
    0.7
    """

    _task = "regression"

    @going_on(KitchenSink.fit)
    def fit(
        self,
        X: Given,
        y: ArrayLike,
        sample_weight: SampleWeight = None,
        checkpoint: Checkpoint | None = None,
        verbose: Verbose = False,
        *,
        groups: object = None,
        gradients: object = None,
    ) -> Self:
        """``gradients``: of the targets, by the columns of X, shape (n, d), or (n, outputs, d) for
        several outputs; a row of NaN says that its gradient is not known. The squared errors of
        all partial derivatives, each times the deviation of its column (1 with
        ``standardize=False``), are then added to those of the values. For a given basis with
        slopes (Fourier, Sigmoid("tanh"), ReLU, Linear), squared loss and arrays of numbers;
        alpha="auto" is chosen by generalised cross-validation.

        >>> import numpy as np
        >>> import kitchensinks as ks
        >>> X = np.linspace(-3, 3, 7)[:, None]
        >>> model = ks.KitchenSinkRegressor(ks.Fourier(), 200, random_state=0)
        >>> new = np.linspace(-2.5, 2.5, 50)[:, None]
        >>> for gradients in (None, 2 * np.cos(2 * X)):
        ...     found = model.fit(X, np.sin(2 * X[:, 0]), gradients=gradients).predict(new)
        ...     print(round(float(np.abs(found - np.sin(2 * new[:, 0])).max()), 2))
        1.0
        0.0
        """
        if gradients is None:
            return super().fit(X, y, sample_weight, checkpoint, verbose, groups=groups)
        if is_dask(X) or checkpoint is not None:
            raise ValueError(
                "gradients are not supported for Dask collections, nor with a checkpoint: fit "
                "arrays in memory, without one."
            )
        spec, batch = self._first_rows(X, y, sample_weight, groups=groups)
        _check_takes_gradients(spec)
        n_rows, n_outputs = batch.targets.shape
        known = Gradients.of(gradients, n_rows, n_outputs, batch.rows.shape[1])
        with shown(spec, verbose) as spec, threads(spec.n_jobs):
            law, _ = find_law(spec.basis, batch, spec.request())
            scaler = law.features.scaler
            scales = (1.0 if scaler is None else scaler.scale) / spec.encoding.unit
            own = known._replace(values=known.values * scales)
            self.state_ = gradient_state(spec, law, batch, own)
        return self

    def freeze(
        self, X: Given, y: ArrayLike, sample_weight: SampleWeight = None, verbose: Verbose = False
    ) -> Self:
        """Learn what batches and workers must share, and sum nothing.

        That is the scaler, the law, the bins, and the unit of the targets. Copies of a frozen
        estimator can be given different rows by `partial_fit` and put together by `merge`: the
        result is that of one fit.
        """
        self.state_, _, _ = self._frozen(X, y, sample_weight, None, verbose)
        return self

    def partial_fit(
        self, X: Given, y: ArrayLike, sample_weight: SampleWeight = None, verbose: Verbose = False
    ) -> Self:
        """Add a batch of rows, to those of earlier batches or of `fit`.

        A given basis with squared loss: exact. Scaler, law, bins and classes are frozen by `freeze`
        or `fit`, or by the first batch (with a warning, because later batches are then measured by
        the first one). After that any split into batches gives the same weights, which are computed
        on first access. alpha="auto" is chosen by generalised cross-validation, because
        batches are seen once; some 2000 rows are remembered to calibrate. Other losses, and K too
        large for sums: one averaged stochastic gradient step for each 512 rows, from features made
        anew by their seed.

        A learned law stays that of `fit`, or is learned from the first rows of a stream and again
        when it has half as many more. The rows are kept up to 2²⁴ entries where they leave no sums,
        and all are fitted together when the model is used: see docs/fitting.md.
        """
        return self._partial_fit(X, y, sample_weight, None, verbose)

    def predict(self, X: Given, return_std: bool = False) -> Any:
        """f(x), shaped as the targets were; with `return_std` also the standard deviation.

        Deviances with a log link: exp(f(x)). The standard deviation is that of Bayesian ridge
        regression, noise included, for squared loss.
        """
        if not return_std:
            return self._answer("predict", X)
        if is_dask(X):
            raise ValueError(
                "return_std of Dask collections would send the Gram matrix to every worker: "
                "predict without it, or call predict on the partitions that need it."
            )
        state = self._state()
        assert isinstance(state.targets, Numbers)
        mean, rows = self._answer("predict", X), known_rows(self, state, X)
        with threads(self.n_jobs):
            return mean, state.targets.shaped(state.deviation(rows))

    def predict_interval(self, X: Given, coverage: float | Sequence[float] = 0.9) -> Interval:
        """Intervals that hold the target of a new row with probability `coverage`.

        [f(x) + q⁻, f(x) + q⁺], with the (1 − c)/2 and (1 + c)/2 quantiles q of residuals of rows
        that the weights had not seen; so an interval need not be symmetric, and those of several
        coverages are nested. All rows have intervals of one width. Squared loss by a Gram has exact
        leave-one-out residuals of up to 2000 rows, whose coverage tends to c as rows become many;
        bins, two stages, other losses and balls have residuals of rows that a first fit was made
        without, for which coverage is c or more; stochastic gradients those of rows before the
        steps that used them. These promises do not account for a learned law, which has seen all
        rows: docs/intervals.md has the coverage measured. Deviances with a log link ("poisson",
        "gamma", "tweedie") have no intervals, because their targets vary more where predictions are
        larger.

        Parameters
        ----------
        coverage : a number between 0 and 1, or several of them.

        Returns
        -------
        lower, upper : each shaped as `predict` would, with one more axis for several coverages.

        Examples
        --------
        >>> import numpy as np
        >>> import kitchensinks as ks
        >>> from sklearn.datasets import load_diabetes
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = ks.KitchenSinkRegressor(ks.Fourier(), n_components=200, random_state=0)
        >>> lower, upper = model.fit(X[::2], y[::2]).predict_interval(X[1::2], coverage=0.8)
        >>> round(float(np.mean((lower <= y[1::2]) & (y[1::2] <= upper))), 2)
        0.86
        """
        if is_dask(X):
            raise ValueError(
                "predict_interval is not supported for Dask collections: call it on the "
                "partitions, or add the ends of one row's interval to predictions."
            )
        several = isinstance(coverage, Sequence | np.ndarray) and not isinstance(coverage, str)
        given: Any = coverage if several else [coverage]
        wanted = [check_coverage(one) for one in given]
        if not wanted:
            raise ValueError("coverage has no entry: need a number between 0 and 1, or several.")
        state = self._state()
        assert isinstance(state.targets, Numbers)
        with threads(self.n_jobs):
            residuals = state.residuals
        ends = np.array([residuals.offsets(one) for one in wanted])
        mean = np.asarray(self._answer("predict", X))
        mean = mean.reshape(len(mean), -1)
        lower, upper = (mean[:, :, None] + ends[:, end].T for end in (0, 1))
        if not several:
            lower, upper = lower[..., 0], upper[..., 0]
        return Interval(state.targets.shaped(lower), state.targets.shaped(upper))

    def score(self, X: Given, y: ArrayLike, sample_weight: SampleWeight = None) -> float:
        """R², the mean over outputs; of Dask collections, partition by partition.

        It is R² for every loss, as in scikit-learn's ``HistGradientBoostingRegressor``, so that the
        scores of models with different losses compare. ``sklearn.metrics.d2_tweedie_score`` and
        ``d2_pinball_score`` are the explained deviance and the explained quantile loss.
        """
        return self._score(super().score, X, y, sample_weight)


def _check_takes_gradients(spec: Spec) -> None:
    """An error where values and gradients cannot be fitted together."""
    reason = ""
    if not isinstance(spec.basis, Basis):
        reason = "basis=None learns its law from values: need a basis, such as ks.Fourier()"
    elif not spec.loss.squared:
        reason = f"loss={spec.loss.name!r}: need loss='squared'"
    elif spec.n_components == "auto":
        reason = "n_components='auto' looks at values alone: need a number"
    elif spec.columns is not None:
        reason = "the columns are categories, dates or have gaps: need an array of numbers"
    if reason:
        raise ValueError(f"gradients were given, and {reason}.")
