"""Random binning: indicators of the cells of random grids."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from kitchensinks.features.bases.bandwidth import WithGamma
from kitchensinks.features.bases.base import Universal
from kitchensinks.features.bases.binned import Binned, Names
from kitchensinks.features.bases.draw import Draw, Graph, Theta
from kitchensinks.features.bases.pitch import check_pitch, pitch_kernel, sample_pitch
from kitchensinks.numerics.arrays import AnyArray, Arrays, Floats
from kitchensinks.numerics.bins import CELL_LIMIT, ODD, Tiles, hash_tiles, tiled
from kitchensinks.numerics.distances import cityblock
from kitchensinks.numerics.words import Words
from kitchensinks.tables.arrays import block_slices

# Cells of a row that an exported model hashes at a time.
_NAMED_CELLS = 2**12


@dataclass(eq=False, repr=False)
class Binning(Binned, WithGamma):
    """Which bin of a random grid holds x, as a 0/1 vector with a single one.

    A grid has a pitch δ_j ~ Gamma(2, 1/γ) (density γ²δe^(−γδ)) and a shift u_j uniform on
    [0, δ_j] in each dimension (random bases, section V c). Two rows share a bin with
    probability

        k(x, z) = exp(−γ‖x − z‖₁),

    or, for another law p of γ·δ, with probability Π_j k(γ|x_j − z_j|) of

        k(r) = ∫ max(0, 1 − r/δ)·p(δ) dδ   (equations 14 and 15),

    so the features of one grid are one vector-valued draw, and `n_components` counts
    grids. A bin is named by a stable 64-bit hash; the columns are the bins that the rows of
    `fit` occupy, and a bin never seen there gives a zero.

    Parameters
    ----------
    gamma : a positive number, "median" (default): 1/median(‖x − z‖₁), which follows the scale
        of the rows, or "scale". It is
        the γ of the random-bases paper's Figure 1; its section V c has γ = 1. A list of numbers
        is a law of several scales: each grid takes one of them at random, and the kernel is the
        mean of theirs. A list of lists has a number for each column in place of each number.
    pitch : the law of the pitch, in units of 1/γ.

        - "gamma" (default): the kernel is Laplacian, as in the random-bases paper.
        - "hat": the pitch is 1/γ, and k(r) = max(0, 1 − r).
        - a list of positive numbers, each as likely: k is the mean of their hats. With quantiles
          of a law in the list, this is any law.
        - a function k(r) of an array, convex and falling from 1 to 0: the law is p(δ) = δ·k''(δ),
          whose kernel is k. Model files cannot hold a function; pickle can.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[0.0], [0.1], [5.0]])
    >>> draw = Binning(gamma=1.0).draw(seed=0, n_inputs=1, n_components=4).tabulate([rows])
    >>> draw.features(rows).sum(axis=1)
    array([4., 4., 4.])
    >>> heavy = Binning(gamma=2.0, pitch=lambda r: 1 / (1 + r))
    >>> heavy.kernel([[0.0]], [[0.5]])
    array([[0.5]])
    """

    gamma: float | str | Sequence[Any] = "median"
    pitch: Any = "gamma"

    drawn = ("shift", "rate", "multiplier")
    gamma_by_column = True
    _measure = "l1"
    _several = True

    def check(self) -> None:
        super().check()
        check_pitch(self.pitch)

    @property
    def universal(self) -> Universal:
        return Universal(
            True,
            "The kernel is a mixture of products of hats, whose spectrum sinc² has all of R^d as "
            "its support, and features are bounded (Corollary III.9).",
        )

    @property
    def metric(self) -> Literal["laplacian", "gaussian"]:
        return "laplacian"

    @property
    def open_bandwidth(self) -> bool:
        return self.unresolved() is not None and self._laplacian

    @property
    def _laplacian(self) -> bool:
        return isinstance(self.pitch, str) and self.pitch == "gamma"

    def block_size(self, n_inputs: int) -> int:
        return 16

    def sample(self, words: Words, n_inputs: int) -> Theta:
        shape = (self.block_size(n_inputs), n_inputs)
        gamma = self._pick_gamma(words, *shape)
        pitch = sample_pitch(self.pitch, words, *shape) / gamma
        shift = pitch * words.uniform(*shape)
        odd = words.raw(shape[0] * n_inputs).reshape(shape) | np.uint64(1)
        return {"shift": shift, "rate": 1.0 / pitch, "multiplier": odd}

    def ready(self, rows: AnyArray) -> Tiles:
        return tiled(np.ascontiguousarray(rows))

    def fill_names(self, theta: Theta, rows: Tiles, names: Names) -> None:
        hash_tiles(*rows, *(theta[name] for name in self.drawn), names)

    def onnx_bins(self, graph: Graph, draw: Draw, rows: str) -> str:
        """`bins` as nodes, (n, grids), with the number of all columns for a bin never seen.

        Names are those of `hash_tiles`, made of a few columns at a time in whole numbers that wrap
        at 2⁶⁴. A number for each grid is added, so that one table holds the names of all grids.
        """
        theta, table = draw.theta, self.table(draw.theta)
        shift, rate, multiplier = (theta[name].T for name in self.drawn)
        n_inputs, n_grids = shift.shape
        salt = ODD * np.arange(1, n_grids + 1, dtype=np.uint64) * multiplier[0]
        keys = table.names + np.repeat(salt, np.diff(table.offsets))
        if len(np.unique(keys)) < len(keys):
            raise ValueError(
                "Two bins of different grids have the same key, so that these grids cannot be "
                "exported: fit with another random_state."
            )
        rows = graph.node("Unsqueeze", graph.cast(rows, np.float64), np.array([2]))
        names: Any = salt.view(np.int64)
        for part in block_slices(n_inputs, max(1, _NAMED_CELLS // n_grids)):
            own = graph.node("Gather", rows, np.arange(part.start, part.stop), axis=1)
            cell = graph.node("Mul", graph.node("Sub", own, shift[part]), rate[part])
            cell = graph.node("Clip", graph.node("Floor", cell), -CELL_LIMIT, CELL_LIMIT)
            spread = graph.node("Mul", graph.cast(cell, np.int64), ODD.view(np.int64))
            spread = graph.cast(spread, np.uint64)
            half = graph.node("BitShift", spread, np.uint64(32), direction="RIGHT")
            mixed = graph.cast(graph.node("BitwiseXor", spread, half), np.int64)
            terms = graph.node("Mul", mixed, multiplier[part].view(np.int64))
            # A product with ones, because the sums of ReduceSum are rounded to float64.
            ones = np.ones((1, part.stop - part.start), np.int64)
            names = graph.node("Add", names, graph.node("MatMul", ones, terms))
        names = graph.node("Squeeze", names, np.array([1]))
        return graph.look_up(names, keys.view(np.int64))

    def exact_kernel(self, rows: Floats, others: Floats) -> Floats:
        with np.errstate(over="ignore", under="ignore"):
            return self._mean_kernel(
                lambda gamma: self._kernel_of(gamma * rows, gamma * others), rows.shape[1]
            )

    def _kernel_of(self, rows: Floats, others: Floats) -> Floats:
        """Π_j k(|x_j − z_j|), a column at a time."""
        if self._laplacian:
            return np.exp(-cityblock(rows, others))
        product = np.ones((len(rows), len(others)))
        for own, other in zip(rows.T, others.T, strict=True):
            product *= pitch_kernel(self.pitch, np.abs(own[:, None] - other))
        return product

    def describe(self, place: str, arrays: Arrays) -> dict[str, Any]:
        if callable(self.pitch):
            raise ValueError(
                f"pitch={self.pitch!r} is a function, which cannot be stored safely: give a list "
                "of pitches (quantiles of their law), or use pickle."
            )
        return super().describe(place, arrays)
