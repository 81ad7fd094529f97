"""Random Fourier bases: sinusoids along random directions."""

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from scipy.special import gammaln, kve

from kitchensinks.features.bases.bandwidth import WithGamma
from kitchensinks.features.bases.base import Universal
from kitchensinks.features.bases.draw import Draw, Graph, Theta
from kitchensinks.features.bases.projections import (
    Projected,
    Radial,
    project,
    project_onnx,
    sample_projection,
)
from kitchensinks.numerics.arrays import AnyArray, Floats, Matrix
from kitchensinks.numerics.checks import check_choice, check_positive
from kitchensinks.numerics.distances import cityblock, euclidean, squared_euclidean
from kitchensinks.numerics.elementwise import cosine
from kitchensinks.numerics.words import Words

# What gamma multiplies in each kernel, and whether its law is rotation-invariant.
_KERNELS = {
    "gaussian": ("squared", True),
    "laplacian": ("l1", False),
    "exponential": ("l2", True),
    "cauchy": ("l2", False),
    "matern": ("l2", True),
}

# Beyond this smoothness the Bessel function of the Matérn kernel overflows.
SMOOTHEST = 50.0
# Smallest χ of a heavy-tailed law: the phases of longer directions are numerical noise.
_SHORTEST = 1e-15


class Fourier(Projected, WithGamma):
    """√2·cos(ω·x + b): induces the shift-invariant kernel whose spectrum is the law of ω.

    φ(x; ω, b) = √2·cos(ω·x + b), b uniform on [−π, π] (random bases, section V a,
    with the √2 that its Figure 1 leaves out); or, ``form="paired"``, the two columns
    √2·cos ω·x and √2·sin ω·x of each frequency, side by side.

    Parameters
    ----------
    kernel : the kernel k(x, z) and with it the law of ω; Δ = x − z. "gaussian" is the default
        because it is the papers' and the most used.

        - "gaussian": exp(−γ‖Δ‖²), ω ~ N(0, 2γI)
        - "laplacian": exp(−γ‖Δ‖₁), independent Cauchy coordinates of scale γ
        - "exponential": exp(−γ‖Δ‖₂), multivariate Cauchy: γ·z/|g|, z and g normal
        - "cauchy": Π 1/(1 + γ²Δ_i²), independent Laplace coordinates of scale γ
        - "matern": 2^(1−ν)/Γ(ν)·t^ν·K_ν(t), t = √(2ν)·γ‖Δ‖₂: multivariate Student with
          2ν degrees of freedom, γ·z·√(2ν)/χ_(2ν); length scale 1/γ

    gamma : a positive number, "median" (default), which follows the scale of the rows, or
        "scale". By median:
        1/median(‖Δ‖₂)² for the Gaussian kernel, 1/median(‖Δ‖₁) for the Laplacian,
        1/median(‖Δ‖₂) for the others. In the papers' symbols: the γ of the random-bases
        paper for "gaussian"; 1/(2σ²) in the maxout paper; the thesis's γ is a bandwidth,
        and ours is 1/(2·γ_thesis²). A list of numbers is a law of several scales: each
        draw takes one of them at random, and the kernel is the mean of theirs. A list of lists
        has a number for each column in place of each number; "hadamard" does not take it.
    form : "phase" (one column a draw, the default: the papers' φ) or "paired" (two columns).
    projection : "gaussian" (independent ω, the default: the papers' bounds are for them),
        "orthogonal" or "hadamard"; the last two for kernels whose law is rotation-invariant.
    nu : smoothness of the Matérn kernel, at most 50; not used by the others. With 1.5 functions
        have one derivative, between "exponential" (0.5, none) and "gaussian" (all).

    Notes
    -----
    In float32 the argument ω·x is rounded to about 1e-7·|ω·x|. Measured with gamma by median on
    standardised rows (4 to 100 columns, K = 4096): Gaussian, Cauchy and Matérn (ν = 1.5)
    features are right to 2e-5. The Laplacian and exponential laws have heavy tails: up to one
    feature in a thousand is off by more than 1e-4, one in ten thousand by more than 1e-3, and
    entries of the Gram matrix by at most 3e-6, where sampling leaves 1e-2. Still heavier tails
    (Matérn with ν = ¼) leave some features without a correct digit and move the Gram matrix by
    1e-3. Use float64 rows where a phase must be exact.

    Examples
    --------
    >>> import numpy as np
    >>> basis = Fourier(gamma=0.5)
    >>> float(basis.kernel([[0.0, 0.0]], [[1.0, 1.0]])[0, 0].round(4))
    0.3679
    >>> basis.draw(seed=0, n_inputs=2, n_components=3).features(np.zeros((1, 2))).shape
    (1, 3)
    """

    _several = True
    bound = math.sqrt(2.0)
    universal = Universal(
        True,
        "Frequencies have a density on all of R^d, and cosines are continuous, bounded and no "
        "polynomials (Theorem III.4 and Corollary III.9).",
    )

    def __init__(
        self,
        kernel: str = "gaussian",
        gamma: float | str | Sequence[Any] = "median",
        form: str = "phase",
        projection: str = "gaussian",
        nu: float = 1.5,
    ) -> None:
        self.spectrum = kernel
        self.gamma = gamma
        self.form = form
        self.projection = projection
        self.nu = nu

    # The parameter is called `kernel`, and so is the method that every basis has: the
    # attribute behind the parameter is `spectrum`.
    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {**super().get_params(deep), "kernel": self.spectrum}

    def set_params(self, **params: Any) -> "Fourier":
        if "kernel" in params:
            self.spectrum = params.pop("kernel")
        super().set_params(**params)
        return self

    @property
    def features_per_draw(self) -> int:  # type: ignore[override]
        return 2 if self.form == "paired" else 1

    @property
    def gamma_by_column(self) -> bool:  # type: ignore[override]
        return self.projection != "hadamard"

    @property
    def metric(self) -> Literal["laplacian", "gaussian"]:
        return "laplacian" if self.spectrum in ("laplacian", "cauchy") else "gaussian"

    @property
    def open_bandwidth(self) -> bool:
        return self.unresolved() is not None and self.spectrum in ("laplacian", "gaussian")

    def check(self) -> None:
        check_choice("kernel", self.spectrum, _KERNELS)
        check_choice("form", self.form, ("phase", "paired"))
        super().check()
        if self.spectrum == "matern":
            check_positive("nu", self.nu)
            if self.nu > SMOOTHEST:
                raise ValueError(
                    f"nu={self.nu!r}: need a positive number of at most {SMOOTHEST:g}. Use "
                    "kernel='gaussian' with gamma²/2 in place of gamma, the limit for large nu."
                )
        if self.projection != "gaussian" and not _KERNELS[self.spectrum][1]:
            raise ValueError(
                f"projection={self.projection!r} needs a rotation-invariant law, and that of "
                f"kernel={self.spectrum!r} has independent coordinates. Use "
                "projection='gaussian', or kernel='exponential' for exp(−γ‖x − z‖₂)."
            )

        if np.ndim(self.gamma) == 2 and not self.gamma_by_column:
            raise ValueError(
                "gamma has a number for each column, and projection='hadamard' takes one for all: "
                "use projection='orthogonal', or scale the columns."
            )

    @property
    def _measure(self) -> str:  # type: ignore[override]
        return _KERNELS[self.spectrum][0]

    def sample(self, words: Words, n_inputs: int) -> Theta:
        count = self.block_size(n_inputs)
        directions: Any
        if self.spectrum in ("laplacian", "cauchy"):
            gamma = self._pick_gamma(words, count, n_inputs)
            law = words.cauchy if self.spectrum == "laplacian" else words.laplace
            directions = gamma * law(count, n_inputs)
        else:
            directions = sample_projection(words, self.projection, n_inputs, self._radial(n_inputs))
        if self.form == "paired":
            return {"directions": directions}
        return {"directions": directions, "phase": math.pi * (2.0 * words.uniform(count) - 1.0)}

    def _radial(self, n_inputs: int) -> Radial:
        if self.spectrum == "gaussian":
            return lambda words, count: np.sqrt(2.0 * self._pick_gamma(words, count, n_inputs))
        freedom = 1.0 if self.spectrum == "exponential" else 2.0 * self.nu

        def radial(words: Words, count: int) -> Floats:
            gamma = self._pick_gamma(words, count, n_inputs)
            length = np.maximum(words.chi(freedom, count), _SHORTEST)[:, None]
            return np.asarray(gamma * math.sqrt(freedom) / length)

        return radial

    def features(self, theta: Theta, rows: Matrix) -> AnyArray:
        return self._waves(theta, rows, 0.0)

    def _scaled(
        self, theta: Theta, rows: Matrix, scale: float, out: AnyArray | None = None
    ) -> AnyArray:
        return self._waves(theta, rows, 0.0, scale, out)

    def slopes(self, theta: Theta, rows: Matrix) -> tuple[AnyArray, AnyArray] | None:
        if not isinstance(theta["directions"], np.ndarray):
            return None
        # cos' t = cos(t + π/2), whatever the phase.
        return self._waves(theta, rows, math.pi / 2.0), theta["directions"]

    def _waves(
        self, theta: Theta, rows: Any, shift: float, scale: float = 1.0, out: AnyArray | None = None
    ) -> AnyArray:
        """scale·√2·cos(ω·x + b + shift), (n, columns), in `out` where rows are dense."""
        amplitude = math.sqrt(2.0) * scale
        if self.form == "phase":
            angle = project(rows, theta["directions"], out)
            cosine(angle, theta["phase"] + angle.dtype.type(shift), amplitude)
            return angle
        # sin t = cos(t − π/2): each frequency stands twice, with two phases.
        angle = project(rows, theta["directions"])
        if out is None:
            out = np.empty((len(angle), 2 * angle.shape[1]), dtype=angle.dtype)
        out[:, 0::2] = out[:, 1::2] = angle
        phases = np.array([shift, shift - math.pi / 2.0], dtype=angle.dtype)
        cosine(out, np.tile(phases, angle.shape[1]), amplitude)
        return out

    def onnx(self, graph: Graph, draw: Draw, rows: str) -> str:
        directions, dtype = draw.theta["directions"], draw.dtype
        angle = project_onnx(graph, rows, directions, draw.n_inputs)
        if self.form == "phase":
            phase = draw.theta["phase"]
        else:
            angle = graph.node("Gather", angle, np.repeat(np.arange(len(directions)), 2), axis=1)
            phase = np.tile([0.0, -math.pi / 2.0], len(directions)).astype(dtype)
        cosine = graph.node("Cos", graph.node("Add", angle, phase))
        return graph.node("Mul", cosine, np.array(math.sqrt(2.0), dtype))

    def exact_kernel(self, rows: Floats, others: Floats) -> Floats:

        def kernel_of(gamma: Floats) -> Floats:
            if len(gamma) == 1:
                return self._kernel_of(float(gamma[0]), rows, others)
            scales = np.sqrt(gamma) if self.spectrum == "gaussian" else gamma
            return self._kernel_of(1.0, scales * rows, scales * others)

        return self._mean_kernel(kernel_of, rows.shape[1])

    def _kernel_of(self, gamma: float, rows: Floats, others: Floats) -> Floats:
        with np.errstate(over="ignore", under="ignore"):
            if self.spectrum == "gaussian":
                # Rows are scaled first: an error of γ‖Δ‖² is then as large as one of the kernel.
                near = math.sqrt(gamma) * rows
                far = near if others is rows else math.sqrt(gamma) * others
                return np.exp(-squared_euclidean(near, far))
            if self.spectrum == "laplacian":
                return np.exp(-gamma * cityblock(rows, others))
            if self.spectrum == "exponential":
                return np.exp(-gamma * euclidean(rows, others))
            if self.spectrum == "cauchy":
                product = np.ones((len(rows), len(others)))
                for j in range(rows.shape[1]):
                    product /= 1.0 + (gamma * (rows[:, j, None] - others[:, j])) ** 2
                return product
            return matern(gamma * euclidean(rows, others), float(self.nu))

    def names(self, theta: Theta, n_draws: int) -> list[str]:
        if self.form == "paired":
            return [f"{part}{k}" for k in range(n_draws) for part in ("cos", "sin")]
        return super().names(theta, n_draws)


def matern(distance: Floats, nu: float) -> Floats:
    """2^(1−ν)/Γ(ν)·t^ν·K_ν(t) with t = √(2ν)·distance, and 1 at distance 0.

    >>> float(matern(np.array([1.0]), 0.5)[0].round(6)) == float(np.exp(-1.0).round(6))
    True
    """
    # Beyond 1e5 the kernel is zero to rounding, and the Bessel function cannot be computed.
    t = np.minimum(math.sqrt(2.0 * nu) * distance, 1e5)
    with np.errstate(divide="ignore", invalid="ignore"):
        logarithm = (1.0 - nu) * math.log(2.0) - gammaln(nu) + nu * np.log(t)
        value = np.exp(logarithm + np.log(kve(nu, t)) - t)
    # At t = 0 the formula is 0·∞, and kve overflows only where the kernel is 1 to rounding.
    value[~np.isfinite(value)] = 1.0
    return np.asarray(np.minimum(value, 1.0))
