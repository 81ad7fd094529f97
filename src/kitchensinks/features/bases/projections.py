"""Random directions ω: independent, orthogonal in groups, or structured.

A projection is an array of shape (K, d), or a `Fastfood` that represents one without storing it. If
the law of ω is rotation-invariant, ω is a Gaussian vector times an independent random length
(`radial`), and every kind of projection has exactly this marginal law.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kitchensinks.features.bases.base import BLOCK, Basis
from kitchensinks.features.bases.draw import Draw, Graph, Theta
from kitchensinks.numerics.arrays import AnyArray, Bools, DType, Floats, Ints, Matrix
from kitchensinks.numerics.checks import check_choice
from kitchensinks.numerics.hadamard import fastfood
from kitchensinks.numerics.threads import single_blas
from kitchensinks.numerics.words import Words
from kitchensinks.tables.arrays import block_slices, densify

Radial = Callable[[Words, int], Floats]

# Names of the laws of directions, as users give them.
PROJECTIONS = ("gaussian", "orthogonal", "hadamard")

# Most rows that are made orthogonal to each other: a QR factorisation costs d times their square.
_LARGEST_ROTATION = 1024


class Projected(Basis):
    """A basis of functions of ω·x + b, with directions ω drawn by the method `projection`."""

    projection: str
    takes_sparse_rows = True

    def check(self) -> None:
        super().check()
        check_choice("projection", self.projection, PROJECTIONS)

    def block_size(self, n_inputs: int) -> int:
        return projection_block_size(self.projection, n_inputs)

    def _argument(self, theta: Theta, rows: Matrix) -> AnyArray:
        """ω_k·x + b_k for every row and draw, shape (n, K)."""
        argument = project(rows, theta["directions"])
        argument += theta["offset"]
        return argument

    def _argument_onnx(self, graph: Graph, draw: Draw, rows: str) -> str:
        argument = project_onnx(graph, rows, draw.theta["directions"], draw.n_inputs)
        return graph.node("Add", argument, draw.theta["offset"])


def rotation_size(kind: str, n_inputs: int) -> int:
    """Directions of one rotation: all that can be orthogonal in d dimensions, or the power of two
    at or above d."""
    if kind == "orthogonal":
        return min(n_inputs, _LARGEST_ROTATION)
    return 1 << (n_inputs - 1).bit_length()


def projection_block_size(kind: str, n_inputs: int) -> int:
    """Draws of one block: the default block, rounded up to whole rotations."""
    size = 1 if kind == "gaussian" else rotation_size(kind, n_inputs)
    return size * -(-BLOCK // size)


def sample_projection(
    words: Words, kind: str, n_inputs: int, radial: Radial | None = None, unit: bool = False
) -> "Floats | Fastfood":
    """One block of directions.

    ω = z·r with z standard normal in R^d and r = radial(words, count), (count,) or a number for
    each column, (count, d); or ω = z/‖z‖ where `unit` (uniform on the sphere).

    - "gaussian": independent rows.
    - "orthogonal": rows of uniformly random rotations, each with a length of its own,
      independent of the others and distributed as ‖z‖.
    - "hadamard": Fastfood's S·H·G·Π·H·B (see `Fastfood`).
    """
    count = projection_block_size(kind, n_inputs)
    if kind == "hadamard":
        size = rotation_size(kind, n_inputs)
        directions = Fastfood.sample(words, n_inputs, count // size)
        lengths = 1.0 / directions.lengths() if unit else words.chi(size, count)
        if radial is not None:
            lengths = lengths * radial(words, count).reshape(count, -1)[:, 0]
        return replace(directions, radius=lengths)
    if kind == "orthogonal":
        size = rotation_size(kind, n_inputs)
        normals = words.normal(count // size, n_inputs, size)
        # Threads of a QR factorisation wait for each other at every step: on a busy machine they
        # were measured to take fifty times as long as one thread.
        with single_blas():
            rotations, triangles = np.linalg.qr(normals)
        signs = np.sign(np.diagonal(triangles, axis1=1, axis2=2))
        rows = (rotations * signs[:, None, :]).transpose(0, 2, 1).reshape(count, n_inputs)
        if not unit:
            rows = rows * words.chi(n_inputs, count)[:, None]
    else:
        rows = words.normal(count, n_inputs)
        if unit:
            rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    if radial is not None:
        rows = rows * radial(words, count).reshape(count, -1)
    return np.ascontiguousarray(rows)


def project(
    rows: Matrix, directions: "AnyArray | Fastfood", out: AnyArray | None = None
) -> AnyArray:
    """ω_k·x for every row and direction, shape (n, K), in the dtype of the rows.

    out (n, K): memory of that dtype for the result, used if rows are dense.
    """
    if isinstance(directions, Fastfood):
        return directions.apply(densify(rows), out)
    if out is None or not isinstance(rows, np.ndarray):
        return np.asarray(rows @ directions.T)
    return np.asarray(np.matmul(rows, directions.T, out=out))


def written_out(directions: "AnyArray | Fastfood", n_inputs: int) -> AnyArray:
    """The directions as an explicit matrix, (K, n_inputs)."""
    if isinstance(directions, Fastfood):
        return directions.take(np.arange(len(directions)), n_inputs)
    return directions


def summed_directions(chosen: Bools, weights: AnyArray, directions: AnyArray) -> AnyArray:
    """Σ_k w_k·ω_k over the chosen directions of each row, (n, outputs, d).

    chosen (n, K), weights (K, outputs), directions (K, d).
    """
    columns = [(chosen * own) @ directions for own in weights.T]
    return np.stack(columns, axis=1)


def project_onnx(graph: Graph, rows: str, directions: "AnyArray | Fastfood", n_inputs: int) -> str:
    """`project` as a node of an ONNX graph."""
    return graph.node("MatMul", rows, written_out(directions, n_inputs).T)


@dataclass(frozen=True, eq=False)
class Fastfood:
    """Directions from Hadamard products, P = 2^⌈log₂ d⌉ of each: ω = r·(H·G·Π·H·B)/(√P·‖G‖).

    B holds random signs, Π a random order, G independent normals, H is the
    Walsh–Hadamard matrix. Given B and Π, a row of H·G·Π·H·B is a Gaussian vector
    with covariance P·I, so its direction is uniform and independent of ‖G‖; with a
    length r of its own, chi with P degrees of freedom, the row is *exactly* a standard
    normal vector, and so are its first d coordinates. Rows of one product are
    uncorrelated but not orthogonal: their cosines are of size √(2/(P + 2)), a little larger
    than those of independent rows. It costs P log P a row in place of P·d.
    """

    signs: AnyArray
    order: Ints
    normals: AnyArray
    radius: AnyArray
    n_inputs: int
    start: int = 0

    @classmethod
    def sample(cls, words: Words, n_inputs: int, count: int) -> "Fastfood":
        """`count` transforms, with rows of length one in R^P."""
        size = rotation_size("hadamard", n_inputs)
        signs = words.sign(count, size)
        order = np.stack([words.permutation(size) for _ in range(count)])
        normals = words.normal(count, size)
        normals /= math.sqrt(size) * np.linalg.norm(normals, axis=1, keepdims=True)
        return cls(signs, order, normals, np.ones(count * size), n_inputs)

    def join(self, parts: "list[Fastfood]") -> "Fastfood":
        names = ("signs", "order", "normals", "radius")
        joined: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in parts]) for name in names
        }
        return replace(self, **joined)

    def __len__(self) -> int:
        return len(self.radius)

    def __getitem__(self, index: slice) -> "Fastfood":
        low, high, _ = index.indices(len(self))
        size = self.signs.shape[1]
        first, last = (self.start + low) // size, -(-(self.start + high) // size)
        return replace(
            self,
            signs=self.signs[first:last],
            order=self.order[first:last],
            normals=self.normals[first:last],
            radius=self.radius[low:high],
            start=(self.start + low) % size,
        )

    def take(self, indices: Ints, n_inputs: int) -> AnyArray:
        """Some directions as an explicit matrix: their first n_inputs coordinates.

        A few rows of many transforms are cheaper as a matrix.
        """
        unit = np.eye(n_inputs, dtype=self.radius.dtype)
        return np.ascontiguousarray(self.apply(unit)[:, indices].T)

    def astype(self, dtype: DType) -> "Fastfood":
        names = ("signs", "normals", "radius")
        return replace(self, **{name: getattr(self, name).astype(dtype) for name in names})

    def apply(self, rows: AnyArray, out: AnyArray | None = None) -> AnyArray:
        """ω_k·x for every row and direction, shape (n, K), in `out` where that is given.

        Rows may have fewer columns than the directions; the rest count as zeros.
        """
        if out is None:
            out = np.empty((len(rows), len(self)), dtype=rows.dtype)
        fastfood(rows, self.signs, self.order, self.normals, self.radius, self.start, out)
        return out

    def lengths(self) -> Floats:
        """‖ω_k‖ over the d input coordinates (smaller than the radius where d < P)."""
        squares = np.zeros(len(self))
        for part in block_slices(self.n_inputs, 256):
            unit = np.eye(part.stop - part.start, self.n_inputs, k=part.start)
            squares += np.square(self.apply(unit)).sum(axis=0)
        return np.sqrt(squares)
