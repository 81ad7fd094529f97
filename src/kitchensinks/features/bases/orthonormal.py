"""Features from an orthonormal system on a box."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import eval_legendre

from kitchensinks.features.bases.base import Basis, Universal
from kitchensinks.features.bases.draw import Draw, Graph, Theta
from kitchensinks.numerics.arrays import AnyArray, Floats, Matrix
from kitchensinks.numerics.checks import check_choice
from kitchensinks.numerics.words import Words


@dataclass(eq=False, repr=False)
class Orthonormal(Basis):
    """Σ_i √λ_i·e_i(x)·e_i(ω), ω uniform on the box (thesis, section 2.2).

    The e_i are orthonormal for the uniform law on the box, so the kernel is
    k(x, z) = Σ_i λ_i·e_i(x)·e_i(z) with eigenvalues λ_i.

    - "cosine": e_0 = 1, e_i(t) = √2·cos(iπ(t − low)/(high − low)): uniformly bounded by √2.
    - "legendre": e_i(t) = √(2i + 1)·P_i(t), t rescaled to [−1, 1]: bounded by √(2i + 1),
      which grows with i.

    In d dimensions the e_i are products of such functions of single coordinates, ordered by
    total degree and then lexicographically. Coordinates outside the box are clipped to it,
    in features and kernel alike.

    Parameters
    ----------
    eigenvalues : λ_0, λ_1, … ≥ 0, at least one of them positive; the default is an example of four.
    system : "cosine" (the default: its functions have one bound) or "legendre".
    box : (low, high), the same for every coordinate; the default, (−3, 3), holds most rows
        of standardised columns.

    Examples
    --------
    >>> basis = Orthonormal([0.0, 1.0], system="legendre", box=(-1, 1))
    >>> float(basis.kernel([[0.5]], [[1.0]])[0, 0].round(6))  # 3·P_1(0.5)·P_1(1)
    1.5
    """

    eigenvalues: Sequence[float] = (1.0, 1.0, 0.5, 0.25)
    system: str = "cosine"
    box: tuple[float, float] = (-3.0, 3.0)

    # The functions are orthonormal on the box, which scaled columns would leave or not fill.
    rescales = False

    # A bound depends on the number of columns: see `bound_in`.
    bound = math.inf
    universal = Universal(
        False, "Sums are combinations of as many functions as eigenvalues are given."
    )

    def bound_in(self, n_inputs: int) -> float:
        """Σ √λ_i·sup e_i² over the box in n_inputs dimensions."""
        largest = [
            math.prod(self._largest(degree) ** 2 for degree in degrees)
            for degrees in degrees_by_total(n_inputs, len(self.eigenvalues))
        ]
        return float(np.sqrt(np.asarray(self.eigenvalues, dtype=float)) @ largest)

    def _largest(self, degree: int) -> float:
        if self.system == "legendre":
            return math.sqrt(2 * degree + 1)
        return 1.0 if degree == 0 else math.sqrt(2.0)

    def check(self) -> None:
        check_choice("system", self.system, ("cosine", "legendre"))
        values = np.asarray(self.eigenvalues)
        real = values.ndim == 1 and len(values) > 0 and values.dtype.kind in "fiu"
        if not (real and np.isfinite(values).all()):
            raise ValueError(f"eigenvalues={self.eigenvalues!r}: need a list of finite numbers.")
        if (values < 0).any() or not (values > 0).any():
            raise ValueError(
                f"eigenvalues={self.eigenvalues!r}: need numbers of 0 or more, at least one of "
                "them positive, because a kernel has no negative eigenvalues."
            )
        box = np.asarray(self.box)
        pair = box.shape == (2,) and box.dtype.kind in "fiu"
        if not (pair and -math.inf < box[0] < box[1] < math.inf):
            raise ValueError(f"box={self.box!r}: need (low, high), two numbers with low < high.")

    def block_entries(self, n_inputs: int, count: int) -> int:
        functions = len(self.eigenvalues)
        # Functions of single columns up to the highest degree, then their products.
        degrees = next(k for k in range(functions + 1) if math.comb(n_inputs + k, k) >= functions)
        return (count * (1 + degrees) + functions) * n_inputs + count * functions

    def functions(self, rows: Floats) -> Floats:
        """e_i(x) for every row and eigenvalue, shape (n, len(eigenvalues))."""
        low, high = self.box
        place = np.clip((rows.astype(np.float64) - low) / (high - low), 0.0, 1.0)
        degrees = degrees_by_total(rows.shape[1], len(self.eigenvalues))
        highest = max(max(row) for row in degrees)
        order = np.arange(highest + 1)
        if self.system == "cosine":
            single = np.cos(math.pi * order * place[:, :, None])
            single[:, :, 1:] *= math.sqrt(2.0)
        else:
            single = np.sqrt(2.0 * order + 1.0) * eval_legendre(
                order, 2.0 * place[:, :, None] - 1.0
            )
        columns = np.arange(rows.shape[1])
        return np.stack([single[:, columns, row].prod(axis=1) for row in degrees], axis=1)

    def sample(self, words: Words, n_inputs: int) -> Theta:
        low, high = self.box
        centres = low + (high - low) * words.uniform(self.block_size(n_inputs), n_inputs)
        roots = np.sqrt(np.asarray(self.eigenvalues, dtype=np.float64))
        return {"coefficients": self.functions(centres) * roots}

    def features(self, theta: Theta, rows: Matrix) -> AnyArray:
        functions = self.functions(rows).astype(rows.dtype, copy=False)
        return np.asarray(functions @ theta["coefficients"].T)

    def exact_kernel(self, rows: Floats, others: Floats) -> Floats:
        values = np.asarray(self.eigenvalues, dtype=np.float64)
        return (self.functions(rows) * values) @ self.functions(others).T

    def onnx(self, graph: Graph, draw: Draw, rows: str) -> str:
        """Products over the columns of single functions, then the coefficients of each draw."""
        low, high = (float(end) for end in self.box)
        degrees = np.array(degrees_by_total(draw.n_inputs, len(self.eigenvalues)))
        place = graph.node("Sub", graph.cast(rows, np.float64), np.array(low))
        place = graph.node("Div", place, np.array(high - low))
        place = graph.node("Clip", place, np.array(0.0), np.array(1.0))
        single = _cosines_onnx if self.system == "cosine" else _legendre_onnx
        # Degree by degree, all columns: function i of column j stands at degree·d + j.
        table = graph.node("Concat", *single(graph, place, int(degrees.max())), axis=1)
        product = ""
        for column in range(draw.n_inputs):
            if degrees[:, column].any():
                where = degrees[:, column] * draw.n_inputs + column
                factor = graph.node("Gather", table, where, axis=1)
                product = graph.node("Mul", product, factor) if product else factor
        if not product:  # one eigenvalue: the constant function alone
            product = graph.node("Gather", table, np.zeros(len(degrees), np.int64), axis=1)
        functions = graph.cast(product, draw.dtype)
        return graph.node("MatMul", functions, draw.theta["coefficients"].T)


def _cosines_onnx(graph: Graph, place: str, highest: int) -> list[str]:
    angle = [graph.node("Mul", place, np.array(math.pi * k)) for k in range(highest + 1)]
    sizes = [1.0] + [math.sqrt(2.0)] * highest
    return [
        graph.node("Mul", graph.node("Cos", one), np.array(size))
        for one, size in zip(angle, sizes, strict=True)
    ]


def _legendre_onnx(graph: Graph, place: str, highest: int) -> list[str]:
    """√(2k + 1)·P_k(t) by (k + 1)·P_{k+1} = (2k + 1)·t·P_k − k·P_{k−1}."""
    t = graph.node("Sub", graph.node("Mul", place, np.array(2.0)), np.array(1.0))
    plain = [graph.node("Add", graph.node("Mul", t, np.array(0.0)), np.array(1.0)), t]
    for k in range(1, highest):
        ahead = graph.node("Mul", graph.node("Mul", t, plain[k]), np.array((2 * k + 1) / (k + 1)))
        behind = graph.node("Mul", plain[k - 1], np.array(k / (k + 1)))
        plain.append(graph.node("Sub", ahead, behind))
    return [
        graph.node("Mul", one, np.array(math.sqrt(2 * k + 1)))
        for k, one in enumerate(plain[: highest + 1])
    ]


def degrees_by_total(n_inputs: int, count: int) -> list[tuple[int, ...]]:
    """The first `count` multi-indices of n_inputs entries, by total degree.

    >>> degrees_by_total(2, 4)
    [(0, 0), (1, 0), (0, 1), (2, 0)]
    """
    endless = (
        tuple(np.bincount(np.array(chosen, dtype=int), minlength=n_inputs).tolist())
        for total in itertools.count()
        for chosen in itertools.combinations_with_replacement(range(n_inputs), total)
    )
    return list(itertools.islice(endless, count))
