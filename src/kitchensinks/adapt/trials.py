"""Small fits on held-out rows: which bandwidth and ridge a basis wants, and how well it does."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from kitchensinks.bases import Basis, Binning
from kitchensinks.features import FeatureBlocks, Frozen
from kitchensinks.fitting.sparse import held_out_errors
from kitchensinks.losses import Array
from kitchensinks.rows import block_slices
from kitchensinks.standardise import Warp

# Ridges tried for dense features, strong to weak, and the weakest of all: the features limit the
# fit too, so that the best is often weak.
_DENSE_RIDGES = (1.0, 0.1, 0.01, 0.001)
_WEAKEST = 1e-4
# Ridges tried for bins, strong to weak.
_SPARSE_RIDGES = (3.0, 1.0, 0.3, 0.1, 0.03)
_BLOCK = 8192
_MEMORY = 2e9


@dataclass(frozen=True)
class Rows:
    """Rows (n, d), centred targets (n, outputs) and weights (n,) or None; `fitted`, `held`: places.

    unit: the targets' variance, summed over outputs.
    """

    rows: Any
    targets: Array
    weights: Array | None
    fitted: np.ndarray
    held: np.ndarray
    unit: float

    def error(self, scores: Array, targets: Array, weights: Array | None) -> float:
        """Squared error in units of the targets' variance."""
        loss = np.sum((targets - scores) ** 2, axis=1)
        return float(np.average(loss, weights=weights) / self.unit)

    def weights_of(self, places: np.ndarray) -> Array | None:
        return None if self.weights is None else self.weights[places]


def dense_errors(
    data: Rows, basis: Basis, warp: Warp, count: int, seed: int, near: float | None = None
) -> tuple[float, float]:
    """Held-out error of a ridge fit on `count` dense features, and its ridge λ = α·n.

    Four ridges and the neighbours of the best; near `near` where that is given.
    """
    frozen = Frozen(warp, basis, seed, data.rows.shape[1], count, np.dtype(np.float32))
    own = data.weights_of(data.fitted)
    shares = np.ones(len(data.fitted)) if own is None else own * (len(own) / own.sum())
    level = np.average(data.targets[data.fitted], axis=0, weights=shares)
    size = frozen.n_columns
    gram, cross = np.zeros((size, size)), np.zeros((size, data.targets.shape[1]))
    mean = frozen.features(data.rows[data.fitted[:512]]).mean(axis=0)
    shift = np.zeros(size)
    for part in block_slices(len(data.fitted), _BLOCK):
        places = data.fitted[part]
        block = frozen.features(data.rows[places])
        block -= mean
        shift += shares[part] @ block
        block *= np.sqrt(shares[part])[:, None].astype(np.float32)
        gram += block.T @ block
        cross += block.T @ (np.sqrt(shares[part])[:, None] * (data.targets[places] - level))
    shift /= len(data.fitted)
    gram -= len(data.fitted) * np.outer(shift, shift)
    held = frozen.features(data.rows[data.held]) - (mean + shift).astype(np.float32)
    errors: dict[float, float] = {}

    def attempt(ridge: float) -> None:
        shifted = gram.copy()
        shifted[np.diag_indices_from(shifted)] += ridge
        try:
            weights = cho_solve(cho_factor(shifted, overwrite_a=True, check_finite=False), cross)
        except np.linalg.LinAlgError:
            return
        scores = held @ weights + level
        errors[ridge] = data.error(scores, data.targets[data.held], data.weights_of(data.held))

    for ridge in _DENSE_RIDGES if near is None else (near,):
        attempt(ridge)
    best = min(errors, key=errors.__getitem__)
    for ridge in (3.0 * best, max(best / 3.0, _WEAKEST)):
        attempt(ridge)
    best = min(errors, key=errors.__getitem__)
    return errors[best], best


def sparse_errors(
    data: Rows, warp: Warp, count: int, seed: int, ridges: tuple[float, ...] = _SPARSE_RIDGES
) -> tuple[float, float]:
    """Held-out error of a ridge fit on `count` grids, and its ridge λ = α·n."""
    frozen = Frozen(
        warp, Binning(gamma=1.0), seed, data.rows.shape[1], count, np.dtype(np.float32)
    )
    places = np.concatenate([data.fitted, data.held])
    rows = data.rows[places]
    own = data.weights_of(places)
    weights = np.ones(len(places)) if own is None else own.copy()
    weights[len(data.fitted) :] = 0.0
    blocks = FeatureBlocks(rows, frozen.tabulated(rows, weights), _MEMORY)
    size = len(data.fitted)
    errors = held_out_errors(
        blocks,
        data.targets[places],
        weights,
        [ridge / size for ridge in ridges],
        lambda scores: data.error(
            scores[size:], data.targets[data.held], data.weights_of(data.held)
        ),
    )
    best = int(np.argmin(errors))
    return errors[best], ridges[best]
