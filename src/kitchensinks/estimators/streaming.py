"""Ridge regression with a choice of its strength, for feature matrices of any size.

The outer solver by itself: parameters and sum convention of scikit-learn's `RidgeCV` and
`RidgeClassifierCV` (minimise Σw(y − x·β − b)² + alpha·‖β‖²), but the rows come in blocks and the
largest thing held is columns × columns (rows × rows where rows are fewer).
"""

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    assert_all_finite,
    check_is_fitted,
    validate_data,
)

from kitchensinks.fitting.plan import SPAN_ROWS
from kitchensinks.problem.losses import Array
from kitchensinks.problem.moments import Moments
from kitchensinks.solvers.dual import Span
from kitchensinks.solvers.path import RidgePath
from kitchensinks.tables import block_slices, densify

_BLOCK_ENTRIES = 2**23
_FLOATS = [np.float64, np.float32]


class Block(NamedTuple):
    """Rows (n, columns), raw targets, weights, and the weight of one copy of a row in its class."""

    rows: Any
    y: np.ndarray
    weights: Array | None
    one: Array | None


class _StreamingRidge(BaseEstimator):
    """What regressor and classifier share: sums, path, choice of alpha."""

    alphas: Any
    fit_intercept: bool

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit to a feature matrix or to blocks.

        X is an array, memmap or sparse matrix (n, columns) with targets y; or, with y=None, an
        iterable of blocks (X, y) or (X, y, weights). An iterable that can be walked again (a
        list, or an object whose ``__iter__`` starts anew) gets exact leave-one-out; a one-shot
        iterator is walked once, and alpha is chosen by generalised cross-validation.
        """
        alphas = self._check_alphas()
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                delattr(self, name)
        self._start()
        blocks, replayable = self._source(X, y, sample_weight)
        parts = blocks()
        first = list(itertools.islice(parts, 1))
        if not first:
            raise ValueError("X gave no blocks: need at least one block (X, y).")
        n_columns = first[0].rows.shape[1]
        if y is None:
            self.n_features_in_ = n_columns
        # Few rows are put together and solved in their span.
        held, count = [], 0
        for block in itertools.chain(first, parts):
            held.append(block)
            count += block.rows.shape[0]
            if count > min(n_columns, SPAN_ROWS):
                self._fit_sums(itertools.chain(held, parts), blocks, replayable, alphas)
                return self
        self._fit_span(held, alphas)
        return self

    def _fit_sums(
        self,
        stream: Iterator[Block],
        blocks: Callable[[], Iterator[Block]],
        replayable: bool,
        alphas: Array,
    ) -> None:
        moments: Moments | None = None
        for block in stream:
            dense = np.array(densify(block.rows))
            if moments is None:
                shift = dense.mean(axis=0, dtype=np.float64) * bool(self.fit_intercept)
                moments = Moments.zeros(shift, 0)
            coded = self._learn(block.y, moments)
            moments.add(dense, coded, block.weights, block.one)
        assert moments is not None
        if moments.weight == 0.0:
            raise ValueError("sample_weight is zero for every row: need a positive weight.")
        moments.close()
        moments = self._final(moments)
        equations = moments.normal_equations(bool(self.fit_intercept))
        path = RidgePath(equations, bool(self.fit_intercept))
        scaled = alphas / equations.weight
        if len(alphas) == 1 or not replayable:
            errors = path.generalised_error(scaled)
            self.criterion_ = "generalised cross-validation"
        else:
            errors = np.zeros((len(alphas), moments.cross.shape[1]))
            for block in blocks():
                coded, own = self._code(block.y), block.weights
                scores = path.left_out(densify(block.rows), coded, own, scaled, block.one)
                squares = (coded[:, None, :] - scores) ** 2
                errors += squares.sum(0) if own is None else np.tensordot(own, squares, 1)
            errors /= equations.weight
            self.criterion_ = "leave-one-out"
        self._choose(path, errors, alphas, equations.weight)

    def _fit_span(self, held: list[Block], alphas: Array) -> None:
        rows = [block.rows for block in held]
        if any(map(sparse.issparse, rows)):
            stacked = sparse.vstack([sparse.csr_array(part) for part in rows], format="csr")
        else:
            stacked = np.vstack(rows)
        for block in held:
            self._learn(block.y, None)
        coded = np.concatenate([self._code(block.y) for block in held])
        weights = one = None
        if any(block.weights is not None for block in held):
            weights = np.concatenate([_or_ones(block.weights, block.y) for block in held])
        if any(block.one is not None for block in held):
            one = np.concatenate([_or_ones(block.one, block.y) for block in held])
        total = float(len(coded) if weights is None else weights.sum())
        if total == 0.0:
            raise ValueError("sample_weight is zero for every row: need a positive weight.")
        shares = np.full(len(coded), 1.0 / total) if weights is None else weights / total
        span = Span.of(stacked, shares, bool(self.fit_intercept))
        moments = Moments.zeros(np.zeros(len(span.values)), coded.shape[1])
        moments.add(span.coordinates.copy(), coded, weights, one)
        path = RidgePath(
            moments.normal_equations(bool(self.fit_intercept)), bool(self.fit_intercept)
        )
        everything = [(slice(None), span.coordinates)]
        errors = path.leave_one_out(everything, coded, weights, alphas / total, one)
        self.criterion_ = "leave-one-out"
        self._choose(path, errors, alphas, total, span)

    def _choose(
        self, path: RidgePath, errors: Array, alphas: Array, total: float, span: Span | None = None
    ) -> None:
        """Keep the best alpha (of each target where asked) and its weights."""
        if getattr(self, "alpha_per_target", False):
            best = np.argmin(errors, axis=0)
        else:
            best = np.full(errors.shape[1], int(np.argmin(errors.mean(axis=1))))
        weights = np.column_stack(
            [path.weights(float(alphas[b]) / total)[:, j] for j, b in enumerate(best)]
        )
        intercept = path.equations.intercept(weights)
        if span is not None:
            weights = span.lift(weights)
            intercept = intercept - span.mean @ weights
        self.cv_errors_ = errors
        scores = -errors[best, np.arange(len(best))]
        chosen = alphas[best]
        if getattr(self, "alpha_per_target", False) and not self._single:
            self.alpha_, self.best_score_ = chosen, scores
        else:
            self.alpha_, self.best_score_ = float(chosen[0]), float(scores.mean())
        self.coef_ = weights[:, 0] if self._single else weights.T
        self.intercept_ = float(intercept[0]) if self._single else intercept
        if not self.fit_intercept:
            self.intercept_ = 0.0

    def _check_alphas(self) -> Array:
        alphas = np.atleast_1d(np.asarray(self.alphas, dtype=np.float64))
        if alphas.ndim != 1 or not len(alphas) or not (np.isfinite(alphas) & (alphas > 0)).all():
            raise ValueError(f"alphas={self.alphas!r}: need positive finite numbers.")
        return alphas

    def _source(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Callable[[], Iterator[Block]], bool]:
        """A function that starts a walk over checked blocks, and whether it can do so twice."""
        if y is None and not hasattr(X, "shape"):
            if sample_weight is not None:
                raise ValueError("With an iterable of blocks, weights come in the blocks.")
            if not hasattr(X, "__iter__"):
                raise ValueError(
                    f"X is of type {type(X).__name__} and y is None: need a feature matrix with "
                    "targets, or an iterable of blocks (X, y)."
                )
            return (lambda: map(self._check_block, iter(X))), iter(X) is not X
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        if isinstance(X, list | tuple) and len(X) and hasattr(X[0], "shape") and X[0].ndim == 2:
            raise ValueError(
                f"X is a {type(X).__name__} of {len(X)} blocks and y is given apart: pass blocks "
                "(X, y) alone, or one feature matrix with y."
            )
        X = validate_data(self, X, accept_sparse="csr", dtype=_FLOATS)
        y = self._check_targets(y)
        check_consistent_length(X, y)
        weights = None
        if sample_weight is not None:
            weights = _check_weights(sample_weight, X)
        step = max(64, _BLOCK_ENTRIES // X.shape[1])

        def blocks() -> Iterator[Block]:
            for part in block_slices(X.shape[0], step):
                own = None if weights is None else weights[part]
                yield self._block(X[part], y[part], own)

        return blocks, True

    def _check_block(self, block: Any) -> Block:
        if not isinstance(block, tuple | list) or len(block) not in (2, 3):
            raise ValueError(f"A block is of type {type(block).__name__}: need (X, y[, weights]).")
        rows = check_array(block[0], accept_sparse="csr", dtype=_FLOATS, input_name="X")
        if rows.shape[1] != getattr(self, "n_features_in_", rows.shape[1]):
            raise ValueError(
                f"A block has {rows.shape[1]} columns; the first one had {self.n_features_in_}."
            )
        targets = self._check_targets(block[1])
        check_consistent_length(rows, targets)
        weights = None
        if len(block) == 3 and block[2] is not None:
            weights = _check_weights(block[2], rows)
        return self._block(rows, targets, weights)

    def _block(self, rows: Any, targets: np.ndarray, weights: Array | None) -> Block:
        one = self._class_weights(targets)
        if one is not None:
            weights = one if weights is None else weights * one
        return Block(rows, targets, weights, one)

    # What targets mean differs between the two.
    _single = False

    def _start(self) -> None:
        """Forget the classes of an earlier fit."""

    def _check_targets(self, y: Any) -> np.ndarray:
        raise NotImplementedError

    def _learn(self, targets: np.ndarray, moments: Moments | None) -> Array:
        """Targets to sum, with room made for classes that are new."""
        raise NotImplementedError

    def _code(self, targets: np.ndarray) -> Array:
        """Targets as they are fitted, (n, outputs)."""
        raise NotImplementedError

    def _final(self, moments: Moments) -> Moments:
        return moments

    def _class_weights(self, targets: np.ndarray) -> Array | None:
        return None

    def _scores(self, X: Any) -> Array:
        check_is_fitted(self, "coef_")
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=_FLOATS)
        return np.asarray(X @ self.coef_.T + self.intercept_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class StreamingRidgeCV(RegressorMixin, _StreamingRidge):
    """Ridge regression with leave-one-out choice of alpha, in blocks of rows.

    Parameters
    ----------
    alphas : strengths to try, in the sum convention of scikit-learn's `RidgeCV`.
    fit_intercept : whether there is an intercept.
    alpha_per_target : choose alpha for each target by itself.

    Attributes
    ----------
    coef_, intercept_, alpha_, best_score_ : as in scikit-learn.
    cv_errors_ : mean squared leave-one-out error, shape (alphas, targets).
    criterion_ : "leave-one-out", or "generalised cross-validation" for a one-shot iterator.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import RidgeCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 5))
    >>> y = X[:, 0] + rng.normal(size=200)
    >>> blocks = [(X[:50], y[:50]), (X[50:], y[50:])]
    >>> ours = StreamingRidgeCV([0.1, 1.0, 10.0, 100.0]).fit(blocks)
    >>> bool(np.allclose(ours.coef_, RidgeCV([0.1, 1.0, 10.0, 100.0]).fit(X, y).coef_))
    True
    """

    def __init__(
        self,
        alphas: Any = (0.1, 1.0, 10.0),
        fit_intercept: bool = True,
        alpha_per_target: bool = False,
    ) -> None:
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.alpha_per_target = alpha_per_target

    _shape: tuple[int, ...] | None

    def predict(self, X: Any) -> Array:
        """x·β + b."""
        return self._scores(X)

    def _check_targets(self, y: Any) -> np.ndarray:
        y = np.asarray(check_array(y, ensure_2d=False, dtype=np.float64, input_name="y"))
        if self._shape is not None and y.shape[1:] != self._shape:
            raise ValueError(
                f"A block has targets of shape {y.shape}; those of the first had "
                f"{self._shape[0] if self._shape else 'no'} columns: need the same in every block."
            )
        if np.abs(y).max() > 1e150:
            raise ValueError("y has entries so large that their squares overflow: scale y.")
        self._shape = y.shape[1:]
        self._single = y.ndim == 1
        return y

    def _start(self) -> None:
        self._shape = None

    def _code(self, targets: np.ndarray) -> Array:
        return targets.reshape(len(targets), -1)

    def _learn(self, targets: np.ndarray, moments: Moments | None) -> Array:
        coded = self._code(targets)
        if moments is not None and moments.weight == 0.0 and not moments.cross.shape[1]:
            _widen(moments, coded.shape[1])
        return coded

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class StreamingRidgeClassifierCV(ClassifierMixin, _StreamingRidge):
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
        return self.classes_[(scores > 0).astype(int) if self._single else scores.argmax(axis=1)]

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
            _widen(moments, len(self._seen))
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


def _check_weights(weights: Any, rows: Any) -> Array:
    checked = _check_sample_weight(weights, rows, dtype=np.float64, allow_all_zero_weights=True)
    if (checked < 0).any():
        raise ValueError("sample_weight has negative entries: need weights of 0 or more.")
    return np.asarray(checked)


def _or_ones(weights: Array | None, targets: np.ndarray) -> Array:
    return np.ones(len(targets)) if weights is None else weights


def _widen(moments: Moments, n_outputs: int) -> None:
    """Make room for targets that turn up later; their sums so far are zero."""
    extra = n_outputs - moments.cross.shape[1]
    moments.cross = np.pad(moments.cross, ((0, 0), (0, extra)))
    moments.targets = np.pad(moments.targets, (0, extra))
    moments.squares = np.pad(moments.squares, (0, extra))
