"""The regressor."""

from typing import Any, Self

from sklearn.base import RegressorMixin

from kitchensinks.estimators.base import KitchenSink
from kitchensinks.estimators.inputs import known_rows
from kitchensinks.execution import is_dask
from kitchensinks.numerics.threads import threads
from kitchensinks.problem.targets import Numbers


class KitchenSinkRegressor(RegressorMixin, KitchenSink):
    """Weighted sum of K random features for regression (Algorithm 1); several outputs at once.

    Minimises Σ w_i·loss(y_i, f(x_i))/Σ w_i + alpha·‖β‖² with f(x) = b + Σ_k β_k·φ(x; θ_k)/√K, so
    alpha means the same whatever the numbers of rows and features. b is not penalised.

    Parameters
    ----------
    basis : which random features. None is ``ks.Learned()``: basis, scales of the columns,
        bandwidth, K and ridge are learned on held-out training rows, because no single choice suits
        all tables. A basis such as ``ks.Fourier()``, ``ks.ReLU()`` or ``ks.Stumps()`` is the
        papers' method and nothing else; ``ks.Learned(ks.Fourier())`` learns the law of a basis;
        a law that another fit has found (``model.law_``) is fitted again.
    n_components : K, the number of draws. None: 1000 for a given basis, and what the held-out error
        asks for where the law is learned; "auto": K is doubled from 256 until the held-out squared
        error stops falling (`k_path_` has the curve).
    loss : "squared" (the default: one linear system), "huber" or "quantile". "huber" turns linear
        at 1.345 robust standard deviations of the targets, and "quantile" is the median;
        ``ks.losses.Huber(delta)`` and ``ks.losses.Quantile(tau)`` set others.
    alpha : ridge strength, or "auto", because its best value varies by orders of magnitude: exact
        leave-one-out over the whole ridge path for squared loss (float64, one factorisation), a
        held-out fifth of the rows for the other losses. With a constraint "auto" means 0.
    constraint : None, ``ks.SupBall(C)``: |α_k| ≤ C/K on features divided by their bound, as in the
        kitchen-sinks paper; ``ks.L2Ball(R)``: Σc² ≤ R² on raw features, as in the thesis.
    standardize : zero mean and unit variance for every column, because one bandwidth serves all.
    fit_intercept : whether there is a b; without it the fit is that of the papers.
    solver : "auto", or the name of an algorithm, or ``ks.Solver(...)`` with its accuracy,
        precision and memory. ``model.plan_`` says what ran and why.
    n_jobs : threads of the fit; None leaves BLAS and compiled loops as they are.
    random_state : int, RandomState or None; an int names the draw for good.
    verbose : whether progress is printed; a function is called with (text, done, total).

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

    def freeze(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn what batches and workers must share (scaler, law, bins, unit), and sum nothing.

        Copies of a frozen estimator can be given different rows by `partial_fit` and put
        together by `merge`: the result is that of one fit.
        """
        self.state_, _, _ = self._frozen(X, y, sample_weight)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Add a batch of rows, to those of earlier batches or of `fit`.

        Squared loss: exact. Scaler, law and bins are frozen by `freeze` or `fit`, or by the first
        batch (with a warning, because later batches are then measured by the first one); after
        that any split into batches gives the same weights, which are solved when they are asked
        for. alpha="auto" is chosen by generalised cross-validation, because batches are seen once.
        Other losses, and K too large for sums: one averaged stochastic gradient step for each 512
        rows, from features made anew by their seed.
        """
        return self._partial_fit(X, y, sample_weight)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """f(x), shaped as the targets were; with `return_std` also the standard deviation.

        The deviation is that of Bayesian ridge regression, noise included, for squared loss.
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
        mean, rows = self._answer("predict", X), known_rows(self, state.columns, X)
        with threads(self.n_jobs):
            return mean, state.targets.shaped(state.deviation(rows))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R², the mean over outputs; of Dask collections, partition by partition."""
        return self._score(super().score, X, y, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
