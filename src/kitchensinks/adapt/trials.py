"""Small fits on held-out rows: which bandwidth and ridge a basis wants, and how well it does."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from kitchensinks.bases import Basis, Binning
from kitchensinks.features import FeatureBlocks, Frozen
from kitchensinks.fitting.sparse import held_out_error
from kitchensinks.losses import Array
from kitchensinks.rows import block_slices
from kitchensinks.standardise import Warp

# Ridges tried for dense features, strong to weak, and the weakest of all: the features limit the
# fit too, so that the best is often weak.
_DENSE_RIDGES = (1.0, 0.1, 0.01, 0.001)
_WEAKEST = 1e-4
# The first ridge tried for bins, and the ratio between neighbours.
_SPARSE_RIDGE, _RATIO = 0.3, 3.0
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
    """Held-out error of a ridge fit on `count` dense features, and its ridge λ = α·n."""
    frozen = Frozen(warp, basis, seed, warp.width, count, np.dtype(np.float32))
    return dense_fit(data, frozen, near)[:2]


def dense_fit(data: Rows, frozen: Frozen, near: float | None = None) -> tuple[float, float, Array]:
    """Held-out error of a ridge fit on dense features, its ridge λ = α·n and its weights.

    Four ridges and the neighbours of the best; near `near` where that is given.
    """
    own = data.weights_of(data.fitted)
    shares = np.ones(len(data.fitted)) if own is None else own * (len(own) / own.sum())
    level = np.average(data.targets[data.fitted], axis=0, weights=shares)
    gram, cross, mean = _sums(data, frozen, shares, level)
    held = frozen.features(data.rows[data.held]) - mean.astype(frozen.dtype)
    found: dict[float, tuple[float, Array]] = {}

    def attempt(ridge: float) -> None:
        shifted = gram.copy()
        shifted[np.diag_indices_from(shifted)] += ridge
        try:
            weights = cho_solve(cho_factor(shifted, overwrite_a=True, check_finite=False), cross)
        except np.linalg.LinAlgError:
            return
        scores = held @ weights + level
        error = data.error(scores, data.targets[data.held], data.weights_of(data.held))
        found[ridge] = error, weights

    for ridge in _DENSE_RIDGES if near is None else (near,):
        attempt(ridge)
    best = min(found, key=lambda ridge: found[ridge][0])
    for ridge in (3.0 * best, max(best / 3.0, _WEAKEST)):
        attempt(ridge)
    best = min(found, key=lambda ridge: found[ridge][0])
    return found[best][0], best, found[best][1]


def _sums(data: Rows, frozen: Frozen, shares: Array, level: Array) -> tuple[Array, Array, Array]:
    """Gram, cross-products and mean of the features of the fitted rows, about their mean."""
    size = frozen.n_columns
    gram, cross = np.zeros((size, size)), np.zeros((size, data.targets.shape[1]))
    mean = frozen.features(data.rows[data.fitted[:512]]).mean(axis=0)
    shift = np.zeros(size)
    for part in block_slices(len(data.fitted), _BLOCK):
        places = data.fitted[part]
        block = frozen.features(data.rows[places])
        block -= mean
        shift += shares[part] @ block
        root = np.sqrt(shares[part])[:, None]
        block *= root.astype(frozen.dtype)
        gram += block.T @ block
        cross += block.T @ (root * (data.targets[places] - level))
    shift /= len(data.fitted)
    gram -= len(data.fitted) * np.outer(shift, shift)
    return gram, cross, mean + shift


def sparse_errors(
    data: Rows, warp: Warp, count: int, seed: int, near: float | None = None, most: int = 4
) -> tuple[float, float]:
    """Held-out error of a ridge fit on `count` grids, and its ridge λ = α·n.

    At most `most` ridges are tried, from `near`.
    """
    frozen = Frozen(warp, Binning(gamma=1.0), seed, data.rows.shape[1], count, np.dtype(np.float32))
    places = np.concatenate([data.fitted, data.held])
    rows = data.rows[places]
    own = data.weights_of(places)
    weights = np.ones(len(places)) if own is None else own.copy()
    weights[len(data.fitted) :] = 0.0
    blocks = FeatureBlocks(rows, frozen.tabulated(rows, weights), _MEMORY)
    size = len(data.fitted)
    attempt = held_out_error(
        blocks,
        data.targets[places],
        weights,
        lambda scores: data.error(
            scores[size:], data.targets[data.held], data.weights_of(data.held)
        ),
    )
    error, ridge, _ = climb(
        lambda ridge: (attempt(ridge / size), ridge), near or _SPARSE_RIDGE, _RATIO, most
    )
    return error, ridge


def climb(
    attempt: Callable[[float], tuple[float, float]], first: float, ratio: float, most: int
) -> tuple[float, float, float]:
    """(error, value, note) of the best value on a geometric grid, step by step while it falls.

    attempt(value) gives its error and a note to keep with it; `most` values are tried.

    >>> climb(lambda value: ((value - 9.0) ** 2, 0.0), 1.0, 3.0, 5)
    (0.0, 9.0, 0.0)
    """
    tried = {0: attempt(first)}
    direction = 1
    while len(tried) < most:
        best = min(tried, key=lambda k: tried[k][0])
        if best + direction in tried:
            direction = -direction
            if best + direction in tried:
                break
        tried[best + direction] = attempt(first * ratio ** (best + direction))
    best = min(tried, key=lambda k: tried[k][0])
    return tried[best][0], first * ratio**best, tried[best][1]
