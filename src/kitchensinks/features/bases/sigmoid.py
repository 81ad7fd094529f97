"""Random sigmoidal ridge functions."""

import functools
import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh_tridiagonal
from scipy.special import erf, expit
from scipy.stats import kstwobign

from kitchensinks.features.bases.bandwidth import WithGamma
from kitchensinks.features.bases.base import Universal, require_finite
from kitchensinks.features.bases.draw import Draw, Graph, Theta
from kitchensinks.features.bases.projections import Projected, sample_projection
from kitchensinks.numerics.arrays import AnyArray, Floats, Matrix
from kitchensinks.numerics.checks import check_choice
from kitchensinks.numerics.words import Words


@dataclass(eq=False, repr=False)
class Sigmoid(Projected, WithGamma):
    """σ(γ·ω·x + b) with standard normal ω and b (kitchen sinks, section 4).

    With s_xz = γ²·x·z + 1, the covariance of the arguments at x and z:

    - "erf": (2/π)·arcsin(2s_xz/√((1 + 2s_xx)(1 + 2s_zz)))
    - "step", 1 where the argument is ≥ 0 and else 0: ½(1 − θ/π), θ the angle between
      (γx, 1) and (γz, 1): half the arc-cosine kernel of order 0
    - "logistic" 1/(1 + e^−t): a logistic variable is a normal one with random spread
      2κ, κ of Kolmogorov's law, so σ(t) = P(t + 2κ·g ≥ 0) and the kernel is
      ¼ + (1/2π)·E arcsin(s_xz/√((s_xx + 4κ²)(s_zz + 4κ'²))): an average over two
      independent κ, κ', exact to 1e-9 with twelve Gauss nodes each, whatever the rows
    - "tanh" t = 2/(1 + e^−2t) − 1: likewise.

    Parameters
    ----------
    activation : "logistic", "tanh" (default: its mean over draws is zero), "erf" or "step".
    gamma : slope along the unit direction: a positive number, "median" (default), which is
        1/median(‖x‖) and makes γ·ω·x of the size of b, or "scale". The papers' σ(ω·x) has
        γ = 1 and no b.
    projection : "gaussian" (independent directions, the default: the papers' bounds are for them),
        "orthogonal" or "hadamard".

    Examples
    --------
    >>> float(Sigmoid("step", gamma=1.0).kernel([[0.0]])[0, 0])
    0.5
    """

    activation: str = "tanh"
    gamma: float | str = "median"
    projection: str = "gaussian"

    bound = 1.0

    @property
    def universal(self) -> Universal:
        if self.activation == "step":
            return Universal(
                True,
                "A measure that is zero on all half-spaces is zero (Cybenko 1989), and features "
                "are bounded (Corollary III.9). Theorem III.4 does not apply: steps are not "
                "continuous.",
            )
        return Universal(
            True,
            "(ω, b) has a density on all of R^(d+1), and the activation is continuous, bounded "
            "and no polynomial (Theorem III.4 and Corollary III.9).",
        )

    def check(self) -> None:
        super().check()
        check_choice("activation", self.activation, ("logistic", "tanh", "erf", "step"))

    def sample(self, words: Words, n_inputs: int) -> Theta:
        gamma = float(self.gamma)
        directions = sample_projection(
            words, self.projection, n_inputs, lambda words, count: np.full(count, gamma)
        )
        return {"directions": directions, "offset": words.normal(self.block_size(n_inputs))}

    def features(self, theta: Theta, rows: Matrix) -> AnyArray:
        argument = self._argument(theta, rows)
        if self.activation == "step":
            return (argument >= 0).astype(argument.dtype)
        function = {"logistic": expit, "tanh": np.tanh, "erf": erf}[self.activation]
        return np.asarray(function(argument, out=argument))

    def slopes(self, theta: Theta, rows: Matrix) -> tuple[AnyArray, AnyArray] | None:
        directions = theta["directions"]
        if self.activation == "step" or not isinstance(directions, np.ndarray):
            return None
        if self.activation == "erf":
            argument = self._argument(theta, rows)
            return 2.0 / math.sqrt(math.pi) * np.exp(-(argument**2)), directions
        value = self.features(theta, rows)
        return value * (1 - value) if self.activation == "logistic" else 1 - value**2, directions

    def onnx(self, graph: Graph, draw: Draw, rows: str) -> str:
        argument = self._argument_onnx(graph, draw, rows)
        if self.activation == "step":
            zero, one = np.zeros((), draw.dtype), np.ones((), draw.dtype)
            return graph.node("Where", graph.node("GreaterOrEqual", argument, zero), one, zero)
        if self.activation == "erf":
            # onnxruntime has it in float32 alone.
            return graph.cast(graph.node("Erf", graph.cast(argument, np.float32)), draw.dtype)
        return graph.node({"logistic": "Sigmoid", "tanh": "Tanh"}[self.activation], argument)

    def exact_kernel(self, rows: Floats, others: Floats) -> Floats:
        square = float(self.gamma) ** 2
        cross = square * (rows @ others.T) + 1.0
        own = square * np.einsum("ij,ij->i", rows, rows)[:, None] + 1.0
        other = square * np.einsum("ij,ij->i", others, others) + 1.0
        # An infinite length would make a correlation of zero.
        require_finite(own + other, rows, others)
        if self.activation == "erf":
            return (2.0 / math.pi) * _arcsine(2.0 * cross, 1.0 + 2.0 * own, 1.0 + 2.0 * other)
        if self.activation == "step":
            return 0.25 + _arcsine(cross, own, other) / (2.0 * math.pi)
        steep = 4.0 if self.activation == "tanh" else 1.0
        mean = np.zeros_like(cross)
        spreads, weights = logistic_spreads()
        for spread, weight in zip(spreads, weights, strict=True):
            for another, factor in zip(spreads, weights, strict=True):
                part = _arcsine(steep * cross, steep * own + spread**2, steep * other + another**2)
                mean += weight * factor * part
        if self.activation == "tanh":
            return (2.0 / math.pi) * mean
        return 0.25 + mean / (2.0 * math.pi)


def _arcsine(cross: Floats, own: Floats, other: Floats) -> Floats:
    """arcsin of a correlation, guarded against rounding beyond ±1."""
    ratio = cross / (np.sqrt(own) * np.sqrt(other))
    return np.asarray(np.arcsin(np.clip(ratio, -1.0, 1.0)))


@functools.lru_cache(maxsize=1)
def logistic_spreads() -> tuple[Floats, Floats]:
    """Gauss rule of the random spread 2κ that makes a normal variable logistic."""
    # Kolmogorov's density is flat at both ends, so that sums over equal steps are accurate.
    kappa = np.linspace(0.15, 5.0, 400)
    return gauss_rule(2.0 * kappa, kstwobign.pdf(kappa), 12)


def gauss_rule(nodes: Floats, weights: Floats, count: int) -> tuple[Floats, Floats]:
    """The `count`-point Gauss rule of a discrete law, by the Lanczos process.

    The eigenvalues of the tridiagonal matrix of the law's orthogonal polynomials
    are the nodes; the squared first components of its eigenvectors the weights.
    """
    weights = weights / weights.sum()
    basis = np.empty((count, len(nodes)))
    diagonal, side = np.empty(count), np.empty(count - 1)
    vector = np.sqrt(weights)
    for k in range(count):
        basis[k] = vector
        vector = nodes * vector
        diagonal[k] = basis[k] @ vector
        for _ in range(2):
            vector = vector - basis[: k + 1].T @ (basis[: k + 1] @ vector)
        if k < count - 1:
            side[k] = np.linalg.norm(vector)
            vector = vector / side[k]
    values, vectors = eigh_tridiagonal(diagonal, side)
    return values, vectors[0] ** 2
