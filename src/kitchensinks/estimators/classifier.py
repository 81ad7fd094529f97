"""The classifier."""

from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_is_fitted

from kitchensinks.calibration import Calibration
from kitchensinks.constraints import Constraint
from kitchensinks.estimators.base import KitchenSink
from kitchensinks.fitting import Fit
from kitchensinks.losses import Array, Loss, get_loss

# Rows or scores of a stream that are remembered to calibrate probabilities.
_REMEMBERED = 2000


class KitchenSinkClassifier(ClassifierMixin, KitchenSink):
    """Weighted sum of K random features, fitted by convex optimisation (Algorithm 1).

    Minimises Σ w_i·loss(y_i, f(x_i))/Σ w_i + alpha·‖β‖² with
    f(x) = b + Σ_k β_k·φ(x; θ_k)/√K, so alpha means the same whatever the numbers of rows and
    features. b is not penalised.

    Parameters
    ----------
    basis : a basis such as ``ks.Fourier()`` (what None stands for), ``ks.ReLU()``, ``ks.Stumps()``.
    n_components : K, the number of draws, or "auto": K is doubled from 256 until the held-out
        squared error stops falling; `k_path_` has the curve.
    loss : "squared", "hinge", "squared_hinge", "logistic" or "exponential". Several classes:
        ±1 coding with one column a class for all but "logistic", which is multinomial.
    alpha : ridge strength, or "auto": exact leave-one-out over the whole ridge path for squared
        loss (float64, one factorisation), a held-out fifth of the rows for the other losses. With
        a constraint "auto" means 0.
    constraint : None, ``ks.SupBall(C)``: |α_k| ≤ C/K on features divided by their bound, as in the
        kitchen-sinks paper; ``ks.L2Ball(R)``: Σc² ≤ R² on raw features, as in the thesis.
    standardize : zero mean, unit variance per column.
    fit_intercept : whether there is a b; without it the fit is that of the papers.
    class_weight : None, "balanced" or a dict from class to weight.
    dtype : of the features; their sums are in float64 all the same. "float32", "float64", or None:
        float64 for float64 rows while n·K ≤ 2²³ and the rows come at once, else float32.
    memory_budget : bytes, text such as "2GB", or None for a quarter of the free memory. Features
        are kept between passes only where they fit in half of it.
    n_jobs : threads of BLAS and compiled loops; None leaves them as they are.
    random_state : int, RandomState or None; an int names the draw for good.
    solver : "auto" (the rule is in ``kitchensinks.fitting.fit_weights``), "direct", "conjugate" or
        "stochastic".
    tol : relative gap between objective and optimum at which solvers stop.
    max_iter : most iterations of an iterative solver.
    verbose : print progress.

    Attributes
    ----------
    model_ : scaler, draw and weights; ``model_.scores(rows)`` predicts without checks.
    solver_, solution_, gap_, n_iter_ : the solver that ran and its evidence.
    alpha_, alphas_, alpha_errors_ : ridge strength, and the path it was chosen from.
    alpha_sup_norm_ : max |α_k| on features divided by their bound (kitchen sinks, Figure 2).
    condition_number_, effective_dimension_, gram_noise_ : of the Gram with its ridge.
    k_path_ : held-out error against K, for n_components="auto".

    Examples
    --------
    >>> import kitchensinks as ks
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ks.KitchenSinkClassifier(n_components=300, random_state=0).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.95)
    True
    """

    _task = "classification"

    def __init__(
        self,
        basis: Any = None,
        n_components: int | str = 1000,
        loss: Any = "squared",
        alpha: float | str = "auto",
        constraint: Constraint | None = None,
        standardize: bool = True,
        fit_intercept: bool = True,
        class_weight: Any = None,
        dtype: Any = None,
        memory_budget: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        solver: str = "auto",
        tol: float = 1e-3,
        max_iter: int = 200,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            basis,
            n_components,
            loss,
            alpha,
            constraint,
            standardize,
            fit_intercept,
            dtype,
            memory_budget,
            n_jobs,
            random_state,
            solver,
            tol,
            max_iter,
            verbose,
        )
        self.class_weight = class_weight

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> "KitchenSinkClassifier":
        """Add a batch; give all classes at the first call where the first batch may lack some."""
        super().partial_fit(X, y, sample_weight, classes=classes)
        return self

    def _validate_targets(self, y: Any) -> np.ndarray:
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        return np.asarray(y)

    def _encode(
        self, y: np.ndarray, weights: Array | None, first: bool, classes: Any = None
    ) -> Array:
        """±1 for two classes; a column a class for more, one-hot for the multinomial loss."""
        if first:
            self.classes_ = np.unique(y if classes is None else classes)
            if len(self.classes_) < 2:
                raise ValueError(
                    f"y has one class only, {self.classes_[0]!r}: a classifier needs two or more. "
                    "Pass classes= to partial_fit where the first batch lacks some."
                )
            if len(self.classes_) > 2 and self.loss_.name == "logistic":
                self.loss_ = get_loss("multinomial")
            self._recent: list[Any] = []
        place = np.clip(np.searchsorted(self.classes_, y), 0, len(self.classes_) - 1)
        unseen = np.unique(y[self.classes_[place] != y])
        if len(unseen):
            raise ValueError(
                f"y contains classes {unseen.tolist()} that were not there before: the classes are "
                f"{self.classes_.tolist()}. Pass classes= to the first partial_fit."
            )
        if len(self.classes_) == 2:
            return np.where(place == 1, 1.0, -1.0)[:, None]
        hot = np.zeros((len(y), len(self.classes_)))
        hot[np.arange(len(y)), place] = 1.0
        return hot if self.loss_.name == "multinomial" else 2.0 * hot - 1.0

    def _loss(self) -> Loss:
        loss = super()._loss()
        if loss.name == "multinomial":
            raise ValueError(
                "loss='multinomial': use loss='logistic', which is it for many classes."
            )
        return loss

    def _labels(self, y: np.ndarray) -> np.ndarray:
        place = np.searchsorted(self.classes_, y)
        return place == 1 if len(self.classes_) == 2 else place

    def _with_class_weights(self, y: np.ndarray, weights: Array | None) -> Array | None:
        if self.class_weight is None:
            return weights
        own = np.ones(len(y)) if weights is None else weights
        place = np.searchsorted(self.classes_, y)
        if isinstance(self.class_weight, str):
            if self.class_weight != "balanced":
                raise ValueError(
                    f"class_weight={self.class_weight!r}: need 'balanced', a dict or None."
                )
            count = np.bincount(place, own, len(self.classes_))
            factors = own.sum() / (len(self.classes_) * np.where(count > 0, count, 1.0))
        else:
            unknown = set(self.class_weight) - set(self.classes_.tolist())
            if unknown:
                raise ValueError(
                    f"class_weight names {sorted(map(str, unknown))}, which are not classes of y: "
                    f"{self.classes_.tolist()}."
                )
            factors = np.array(
                [float(self.class_weight.get(c, 1.0)) for c in self.classes_.tolist()]
            )
            if (factors < 0).any():
                raise ValueError(f"class_weight={self.class_weight!r}: need weights of 0 or more.")
        return own * factors[place]

    # -- probabilities -------------------------------------------------------------------

    def _needs_calibration(self) -> bool:
        """Logistic losses have a link of their own."""
        return self.loss_.name not in ("logistic", "multinomial")

    def _calibrate(self, fit: Fit, y: np.ndarray, weights: Array | None) -> None:
        self.calibration_: Calibration | None = None
        if not self._needs_calibration() or fit.unseen is None:
            return
        rows, scores = fit.unseen
        targets = self._encode(y[rows], None, first=False)
        own = None if weights is None else weights[rows]
        self.calibration_ = Calibration.fit(scores, targets > 0, own)

    def _note_scores(self, scores: Array, targets: Array, weights: Array | None) -> None:
        if self._needs_calibration():
            self._recent = [*self._recent, (scores, targets)][-max(1, 5 * _REMEMBERED // 512) :]

    def _note_rows(self, X: Any, targets: Array, weights: Array | None) -> None:
        own = np.ones(len(targets)) if weights is None else weights
        rows = X[-_REMEMBERED:], targets[-_REMEMBERED:], own[-_REMEMBERED:]
        kept, count = [rows], len(rows[1])
        for batch in reversed(self._recent):
            if count >= _REMEMBERED:
                break
            kept.insert(0, batch)
            count += len(batch[1])
        self._recent = kept

    def _settle_calibration(self, fit: Fit, path: Any) -> None:
        """Leave-one-out scores of the rows remembered, which are among those summed."""
        scores, targets, weights = [], [], []
        for rows, own_targets, own in self._recent:
            for part, features in self._blocks(rows).fresh():
                dense = features.toarray() if self.basis_.sparse else features
                left = path.left_out(dense, own_targets[part], own[part], np.array([fit.alpha]))
                scores.append(left[:, 0, :])
            targets.append(own_targets)
            weights.append(own)
        self.calibration_ = None
        if scores:
            self.calibration_ = Calibration.fit(
                np.concatenate(scores), np.concatenate(targets) > 0, np.concatenate(weights)
            )

    def _settle_stochastic(self) -> None:
        super()._settle_stochastic()
        self.calibration_ = None
        if self._recent:
            scores = np.concatenate([pair[0] for pair in self._recent])
            targets = np.concatenate([pair[1] for pair in self._recent])
            self.calibration_ = Calibration.fit(scores, targets > 0, None)

    def merge(self, other: Any) -> "KitchenSinkClassifier":
        """Add what another estimator has summed; both must be frozen alike. Returns self."""
        super().merge(other)
        self._recent = [*self._recent, *other._recent]
        return self

    def _frozen_difference(self, other: Any) -> str | None:
        if not np.array_equal(self.classes_, other.classes_):
            return "classes"
        return super()._frozen_difference(other)

    # -- predicting ----------------------------------------------------------------------

    def decision_function(self, X: Any) -> Array:
        """f(x): shape (n,) for two classes, (n, classes) for more."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The class of the largest score."""
        scores = self._scores(X)
        place = (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)
        return self.classes_[place]

    def predict_proba(self, X: Any) -> Array:
        """Calibrated probabilities, shape (n, classes).

        Logistic loss: its own link. Every other loss: an increasing function of the score
        (``kitchensinks.calibration.Calibration``) fitted to scores of rows that the weights had
        not seen: exact leave-one-out scores for squared loss, held-out rows for the others,
        scores before each step for stochastic fits.
        """
        scores = self._scores(X)
        check_is_fitted(self, "model_")
        if self.loss_.name == "multinomial":
            return np.asarray(softmax(scores, axis=1))
        if self.loss_.name == "logistic":
            chance = expit(scores[:, 0])
            return np.column_stack([1.0 - chance, chance])
        if self.calibration_ is None:
            raise ValueError(
                "There were too few rows to calibrate probabilities: use decision_function, or "
                "loss='logistic'."
            )
        return self.calibration_.probabilities(scores)

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))
