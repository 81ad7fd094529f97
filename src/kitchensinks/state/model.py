"""A fitted model: scaler, draw and outer weights; it predicts and does nothing else."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kitchensinks.features.bases import Draw
from kitchensinks.features.bases.draw import Scorer
from kitchensinks.features.frozen import Frozen
from kitchensinks.features.scaling import Scaler
from kitchensinks.features.trend import Trend
from kitchensinks.numerics.arrays import AnyArray
from kitchensinks.numerics.threads import in_order
from kitchensinks.state.outside import Watch
from kitchensinks.tables import block_slices

# Entries of the features of one block of rows.
_BLOCK_ENTRIES = 2**21
# Rows of a block where the draw is too large to hold and is made anew for each block.
_REDRAWN_ROWS = 1024


@dataclass(frozen=True, eq=False)
class Model:
    """f(x) = b + Σ_k β_k·φ(x; θ_k)·scale on standardised rows, and t(x) where there is a trend.

    weights (columns, outputs), intercept (outputs,). What is saved is the weights, the seed and
    what was learned from the rows before (`Frozen`), never the draw itself.
    """

    frozen: Frozen
    weights: NDArray[np.float64]
    intercept: NDArray[np.float64]
    trend: Trend | None = None

    @property
    def draw(self) -> Draw:
        return self.frozen.draw

    @property
    def scaler(self) -> Scaler | None:
        return self.frozen.scaler

    def scores(self, rows: Any, watch: Watch | None = None) -> NDArray[np.float64]:
        """f(x) for every row and output, shape (n, outputs), in blocks: no n × K array.

        watch: shown every block of rows.
        """
        frozen, (unit, weights) = self.frozen, self._narrow
        width = _BLOCK_ENTRIES // _REDRAWN_ROWS
        if frozen.held:
            width = frozen.basis.scored_entries(frozen.n_components)
        parts = list(block_slices(rows.shape[0], max(64, _BLOCK_ENTRIES // max(1, width))))
        out = np.empty((rows.shape[0], len(self.intercept)))
        scorer = self._scorer if frozen.held else None

        def score(block: tuple[slice, Any]) -> None:
            part, own = block
            if watch is not None:
                watch.look(part, own)
            if scorer is not None:
                scores = scorer(frozen.scaled(own))
            else:
                scores = np.zeros((own.shape[0], len(self.intercept)))
                for columns, features in frozen.walk(own):
                    scores += features @ weights[columns]
            out[part] = scores * unit + self.intercept
            if self.trend is not None:
                out[part] += self.trend.values(own)

        blocks = ((part, rows[part]) for part in parts)
        for _ in in_order(score, blocks):
            pass
        return out

    @cached_property
    def _narrow(self) -> tuple[NDArray[np.float64], AnyArray]:
        """Units of the outputs, and weights in them: only their ratios have to fit into float32."""
        unit = np.abs(self.weights).max(axis=0, initial=0.0)
        unit = np.where(unit > 0.0, unit, 1.0)
        return unit, (self.weights / unit).astype(self.frozen.dtype)

    @cached_property
    def _scorer(self) -> Scorer:
        return self.frozen.draw.scorer(self._narrow[1])

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name[0] != "_"}
