"""The scikit-learn transformer over any basis."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from kitchensinks import state
from kitchensinks.estimators.inputs import TakesSparse, check_columns, float_rows
from kitchensinks.execution import is_dask
from kitchensinks.features.bases import Basis, Draw, Fourier
from kitchensinks.features.frozen import Frozen
from kitchensinks.fitting.settings import check_dtype
from kitchensinks.numerics.arrays import Matrix, Seed
from kitchensinks.numerics.checks import check_count
from kitchensinks.tables.arrays import block_slices, check_weights
from kitchensinks.tables.view import Given

# Entries of the features of one block of rows.
_BLOCK_ENTRIES = 2**22


@dataclass(eq=False, repr=False)
class RandomFeatures(TakesSparse, TransformerMixin, BaseEstimator):
    """φ(x; θ_1), …, φ(x; θ_K), divided by √K: inner products approximate the basis's kernel.

    Parameters
    ----------
    basis : a basis; None is ``ks.Fourier()``, whose Gaussian kernel is the most used one.
    n_components : K, the number of draws of θ; 1000 meet a kernel to about 1/√K = 3 %. The paired
        Fourier form has two columns a draw; Binning has a column for each occupied bin of its K
        grids.
    random_state : int, RandomState or None. An int from 0 to 2⁶⁴ − 1 names the draw for good:
        the first 500 of 2000 features are the 500-feature draw. None is another draw each time, as
        everywhere in scikit-learn.
    dtype : None keeps float32 rows in float32 and computes everything else in float64;
        "float32" or "float64" forces one. The draw is kept in the dtype of the rows of `fit`.

    Attributes
    ----------
    basis_ : the resolved basis, with a number for gamma.
    draw_ : the frozen draw.
    seed_ : the seed that names the draw.

    Examples
    --------
    >>> import numpy as np
    >>> import kitchensinks as ks
    >>> rows = np.random.default_rng(0).normal(size=(50, 3))
    >>> features = ks.RandomFeatures(ks.Fourier(), n_components=4000, random_state=0)
    >>> Z = features.fit_transform(rows)
    >>> (Z @ Z.T)[0, :4].round(1), features.basis_.kernel(rows)[0, :4].round(1)
    (array([1. , 0.9, 0.4, 0.6]), array([1. , 0.9, 0.4, 0.6]))
    """

    basis: Basis | None = None
    n_components: int = 1000
    random_state: Seed = None
    dtype: Any = None

    seed_: int = field(init=False)
    basis_: Basis = field(init=False)
    draw_: Draw = field(init=False)

    def _meant(self, name: str) -> Any:
        """None stands for Fourier(), also where one of its parameters is searched over."""
        value = getattr(self, name)
        return Fourier() if name == "basis" and value is None else value

    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: Any = None
    ) -> "RandomFeatures":
        """Resolve the basis on a sample of the rows and freeze the draw; y is not used."""
        n_components = check_count("n_components", self.n_components)
        basis = check_basis(self.basis)
        X = float_rows(self, X, reset=True, dtype=self.dtype)
        if sample_weight is not None:
            sample_weight = check_weights(sample_weight, X, positive=True)
            X, sample_weight = X[sample_weight > 0], sample_weight[sample_weight > 0]
        self.seed_ = state.seed_of(self.random_state)
        frozen = Frozen.learn(
            X, sample_weight, basis, self.seed_, n_components, X.dtype, standardize=False
        )
        self.basis_, self.draw_ = frozen.basis, frozen.draw
        self._n_features_out = self.draw_.n_columns
        return self

    def transform(self, X: Given) -> Matrix:
        """Features of each row, shape (n, columns): dense, or CSR for a sparse basis.

        Of a Dask collection the result is a lazy Dask array, drawn from the seed on each worker.
        """
        check_is_fitted(self)
        if is_dask(X):
            return self._lazily(X)
        X = float_rows(self, X, reset=False, dtype=self.dtype, least=0)
        draw = self.draw_ if X.dtype == self.draw_.dtype else self.draw_.astype(X.dtype)
        width = max(X.shape[1], draw.n_components if draw.basis.sparse else draw.n_columns)
        parts = block_slices(X.shape[0], max(16, _BLOCK_ENTRIES // width))
        if draw.basis.sparse:
            blocks = [draw.scaled_features(X[part]) for part in parts]
            nothing = sparse.csr_array((0, draw.n_columns), dtype=draw.dtype)
            return sparse.vstack(blocks, format="csr") if blocks else nothing
        out = np.empty((X.shape[0], draw.n_columns), dtype=draw.dtype)
        for part in parts:
            out[part] = draw.scaled_features(X[part])
        return out

    def _lazily(self, X: Given) -> Any:
        from kitchensinks.execution.lazily import feature_rows

        if self.basis_.learns_draw:
            raise ValueError(
                f"Dask collections need features that a seed draws, and those of {self.basis_!r} "
                "depend on the rows of fit. Transform the partitions one by one instead."
            )
        check_columns(self, X, reset=False)
        draw = self.draw_
        frozen = Frozen(None, draw.basis, draw.seed, draw.n_inputs, draw.n_components, draw.dtype)
        return feature_rows(frozen, X, None if self.dtype is None else check_dtype(self.dtype))

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        """A name for each column of the output; input_features are checked and not used."""
        check_is_fitted(self)
        _check_feature_names_in(self, input_features, generate_names=False)
        names = self.draw_.basis.names(self.draw_.theta, self.draw_.n_components)
        return np.asarray(names, dtype=object)


def check_basis(basis: object) -> Basis:
    """The basis given, which must not have to be learned; None is ``Fourier()``."""
    if not isinstance(basis, Basis | type | None):
        # Other transformers take a number of components first.
        hint = f" A number has a name: n_components={basis}." if isinstance(basis, int) else ""
        raise TypeError(
            f"basis={basis!r} is of type {type(basis).__name__}: need a basis such as "
            f"ks.Fourier().{hint}"
        )
    found = Fourier() if basis is None else state.check_basis(basis)
    assert isinstance(found, Basis)
    return found
