"""A fitted model: scaler, draw and outer weights; it predicts and does nothing else."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kitchensinks.bases import Basis, Draw
from kitchensinks.rows import block_slices
from kitchensinks.standardise import Scaler

# Entries of the features of one block of rows.
_BLOCK_ENTRIES = 2**22
# A draw larger than this many bytes is made anew, part by part, each time it is used.
_HELD_DRAW = 2**28


@dataclass(frozen=True)
class Recipe:
    """Which draw to make: a resolved basis, seed and size. The draw itself is made on demand."""

    basis: Basis
    seed: int
    n_inputs: int
    n_components: int
    dtype: np.dtype[Any]

    def parts(self) -> Iterator[Draw]:
        """The draw in pieces that never hold more than a bounded number of bytes."""
        bytes_of_one = self.dtype.itemsize * 2 * (self.n_inputs + 2)
        size = max(256, _HELD_DRAW // (4 * bytes_of_one))
        for part in block_slices(self.n_components, size):
            yield self.basis.draw(self.seed, self.n_inputs, part.stop, self.dtype, start=part.start)

    @property
    def held(self) -> bool:
        """Whether the whole draw is small enough to keep."""
        return self.dtype.itemsize * self.n_inputs * self.n_components <= _HELD_DRAW


@dataclass(frozen=True, eq=False)
class Model:
    """f(x) = b + Σ_k β_k·φ(x; θ_k)·scale on standardised rows.

    `draw` is None where it is too large to hold: `recipe` then makes it part by part.
    weights (columns, outputs), intercept (outputs,).
    """

    scaler: Scaler | None
    recipe: Recipe
    draw: Draw | None
    weights: NDArray[np.float64]
    intercept: NDArray[np.float64]

    def scores(self, rows: Any) -> NDArray[np.float64]:
        """f(x) for every row and output, shape (n, outputs), in blocks: no n × K array."""
        n_columns = self.weights.shape[0] if self.draw is not None else 4096
        out = np.empty((rows.shape[0], len(self.intercept)))
        for part in block_slices(rows.shape[0], max(64, _BLOCK_ENTRIES // max(1, n_columns))):
            out[part] = self._block(rows[part])
        return out

    def _block(self, rows: Any) -> NDArray[np.float64]:
        dtype = self.recipe.dtype
        if self.scaler is not None:
            rows = self.scaler.apply(rows, dtype)
        scores = np.tile(self.intercept, (rows.shape[0], 1))
        if self.draw is not None:
            scale = self.draw.scale
            scores += self.draw.features(rows) @ (self.weights * scale).astype(dtype)
            return scores
        done = 0
        scale = 1.0 / np.sqrt(self.recipe.n_components * self.recipe.basis.features_per_draw)
        for draw in self.recipe.parts():
            columns = slice(done, done + draw.n_columns)
            scores += draw.features(rows) @ (self.weights[columns] * scale).astype(dtype)
            done = columns.stop
        return scores
