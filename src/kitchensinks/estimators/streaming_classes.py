"""Ridge classification in blocks of rows, with a choice of its strength."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin

from kitchensinks.estimators.streaming import StreamingRidge
from kitchensinks.problem.losses import LOSSES, Array
from kitchensinks.problem.moments import Moments
from kitchensinks.problem.targets import ClassCounts, Classes


@dataclass(eq=False, repr=False)
class StreamingRidgeClassifierCV(ClassifierMixin, StreamingRidge):
    """Ridge classification (targets ±1, one column a class) with leave-one-out choice of alpha.

    Takes the place of scikit-learn's `RidgeClassifierCV` behind ROCKET and other random features
    where that runs out of memory.

    Parameters
    ----------
    alphas : strengths to try, in the sum convention of scikit-learn's `RidgeClassifierCV`, whose
        default (0.1, 1 and 10) this is.
    fit_intercept : whether there is an intercept (True), as in `RidgeClassifierCV`.
    class_weight : None (rows count as they come), "balanced" (arrays only, because it counts all
        rows first), or a dict.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> round(StreamingRidgeClassifierCV(np.logspace(-3, 3, 7)).fit(X, y).score(X, y), 2)
    0.95
    """

    alphas: Any = (0.1, 1.0, 10.0)
    fit_intercept: bool = True
    class_weight: Any = None

    def decision_function(self, X: Any) -> Array:
        """Score of the second of two classes, shape (n,), or of each class, (n, classes)."""
        return self._scores(X)

    def predict(self, X: Any) -> np.ndarray:
        """The class of the largest score."""
        scores = self._scores(X)
        place = (scores > 0).astype(int) if self._single else scores.argmax(axis=1)
        return np.asarray(self.classes_[place])

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """As `StreamingRidgeCV.fit`, with class labels for targets."""
        given = self.class_weight
        self._factors: dict[Any, float] = {}
        if isinstance(given, str) and given == "balanced":
            if y is None:
                raise ValueError("class_weight='balanced' counts all rows first: pass arrays.")
            weights = None if sample_weight is None else np.asarray(sample_weight)
            counts = ClassCounts.of(Classes.check(y), weights)
            known = Classes.learn(counts, LOSSES["squared"], given)
            assert known.factors is not None
            pairs = zip(known.labels.tolist(), known.factors.tolist(), strict=True)
            self._factors = dict(pairs)
        elif given is not None:
            if not isinstance(given, Mapping):
                raise ValueError(f"class_weight={given!r}: need 'balanced', a dict or None.")
            if not all(np.isfinite(weight) and weight >= 0 for weight in given.values()):
                raise ValueError(f"class_weight={given!r}: need finite weights of 0 or more.")
            self._factors = dict(given)
        return super().fit(X, y, sample_weight)

    def _class_weights(self, targets: np.ndarray) -> Array | None:
        if not self._factors:
            return None
        return np.array([float(self._factors.get(label, 1.0)) for label in targets.tolist()])

    def _start(self) -> None:
        # The column of each label, in the order in which they turn up.
        self._seen: dict[Any, int] = {}
        self._first: Any = None

    def _check_targets(self, y: Any) -> np.ndarray:
        targets = Classes.check(y)
        self._first = targets[0] if self._first is None else self._first
        if isinstance(targets[0], str) != isinstance(self._first, str):
            raise ValueError(
                f"A block has labels such as {targets[0]!r}, the first had {self._first!r}: need "
                "labels of one kind, text or numbers."
            )
        return targets

    def _learn(self, targets: np.ndarray) -> Array:
        """One-hot columns in the order in which classes turn up."""
        labels, places = np.unique(targets, return_inverse=True)
        columns = [self._seen.setdefault(label, len(self._seen)) for label in labels.tolist()]
        hot: Array = np.eye(len(self._seen))[np.array(columns)[places]]
        return hot

    def _final(self, moments: Moments) -> Moments:
        """±1 columns, sorted by class, from one-hot ones: 2·Σ over the class − Σ over all."""
        self.classes_ = np.unique(np.array(list(self._seen)))
        self._single = len(self.classes_) <= 2
        known = self.classes_.tolist()
        unknown = [label for label in self._factors if label not in known]
        if unknown:
            raise ValueError(f"class_weight names {unknown}, which are not classes of y: {known}.")
        if len(known) < 2:
            raise ValueError(f"y has one class only, {known[0]!r}: need two or more.")
        order = [self._seen[label] for label in known][1 if self._single else 0 :]
        return replace(
            moments,
            cross=2.0 * moments.cross[:, order] - moments.first[:, None],
            targets=2.0 * moments.targets[order] - moments.weight,
            squares=np.full(len(order), moments.weight),
        )

    def _code(self, targets: np.ndarray) -> Array:
        return Classes(self.classes_, None, one_hot=False).encode(targets)
