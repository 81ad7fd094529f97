"""Ridge classification in blocks of rows, with a choice of its strength."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite

from kitchensinks.estimators.streaming import StreamingRidge, widen
from kitchensinks.problem.losses import Array
from kitchensinks.problem.moments import Moments


class StreamingRidgeClassifierCV(ClassifierMixin, StreamingRidge):
    """Ridge classification (targets ±1, one column a class) with leave-one-out choice of alpha.

    Takes the place of scikit-learn's `RidgeClassifierCV` behind ROCKET and other random features
    where that runs out of memory.

    Parameters
    ----------
    alphas : strengths to try, in the sum convention of scikit-learn's `RidgeClassifierCV`.
    fit_intercept : whether there is an intercept.
    class_weight : None, "balanced" (arrays only, because it counts all rows first), or a dict.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> bool(StreamingRidgeClassifierCV(np.logspace(-3, 3, 7)).fit(X, y).score(X, y) > 0.94)
    True
    """

    def __init__(
        self,
        alphas: Any = (0.1, 1.0, 10.0),
        fit_intercept: bool = True,
        class_weight: Any = None,
    ) -> None:
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight

    def decision_function(self, X: Any) -> Array:
        """Score of the second of two classes, shape (n,), or of each class, (n, classes)."""
        return self._scores(X)

    def predict(self, X: Any) -> np.ndarray:
        """The class of the largest score."""
        scores = self._scores(X)
        place = (scores > 0).astype(int) if self._single else scores.argmax(axis=1)
        return np.asarray(self.classes_[place])

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """As `StreamingRidgeCV.fit`, with class labels for targets."""
        self._factors: dict[Any, float] = {}
        if isinstance(self.class_weight, str):
            if self.class_weight != "balanced":
                raise ValueError(
                    f"class_weight={self.class_weight!r}: need 'balanced', a dict or None."
                )
            if y is None:
                raise ValueError("class_weight='balanced' counts all rows first: pass arrays.")
            labels = self._check_targets(y)
            own = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight)
            classes, place = np.unique(labels, return_inverse=True)
            count = np.bincount(place, own)
            factors = own.sum() / (len(classes) * np.where(count > 0, count, 1.0))
            self._factors = dict(zip(classes.tolist(), factors.tolist(), strict=True))
        elif self.class_weight is not None:
            self._factors = _check_class_weight(self.class_weight)
        return super().fit(X, y, sample_weight)

    def _class_weights(self, targets: np.ndarray) -> Array | None:
        if not self._factors:
            return None
        return np.array([float(self._factors.get(label, 1.0)) for label in targets.tolist()])

    def _check_targets(self, y: Any) -> np.ndarray:
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        return np.asarray(y)

    def _start(self) -> None:
        self._seen: list[Any] = []

    def _learn(self, targets: np.ndarray, moments: Moments | None) -> Array:
        """One-hot columns in the order in which classes turn up."""
        text = targets.dtype.kind in "USO"
        if self._seen and text != isinstance(self._seen[0], str):
            raise ValueError(
                f"A block has labels such as {targets[0]!r}, the first had {self._seen[0]!r}: need "
                "labels of one kind, text or numbers."
            )
        place = {label: k for k, label in enumerate(self._seen)}
        labels, inverse = np.unique(targets, return_inverse=True)
        for label in labels.tolist():
            if label not in place:
                place[label] = len(self._seen)
                self._seen.append(label)
        if moments is not None:
            widen(moments, len(self._seen))
        elif len(self._seen):
            self._settle_classes()
        hot = np.zeros((len(targets), len(self._seen)))
        columns = np.array([place[label] for label in labels.tolist()])
        hot[np.arange(len(targets)), columns[inverse]] = 1.0
        return hot

    def _settle_classes(self) -> None:
        self.classes_ = np.unique(np.array(self._seen))
        self._single = len(self.classes_) <= 2

    def _final(self, moments: Moments) -> Moments:
        """±1 columns, sorted by class, from one-hot ones: 2·Σ over the class − Σ over all."""
        self._settle_classes()
        unknown = [label for label in self._factors if label not in self.classes_.tolist()]
        if unknown:
            raise ValueError(
                f"class_weight names {unknown}, which are not classes of y: "
                f"{self.classes_.tolist()}."
            )
        if len(self.classes_) < 2:
            raise ValueError(f"y has one class only, {self.classes_[0]!r}: need two or more.")
        where = {label: k for k, label in enumerate(self._seen)}
        order = [where[label] for label in self.classes_.tolist()]
        order = order[1:] if self._single else order
        return replace(
            moments,
            cross=2.0 * moments.cross[:, order] - moments.first[:, None],
            targets=2.0 * moments.targets[order] - moments.weight,
            squares=np.full(len(order), moments.weight),
        )

    def _code(self, targets: np.ndarray) -> Array:
        if len(self.classes_) < 2:
            raise ValueError(f"y has one class only, {self.classes_[0]!r}: need two or more.")
        place = np.searchsorted(self.classes_, targets)
        if self._single:
            return np.where(place == 1, 1.0, -1.0)[:, None]
        return np.where(place[:, None] == np.arange(len(self.classes_)), 1.0, -1.0)


def _check_class_weight(given: Any) -> dict[Any, float]:
    if not isinstance(given, Mapping):
        raise ValueError(f"class_weight={given!r}: need 'balanced', a dict or None.")
    if not all(np.isfinite(weight) and weight >= 0 for weight in given.values()):
        raise ValueError(f"class_weight={given!r}: need finite weights of 0 or more.")
    return dict(given)
