"""Layers of random features, each fitted to the residual of the layers before it."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted, validate_data

from kitchensinks.estimators import KitchenSinkRegressor
from kitchensinks.features.bases import Basis, Fourier
from kitchensinks.features.borrowed import borrowing
from kitchensinks.features.frozen import spread_of
from kitchensinks.features.links import Linked
from kitchensinks.features.scaling import Scaler, Spread
from kitchensinks.fitting.settings import Solver
from kitchensinks.numerics.arrays import Floats
from kitchensinks.numerics.checks import check_count
from kitchensinks.numerics.words import Stream, Words
from kitchensinks.problem.targets import Classes, Numbers
from kitchensinks.state import seed_of
from kitchensinks.tables.arrays import advice, check_weights
from kitchensinks.tables.keys import row_keys


@dataclass(eq=False)
class Chain:
    """f = f_1 + f_2 + … + f_L: layer l sees the rows and the sum of the layers before it.

    `layers` are fitted regressors, `scalers` what standardises the scores that enter each (None
    for the first), `emphasis` the factor of the standardised scores.
    """

    emphasis: float
    layers: list[KitchenSinkRegressor] = field(default_factory=list)
    scalers: list[Scaler | None] = field(default_factory=list)

    def add(
        self, layer: KitchenSinkRegressor, rows: Any, targets: Floats, weights: Floats | None
    ) -> None:
        """Fit one more layer to the residual on rows that no layer has seen."""
        total = _in_single(self.scores(rows)) if self.layers else np.zeros_like(targets)
        scaler = Scaler.over(Spread.of(total, weights)) if self.layers else None
        layer.fit(self._inputs(rows, total, scaler), targets - total, weights)
        layer.drop_sums()
        self.layers.append(layer)
        self.scalers.append(scaler)

    def scores(self, rows: Any) -> Floats:
        """f(x), shape (n, outputs)."""
        total: Any = 0.0
        for layer, scaler in zip(self.layers, self.scalers, strict=True):
            total = total + layer.predict(self._inputs(rows, total, scaler))
        return np.asarray(total)

    def _inputs(self, rows: Any, total: Any, scaler: Scaler | None) -> Any:
        if scaler is None:
            return rows
        return np.hstack([rows, self.emphasis * scaler.apply(total, rows.dtype)], dtype=rows.dtype)


def _in_single(scores: Floats) -> Floats:
    """Scores in single precision, so that copies of a row have the same bits wherever they are."""
    mantissa, exponent = np.frexp(scores)
    return np.asarray(np.ldexp(mantissa.astype(np.float32).astype(np.float64), exponent))


@dataclass(eq=False, repr=False)
class _StackedSinks(Linked):
    """Parameters and fit common to regression and classification."""

    basis: Basis | None = None
    n_components: int = 1000
    n_layers: int = 2
    alpha: float | str = "auto"
    standardize: bool = True
    dtype: Any = None
    memory_budget: Any = None
    random_state: Any = None

    seed_: int = field(init=False)
    scaler_: Scaler | None = field(init=False)
    chains_: list[Chain] = field(init=False)
    alphas_: Floats = field(init=False)

    def _meant(self, name: str) -> Any:
        """None stands for Fourier()."""
        value = getattr(self, name)
        return Fourier() if name == "basis" and value is None else value

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit to rows X (n, d) and targets y; a weight of 2 equals two copies of the row."""
        n_layers = check_count("n_layers", self.n_layers)
        with advice(rows=X):
            X = validate_data(self, X, dtype=[np.float64, np.float32])
        targets = self._encode(y)
        check_consistent_length(X, targets)
        weights = None
        if sample_weight is not None:
            weights = check_weights(sample_weight, X, positive=True)
        self.seed_ = seed_of(self.random_state)
        share = _shares(X, weights, n_layers, self.seed_)
        spread = spread_of(X, weights)
        self.scaler_ = Scaler.over(spread) if self.standardize else None
        rows = self._rows(X)
        # Scales the scores so that their total variance equals that of the columns.
        scale = 1.0 if self.scaler_ is None else self.scaler_.scale
        variance = float(((spread.deviation / scale) ** 2).sum())
        emphasis = math.sqrt(variance / targets.shape[1])
        self.chains_ = []
        for start in range(n_layers):
            chain = Chain(emphasis)
            for number in range(n_layers):
                own = share == (start + number) % n_layers
                layer = self._layer(start * n_layers + number)
                chain.add(layer, rows[own], targets[own], None if weights is None else weights[own])
            self.chains_.append(chain)
        self.alphas_ = np.array([[layer.alpha_ for layer in c.layers] for c in self.chains_])
        return self

    def _layer(self, number: int) -> KitchenSinkRegressor:
        """A new layer with its own draw; layer 0 draws with the seed itself."""
        own = self.seed_
        if number:
            own = int(Words(self.seed_, number, Stream.STACKED_LAYERS).raw(1)[0])
        return KitchenSinkRegressor(
            self._meant("basis"),
            self.n_components,
            alpha=self.alpha,
            standardize=False,
            solver=Solver(dtype=self.dtype, memory_budget=self.memory_budget),
            random_state=own,
        )

    def _rows(self, X: Any) -> Any:
        return X if self.scaler_ is None else self.scaler_.apply(X, X.dtype)

    def _scores(self, X: Any) -> Floats:
        """The mean of the chains, shape (n, outputs)."""
        check_is_fitted(self, "chains_")
        with advice(rows=X):
            X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        rows = self._rows(X)
        return np.asarray(sum(chain.scores(rows) for chain in self.chains_) / len(self.chains_))

    def _encode(self, y: Any) -> Floats:
        raise NotImplementedError


class StackedSinksRegressor(MultiOutputMixin, RegressorMixin, _StackedSinks):
    """L layers of random features for regression, trained layer by layer with convex fits.

    The rule. The rows are cut into L shares by their content. Layer 1 is a ridge fit of random
    features to the targets of share 1 (``ks.KitchenSinkRegressor``, alpha by leave-one-out). Layer
    l sees the rows and, beside them, the score f_1 + … + f_(l−1), standardised and multiplied by
    √(V/outputs) with V the summed variance of the columns (d, if rows are standardised), so that
    scores weigh as much as rows; it is fitted to the residual y − f_1 − … − f_(l−1) of share l,
    which no layer before it has seen. L such chains, each with the shares in the next rotation,
    are averaged, so every row serves every layer once. One layer is ``ks.KitchenSinkRegressor``.

    Why shares and not out-of-fold scores of all rows: those depend on the targets of the other
    rows, so the leave-one-out error of the next layer would no longer be that of rows it has not
    seen. With few noisy rows that does harm (measured in docs/depth.md).

    Parameters
    ----------
    basis : a basis such as ``ks.Fourier()`` (what None stands for), resolved in each layer.
    n_components : K, the number of draws of each layer; 1000 meet a kernel to about 3 %. There are
        L² layers in all.
    n_layers : L, 1 or more; 2 is the least that is deep. ``GridSearchCV`` over it tells whether
        depth pays.
    alpha : ridge strength of every layer, or "auto": exact leave-one-out in each.
    standardize : zero mean, unit variance per column of the rows (True), because one bandwidth
        serves all columns.
    dtype, memory_budget : of each layer, as for ``ks.Solver``; None: by the sizes at hand.
    random_state : int, RandomState or None; an int names shares and draws for good. None is
        another draw each time, as everywhere in scikit-learn.

    Attributes
    ----------
    chains_ : the L chains; ``chains_[c].layers`` are fitted ``ks.KitchenSinkRegressor``.
    alphas_ : ridge strengths, (chains, layers).

    Examples
    --------
    >>> import kitchensinks as ks
    >>> X, y, _ = ks.datasets.make_depth_separation(4000, random_state=0)
    >>> fits = [ks.StackedSinksRegressor(n_components=200, n_layers=n, random_state=0)
    ...         .fit(X[:3000], y[:3000]).score(X[3000:], y[3000:]) for n in (1, 2)]
    >>> [round(fit, 2) for fit in fits]
    [0.17, 0.22]
    """

    _one_output: bool

    def _encode(self, y: Any) -> Floats:
        numbers = Numbers.check(y)
        self._one_output = numbers.ndim == 1
        return numbers.reshape(len(numbers), -1)

    def predict(self, X: Any) -> Floats:
        """f(x), shaped as the targets were."""
        scores = self._scores(X)
        return scores[:, 0] if self._one_output else scores


@borrowing(StackedSinksRegressor)
class StackedSinksClassifier(ClassifierMixin, _StackedSinks):
    """L layers of random features for classification: squared loss on ±1, one column a class.

    The rule is that of :class:`StackedSinksRegressor`.

    Parameters
    ----------
    Those of :class:`StackedSinksRegressor`.

    Examples
    --------
    >>> import kitchensinks as ks
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ks.StackedSinksClassifier(n_components=100, random_state=0).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.97
    """

    classes_: NDArray[Any]
    _targets: Classes

    def _encode(self, y: Any) -> Floats:
        labels = Classes.check(y)
        self.classes_ = np.unique(labels)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y has one class only, {self.classes_[0]!r}: a classifier needs two or more."
            )
        self._targets = Classes(self.classes_, None, one_hot=False)
        return self._targets.encode(labels)

    def decision_function(self, X: Any) -> Floats:
        """f(x): shape (n,) for two classes, (n, classes) for more."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The class of the largest score."""
        scores = self._scores(X)
        return np.asarray(self.classes_[self._targets.winners(scores)])


def _shares(X: Any, weights: Floats | None, count: int, seed: int) -> NDArray[np.int64]:
    """The share of each row, 0 to count − 1: nearly equal in size, chosen by a hash of the row.

    Equal rows are in the same share. Neither the order nor rows of weight zero change the shares.
    """
    keys = row_keys(X, seed)
    different = np.unique(keys if weights is None else keys[weights > 0])
    if len(different) < count:
        raise ValueError(
            f"X has {len(keys)} sample(s), {len(different)} distinct, for n_layers={count}: "
            "each layer is fitted to its own rows, so at least as many distinct rows are needed. "
            "Pass more rows or fewer layers."
        )
    return np.searchsorted(different, keys) % count
