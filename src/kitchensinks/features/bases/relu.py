"""Random ReLU features."""

import math
from dataclasses import dataclass

import numpy as np

from kitchensinks.features.bases.bandwidth import WithGamma
from kitchensinks.features.bases.base import Universal
from kitchensinks.features.bases.draw import Draw, Graph, Theta
from kitchensinks.features.bases.projections import (
    Fastfood,
    Projected,
    sample_projection,
    summed_directions,
    written_out,
)
from kitchensinks.numerics.arrays import AnyArray, Floats, Matrix
from kitchensinks.numerics.checks import check_choice
from kitchensinks.numerics.words import Words


@dataclass(eq=False, repr=False)
class ReLU(Projected, WithGamma):
    """max(0, ω·(x, 1/γ)), ω uniform on the unit sphere of R^(d+1) (thesis, Algorithm 2).

    With u = (x, 1/γ), v = (z, 1/γ) and θ the angle between them,

        k(x, z) = ‖u‖‖v‖·(sin θ + (π − θ)·cos θ)/(2π·(d + 1)),

    half the arc-cosine kernel of order 1, over d + 1 for the sphere; without that
    factor for ``law="gaussian"``, where ω is standard normal.

    Parameters
    ----------
    gamma : a positive number, "median" (default): 1/median(‖x‖), which makes the added
        coordinate as large as a typical row, or "scale". It is the γ of the thesis's
        Algorithm 2.
    law : "sphere" (the default: the thesis's) or "gaussian".
    projection : "gaussian" (independent directions, the default: the papers' bounds are for them),
        "orthogonal" or "hadamard".

    Examples
    --------
    >>> kernel = ReLU(gamma=1.0, law="gaussian").kernel([[1.0]], [[1.0]])
    >>> float(kernel[0, 0].round(12))
    1.0
    """

    gamma: float | str = "median"
    law: str = "sphere"
    projection: str = "gaussian"

    bound = math.inf
    universal = Universal(
        True,
        "Directions have a density on the sphere of R^(d+1) and ramps are homogeneous "
        "(Proposition III.5); on a bounded set they are bounded (Corollary III.9).",
    )

    def check(self) -> None:
        super().check()
        check_choice("law", self.law, ("sphere", "gaussian"))

    def block_size(self, n_inputs: int) -> int:
        return super().block_size(n_inputs + 1)

    def sample(self, words: Words, n_inputs: int) -> Theta:
        directions = sample_projection(
            words, self.projection, n_inputs + 1, unit=self.law == "sphere"
        )
        gamma = float(self.gamma)
        if isinstance(directions, Fastfood):
            last = np.zeros((1, n_inputs + 1))
            last[0, -1] = 1.0
            return {"directions": directions, "offset": directions.apply(last)[0] / gamma}
        return {"directions": directions[:, :-1], "offset": directions[:, -1] / gamma}

    def features(self, theta: Theta, rows: Matrix) -> AnyArray:
        argument = self._argument(theta, rows)
        return np.asarray(np.maximum(argument, 0, out=argument))

    def slopes(self, theta: Theta, rows: Matrix) -> tuple[AnyArray, AnyArray] | None:
        if not isinstance(theta["directions"], np.ndarray):
            return None
        argument = self._argument(theta, rows)
        return (argument > 0).astype(argument.dtype), theta["directions"]

    def linear_pieces(self, theta: Theta, rows: Matrix, weights: AnyArray) -> AnyArray:
        directions = written_out(theta["directions"], rows.shape[1])
        return summed_directions(self._argument(theta, rows) > 0, weights, directions)

    def onnx(self, graph: Graph, draw: Draw, rows: str) -> str:
        return graph.node("Relu", self._argument_onnx(graph, draw, rows))

    def exact_kernel(self, rows: Floats, others: Floats) -> Floats:
        extra = 1.0 / float(self.gamma) ** 2
        cross = rows @ others.T + extra
        own = np.sqrt(np.einsum("ij,ij->i", rows, rows) + extra)
        other = np.sqrt(np.einsum("ij,ij->i", others, others) + extra)
        sizes = np.outer(own, other)
        factor = rows.shape[1] + 1.0 if self.law == "sphere" else 1.0
        return sizes * arc_cosine(cross / sizes) / factor


def arc_cosine(cosine: Floats) -> Floats:
    """E max(0, ω·u)·max(0, ω·v) for unit u, v and normal ω: (sin θ + (π − θ)·cos θ)/2π."""
    cosine = np.clip(cosine, -1.0, 1.0)
    sine = np.sqrt((1.0 - cosine) * (1.0 + cosine))
    return (sine + (math.pi - np.arccos(cosine)) * cosine) / (2.0 * math.pi)
