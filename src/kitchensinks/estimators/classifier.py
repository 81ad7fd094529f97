"""The classifier."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin

from kitchensinks.estimators.base import KitchenSink
from kitchensinks.estimators.inputs import more_rows
from kitchensinks.estimators.readings import reported
from kitchensinks.features.bases.base import Basis
from kitchensinks.fitting.settings import Verbose
from kitchensinks.numerics.arrays import AnyArray, SampleWeight
from kitchensinks.numerics.checks import check_count
from kitchensinks.numerics.threads import threads
from kitchensinks.numerics.warned import warn
from kitchensinks.problem.losses import Array
from kitchensinks.problem.targets import Classes
from kitchensinks.state import State
from kitchensinks.state.certificate import RiskCertificate, risk_certificate
from kitchensinks.state.streams import Waiting
from kitchensinks.tables.view import Given


@dataclass(eq=False, repr=False)
class KitchenSinkClassifier(ClassifierMixin, KitchenSink):
    """Weighted sum of K random features, fitted by convex optimisation (Algorithm 1).

    Minimises Σ w_i·loss(y_i, f(x_i))/Σ w_i + alpha·‖β‖² with
    f(x) = b + Σ_k β_k·φ(x; θ_k)/√K, so alpha means the same whatever the numbers of rows and
    features. b is not penalised.

    Parameters
    ----------
    basis : which random features. None is ``ks.Learned()``: basis, scales of the columns,
        bandwidth, K and ridge are learned on held-out training rows, because no single choice suits
        all tables. A basis such as ``ks.Fourier()``, ``ks.ReLU()`` or ``ks.Stumps()`` is the
        papers' method and nothing else; ``ks.Learned(ks.Fourier())`` learns the law of a basis;
        a law that another fit has found (``model.law_``) is fitted again.
    n_components : K, the number of draws. None: chosen by held-out error where the law is learned,
        and 1000 for a given basis, which approximates its kernel to about 1/√K = 3 %; "auto": K
        is doubled from 256 until the held-out squared error stops falling (`k_path_` has the
        curve).
    loss : "squared" (the default: one linear system, and probabilities are calibrated), "hinge",
        "squared_hinge", "logistic" or "exponential". Several classes: ±1 coding with one column a
        class for all but "logistic", which is multinomial.
    alpha : ridge strength, or "auto", because its best value varies by orders of magnitude: exact
        leave-one-out over the whole ridge path for squared loss (float64, one factorisation), a
        held-out fifth of the rows for the other losses. With a constraint "auto" means 0.
    constraint : None, because a ridge limits the weights already, or ``ks.SupBall(C)``: |α_k| ≤ C/K
        on features divided by their bound, as in the kitchen-sinks paper; ``ks.L2Ball(R)``: Σc² ≤
        R² on raw features, as in the thesis.
    standardize : zero mean and unit variance for every column, because one bandwidth serves all.
    fit_intercept : whether f has the intercept b. True, because few targets have mean zero; False
        is the papers' fit.
    categorical_features : columns that are categories whatever their type, as a list of names, a
        list of indices, or a mask. Text and declared categories of frames and tables are
        categories in any case. "from_dtype" and None add no others, because numbers are quantities
        more often than names.
    solver : "auto", the cheapest that suits the sizes, or the name of an algorithm, or
        ``ks.Solver(...)`` with its accuracy, precision and memory. ``model.plan_`` says what ran
        and why.
    n_jobs : threads of fits and predictions; None takes all cores that the process may use (its
        affinity, limits of its container and OMP_NUM_THREADS count), because the result is the same
        for every number.
    random_state : int, RandomState or None; an int names the draw for good. None is another draw
        each time, as everywhere in scikit-learn.
    class_weight : None: rows count as they come, so that probabilities are those of new rows;
        "balanced", or a dict from class to weight.

    Attributes
    ----------
    state_ : everything that the fit leaves, as one value.
    law_, plan_ : the law of the features with the record of how it was found; which solver ran, in
        which space, and why. Both print.
    n_components_ : K, the number of draws; `plan_` counts their columns, which may be more.
    model_ : scaler, draw and weights; ``model_.scores(rows)`` predicts without checks.
    classes_ : the labels, sorted.
    solver_, objective_, gap_, converged_, n_iter_ : the solver that ran and its evidence:
        the objective is at most the gap above its optimum (infinite for stochastic fits).
    alpha_, alphas_, alpha_errors_ : ridge strength, and the path it was chosen from.
    alpha_sup_norm_ : max |α_k| on features divided by their bound (kitchen sinks, Figure 2).
    condition_number_, effective_dimension_, gram_noise_ : of the Gram with its ridge; NaN where
        the solver did without one.
    k_path_ : held-out error for every prefix of K, for n_components="auto": squared_errors,
        class_errors, the K tried and the one chosen, with the reason.
    feature_importances_ : how much the function changes along each column: its share of the
        distance between rows where the law was learned, of the function's variance where not.
    calibration_ : from scores to probabilities (None for logistic loss).

    Examples
    --------
    >>> import kitchensinks as ks
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ks.KitchenSinkClassifier(ks.Fourier(), n_components=300, random_state=0)
    >>> round(model.fit(X[::2], y[::2]).score(X[1::2], y[1::2]), 2)
    0.98
    """

    class_weight: Any = None

    _task = "classification"

    classes_ = reported(lambda s: _classes_of(s).labels, "The labels, sorted.")
    calibration_ = reported(lambda s: s.calibration, "From scores to probabilities, or None.")

    def freeze(
        self,
        X: Given,
        y: ArrayLike,
        sample_weight: SampleWeight = None,
        classes: ArrayLike | None = None,
        verbose: Verbose = False,
    ) -> Self:
        """Learn what batches and workers must share, and sum nothing.

        That is the scaler, the law, the bins, and the classes with their weights. Copies of a
        frozen estimator can be given different rows by `partial_fit` and put together by `merge`:
        the result is that of one fit. `classes`: all of them, where y may lack some.
        """
        self.state_, _, _ = self._frozen(X, y, sample_weight, classes, verbose)
        return self

    def partial_fit(
        self,
        X: Given,
        y: ArrayLike,
        classes: Any = None,
        sample_weight: SampleWeight = None,
        verbose: Verbose = False,
    ) -> Self:
        """Add a batch of rows, to those of earlier batches or of `fit`.

        As `KitchenSinkRegressor.partial_fit`. Give all classes at the first call where the first
        batch may lack some. ``class_weight="balanced"`` goes by the rows of `freeze`, or of the
        first batch with a warning.
        """
        if self.class_weight == "balanced" and self._held is None:
            warn(
                "class_weight='balanced' goes by the share of each class in the first batch of "
                "partial_fit. Call freeze(X, y) with representative rows first, or give a dict.",
            )
        if classes is not None and self._held is not None:
            labels = _classes_of(self._held).labels
            if not np.array_equal(np.unique(classes), labels):
                raise ValueError(
                    f"classes={np.unique(classes).tolist()}, but the first rows had "
                    f"{labels.tolist()}: classes are given once, at the first call."
                )
        return self._partial_fit(X, y, sample_weight, classes, verbose)

    def decision_function(self, X: Given) -> Array:
        """f(x): shape (n,) for two classes, (n, classes) for more."""
        return self._answer("decision_function", X)

    def predict(self, X: Given) -> AnyArray:
        """The class of the largest score."""
        return self._answer("predict", X)

    def predict_proba(self, X: Given) -> Array:
        """Calibrated probabilities, shape (n, classes).

        Logistic loss: its own link. Every other loss: an increasing function of the score
        (``kitchensinks.fitting.calibration.Calibration``) fitted to scores of rows that the
        weights had not seen: exact leave-one-out scores for squared loss, held-out rows for the
        others, scores before each step for stochastic fits. After block coordinate descent there
        are only scores of fitted rows, and probabilities may be overconfident.
        """
        return self._answer("predict_proba", X)

    def predict_log_proba(self, X: Given) -> Array:
        """Logarithm of `predict_proba`."""
        return self._answer("predict_log_proba", X)

    def risk_certificate(
        self, X: Given, y: ArrayLike, delta: float = 0.05, draws: int = 400
    ) -> RiskCertificate:
        """A bound on the expected loss of a fit with ``constraint=``, from its own training rows.

        X and y are the rows of the fit. The bound holds with probability 1 − delta. Beside it is
        the bound of the kitchen-sinks paper (section 5), which does not look at the features. For
        two classes, without intercept and weights of rows: see `kitchensinks.state.certificate`.
        draws: how many draws of signs estimate the complexity.

        Examples
        --------
        >>> import kitchensinks as ks
        >>> from sklearn.datasets import load_breast_cancer
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model = ks.KitchenSinkClassifier(ks.Stumps(), 300, "hinge", constraint=ks.SupBall(3.0),
        ...                                  fit_intercept=False, random_state=0).fit(X, y)
        >>> found = model.risk_certificate(X, y)
        >>> round(found.complexity, 2), round(found.paper_complexity, 2)
        (0.1, 0.13)
        """
        state = self._state()
        ball, intercept = state.settings.constraint, state.settings.fit_intercept
        if ball is None or intercept or self.class_weight is not None:
            raise ValueError(
                f"constraint={self.constraint!r}, fit_intercept={intercept!r}, "
                f"class_weight={self.class_weight!r}: a certificate needs a ball, such as "
                "ks.SupBall(10), no intercept and no weights of classes. Fit again with these."
            )
        if len(self.classes_) != 2 or state.loss.link == "softmax":
            raise ValueError(
                f"There are {len(self.classes_)} classes: a certificate is for two. Certify one "
                "class against the others."
            )
        check_count("draws", draws)
        if not 0 < delta < 1:
            raise ValueError(f"delta={delta!r}: need a probability of failure between 0 and 1.")
        batch = more_rows(self, self._spec(state), state, X, y)
        if batch.weights is not None:
            raise ValueError("A certificate counts every row once: give no weights.")
        with threads(self.n_jobs):
            found = risk_certificate(
                state.model, ball, state.loss, batch.rows, batch.targets, delta, draws
            )
        given = isinstance(self.basis, Basis) and self.basis.unresolved() is None
        return found._replace(fixed=found.fixed and given)

    def score(self, X: Given, y: ArrayLike, sample_weight: SampleWeight = None) -> float:
        """The share of rows whose class is right; of Dask collections, partition by partition."""
        return self._score(super().score, X, y, sample_weight)


def _classes_of(state: State | Waiting) -> Classes:
    assert isinstance(state.targets, Classes)
    return state.targets
