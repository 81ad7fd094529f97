"""The classifier."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite

from kitchensinks.estimators.base import Batch
from kitchensinks.estimators.batches import Batches
from kitchensinks.estimators.summaries import ClassCounts
from kitchensinks.estimators.tables import table_targets
from kitchensinks.execution import is_dask
from kitchensinks.fitting import Fit, LeftOut, Settings, left_out_of
from kitchensinks.fitting.calibration import Calibration
from kitchensinks.problem.constraints import Constraint
from kitchensinks.problem.losses import Array, get_loss
from kitchensinks.problem.moments import NormalEquations
from kitchensinks.tables import block_slices
from kitchensinks.tables.keys import RowSample
from kitchensinks.tables.table import Table

# Rows, and entries of them, that are remembered to calibrate probabilities.
_REMEMBERED, _REMEMBERED_ENTRIES = 2000, 2**21


class KitchenSinkClassifier(ClassifierMixin, Batches):
    """Weighted sum of K random features, fitted by convex optimisation (Algorithm 1).

    Minimises Σ w_i·loss(y_i, f(x_i))/Σ w_i + alpha·‖β‖² with
    f(x) = b + Σ_k β_k·φ(x; θ_k)/√K, so alpha means the same whatever the numbers of rows and
    features. b is not penalised.

    Parameters
    ----------
    basis : a basis such as ``ks.Fourier()``, ``ks.ReLU()``, ``ks.Stumps()``; "auto": basis, law,
        K and alpha are learned and chosen on held-out training rows; None: "auto" where
        n_components is None too (and constraint, solver and standardize are left alone), else
        ``ks.Fourier()``.
    n_components : K, the number of draws; None: 1000, or what the learned law can afford; "auto":
        K is doubled from 256 until the held-out squared error stops falling; `k_path_` has the
        curve.
    loss : "squared", "hinge", "squared_hinge", "logistic" or "exponential". Several classes:
        ±1 coding with one column a class for all but "logistic", which is multinomial.
    alpha : ridge strength, or "auto": exact leave-one-out over the whole ridge path for squared
        loss (float64, one factorisation), a held-out fifth of the rows for the other losses. With
        a constraint "auto" means 0.
    constraint : None, ``ks.SupBall(C)``: |α_k| ≤ C/K on features divided by their bound, as in the
        kitchen-sinks paper; ``ks.L2Ball(R)``: Σc² ≤ R² on raw features, as in the thesis.
    adapt : "ard", "agop" or ``ks.Adapt(...)``: learn the law of the basis given (any basis where
        none is); None: learn it where nothing was chosen; False: never. Fewer than 400 rows, more
        than 5000 columns and targets in which nothing is found are fitted plainly: "When the plain
        path runs" in docs/law.md.
    standardize : zero mean, unit variance per column.
    fit_intercept : whether there is a b; without it the fit is that of the papers.
    class_weight : None, "balanced" or a dict from class to weight.
    dtype : of the features; their sums are in float64 all the same. "float32", "float64", or None:
        float64 for float64 rows while n·K ≤ 2²³ and the rows come at once, else float32.
    memory_budget : bytes, text such as "2GB", or None for a quarter of the free memory. Features
        are kept between passes only where they fit in half of it.
    n_jobs : threads of BLAS and compiled loops; None leaves them as they are.
    random_state : int, RandomState or None; an int names the draw for good.
    solver : "auto" (the rule is in ``kitchensinks.fitting.fit_weights``), "direct", "conjugate",
        "blocks" (of features, for K too large for a Gram) or "stochastic".
    tol : relative gap between objective and optimum at which solvers stop.
    max_iter : most iterations of an iterative solver.
    verbose : print progress.

    Attributes
    ----------
    model_ : scaler, draw and weights; ``model_.scores(rows)`` predicts without checks.
    solver_, objective_, gap_, converged_, n_iter_ : the solver that ran and its evidence:
        the objective is at most the gap above the least there is (infinite for stochastic fits).
    alpha_, alphas_, alpha_errors_ : ridge strength, and the path it was chosen from.
    alpha_sup_norm_ : max |α_k| on features divided by their bound (kitchen sinks, Figure 2).
    condition_number_, effective_dimension_, gram_noise_ : of the Gram with its ridge; NaN where
        the solver did without one.
    k_path_ : held-out error for every prefix of K, for n_components="auto": squared_errors,
        class_errors, the K tried and the one chosen, with the reason.
    adaptation_, feature_importances_ : where the law was learned: what was tried, what was kept and
        why it stopped; each column's share of the distance between rows. That is how fast the
        function changes along a column, not how much it would miss it.
    calibration_ : from scores to probabilities (None for logistic loss).

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
    _factors: Array | None
    _sample: RowSample | None
    calibration_: Calibration | None

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
            adapt,
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

    # -- batches -------------------------------------------------------------------------

    def freeze(
        self, X: Any, y: Any, sample_weight: Any = None, classes: Any = None
    ) -> "KitchenSinkClassifier":
        """Learn what batches and workers must share, and sum nothing; `classes`: all of them.

        Scaler, law, bins, classes and the weights of balanced classes. Copies of a frozen
        estimator can be given different rows by `partial_fit` and put together by `merge`: the
        result is that of one fit.
        """
        self._freeze_stream(X, y, sample_weight, classes)
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> "KitchenSinkClassifier":
        """Add a batch of rows, to those of earlier batches or of `fit`.

        Give all classes at the first call where the first batch may lack some. Squared loss:
        exact. Scaler, law, bins and classes are frozen by `freeze` or `fit`, or by the first
        batch (with a warning, because later batches are then measured by the first one); after
        that any split into batches gives the same weights, which are worked out when they are
        asked for. alpha="auto" is chosen by generalised cross-validation, because batches are
        seen once; some 2000 rows are remembered to calibrate probabilities. Other losses, and K
        too large for sums: one averaged stochastic gradient step for each 512 rows, from features
        made anew by their seed.
        """
        if self.class_weight == "balanced" and not hasattr(self, "frozen_"):
            raise ValueError(
                "class_weight='balanced' needs to know the share of each class before the first "
                "batch: call freeze(X, y) with representative rows, or give a dict."
            )
        again = classes is not None and hasattr(self, "frozen_")
        if again and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(
                f"classes={np.unique(classes).tolist()}, but the first rows had "
                f"{self.classes_.tolist()}: classes are given once, at the first call."
            )
        self._partial_fit(X, y, sample_weight, classes)
        return self

    def merge(self, other: Any) -> "KitchenSinkClassifier":
        """Add what another estimator has summed; both must be frozen alike. Returns self."""
        super().merge(other)
        mine, theirs = self._sample, other._sample
        self._sample = theirs if mine is None else mine if theirs is None else mine.merge(theirs)
        return self

    def _frozen_difference(self, other: Any) -> str | None:
        if not np.array_equal(self.classes_, other.classes_):
            return "classes"
        mine, theirs = self._factors, other._factors
        if (mine is None) != (theirs is None) or (mine is not None and (mine != theirs).any()):
            return "class weights"
        return super()._frozen_difference(other)

    # -- classes -------------------------------------------------------------------------

    def _validate_targets(self, y: Any) -> np.ndarray:
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        if y.dtype == object and any(label is None for label in y):
            raise ValueError("y has labels that are None: drop these rows, or name the class.")
        check_classification_targets(y)
        return np.asarray(y)

    def _learn_targets(self, y: np.ndarray, weights: Array | None, classes: Any) -> None:
        self.classes_ = np.unique(y if classes is None else classes)
        if len(self.classes_) < 2:
            raise ValueError(
                f"{'y has' if classes is None else 'classes names'} one class only, "
                f"{self.classes_.tolist()[0]!r}: a classifier needs two or more. Where the first "
                "batch of partial_fit lacks some, pass all of them as classes=."
            )
        if len(self.classes_) > 2 and self.loss_.name == "logistic":
            self.loss_ = get_loss("multinomial")
        self._factors = self._class_factors(self._places(y), weights)
        self._sample = None

    def _summary(self, y: np.ndarray, weights: Array | None) -> ClassCounts:
        return ClassCounts.of(y, weights)

    def _learn_summary(self, summary: ClassCounts) -> None:
        # One row of each class, with the weight of all its rows.
        self._learn_targets(summary.labels, summary.weights, None)

    def _places(self, y: np.ndarray) -> np.ndarray:
        """The number of each label's class."""
        known = np.isin(y, self.classes_)
        if not known.all():
            unseen = np.unique(y[~known]).tolist()
            raise ValueError(
                f"y contains classes {unseen} that were not there before: the classes are "
                f"{self.classes_.tolist()}. Pass classes= to the first partial_fit."
            )
        return np.searchsorted(self.classes_, y)

    def _class_factors(self, places: np.ndarray, weights: Array | None) -> Array | None:
        """The weight of each class."""
        given = self.class_weight
        if given is None:
            return None
        if isinstance(given, str):
            if given != "balanced":
                raise ValueError(f"class_weight={given!r}: need 'balanced', a dict or None.")
            count = np.bincount(places, weights, len(self.classes_))
            if not count.all():
                missing = self.classes_[count == 0].tolist()
                raise ValueError(
                    "class_weight='balanced' goes by the rows of each class, and classes "
                    f"{missing} have none here: give rows of every class, or a dict."
                )
            return np.asarray(count.sum() / (len(count) * count))
        if not isinstance(given, Mapping):
            raise ValueError(f"class_weight={given!r}: need 'balanced', a dict or None.")
        labels = self.classes_.tolist()
        unknown = [label for label in given if label not in labels]
        if unknown:
            raise ValueError(f"class_weight names {unknown}, which are not classes of y: {labels}.")
        factors = np.array([float(given.get(label, 1.0)) for label in labels])
        if not (np.isfinite(factors).all() and (factors >= 0).all()):
            raise ValueError(f"class_weight={given!r}: need finite weights of 0 or more.")
        return factors

    def _class_weights(self, y: np.ndarray) -> Array | None:
        return None if self._factors is None else self._factors[self._places(y)]

    def _encode(self, y: np.ndarray) -> Array:
        """±1 for two classes; a column a class for more, one-hot for the multinomial loss."""
        places = self._places(y)
        if len(self.classes_) == 2:
            return np.where(places == 1, 1.0, -1.0)[:, None]
        hot = np.zeros((len(y), len(self.classes_)))
        hot[np.arange(len(y)), places] = 1.0
        return hot if self.loss_.name == "multinomial" else 2.0 * hot - 1.0

    def _labels(self, y: np.ndarray) -> np.ndarray:
        places = self._places(y)
        return places == 1 if len(self.classes_) == 2 else places

    # -- probabilities -------------------------------------------------------------------

    def _needs_calibration(self) -> bool:
        """Logistic losses have a link of their own."""
        return self.loss_.name not in ("logistic", "multinomial")

    def _note(self, batch: Batch) -> None:
        """Remember some rows, whichever batches they come in."""
        n_inputs = batch.rows.shape[1]
        limit = min(_REMEMBERED, max(100, _REMEMBERED_ENTRIES // n_inputs))
        for part in block_slices(len(batch.targets), max(1, _REMEMBERED_ENTRIES // n_inputs)):
            targets = batch.targets[part]
            one = np.ones(len(targets)) if batch.one is None else batch.one[part]
            own = None if batch.weights is None else batch.weights[part]
            notes = np.column_stack([targets, one])
            highest = None if self._sample is None else self._sample.highest
            sample = RowSample.of(batch.rows[part], own, limit, self.seed_, notes, highest)
            self._sample = sample if self._sample is None else self._sample.merge(sample)

    def _after_fit(self, fit: Fit, batch: Batch | None) -> None:
        if not self._needs_calibration():
            return
        if batch is not None and self.loss_.name == "squared":
            self._note(batch)
        if fit.held_out is not None and batch is not None:
            places, scores = fit.held_out
            own = None if batch.weights is None else batch.weights[places]
            self.calibration_ = Calibration.fit(scores, batch.targets[places] > 0, own)
        elif fit.sampled is None and (fit.moments is None or fit.left_out is None):
            self.calibration_ = self._calibrate_on_sample(fit.left_out)

    def _find_calibration(self) -> Calibration | None:
        moments, groups = self._condensed_moments()
        sampled: NormalEquations | None = self.__dict__.get("_sampled")
        if not self._needs_calibration() or (moments is None and sampled is None):
            return None
        settings = replace(self._settings(None), fit_intercept=self._had_intercept)
        fitted = None
        if moments is not None:
            equations = moments.normal_equations(self._had_intercept)
        else:
            assert sampled is not None
            equations, fitted = sampled, self.model_.weights
        left_out = left_out_of(equations, self.alpha_, settings, fitted)
        if groups is not None and left_out is not None:
            left_out = groups.expand_left_out(left_out)
        return self._calibrate_on_sample(left_out)

    def _calibrate_on_sample(self, left_out: LeftOut | None) -> Calibration | None:
        """Leave-one-out scores of the rows remembered; in a ball, which has none, their scores."""
        sample = self._sample
        if sample is None or not len(sample.rows):
            return None
        targets, one = sample.notes[:, :-1], sample.notes[:, -1]
        if left_out is None:
            scores = self.model_.scores(sample.rows)
        else:
            features = self.frozen_.features(sample.rows)
            scores = left_out(features, targets, sample.weights, one)
        return Calibration.fit(scores, targets > 0, sample.weights)

    def _keep_stochastic(self, settings: Settings) -> None:
        super()._keep_stochastic(settings)
        self.calibration_ = None

    def _settle(self) -> None:
        """After stochastic steps: calibrate on scores that the last rows had before their own."""
        super()._settle()
        if not hasattr(self, "_stochastic") or not self._needs_calibration():
            return
        if self.calibration_ is None and self._stochastic.recent:
            scores, targets, weights = self._stochastic.seen_before()
            self.calibration_ = Calibration.fit(scores, targets > 0, weights)

    # -- predicting ----------------------------------------------------------------------

    def decision_function(self, X: Any) -> Array:
        """f(x): shape (n,) for two classes, (n, classes) for more."""
        if is_dask(X):
            return self._lazily("decision_function", X)
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The class of the largest score."""
        if is_dask(X):
            return self._lazily("predict", X)
        return self._winners(self._scores(X))

    def _winners(self, scores: Array) -> np.ndarray:
        place = (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)
        return self.classes_[place]

    def predict_proba(self, X: Any) -> Array:
        """Calibrated probabilities, shape (n, classes).

        Logistic loss: its own link. Every other loss: an increasing function of the score
        (``kitchensinks.fitting.calibration.Calibration``) fitted to scores of rows that the
        weights had not seen: exact leave-one-out scores for squared loss, held-out rows for the
        others, scores before each step for stochastic fits. After block coordinate descent there
        are only scores of fitted rows, and probabilities may be overconfident.
        """
        if is_dask(X):
            return self._lazily("predict_proba", X)
        return self._probabilities(self._scores(X))

    def _probabilities(self, scores: Array) -> Array:
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
        if is_dask(X):
            return self._lazily("predict_log_proba", X)
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _output_of(self, method: str) -> tuple[int | None, Any]:
        if method == "predict":
            return None, self.classes_.dtype
        if "proba" in method:
            # Made here, once, where the rows to calibrate with are.
            self._probabilities(np.zeros((1, self.model_.weights.shape[1])))
            return len(self.classes_), np.dtype(np.float64)
        count = len(self.classes_)
        return (None if count == 2 else count), np.dtype(np.float64)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose class is right; of Dask collections, partition by partition."""
        if is_dask(X):
            from kitchensinks.estimators.cluster import score_partitions

            return score_partitions(self, X, y, sample_weight)
        if isinstance(X, Table) and isinstance(y, str):
            X, y, sample_weight = table_targets(self, X, y, sample_weight, reset=False)
        return float(super().score(X, y, sample_weight))
