"""A fitted model: scaler, draw and outer weights; it predicts and does nothing else."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kitchensinks.bases import Draw
from kitchensinks.features import Frozen
from kitchensinks.rows import block_slices
from kitchensinks.standardise import Scaler

# Entries of the features of one block of rows.
_BLOCK_ENTRIES = 2**22
# Rows of a block where the draw is too large to hold: each block makes the draw anew.
_BATCH = 1024


@dataclass(frozen=True, eq=False)
class Model:
    """f(x) = b + Σ_k β_k·φ(x; θ_k)·scale on standardised rows.

    weights (columns, outputs), intercept (outputs,). What is saved is the weights, the seed and
    what was learned from the rows before (`Frozen`), never the draw itself.
    """

    frozen: Frozen
    weights: NDArray[np.float64]
    intercept: NDArray[np.float64]

    @property
    def draw(self) -> Draw:
        return self.frozen.draw

    @property
    def scaler(self) -> Scaler | None:
        return self.frozen.scaler

    def scores(self, rows: Any) -> NDArray[np.float64]:
        """f(x) for every row and output, shape (n, outputs), in blocks: no n × K array."""
        out = np.empty((rows.shape[0], len(self.intercept)))
        width = len(self.weights) if self.frozen.held else _BLOCK_ENTRIES // _BATCH
        if self.frozen.basis.sparse:
            width = 16 * self.frozen.n_components
        # Weights of any size pass through float32: only their ratio matters there.
        unit = np.abs(self.weights).max(axis=0, initial=0.0)
        unit = np.where(unit > 0.0, unit, 1.0)
        weights = (self.weights / unit).astype(self.frozen.dtype)
        for part in block_slices(rows.shape[0], max(64, _BLOCK_ENTRIES // max(1, width))):
            scores = np.zeros((part.stop - part.start, len(self.intercept)))
            for columns, features in self.frozen.walk(rows[part]):
                scores += features @ weights[columns]
            out[part] = scores * unit + self.intercept
        return out
