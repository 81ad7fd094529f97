"""Ridge regression with a choice of its strength, for feature matrices of any size.

The outer solver by itself: parameters and sum convention of scikit-learn's `RidgeCV` and
`RidgeClassifierCV` (minimise Σw(y − x·β − b)² + alpha·‖β‖²), but the rows come in blocks and the
largest thing held is columns × columns (rows × rows where rows are fewer).
"""

import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import (
    check_is_fitted,
    validate_data,
)

from kitchensinks.fitting.plan import SPAN_ROWS
from kitchensinks.problem.losses import Array
from kitchensinks.problem.moments import Moments
from kitchensinks.solvers.dual import Span
from kitchensinks.solvers.path import RidgePath, least_error, leaving_weights
from kitchensinks.tables import block_slices, densify
from kitchensinks.tables.arrays import check_weights
from kitchensinks.tables.keys import row_keys

_BLOCK_ENTRIES = 2**23
_FLOATS = [np.float64, np.float32]


class Block(NamedTuple):
    """Rows (n, columns), raw targets, and weights with those of the classes."""

    rows: Any
    y: np.ndarray
    weights: Array | None


class Copies:
    """Keys, coded targets and weights of the rows of all blocks, to find copies of rows by."""

    def __init__(self) -> None:
        self.parts: list[tuple[Any, Array, Array]] = []

    def add(self, block: Block, coded: Array) -> None:
        """Take note of a block; columns of targets that turn up later are zero in it."""
        self.parts.append((row_keys(block.rows, 0), coded, _or_ones(block.weights, block.y)))

    def leaving(self) -> Array | None:
        """As `leaving_weights`, for the rows in the order of their blocks."""
        n_outputs = self.parts[-1][1].shape[1]
        coded = [np.pad(own, ((0, 0), (0, n_outputs - own.shape[1]))) for _, own, _ in self.parts]
        keys, _, weights = zip(*self.parts, strict=True)
        return leaving_weights(np.concatenate(keys), np.concatenate(coded), np.concatenate(weights))


class StreamingRidge(BaseEstimator):
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
        copies = Copies()
        for block in stream:
            dense = np.array(densify(block.rows))
            if moments is None:
                shift = dense.mean(axis=0, dtype=np.float64) * bool(self.fit_intercept)
                moments = Moments.zeros(shift, 0)
            coded = self._learn(block.y, moments)
            if replayable:
                copies.add(block, coded)
            moments.add(dense, coded, block.weights)
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
            leaving, done = copies.leaving(), 0
            for block in blocks():
                rows = densify(block.rows)
                left = None if leaving is None else leaving[done : done + len(rows)]
                coded, own = self._code(block.y), block.weights
                errors += path.left_out_squares(rows, coded, own, left, scaled)
                done += len(rows)
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
        weights = None
        if any(block.weights is not None for block in held):
            weights = np.concatenate([_or_ones(block.weights, block.y) for block in held])
        total = float(len(coded) if weights is None else weights.sum())
        if total == 0.0:
            raise ValueError("sample_weight is zero for every row: need a positive weight.")
        shares = np.full(len(coded), 1.0 / total) if weights is None else weights / total
        span = Span.of(stacked, shares, bool(self.fit_intercept))
        moments = Moments.zeros(np.zeros(len(span.values)), coded.shape[1])
        moments.add(span.coordinates.copy(), coded, weights)
        path = RidgePath(
            moments.normal_equations(bool(self.fit_intercept)), bool(self.fit_intercept)
        )
        leaving = leaving_weights(row_keys(stacked, 0), coded, weights)
        errors = path.left_out_squares(span.coordinates, coded, weights, leaving, alphas / total)
        self.criterion_ = "leave-one-out"
        self._choose(path, errors / total, alphas, total, span)

    def _choose(
        self, path: RidgePath, errors: Array, alphas: Array, total: float, span: Span | None = None
    ) -> None:
        """Keep the best alpha (of each target where asked) and its weights."""
        if getattr(self, "alpha_per_target", False):
            best = np.array([least_error(column, alphas) for column in errors.T])
        else:
            best = np.full(errors.shape[1], least_error(errors.mean(axis=1), alphas))
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
            weights = check_weights(sample_weight, X, positive=False)
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
            weights = check_weights(block[2], rows, positive=False)
        return self._block(rows, targets, weights)

    def _block(self, rows: Any, targets: np.ndarray, weights: Array | None) -> Block:
        factors = self._class_weights(targets)
        if factors is not None:
            weights = factors if weights is None else weights * factors
        return Block(rows, targets, weights)

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


class StreamingRidgeCV(RegressorMixin, StreamingRidge):
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
        return np.asarray(y)

    def _start(self) -> None:
        self._shape = None

    def _code(self, targets: np.ndarray) -> Array:
        return targets.reshape(len(targets), -1)

    def _learn(self, targets: np.ndarray, moments: Moments | None) -> Array:
        coded = self._code(targets)
        if moments is not None and moments.weight == 0.0 and not moments.cross.shape[1]:
            widen(moments, coded.shape[1])
        return coded

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _or_ones(weights: Array | None, targets: np.ndarray) -> Array:
    return np.ones(len(targets)) if weights is None else weights


def widen(moments: Moments, n_outputs: int) -> None:
    """Make room for targets that turn up later; their sums so far are zero."""
    extra = n_outputs - moments.cross.shape[1]
    moments.cross = np.pad(moments.cross, ((0, 0), (0, extra)))
    moments.targets = np.pad(moments.targets, (0, extra))
    moments.squares = np.pad(moments.squares, (0, extra))
