"""Principal components of random features: those of the kernel, to the accuracy of the draw."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError

from kitchensinks.estimators.inputs import TakesSparse, check_columns, float_rows
from kitchensinks.estimators.transform import check_basis
from kitchensinks.execution import is_dask
from kitchensinks.features.bases import Basis, Draw
from kitchensinks.features.blocks import FeatureBlocks
from kitchensinks.features.frozen import WALKED_ENTRIES, Frozen, RowSummary
from kitchensinks.features.scaling import Scaler
from kitchensinks.fitting.settings import check_dtype
from kitchensinks.fitting.sizes import gram_bytes
from kitchensinks.numerics.arrays import AnyArray, Block, Floats, Matrix, SampleWeight, Seed
from kitchensinks.numerics.checks import check_count
from kitchensinks.numerics.warned import warn
from kitchensinks.problem.moments import Moments
from kitchensinks.state import Model, seed_of
from kitchensinks.tables.arrays import check_weights
from kitchensinks.tables.memory import memory_budget
from kitchensinks.tables.view import Given


@dataclass(frozen=True, eq=False)
class Principal:
    """The leading eigenvectors of a covariance: directions (columns, components), orthonormal.

    A direction in which no row varies is zero. `mean` (columns,); `variance` (components,) falls;
    `total` is the variance of all columns together.
    """

    mean: Floats
    directions: Floats
    variance: Floats
    total: float

    @classmethod
    def of_moments(cls, moments: Moments, count: int) -> "Principal":
        """From the sums of the features: an eigenproblem of columns × columns."""
        equations = moments.normal_equations(True)
        size = len(equations.gram)
        values, vectors = eigh(equations.gram, subset_by_index=(size - count, size - 1))
        total = float(np.trace(equations.gram))
        return cls._sorted(equations.mean, vectors, values, total)

    @classmethod
    def of_rows(
        cls, walk: Callable[[], Iterator[Block]], n_columns: int, shares: Floats, count: int
    ) -> "Principal":
        """From fewer rows than columns: an eigenproblem of rows × rows.

        With B = √w·(Z − z̄) and BB' = U diag(s) U', the directions are B'U/√s. The features Z are
        made twice, a few columns at a time, and never held.
        """
        inner, root = np.zeros((len(shares), len(shares))), np.sqrt(shares)[:, None]
        mean = np.zeros(n_columns)
        for columns, features in walk():
            mean[columns] = shares @ features
            centred = root * (features - mean[columns])
            inner += centred @ centred.T
        total, size = float(np.trace(inner)), len(inner)
        values, vectors = eigh(inner, subset_by_index=(size - count, size - 1))
        seen = values > size * np.finfo(float).eps * max(total, np.finfo(float).tiny)
        half = np.where(seen, root * vectors / np.sqrt(np.where(seen, values, 1.0)), 0.0)
        directions = np.zeros((n_columns, count))
        for columns, features in walk():
            directions[columns] = (features - mean[columns]).T @ half
        return cls._sorted(mean, directions, np.where(seen, values, 0.0), total)

    @classmethod
    def _sorted(cls, mean: Floats, vectors: Floats, values: Floats, total: float) -> "Principal":
        """Largest first; the sign makes the sum of cubed entries positive."""
        rounding = len(mean) * np.finfo(float).eps * max(total, np.finfo(float).tiny)
        vectors = np.where(values > rounding, vectors, 0.0)[:, ::-1]
        signs = np.where((vectors**3).sum(axis=0) < 0.0, -1.0, 1.0)
        return cls(mean, vectors * signs, np.maximum(values, 0.0)[::-1].copy(), total)


@dataclass(eq=False, repr=False)
class KitchenSinkPCA(TakesSparse, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Principal components of K random features, from sums over blocks of rows.

    With Φ(x) = (φ(x; θ_1), …, φ(x; θ_K))/√K, C = Σw(Φ − Φ̄)(Φ − Φ̄)'/Σw and C·v_j = λ_j·v_j, the
    j-th component of x is v_j·(Φ(x) − Φ̄). With ``Fourier`` it is randomised kernel PCA: as K
    grows it approaches ``KernelPCA`` with the basis's kernel. With ``Maxout`` it is the locally
    linear embedding of the maxout paper (section 5.1). Rows are never held as features: memory
    grows with K², or with n² where rows are fewer than features (then the n × n form is solved).

    Parameters
    ----------
    basis : a basis with dense features; None is ``ks.Fourier()``, for kernel PCA as it is mostly
        used.
    n_components : number of principal components; 2 make a picture.
    n_features : K, the number of draws of θ; 1000 approximate a kernel to about 1/√K = 3 %.
    standardize : zero mean, unit variance per column of the rows first (True), because one
        bandwidth serves all columns.
    random_state : int, RandomState or None; an int names the draw for good. None is another draw
        each time, as everywhere in scikit-learn.
    dtype : of the features; None keeps float32 rows in float32 and makes all else float64. Sums
        are in float64.
    memory_budget : bytes, text such as "2GB", or None for a quarter of the free memory. A fit that
        needs more is an error.

    Attributes
    ----------
    components_ : (n_components, columns), orthonormal; Σ_k v_jk³ > 0 fixes the sign of v_j. Zero
        where the rows vary in fewer directions.
    explained_variance_ : λ_j; divided by Σw, so n/(n − 1) times smaller than scikit-learn's.
    explained_variance_ratio_ : λ_j over the variance of all features.
    mean_ : Φ̄, (columns,).
    basis_, draw_, scaler_, seed_ : what is frozen before the first sum.

    Examples
    --------
    >>> import numpy as np
    >>> import kitchensinks as ks
    >>> angle = np.linspace(0.0, 1.5, 30)
    >>> rows = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> pca = ks.KitchenSinkPCA(ks.Maxout(8), 1, n_features=500, standardize=False, random_state=0)
    >>> order = pca.fit_transform(rows)[:, 0].argsort()
    >>> np.unique(np.abs(np.diff(order))).tolist()   # along the arc: each row beside the next
    [1]
    """

    basis: Basis | None = None
    n_components: int = 2
    n_features: int = 1000
    standardize: bool = True
    random_state: Seed = None
    dtype: Any = None
    memory_budget: Any = None

    seed_: int = field(init=False)
    basis_: Basis = field(init=False)
    scaler_: Scaler | None = field(init=False)
    draw_: Draw = field(init=False)
    _features: Frozen = field(init=False)
    _shift: Floats = field(init=False)
    _moments: Moments | None = field(init=False)
    # Rows of a fit with fewer rows than features, and their weights.
    _few: tuple[Any, Floats | None] | None = field(init=False)
    _principal: Principal | None = field(init=False)

    def _meant(self, name: str) -> Any:
        """None stands for Fourier()."""
        return check_basis(self.basis) if name == "basis" else getattr(self, name)

    def fit(self, X: Any, y: ArrayLike | None = None, sample_weight: Any = None) -> Self:
        """Find the components of the rows X (n, d); y is not used, weights count as copies.

        A Dask collection is summed where its partitions are.
        """
        if is_dask(X):
            return self._fit_dask(X, sample_weight)
        X, weights = self._validate(X, sample_weight, reset=True)
        self._check_enough(X.shape[0])
        self._freeze(X, weights)
        if X.shape[0] >= self.draw_.n_columns:
            self._start()
            self._add(X, weights)
        else:
            self._check_memory(X.shape[0])
            shares = np.ones(X.shape[0]) if weights is None else weights
            self._moments = None
            # Summed if more rows come in.
            self._few = X.copy(), weights
            sizes = self.draw_.n_columns, shares / shares.sum(), self.n_components
            self._principal = Principal.of_rows(lambda: self._walk(X), *sizes)
        self._solved()
        return self

    def _fit_dask(self, X: Given, sample_weight: SampleWeight) -> Self:
        """Scaler and law from one walk over the partitions, sums from another."""
        from kitchensinks.execution.job import rows_job

        self._check_counts()
        check_columns(self, X, reset=True)
        job = rows_job(
            X,
            sample_weight,
            self._dense_basis(),
            self.n_features,
            seed_of(self.random_state),
            bool(self.standardize),
            None if self.dtype is None else check_dtype(self.dtype),
            self.memory_budget,
        )
        assert job.recipe.pilot is not None
        self._set_features(job.frozen, job.recipe.pilot)
        moments = job.summed().moments
        self._check_enough(moments.count)
        self._moments, self._principal = moments, None
        self._solved()
        return self

    def freeze(self, X: Given, sample_weight: SampleWeight = None) -> Self:
        """Learn from rows what all batches share (scaler, law of the features), and sum nothing.

        Copies of a frozen transformer can be given different rows by `partial_fit` and put
        together by `merge`: the result is that of one fit.
        """
        self._freeze(*self._validate(X, sample_weight, reset=True))
        self._start()
        return self

    def partial_fit(self, X: Any, y: ArrayLike | None = None, sample_weight: Any = None) -> Self:
        """Add a batch of rows to the sums; exact once scaler and law are frozen.

        They are frozen by `freeze`, or by the first batch (with a warning where they depend on
        it). The components are computed on first access.
        """
        first = not hasattr(self, "_moments")
        X, weights = self._validate(X, sample_weight, reset=first)
        if first:
            if self.standardize or check_basis(self.basis).unresolved() is not None:
                warn(
                    "The first batch of partial_fit freezes the scaler and the law of the "
                    "features; later batches are measured by it. Call freeze(X) with "
                    "representative rows first to choose them yourself.",
                )
            self._freeze(X, weights)
            self._start()
        elif self._few is not None:
            # A fit of fewer rows than features has summed nothing.
            self._start()
            self._add(*self._few)
            self._few = None
        self._add(X, weights)
        return self

    def merge(self, other: "KitchenSinkPCA") -> Self:
        """Add what another transformer has summed; both must be frozen alike. Returns self."""
        mine, theirs = getattr(self, "_moments", None), getattr(other, "_moments", None)
        if mine is None or theirs is None:
            raise ValueError("merge adds sums: call freeze or partial_fit on both first.")
        alike = self._features.difference(other._features) is None
        if not (alike and np.array_equal(mine.shift, theirs.shift)):
            raise ValueError(
                "The transformers differ in scaler, basis or draw, so their sums cannot be added. "
                "Freeze one transformer, copy it, and give the copies different rows."
            )
        self._moments, self._principal = mine.merge(theirs), None
        return self

    def transform(self, X: Given) -> Matrix:
        """Components of each row, shape (n, n_components), in the dtype of the features."""
        found = self._solved()
        model = Model(self._features, found.directions, -found.mean @ found.directions)
        if is_dask(X):
            from kitchensinks.execution.lazily import score_rows

            check_columns(self, X, reset=False)
            return score_rows(model, X)
        X, _ = self._validate(X, None, reset=False)
        return model.scores(X).astype(X.dtype, copy=False)

    @property
    def components_(self) -> Floats:
        return self._solved().directions.T

    @property
    def mean_(self) -> Floats:
        return self._solved().mean

    @property
    def explained_variance_(self) -> Floats:
        return self._solved().variance

    @property
    def explained_variance_ratio_(self) -> Floats:
        found = self._solved()
        return found.variance / (found.total if found.total > 0.0 else 1.0)

    @property
    def _n_features_out(self) -> int:
        return int(self._solved().directions.shape[1])

    def _solved(self) -> Principal:
        """The components, found anew if rows have come in since the last time."""
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                "This KitchenSinkPCA instance is not fitted yet: call fit or partial_fit."
            )
        if self._principal is None:
            assert self._moments is not None
            if self._moments.count < max(2, self.n_components):
                raise NotFittedError(
                    f"{self._moments.count} rows so far for n_components={self.n_components}: "
                    "need as many rows as components, and at least 2. Call partial_fit again."
                )
            self._principal = Principal.of_moments(self._moments, self.n_components)
        return self._principal

    def _freeze(self, X: Given, weights: Floats | None) -> None:
        basis, seed = self._dense_basis(), seed_of(self.random_state)
        summary = RowSummary.of(X, weights, seed, bool(self.standardize), asked=True)
        assert summary.sample is not None
        frozen = Frozen.of_summary(summary, basis, seed, X.shape[1], self.n_features, X.dtype)
        self._set_features(frozen, summary.sample.rows)

    def _set_features(self, frozen: Frozen, sample: AnyArray) -> None:
        """Set the frozen features; `sample`: rows whose features estimate the mean."""
        draw = frozen.draw
        if self.n_components > draw.n_columns:
            raise ValueError(
                f"n_components={self.n_components} of {draw.n_columns} columns: there are no more "
                "components than columns. Raise n_features or ask for fewer components."
            )
        self.scaler_, self.basis_, self.seed_ = frozen.scaler, frozen.basis, frozen.seed
        self._features, self.draw_, self._few = frozen, draw, None
        # Near the mean of the features, so that centred sums keep their digits.
        parts = [part.mean(axis=0, dtype=np.float64) for _, part in self._walk(sample)]
        self._shift = np.concatenate(parts)

    def _start(self) -> None:
        """Sums of no rows."""
        self._check_memory(self.draw_.n_columns)
        self._moments, self._principal = Moments.zeros(self._shift, 0), None

    def _add(self, X: Given, weights: Floats | None) -> None:
        """Add the rows, all or none of them: a batch that fails is summed apart."""
        known = self._moments
        assert known is not None
        own = Moments.zeros(known.shift, 0)
        own.add_blocks(self._blocks(X).fresh, np.zeros((X.shape[0], 0)), weights)
        self._moments, self._principal = own if known.count == 0 else known.merge(own), None

    def _walk(self, rows: Matrix) -> Iterator[Block]:
        """Features of all rows, a few columns at a time: an eighth of the budget in float64."""
        most = int(memory_budget(self.memory_budget) / 64)
        return self._features.walk(rows, min(WALKED_ENTRIES, most))

    def _blocks(self, X: Given) -> FeatureBlocks:
        return FeatureBlocks(X, self._features, memory_budget(self.memory_budget))

    # -- checks --------------------------------------------------------------------------

    def _dense_basis(self) -> Basis:
        basis = check_basis(self.basis)
        if basis.sparse:
            raise ValueError(
                f"basis={basis!r} has sparse features: principal components need a dense basis, "
                "such as ks.Fourier() (or sklearn's TruncatedSVD after ks.RandomFeatures)."
            )
        return basis

    def _check_memory(self, size: int) -> None:
        """An error where a matrix of size × size, with its copies, is beyond the budget."""
        needed, budget = gram_bytes(size), memory_budget(self.memory_budget)
        if needed > budget:
            raise ValueError(
                f"n_features={self.n_features} needs matrices of {size} × {size}, "
                f"{needed / 1e6:,.0f} MB in all, and the memory budget is {budget / 1e6:,.0f} MB: "
                "raise memory_budget, or take fewer features or rows."
            )

    def _check_enough(self, n_rows: int) -> None:
        if n_rows < max(2, self.n_components):
            raise ValueError(
                f"X has {n_rows} sample(s) for n_components={self.n_components}: need as many "
                "rows as components, and at least 2. Give more rows or ask for fewer components."
            )

    def _check_counts(self) -> None:
        check_count("n_components", self.n_components)
        check_count("n_features", self.n_features)

    def _validate(
        self, X: Given, sample_weight: SampleWeight, reset: bool
    ) -> tuple[Any, Floats | None]:
        self._check_counts()
        X = float_rows(self, X, reset, self.dtype)
        if not reset:
            X = X.astype(self.draw_.dtype, copy=False)
        if sample_weight is None:
            return X, None
        return X, check_weights(sample_weight, X, positive=True)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_principal")
