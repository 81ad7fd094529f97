"""Random maxout features, and the exact kernel that they induce."""

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, owens_t

from kitchensinks.features.bases.base import Universal
from kitchensinks.features.bases.draw import Draw, Graph, Shared, Theta, sample_blocks
from kitchensinks.features.bases.projections import (
    Projected,
    project,
    project_onnx,
    sample_projection,
    summed_directions,
    written_out,
)
from kitchensinks.numerics.arrays import AnyArray, Floats, Matrix
from kitchensinks.numerics.checks import check_count
from kitchensinks.numerics.words import Stream, Words

# Trapezoidal rule for integrals against the normal density; spectrally accurate.
_GRID = np.linspace(-8.5, 8.5, 161)
_STEP = float(_GRID[1] - _GRID[0])
# Chebyshev nodes in the angle arcsin ρ, in which the kernel is analytic.
_NODES = 48


@dataclass(eq=False, repr=False)
class Maxout(Projected):
    """max_{j ≤ q} ω_j·x with q independent standard normal directions a unit (maxout paper).

    With ρ the cosine of the angle between x and z,

        k(x, z) = ‖x‖‖z‖·K_q(ρ),   K_q(ρ) = (E max)² + ∫₀^ρ κ_q(r) dr,

    where κ_q(ρ) is the chance that both rows have the same arg-max (Price's theorem:
    the derivative of K_q is κ_q); K_2(ρ) = ρ/2 + (√(1−ρ²) + ρ·arcsin ρ)/π. The paper's
    Theorem 1 prints σ²(q)·ρ·κ_q(ρ), which is right only at ρ = 1.

    Parameters
    ----------
    pool : q, the number of directions of a unit. 1 gives linear features; 4 is the best of the
        maxout paper's Table 1.
    projections : None: directions are independent, as the kernel assumes; or P: all units share P
        directions, each unit taking one at random from each of q groups of about P/q (maxout paper,
        Table 3). The kernel is the same on average; features depend on each other more.
    projection : "gaussian" (the default: the paper's), "orthogonal" or "hadamard"; the q directions
        of one unit come from q different rotations, so they stay independent.

    Examples
    --------
    >>> float(Maxout(pool=2).kernel([[1.0, 0.0]], [[0.0, 1.0]])[0, 0].round(6))
    0.31831
    """

    pool: int = 4
    projections: int | None = None
    projection: str = "gaussian"

    bound = math.inf

    @property
    def universal(self) -> Universal:
        if self.pool == 1:
            return Universal(False, "A pool of one is linear.")
        lacks = "On rows of one length they are universal, and so with a column of ones."
        if self.pool == 2:
            lacks = "On rows of one length the odd powers from 3 on are missing as well."
        return Universal(
            False, f"Without an offset, sums of maxout units are linear along rays from 0. {lacks}"
        )

    @property
    def directions_per_draw(self) -> int:  # type: ignore[override]
        return int(self.pool)

    def block_entries(self, n_inputs: int, count: int) -> int:
        return (count * int(self.pool) + int(self.projections or 0)) * n_inputs

    def check(self) -> None:
        super().check()
        check_count("pool", self.pool)
        if self.projections is not None:
            check_count("projections", self.projections)
            if self.projections < self.pool:
                raise ValueError(
                    f"projections={self.projections}: a unit takes pool={self.pool} different "
                    "directions, so there must be at least that many to share."
                )

    def sample(self, words: Words, n_inputs: int) -> Theta:
        return {
            f"plane{j}": sample_projection(words, self.projection, n_inputs)
            for j in range(self.pool)
        }

    def theta(self, seed: int, n_inputs: int, start: int, stop: int) -> Theta:
        if self.projections is None:
            return super().theta(seed, n_inputs, start, stop)
        sizes = [len(part) for part in np.array_split(np.arange(self.projections), self.pool)]
        size = self.block_size(n_inputs)

        def plane(words: Words) -> Theta:
            return {"plane": sample_projection(words, self.projection, n_inputs)}

        planes = [
            sample_blocks(plane, size, seed, 0, count, *_stream(j))["plane"]
            for j, count in enumerate(sizes)
        ]

        def choose(words: Words) -> Theta:
            chosen = [words.integers(count, size) for count in sizes]
            return {"choice": np.stack(chosen, axis=1)}

        theta = sample_blocks(choose, size, seed, start, stop)
        return {**theta, "planes": Shared(planes)}

    def features(self, theta: Theta, rows: Matrix) -> AnyArray:
        out: AnyArray | None = None
        for j, plane in enumerate(self._planes(theta)):
            argument = project(rows, plane)
            if "choice" in theta:
                # `take` keeps the order of rows in memory, for which later loops are compiled.
                argument = np.take(argument, theta["choice"][:, j], axis=1)
            out = argument if out is None else np.maximum(out, argument, out=out)
        return np.asarray(out)

    def linear_pieces(self, theta: Theta, rows: Matrix, weights: AnyArray) -> AnyArray:
        largest = self.features(theta, rows)
        taken = np.zeros(largest.shape, dtype=bool)
        total: Any = 0.0
        for j, plane in enumerate(self._planes(theta)):
            argument, directions = project(rows, plane), written_out(plane, rows.shape[1])
            if "choice" in theta:
                own = theta["choice"][:, j]
                argument, directions = argument[:, own], directions[own]
            # The first of equal arguments; the maximum equals one of them exactly.
            chosen = (argument == largest) & ~taken
            taken |= chosen
            total = total + summed_directions(chosen, weights, directions)
        return np.asarray(total)

    def _planes(self, theta: Theta) -> list[Any]:
        """The directions at each position of the pool."""
        if "planes" in theta:
            return list(theta["planes"].value)
        return [theta[f"plane{j}"] for j in range(self.pool)]

    def onnx(self, graph: Graph, draw: Draw, rows: str) -> str:
        pieces = []
        for j, plane in enumerate(self._planes(draw.theta)):
            piece = project_onnx(graph, rows, plane, draw.n_inputs)
            if "choice" in draw.theta:
                choice = draw.theta["choice"][:, j].astype(np.int64)
                piece = graph.node("Gather", piece, choice, axis=1)
            pieces.append(piece)
        return graph.node("Max", *pieces)

    def exact_kernel(self, rows: Floats, others: Floats) -> Floats:
        own = np.linalg.norm(rows, axis=1)
        other = np.linalg.norm(others, axis=1)
        sizes = np.outer(own, other)
        cosine = np.divide(rows @ others.T, sizes, out=np.zeros_like(sizes), where=sizes > 0)
        return sizes * maxout_kernel(cosine, self.pool)


def _stream(place: int) -> tuple[Stream, int]:
    """The random stream of the shared planes at one position of the pool."""
    near = Stream.MAXOUT_PLANES
    return (near, place) if place < near.size else (Stream.MORE_PLANES, place - near.size)


def maxout_kernel(cosine: ArrayLike, pool: int) -> Floats:
    """K_q(ρ) = E max_j⟨w_j, x⟩·max_j⟨w_j, z⟩ for unit rows with x·z = ρ.

    >>> float(maxout_kernel(0.0, 4).round(4))
    1.0596
    """
    check_count("pool", pool)
    rho = _within_one(cosine)
    if pool == 1:
        return rho
    if pool == 2:
        root = np.sqrt((1.0 - rho) * (1.0 + rho))
        return np.asarray(rho / 2.0 + (root + rho * np.arcsin(rho)) / math.pi)
    angle = np.arcsin(rho) * (2.0 / math.pi)
    return np.asarray(chebyshev.chebval(angle, _kernel_series(pool)))


def same_argmax(cosine: ArrayLike, pool: int) -> Floats:
    """κ_q(ρ), the chance that two unit rows with x·z = ρ have the same arg-max.

    κ_2(ρ) = ½ + arcsin(ρ)/π; otherwise q·E Φ₂(u, v; ρ)^(q−1) for a standard normal pair
    (u, v) of correlation ρ, by quadrature to about 1e-10.

    >>> float(same_argmax(0.0, 4).round(6))
    0.25
    """
    check_count("pool", pool)
    angle = np.arcsin(_within_one(cosine))
    if pool == 1:
        return np.ones_like(angle)
    if pool == 2:
        return np.asarray(0.5 + angle / math.pi)
    value = chebyshev.chebval(angle * (2.0 / math.pi), _argmax_series(pool))
    return np.asarray(np.clip(value, 0.0, 1.0))


def _within_one(cosine: ArrayLike) -> Floats:
    """Cosines as float64, clipped to [−1, 1]."""
    return np.asarray(np.clip(np.asarray(cosine, dtype=np.float64), -1.0, 1.0))


@functools.lru_cache(maxsize=64)
def mean_maximum(pool: int) -> float:
    """h₁(q) = E max of q standard normals.

    >>> round(mean_maximum(2), 6) == round(1 / math.sqrt(math.pi), 6)
    True
    """
    check_count("pool", pool)
    density = np.exp(-(_GRID**2) / 2.0) / math.sqrt(2.0 * math.pi)
    return float(pool * _STEP * (_GRID * density * ndtr(_GRID) ** (pool - 1)).sum())


def argmax_coefficients(pool: int, count: int = 3) -> Floats:
    """The first coefficients a_i(q) of κ_q(ρ) = Σ a_i(q)·ρ^i (maxout paper, Theorem 1).

    a₀ = 1/q, a₁ = h₁²/(q−1), a₂ = q·h₂²/((q−1)(q−2)) for q ≥ 3; any number of them here,
    from Cauchy's integral of κ_q on the circle |ρ| = ½ (to about 1e-12·2^i).

    >>> argmax_coefficients(2, 4).round(6).tolist()
    [0.5, 0.31831, 0.0, 0.053052]
    """
    check_count("pool", pool)
    count = check_count("count", count)
    if count > 24:
        raise ValueError(f"count={count}: need at most 24; later ones have no correct digits.")
    if pool == 1:
        return np.asarray(np.eye(1, count)[0])
    radius, points = 0.5, 64
    circle = radius * np.exp(2j * math.pi * np.arange(points // 2 + 1) / points)
    upper = np.array([_argmax_complex(complex(rho), pool) for rho in circle])
    values = np.concatenate([upper, np.conj(upper[1:-1][::-1])])
    series = np.fft.fft(values).real / points
    return np.asarray(series[:count] / radius ** np.arange(count))


@functools.lru_cache(maxsize=64)
def _argmax_series(pool: int) -> Floats:
    """κ_q(sin φ) as a Chebyshev series in φ·2/π."""

    def chances(place: Floats) -> Floats:
        return np.array([_argmax_chance(math.sin(one), pool) for one in math.pi / 2.0 * place])

    return np.asarray(chebyshev.Chebyshev.interpolate(chances, _NODES - 1).coef)


@functools.lru_cache(maxsize=64)
def _kernel_series(pool: int) -> Floats:
    """K_q(sin φ) = h₁² + ∫₀^φ κ_q(sin t)·cos t dt as a Chebyshev series in φ·2/π."""
    series = _argmax_series(pool)

    def slope(place: Floats) -> Floats:
        return np.asarray(chebyshev.chebval(place, series) * np.cos(math.pi / 2.0 * place))

    slopes = chebyshev.Chebyshev.interpolate(slope, _NODES + 15).coef
    integral = chebyshev.chebint(slopes, lbnd=0.0, scl=1.0) * (math.pi / 2.0)
    integral[0] += mean_maximum(pool) ** 2
    return np.asarray(integral)


def _argmax_chance(rho: float, pool: int) -> float:
    """q·E Φ₂(u, v; ρ)^(q−1) in the independent coordinates (u ± v)/√(2(1 ± ρ))."""
    weight = _STEP * np.exp(-(_GRID**2) / 2.0) / math.sqrt(2.0 * math.pi)
    total = math.sqrt((1.0 + rho) / 2.0) * _GRID[:, None]
    difference = math.sqrt((1.0 - rho) / 2.0) * _GRID
    both = _bivariate_normal(total + difference, total - difference, rho)
    return float(pool * (weight @ both ** (pool - 1) @ weight))


def _bivariate_normal(u: Floats, v: Floats, rho: float) -> Floats:
    """P(g ≤ u, h ≤ v) for standard normals of correlation ρ, by Owen's T function."""
    root = math.sqrt((1.0 - rho) * (1.0 + rho))
    u, v = np.where(u == 0.0, 1e-300, u), np.where(v == 0.0, 1e-300, v)
    value = 0.5 * (ndtr(u) + ndtr(v))
    with np.errstate(over="ignore"):
        value -= owens_t(u, (v / u - rho) / root) + owens_t(v, (u / v - rho) / root)
    value -= np.where(u * v < 0.0, 0.5, 0.0)
    return np.asarray(np.clip(value, 0.0, 1.0))


def _argmax_complex(rho: complex, pool: int) -> complex:
    """κ_q at a complex ρ inside the unit disc, by the analytic formulas."""
    u, v = _GRID[::2, None], _GRID[::2]

    def density(r: complex) -> NDArray[np.complex128]:
        exponent = (u + v) ** 2 / (4.0 * (1.0 + r)) + (u - v) ** 2 / (4.0 * (1.0 - r))
        return np.asarray(np.exp(-exponent) / (2.0 * math.pi * np.sqrt(1.0 - r * r)))

    nodes, weights = np.polynomial.legendre.leggauss(24)
    both = (ndtr(u) * ndtr(v)).astype(complex)
    for node, weight in zip((nodes + 1.0) / 2.0, weights / 2.0, strict=True):
        both += weight * rho * density(rho * node)
    return complex(pool * (2.0 * _STEP) ** 2 * (density(rho) * both ** (pool - 1)).sum())
