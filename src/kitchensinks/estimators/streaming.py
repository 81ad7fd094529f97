"""Ridge regression with a choice of its strength, for feature matrices of any size.

The outer solver by itself: parameters and sum convention of scikit-learn's `RidgeCV` and
`RidgeClassifierCV` (minimise Σw(y − x·β − b)² + alpha·‖β‖²), but the rows come in blocks and the
largest thing held is columns × columns (rows × rows where rows are far fewer), beside the targets
and a key of each row where alpha is chosen by leave-one-out.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import check_is_fitted, validate_data

from kitchensinks.estimators.inputs import FLOATS, TakesSparse
from kitchensinks.law.find import warn_one_row
from kitchensinks.numerics.arrays import Matrix, SampleWeight
from kitchensinks.numerics.choices import strongest_least
from kitchensinks.problem.losses import LOSSES, Array
from kitchensinks.problem.moments import Moments
from kitchensinks.problem.targets import Batch, ClassCounts, Classes, Numbers, weights_by_class
from kitchensinks.solvers.dual import Span
from kitchensinks.solvers.path import Leaving, RidgePath
from kitchensinks.tables.arrays import advice, block_slices, check_weights, densify, label_advice
from kitchensinks.tables.keys import row_keys
from kitchensinks.tables.view import Given

# Starts a walk over checked blocks, whose targets are as they came.
Source = Callable[[], Iterator[Batch]]

# The most rows of blocks, fewer than the features, that are put together and solved in their span.
_KEPT_ROWS = 5000
# Rows of an array are in memory already: up to this share of its columns, two eigenproblems of the
# rows take no more time and memory than one of the columns (measured: as much at 0.75, at 0.45 a
# quarter of the time).
_KEPT_SHARE = 0.75
# Entries of one block of a feature matrix.
_BLOCK_ENTRIES = 2**23


def _keyed(block: Batch) -> Batch:
    """Keys, targets and weights of the rows of a block, to find copies of rows by."""
    return block._replace(rows=row_keys(block.rows, 0))


def _the_same(blocks: Source, keyed: list[Batch]) -> Iterator[Batch]:
    """The blocks once more; an error where their rows are not those of the first walk, in order."""
    keys, done, same = np.concatenate([block.rows for block in keyed]), 0, True
    for block in blocks():
        own = row_keys(block.rows, 0)
        same = np.array_equal(own, keys[done : done + len(own)])
        if not same:
            break
        done += len(own)
        yield block
    if not same or done < len(keys):
        raise ValueError(
            f"The second walk over the blocks gave other rows than the first, from row {done} of "
            f"{len(keys)} on: leave-one-out needs the same rows in the same order. Give blocks "
            "that are not shuffled, or pass iter(blocks): alpha is then chosen by generalised "
            "cross-validation in one pass."
        )


class StreamingRidge(TakesSparse):
    """What regressor and classifier share: sums, path, choice of alpha."""

    alphas: Any
    fit_intercept: bool
    n_features_in_: int
    coef_: Array
    intercept_: float | Array
    alpha_: float | Array
    best_score_: float | Array
    cv_errors_: Array
    criterion_: str
    # Whether there is one target, or two classes: weights are then a vector.
    _single: bool = False

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to a feature matrix or to blocks.

        X is an array, memmap or sparse matrix (n, columns) with targets y; or, with y=None, an
        iterable of blocks (X, y) or (X, y, weights). An iterable that can be walked again (a
        list, or an object whose ``__iter__`` starts anew) gets exact leave-one-out; a one-shot
        iterator is walked once, and alpha is chosen by generalised cross-validation.
        """
        alphas = np.atleast_1d(np.asarray(self.alphas, dtype=np.float64))
        if alphas.ndim != 1 or not len(alphas) or not (np.isfinite(alphas) & (alphas > 0)).all():
            raise ValueError(f"alphas={self.alphas!r}: need positive finite numbers.")
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                delattr(self, name)
        self._start()
        blocks, replayable, most = self._source(X, y, sample_weight)
        stream = blocks()
        # Few rows are put together and solved in their span.
        held: list[Batch] = []
        count = 0
        for block in stream:
            held.append(block)
            count += block.rows.shape[0]
            self.n_features_in_ = block.rows.shape[1]
            if count > min(self.n_features_in_, most):
                # Where there is nothing to choose, the blocks are not read again.
                again = blocks if replayable and len(alphas) > 1 else None
                passing, keyed = itertools.chain(held, stream), list[Batch]()
                path, total = self._summed(passing, None if again is None else keyed)
                again = None if again is None else partial(_the_same, blocks, keyed)
                errors = self._errors(path, alphas / total, again, keyed)
                self._choose(path, errors, alphas, total)
                return self
        if not held:
            raise ValueError("X gave no blocks: need at least one block (X, y).")
        rows = Batch.joined(held)
        warn_one_row(rows.counted, learns=False)
        weights = rows.own_weights
        _check_weight(float(weights.sum()))
        span = Span.of(rows.rows, weights / weights.sum(), bool(self.fit_intercept))
        inside = [rows._replace(rows=span.coordinates)]
        path, total = self._summed(iter(inside))
        errors = self._errors(path, alphas / total, lambda: iter(inside), [_keyed(rows)])
        self._choose(path, errors, alphas, total, span)
        return self

    def _summed(
        self, stream: Iterator[Batch], keyed: list[Batch] | None = None
    ) -> tuple[RidgePath, float]:
        """The ridge path of all blocks, and their weight; keyed: where keys of rows are noted."""
        moments: Moments | None = None
        for block in stream:
            if keyed is not None:
                keyed.append(_keyed(block))
            dense, coded = np.array(densify(block.rows)), self._learn(block.targets)
            if moments is None:
                # Rows without weight may be anything: they must not shift the others.
                some = dense if block.counted in (0, len(dense)) else dense[block.counted_places]
                shift = some.mean(axis=0, dtype=np.float64) * bool(self.fit_intercept)
                moments = Moments.zeros(shift, 0)
            _widen(moments, coded.shape[1])
            moments.add(dense, coded, block.weights)
        assert moments is not None
        _check_weight(moments.weight)
        moments.close()
        equations = self._final(moments).normal_equations(bool(self.fit_intercept))
        return RidgePath(equations, bool(self.fit_intercept)), equations.weight

    def _errors(
        self, path: RidgePath, alphas: Array, blocks: Source | None, keyed: list[Batch]
    ) -> Array:
        """The error of each alpha and target: leave-one-out where the blocks can be read again."""
        if blocks is None:
            self.criterion_ = "generalised cross-validation"
            return path.generalised_error(alphas)
        self.criterion_ = "leave-one-out"
        total = np.zeros((len(alphas), len(path.equations.target)))
        keys, targets, own_weights = Batch.joined(keyed)
        leaving, done = Leaving.of(keys, self._code(targets), own_weights), 0
        for rows, y, weights in blocks():
            own = None if leaving is None else leaving.part(slice(done, done + len(y)))
            total += path.left_out_squares(densify(rows), self._code(y), weights, own, alphas)
            done += len(y)
        return total / path.equations.weight

    def _choose(
        self, path: RidgePath, errors: Array, alphas: Array, total: float, span: Span | None = None
    ) -> None:
        """Keep the best alpha (of each target where asked) and its weights."""
        each = getattr(self, "alpha_per_target", False)
        if each:
            best = np.array([strongest_least(column, alphas) for column in errors.T])
        else:
            best = np.full(errors.shape[1], strongest_least(errors.mean(axis=1), alphas))
        weights = np.empty((len(path.equations.mean), len(best)))
        for one in np.unique(best):
            weights[:, best == one] = path.weights(float(alphas[one]) / total)[:, best == one]
        intercept = path.equations.intercept(weights)
        if span is not None:
            weights = span.lift(weights)
            intercept = intercept - span.mean @ weights
        self.cv_errors_ = errors
        scores, chosen = -errors[best, np.arange(len(best))], alphas[best]
        if each and not self._single:
            self.alpha_, self.best_score_ = chosen, scores
        else:
            self.alpha_, self.best_score_ = float(chosen[0]), float(scores.mean())
        self.coef_ = weights[:, 0] if self._single else weights.T
        self.intercept_ = float(intercept[0]) if self._single else intercept
        if not self.fit_intercept:
            self.intercept_ = 0.0

    def _source(
        self, X: Given, y: ArrayLike, sample_weight: SampleWeight
    ) -> tuple[Source, bool, int]:
        """A function that starts a walk over checked blocks, whether it can do so twice, and the
        most rows to put together."""
        if y is None and not hasattr(X, "shape"):
            if sample_weight is not None:
                raise ValueError("With an iterable of blocks, weights come in the blocks.")
            if not hasattr(X, "__iter__"):
                raise ValueError(
                    f"X is of type {type(X).__name__} and y is None: need a feature matrix with "
                    "targets, or an iterable of blocks (X, y)."
                )
            return (lambda: map(self._check_block, iter(X))), iter(X) is not X, _KEPT_ROWS
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        if isinstance(X, list | tuple) and len(X) and hasattr(X[0], "shape") and X[0].ndim == 2:
            raise ValueError(
                f"X is a {type(X).__name__} of {len(X)} blocks and y is given apart: pass blocks "
                "(X, y) alone, or one feature matrix with y."
            )
        with advice(rows=X):
            X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS)
        whole = self._block(X, y, sample_weight)
        step = max(64, _BLOCK_ENTRIES // X.shape[1])
        most = max(_KEPT_ROWS, int(_KEPT_SHARE * X.shape[1]))
        return (lambda: map(whole.part, block_slices(X.shape[0], step))), True, most

    def _check_block(self, block: object) -> Batch:
        if not isinstance(block, tuple | list) or len(block) not in (2, 3):
            raise ValueError(f"A block is of type {type(block).__name__}: need (X, y[, weights]).")
        rows = check_array(block[0], accept_sparse="csr", dtype=FLOATS, input_name="X")
        if rows.shape[1] != getattr(self, "n_features_in_", rows.shape[1]):
            raise ValueError(
                f"A block has {rows.shape[1]} columns; the first one had {self.n_features_in_}."
            )
        return self._block(rows, block[1], block[2] if len(block) == 3 else None)

    def _block(self, rows: Matrix, y: ArrayLike, sample_weight: SampleWeight) -> Batch:
        """Rows with checked targets, and weights with those of the classes."""
        check_consistent_length(rows, y)
        targets = self._check_targets(y)
        weights = None if sample_weight is None else check_weights(sample_weight, rows)
        factors = self._class_weights(targets)
        if factors is not None:
            weights = factors if weights is None else weights * factors
        return Batch(rows, targets, weights)

    # What targets mean differs between the two.

    def _start(self) -> None:
        """Forget the targets of an earlier fit."""
        raise NotImplementedError

    def _check_targets(self, y: ArrayLike) -> np.ndarray:
        raise NotImplementedError

    def _learn(self, targets: np.ndarray) -> Array:
        """Targets to sum, with a column for each class so far."""
        return self._code(targets)

    def _final(self, moments: Moments) -> Moments:
        """The sums of targets as `_code` gives them, from those that `_learn` gives."""
        return moments

    def _code(self, targets: np.ndarray) -> Array:
        """Targets as they are fitted, (n, outputs)."""
        raise NotImplementedError

    def _class_weights(self, targets: np.ndarray) -> Array | None:
        return None

    def _scores(self, X: Given) -> Array:
        check_is_fitted(self, "coef_")
        with advice(rows=X):
            X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=FLOATS)
        return np.asarray(X @ self.coef_.T + self.intercept_)


def _check_weight(total: float) -> None:
    if total == 0.0:
        raise ValueError("sample_weight is zero for every row: need a positive weight.")


def _widen(moments: Moments, n_outputs: int) -> None:
    """Make room for targets that turn up later; their sums so far are zero."""
    extra = n_outputs - moments.cross.shape[1]
    moments.cross = np.pad(moments.cross, ((0, 0), (0, extra)))
    moments.targets = np.pad(moments.targets, (0, extra))
    moments.squares = np.pad(moments.squares, (0, extra))


@dataclass(eq=False, repr=False)
class StreamingRidgeCV(MultiOutputMixin, RegressorMixin, StreamingRidge):
    """Ridge regression with leave-one-out choice of alpha, in blocks of rows.

    Parameters
    ----------
    alphas : strengths to try, in the sum convention of scikit-learn's `RidgeCV`, whose default
        (0.1, 1 and 10) this is.
    fit_intercept : whether there is an intercept (True), as in `RidgeCV`.
    alpha_per_target : choose alpha for each target by itself; False, as in `RidgeCV`.

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
    >>> ours.coef_.round(2), RidgeCV([0.1, 1.0, 10.0, 100.0]).fit(X, y).coef_.round(2)
    (array([ 1.08, -0.08, -0.03,  0.05,  0.1 ]), array([ 1.08, -0.08, -0.03,  0.05,  0.1 ]))
    """

    alphas: Any = (0.1, 1.0, 10.0)
    fit_intercept: bool = True
    alpha_per_target: bool = False

    def predict(self, X: Given) -> Array:
        """x·β + b."""
        return self._scores(X)

    def _start(self) -> None:
        self._shape: tuple[int, ...] | None = None

    def _check_targets(self, y: ArrayLike) -> np.ndarray:
        y = Numbers.check(y)
        if self._shape is not None and y.shape[1:] != self._shape:
            raise ValueError(
                f"A block has targets of shape {y.shape}; those of the first had "
                f"{self._shape[0] if self._shape else 'no'} columns: need the same in every block."
            )
        if np.abs(y).max() > 1e150:
            raise ValueError("y has entries so large that their squares overflow: scale y.")
        self._shape, self._single = y.shape[1:], y.ndim == 1
        return y

    def _code(self, targets: np.ndarray) -> Array:
        return targets.reshape(len(targets), -1)


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

    def decision_function(self, X: Given) -> Array:
        """Score of the second of two classes, shape (n,), or of each class, (n, classes)."""
        return self._scores(X)

    def predict(self, X: Given) -> np.ndarray:
        """The class of the largest score."""
        scores = self._scores(X)
        place = (scores > 0).astype(int) if self._single else scores.argmax(axis=1)
        return np.asarray(self.classes_[place])

    def fit(self, X: Given, y: ArrayLike | None = None, sample_weight: SampleWeight = None) -> Self:
        """As `StreamingRidgeCV.fit`, with class labels for targets."""
        given = self.class_weight
        self._factors: dict[Any, float] = {}
        if isinstance(given, str) and given == "balanced":
            if y is None:
                raise ValueError("class_weight='balanced' counts all rows first: pass arrays.")
            weights = None if sample_weight is None else np.asarray(sample_weight)
            with label_advice(y):
                counts = ClassCounts.of(Classes.check(y), weights)
            known = Classes.learn(counts, LOSSES["squared"], given)
            assert known.factors is not None
            pairs = zip(known.labels.tolist(), known.factors.tolist(), strict=True)
            self._factors = dict(pairs)
        elif given is not None:
            self._factors = dict(weights_by_class(given))
        return super().fit(X, y, sample_weight)

    def _class_weights(self, targets: np.ndarray) -> Array | None:
        if not self._factors:
            return None
        return np.array([float(self._factors.get(label, 1.0)) for label in targets.tolist()])

    def _start(self) -> None:
        # The column of each label, in the order in which they turn up.
        self._seen: dict[Any, int] = {}
        self._first: Any = None

    def _check_targets(self, y: ArrayLike) -> np.ndarray:
        with label_advice(y):
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
        weights_by_class(self._factors, known)
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
