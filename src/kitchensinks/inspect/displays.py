"""Pictures of fits and features in scikit-learn's Display convention; they need matplotlib.

A display is made by a class method whose name begins with `from_`, which computes the numbers and
draws them. The numbers stay in its fields, `plot(ax=...)` draws them again, and `ax_` and
`figure_` are what was drawn on.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from kitchensinks.estimators.base import KitchenSink
from kitchensinks.estimators.classifier import KitchenSinkClassifier
from kitchensinks.estimators.regressor import KitchenSinkRegressor
from kitchensinks.features.bases import Basis, Draw
from kitchensinks.features.bases.leverage import check_eigenvalues, effective_dimension, leverages
from kitchensinks.features.spectrum import decay_rates, spectrum, suggested_components
from kitchensinks.numerics.arrays import AnyArray, Floats, Matrix, Seed
from kitchensinks.state import seed_of
from kitchensinks.tables.arrays import densify, numeric_rows
from kitchensinks.tables.view import Given


class _Transformer(Protocol):
    """What is drawn by its coordinates."""

    def transform(self, X: Given) -> Any: ...


def new_axes() -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            'plots need matplotlib: pip install "kitchensinks[plot]". The numbers that they draw '
            "are fields of the displays, whose constructors take them."
        ) from None
    return Figure(layout="constrained").add_subplot()


@dataclass(eq=False)
class _Display:
    """What all displays have: axes that were drawn on."""

    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    def plot(self, ax: object = None) -> Self:
        """Draw on the axes given, or on those of a new figure."""
        self.ax_ = new_axes() if ax is None else ax
        self.figure_ = self.ax_.figure
        self._draw(self.ax_)
        return self

    def _draw(self, ax: object) -> None:
        raise NotImplementedError


@dataclass(eq=False)
class ComponentsDisplay(_Display):
    """Error and time of fits against the number of components K.

    errors (fits,) : 1 − score on the rows tested; seconds (fits,) : processor seconds of the fits.
    """

    n_components: Sequence[int]
    errors: Floats
    seconds: Floats

    @classmethod
    def from_estimator(
        cls,
        estimator: KitchenSinkClassifier | KitchenSinkRegressor,
        X: Given,
        y: ArrayLike,
        X_test: object,
        y_test: ArrayLike,
        n_components: Sequence[int] = (64, 256, 1024),
        ax: object = None,
    ) -> Self:
        """Copies of an estimator with each K, fitted to X, y and scored on the other rows.

        >>> import kitchensinks as ks
        >>> from sklearn.datasets import load_diabetes
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = ks.KitchenSinkRegressor(ks.Fourier(), random_state=0)
        >>> rows = X[::2], y[::2], X[1::2], y[1::2]
        >>> display = ComponentsDisplay.from_estimator(model, *rows, n_components=(10, 100))
        >>> display.ax_.get_xlabel(), len(display.errors)
        ('K', 2)
        """
        errors, seconds = [], []
        for count in n_components:
            start = time.process_time()
            model = clone(estimator).set_params(n_components=int(count)).fit(X, y)
            seconds.append(time.process_time() - start)
            errors.append(1.0 - model.score(X_test, y_test))
        return cls(tuple(n_components), np.array(errors), np.array(seconds)).plot(ax)

    def _draw(self, ax: Any) -> None:
        (first,) = ax.plot(self.n_components, self.errors, "o-", label="1 − score")
        ax.set(xscale="log", xlabel="K", ylabel="1 − score on the rows tested")
        other = ax.twinx()
        (second,) = other.plot(self.n_components, self.seconds, "s--", color="C1", label="seconds")
        other.set(yscale="log", ylabel="processor seconds of the fit")
        ax.legend(handles=[first, second])


@dataclass(eq=False)
class RidgePathDisplay(_Display):
    """Errors along the ridge path: alphas (ridges,), errors (ridges, outputs), the alpha chosen."""

    alphas: Floats
    errors: Floats
    alpha: float

    @classmethod
    def from_estimator(cls, estimator: KitchenSink, ax: Any = None) -> Self:
        """The path that a fit with alpha="auto" has chosen its ridge from.

        >>> import kitchensinks as ks
        >>> from sklearn.datasets import load_diabetes
        >>> model = ks.KitchenSinkRegressor(ks.Fourier(), n_components=50, random_state=0)
        >>> display = RidgePathDisplay.from_estimator(model.fit(*load_diabetes(return_X_y=True)))
        >>> display.ax_.get_xscale()
        'log'
        """
        if estimator.alphas_ is None or len(estimator.alphas_) < 2:
            raise ValueError(
                f"This fit has no ridge path: its ridge {estimator.alpha_:.2g} was given, or "
                "learned with its law. Use alpha='auto' with a given basis, such as ks.Fourier()."
            )
        return cls(estimator.alphas_, estimator.alpha_errors_, estimator.alpha_).plot(ax)

    def _draw(self, ax: Any) -> None:
        finite = np.where(np.isfinite(self.errors), self.errors, np.nan)
        for output, errors in enumerate(finite.T):
            ax.plot(self.alphas, errors, "o-", label=f"output {output}")
        ax.axvline(self.alpha, color="k", linestyle=":", label=f"chosen, {self.alpha:.2g}")
        ax.set(xscale="log", xlabel="α", ylabel="error on rows left out")
        ax.legend()


@dataclass(eq=False)
class TrialsDisplay(_Display):
    """Errors of the trials of a law by stage, in their order, as shares of the variance."""

    stages: Sequence[str]
    errors: Floats

    @classmethod
    def from_estimator(cls, estimator: KitchenSink, ax: object = None) -> Self:
        """The trials that a fit with a learned law has made.

        >>> import kitchensinks as ks
        >>> rows = np.random.default_rng(0).normal(size=(500, 3))
        >>> model = ks.KitchenSinkRegressor(ks.Learned(effort="quick"), random_state=0)
        >>> display = TrialsDisplay.from_estimator(model.fit(rows, np.sin(rows[:, 0])))
        >>> sorted(set(display.stages))
        ['basis', 'map', 'mean', 'trend']
        """
        record = estimator.law_.record
        if record is None:
            raise ValueError("The law of this fit was given, not learned: it has no trials.")
        errors = np.array([trial.error for trial in record.trials])
        return cls(tuple(trial.stage for trial in record.trials), errors).plot(ax)

    def _draw(self, ax: Any) -> None:
        for stage in dict.fromkeys(self.stages):
            own = np.flatnonzero([one == stage for one in self.stages])
            ax.plot(own + 1, self.errors[own], "o", label=stage)
        best = int(np.argmin(self.errors))
        ax.plot(best + 1, self.errors[best], "k*", markersize=12, label="least error")
        ax.set(xlabel="trial", ylabel="squared error / variance", yscale="log")
        ax.legend()


@dataclass(eq=False)
class KernelErrorDisplay(_Display):
    """Largest and root mean square error of the kernel matrix against the number of draws."""

    n_components: Sequence[int]
    largest: Floats
    typical: Floats

    @classmethod
    def from_basis(
        cls,
        basis: Basis,
        rows: Matrix,
        n_components: Sequence[int] = (64, 256, 1024, 4096),
        random_state: Seed = 0,
        ax: object = None,
    ) -> Self:
        """|Φ(x)'Φ(z) − k(x, z)| over all pairs of rows, which falls as 1/√K.

        >>> import kitchensinks as ks
        >>> rows = np.random.default_rng(0).normal(size=(40, 3))
        >>> display = KernelErrorDisplay.from_basis(ks.Fourier(), rows)
        >>> display.n_components, display.typical.round(2)
        ((64, 256, 1024, 4096), array([0.09, 0.08, 0.02, 0.01]))
        """
        points = numeric_rows(rows)
        resolved, seed = basis.resolve(points), seed_of(random_state)
        kernel = resolved.kernel(points)
        gaps = []
        for count in n_components:
            drawn = resolved.draw(seed, points.shape[1], int(count))
            features = resolved.learn_draw(drawn, points).scaled_features(points)
            gaps.append(densify(features @ features.T) - kernel)
        largest = np.array([np.abs(gap).max() for gap in gaps])
        typical = np.array([np.sqrt(np.mean(gap**2)) for gap in gaps])
        return cls(tuple(n_components), largest, typical).plot(ax)

    def _draw(self, ax: Any) -> None:
        counts = np.asarray(self.n_components, dtype=float)
        ax.loglog(counts, self.largest, "o-", label="largest")
        ax.loglog(counts, self.typical, "s-", label="root mean square")
        rate = self.typical[0] * np.sqrt(counts[0] / counts)
        ax.loglog(counts, rate, "k:", label="1/√K")
        ax.set(xlabel="K", ylabel="error of the kernel")
        ax.legend()


@dataclass(eq=False)
class LeverageDisplay(_Display):
    """Leverages of the draws, from the largest down, with d(μ): equal for optimised features."""

    leverages: Floats
    dimension: float

    @classmethod
    def from_draw(
        cls, draw: Draw, rows: Any, mu: float, weights: Any = None, ax: object = None
    ) -> Self:
        """Of the draws of a basis, on rows (n, d), at the ridge μ.

        >>> import kitchensinks as ks
        >>> rows = np.random.default_rng(0).normal(size=(50, 2))
        >>> draw = ks.Fourier(gamma=0.5).draw(seed=0, n_inputs=2, n_components=100)
        >>> LeverageDisplay.from_draw(draw, rows, mu=0.01).ax_.get_ylabel()
        'leverage'
        """
        values = np.sort(leverages(draw, rows, mu, weights))[::-1]
        dimension = effective_dimension(spectrum(draw.basis, rows, weights), mu)
        return cls(values, dimension).plot(ax)

    def _draw(self, ax: Any) -> None:
        values, dimension = self.leverages, self.dimension
        ax.plot(np.arange(1, len(values) + 1), values, label=f"largest {values[0]:.3g}")
        ax.axhline(dimension, color="k", linestyle=":", label=f"d(μ) = {dimension:.3g}")
        ax.set(xlabel="draws, by leverage", ylabel="leverage")
        ax.legend()


@dataclass(eq=False)
class SpectrumDisplay(_Display):
    """Eigenvalues against their index, with the two laws of `decay_rates`."""

    eigenvalues: Floats
    n_inputs: int

    @classmethod
    def from_basis(cls, basis: Basis, rows: Matrix, weights: Any = None, ax: object = None) -> Self:
        """Of the kernel of a basis on rows (n, d).

        >>> import kitchensinks as ks
        >>> rows = np.random.default_rng(0).normal(size=(60, 2))
        >>> SpectrumDisplay.from_basis(ks.Fourier(gamma=0.5), rows).ax_.get_yscale()
        'log'
        """
        points = numeric_rows(rows)
        values = spectrum(basis.resolve(points), points, weights)
        return cls(values, points.shape[1]).plot(ax)

    def _draw(self, ax: Any) -> None:
        values = np.sort(check_eigenvalues(self.eigenvalues))[::-1]
        decay = decay_rates(values, self.n_inputs)
        power, exponential = decay.polynomial, decay.subexponential
        index = np.arange(1.0, len(values) + 1.0)
        shown = values > 0
        ax.loglog(index[shown], values[shown], "k.", label="eigenvalues")
        ax.loglog(
            index,
            power.scale * index**-power.rate,
            label=f"polynomial, $i^{{-{power.rate:.2f}}}$, error {power.error:.2g}",
        )
        rate, n_inputs = exponential.rate, self.n_inputs
        ax.loglog(
            index,
            exponential.scale * np.exp(-rate * index ** (1.0 / n_inputs)),
            label=f"exp$(-{rate:.2f}\\,i^{{1/{n_inputs}}})$, error {exponential.error:.2g}",
        )
        ax.set(xlabel="i", ylabel="λ", ylim=(values[shown].min() / 2, 4 * values[0]))
        ax.legend()


@dataclass(eq=False)
class DimensionDisplay(_Display):
    """d(μ) against μ, over the range of the eigenvalues."""

    eigenvalues: Floats

    @classmethod
    def from_basis(cls, basis: Basis, rows: Matrix, weights: Any = None, ax: Any = None) -> Self:
        """Of the kernel of a basis on rows (n, d).

        >>> import kitchensinks as ks
        >>> rows = np.random.default_rng(0).normal(size=(60, 2))
        >>> DimensionDisplay.from_basis(ks.Fourier(gamma=0.5), rows).ax_.get_xlabel()
        'μ'
        """
        points = numeric_rows(rows)
        return cls(spectrum(basis.resolve(points), points, weights)).plot(ax)

    def _draw(self, ax: Any) -> None:
        grid = _mus(self.eigenvalues, 50)
        ax.loglog(grid, [effective_dimension(self.eigenvalues, mu) for mu in grid])
        ax.set(xlabel="μ", ylabel="effective dimension d(μ)")


@dataclass(eq=False)
class SuggestionDisplay(_Display):
    """The numbers of features of `suggested_components` against μ, reweighted and plain."""

    mus: Floats
    reweighted: Sequence[int]
    plain: Sequence[int]

    @classmethod
    def from_draw(
        cls, draw: Draw, rows: Any, delta: float = 0.05, weights: Any = None, ax: object = None
    ) -> Self:
        """Of the draws of a basis, on rows (n, d), with probability 1 − delta.

        >>> import kitchensinks as ks
        >>> rows = np.random.default_rng(0).normal(size=(50, 2))
        >>> draw = ks.Fourier(gamma=0.5).draw(seed=0, n_inputs=2, n_components=100)
        >>> len(SuggestionDisplay.from_draw(draw, rows).ax_.get_lines())
        2
        """
        mus = _mus(spectrum(draw.basis, rows, weights), 12)
        found = [suggested_components(draw, rows, mu, delta, weights) for mu in mus]
        return cls(mus, [one.reweighted for one in found], [one.plain for one in found]).plot(ax)

    def _draw(self, ax: Any) -> None:
        ax.loglog(self.mus, self.reweighted, label="reweighted")
        ax.loglog(self.mus, self.plain, label="plain")
        ax.set(xlabel="μ", ylabel="suggested number of features")
        ax.legend()


def _mus(eigenvalues: Any, count: int) -> Floats:
    """μ from the largest eigenvalue down to a millionth of it."""
    return float(check_eigenvalues(eigenvalues).max()) * np.logspace(0, -6, count)


@dataclass(eq=False)
class EmbeddingDisplay(_Display):
    """Rows in two coordinates, by the class or the number that they have, if any."""

    points: Floats
    y: AnyArray | None = None

    @classmethod
    def from_estimator(
        cls, estimator: _Transformer, X: Given, y: ArrayLike | None = None, ax: Any = None
    ) -> Self:
        """The first two coordinates that a fitted transformer, such as KitchenSinkPCA, gives rows.

        >>> import kitchensinks as ks
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> pca = ks.KitchenSinkPCA(n_components=2, random_state=0).fit(X)
        >>> EmbeddingDisplay.from_estimator(pca, X, y).points.shape
        (150, 2)
        """
        points = np.asarray(estimator.transform(X))
        if points.shape[1] < 2:
            raise ValueError("The transformer gives one coordinate: need two or more.")
        return cls(points[:, :2], None if y is None else np.asarray(y)).plot(ax)

    def _draw(self, ax: Any) -> None:
        across, up = self.points.T
        if self.y is None:
            ax.scatter(across, up, s=8)
        elif self.y.dtype.kind == "f":
            found = ax.scatter(across, up, s=8, c=self.y)
            ax.figure.colorbar(found, ax=ax)
        else:
            for label in np.unique(self.y):
                own = self.y == label
                ax.scatter(across[own], up[own], s=8, label=str(label))
            ax.legend()
        ax.set(xlabel="first coordinate", ylabel="second coordinate")


# The displays alone.
__all__ = sorted(name for name in globals() if name.endswith("Display") and name[0] != "_")


def __dir__() -> list[str]:
    return __all__
