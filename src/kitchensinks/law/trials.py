"""Small fits on held-out rows: which bandwidth and ridge a basis wants, and how well it does."""

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from kitchensinks.features.bases import Binning
from kitchensinks.features.frozen import Frozen
from kitchensinks.features.scaling import Warp
from kitchensinks.fitting.sparse import SETTLED
from kitchensinks.numerics.bins import sum_of_bins
from kitchensinks.numerics.products import gram_lower
from kitchensinks.numerics.simplex import log_losses
from kitchensinks.problem.bins import Bins
from kitchensinks.problem.losses import Array
from kitchensinks.solvers.binned import binned_ridge
from kitchensinks.tables import block_slices

# Ridges tried for dense features, strong to weak, and the weakest of numbers and of classes: the
# features limit the fit too, so that the best is often weak; but numbers may be far off where there
# were few rows.
_DENSE_RIDGES = (1.0, 0.1, 0.01, 0.001)
_WEAKEST, _WEAKEST_OF_CLASSES = 1e-4, 1e-5
# The strongest, for each fitted row: it leaves next to nothing of the features.
_STRONGEST = 1e3
_BLOCK = 8192
# Where fits on bins that are only compared stop.
_ROUGH, _ROUGH_STEPS = 1e-2, 50
# Between squared errors this near the log loss of the classes decides, where it is lower by more
# than chance would have it once in twenty times (in standard errors).
_EVEN, _CHANCE = 1.1, 1.645
# No more of an error than this share is expected to go away with more components.
_MOST_GAIN = 0.5


class Score(NamedTuple):
    """What a basis reached on held-out rows: at which factor and ridge, with how many components,
    and with half of them; losses of the classes (`HeldOut.losses`), or None."""

    error: float
    half: float
    losses: Array | None
    factor: float
    ridge: float
    components: int

    def at(self, count: int) -> float:
        """The error with `count` components: error(K) = floor + c/K through the two measured.

        >>> Score(0.5, 0.6, None, 1.0, 0.1, 100).at(200)
        0.45
        """
        gain = min(max(self.half - self.error, 0.0), _MOST_GAIN * self.error)
        return self.error + gain * (self.components / count - 1.0)

    def enough(self, tolerance: float) -> float:
        """Components beyond which the error would fall by less than this share of it."""
        gain = min(max(self.half - self.error, 0.0), _MOST_GAIN * self.error)
        return gain * self.components / (tolerance * (self.error - gain))


@dataclass(frozen=True)
class HeldOut:
    """Rows (n, d), centred targets (n, outputs) and weights (n,) or None; `fitted`, `held`: places.

    unit: the targets' variance, summed over outputs; level: what they were centred by, (outputs,);
    labels: the class of each row, or None where the targets are numbers.
    """

    rows: Any
    targets: Array
    weights: Array | None
    fitted: np.ndarray
    held: np.ndarray
    unit: float
    level: Array
    labels: NDArray[np.int64] | None

    def error(self, scores: Array) -> float:
        """Of scores of the held-out rows: squared error in units of the targets' variance."""
        loss = np.sum((self.targets[self.held] - scores) ** 2, axis=1)
        return float(np.average(loss, weights=self.weights_of(self.held)) / self.unit)

    def losses(self, scores: Array) -> Array | None:
        """The share of each held-out row in the mean log loss of the classes, or None for numbers.

        A squared error also counts what no class depends on, so that it may prefer another law. The
        scores are multiplied with the number that makes the mean least.
        """
        if self.labels is None:
            return None
        scores = scores + self.level
        if scores.shape[1] == 1:
            scores = np.hstack([-scores, scores])
        own = self.weights_of(self.held)
        own = np.ones(len(scores)) if own is None else own
        losses: Array = log_losses(scores, self.labels[self.held], own)
        return np.asarray(losses * (own / own.sum()))

    def weights_of(self, places: np.ndarray) -> Array | None:
        return None if self.weights is None else self.weights[places]


class DenseFit(NamedTuple):
    """Held-out error of a ridge fit on dense features, with half of them, and its losses; its ridge
    λ = α·n; the features, their weights about their mean, and the level of the targets."""

    error: float
    half: float
    losses: Array | None
    ridge: float
    frozen: Frozen
    weights: Array
    mean: Array
    level: Array

    def scores(self, rows: Any) -> Array:
        """f of rows (n, d), in blocks."""
        frozen = self.frozen
        out = np.empty((rows.shape[0], len(self.level)))
        for part in block_slices(rows.shape[0], _BLOCK):
            features = frozen.features(rows[part]) - self.mean.astype(frozen.dtype)
            out[part] = features @ self.weights.astype(frozen.dtype) + self.level
        return out


def dense_fit(
    data: HeldOut, frozen: Frozen, near: float | None = None, by_classes: bool = False
) -> DenseFit:
    """A ridge fit on dense features of the fitted rows.

    Four ridges, or `near` where that is given, and from the best of them on while the error falls;
    `by_classes`: of those that are about as good, the one that `preferred` takes.
    """
    own = data.weights_of(data.fitted)
    shares = np.ones(len(data.fitted)) if own is None else own * (len(own) / own.sum())
    level = np.average(data.targets[data.fitted], axis=0, weights=shares)
    gram, cross, mean = _sums(data, frozen, shares, level)
    held = frozen.features(data.rows[data.held]) - mean.astype(frozen.dtype)
    found: dict[float, tuple[float, Array]] = {}
    weakest = _WEAKEST if data.labels is None else _WEAKEST_OF_CLASSES
    strongest = _STRONGEST * len(data.fitted)

    def scores(weights: Array) -> Array:
        return np.asarray(held[:, : len(weights)] @ weights.astype(held.dtype) + level)

    def solve(ridge: float, size: int) -> Array | None:
        """Weights of the first `size` features, each as much larger."""
        shifted = gram[:size, :size] * (len(gram) / size)
        shifted[np.diag_indices_from(shifted)] += ridge
        root = math.sqrt(len(gram) / size)
        try:
            factor = cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            return None
        return np.asarray(root * cho_solve(factor, root * cross[:size]))

    def attempt(ridge: float) -> None:
        weights = solve(ridge, len(gram))
        if weights is not None:
            found[ridge] = data.error(scores(weights)), weights

    if near is not None:
        attempt(near)
    if not found:
        for ridge in _DENSE_RIDGES:
            attempt(ridge)
    best, before = min(found, key=lambda ridge: found[ridge][0]), math.nan
    while best != before:
        before = best
        for ridge in (3.0 * best, max(best / 3.0, weakest)):
            if ridge not in found and ridge <= strongest:
                attempt(ridge)
        best = min(found, key=lambda ridge: found[ridge][0])
    if by_classes:
        least = found[best][0]
        for ratio in (3.0, 1.0 / 3.0):
            ridge = best
            while ridge in found and found[ridge][0] < _EVEN * least:
                ridge *= ratio
                if ridge not in found and weakest <= ridge <= strongest:
                    attempt(ridge)
        tried = list(found)
        errors = [found[ridge][0] for ridge in tried]
        losses = [data.losses(scores(found[ridge][1])) for ridge in tried]
        best = tried[preferred(errors, losses)]
    half, weights = solve(best, max(1, len(gram) // 2)), found[best][1]
    part = math.inf if half is None else data.error(scores(half))
    whole = scores(weights)
    return DenseFit(data.error(whole), part, data.losses(whole), best, frozen, weights, mean, level)


def _sums(data: HeldOut, frozen: Frozen, shares: Array, level: Array) -> tuple[Array, Array, Array]:
    """Gram (its lower triangle), cross-products and mean of the features of the fitted rows, about
    their mean."""
    size = frozen.n_columns
    gram = np.zeros((size, size), order="F")
    product = np.zeros((size, size), dtype=frozen.dtype, order="F")
    cross = np.zeros((size, data.targets.shape[1]))
    mean = frozen.features(data.rows[data.fitted[:512]]).mean(axis=0)
    shift = np.zeros(size)
    for part in block_slices(len(data.fitted), _BLOCK):
        places = data.fitted[part]
        block = frozen.features(data.rows[places])
        block -= mean
        root = np.sqrt(shares[part])[:, None]
        block *= root.astype(frozen.dtype)
        gram_lower(block, product)
        gram += product
        # In the dtype of the features: a product of two makes a copy of the larger.
        others = np.hstack([root, root * (data.targets[places] - level)])
        summed = block.T @ others.astype(frozen.dtype)
        shift += summed[:, 0]
        cross += summed[:, 1:]
    shift /= len(data.fitted)
    gram -= len(data.fitted) * np.outer(shift, shift)
    return gram, cross, mean + shift


def preferred(errors: Sequence[float], losses: Sequence[Array | None]) -> int:
    """Which has the least squared error, or nearly that with a lower log loss of the classes.

    >>> few, many = np.full(50, 0.01), np.full(50, 0.02)
    >>> preferred([0.20, 0.21, 0.30], [many, few, few]), preferred([0.2, 0.1], [None, None])
    (1, 1)
    """
    least = int(np.argmin(errors))
    best, most, base = least, 0.0, losses[least]
    for k, (error, own) in enumerate(zip(errors, losses, strict=True)):
        if base is None or own is None or error >= _EVEN * errors[least]:
            continue
        gain, noise = float(np.sum(base - own)), math.sqrt(float(np.sum((base - own) ** 2)))
        if gain > max(most, _CHANCE * noise):
            best, most = k, gain
    return best


class GridFits:
    """Fits on the bins of `count` grids: the rows are hashed once, whatever is then fitted.

    Every fit starts from zero, as the last one will: its few steps are a part of what is compared,
    and from the weights of another ridge the first step would already seem to settle it.
    """

    def __init__(self, data: HeldOut, warp: Warp, count: int, seed: int) -> None:
        self.data = data
        places = np.concatenate([data.fitted, data.held])
        rows = np.asarray(warp.apply(data.rows[places], np.float32))
        basis = Binning(gamma=1.0)
        theta = basis.draw(seed, rows.shape[1], count, np.float32).theta
        size = len(data.fitted)
        columns = np.empty((count, size), dtype=np.int32)
        self.held = np.empty((count, len(rows) - size), dtype=np.int32)
        offsets = np.zeros(count + 1, dtype=np.int64)
        for g, (found, numbers) in enumerate(basis.numbered(theta, rows)):
            columns[g] = numbers[:size] + np.int32(offsets[g])
            self.held[g] = numbers[size:] + np.int32(offsets[g])
            offsets[g + 1] = offsets[g] + len(found)
        self.bins = Bins(columns, offsets, 1.0 / math.sqrt(count))

    def first(self, count: int) -> "GridFits":
        """The same with the first grids alone: nothing is hashed again."""
        part = copy.copy(self)
        part.held = self.held[:count]
        part.bins = self.bins.first(count, 1.0 / math.sqrt(count))
        return part

    def error(self, ridge: float, targets: Array | None = None) -> tuple[float, Array | None]:
        """Held-out error and losses with ridge λ = α·n, of these targets or of the rows' own."""
        data, size = self.data, len(self.data.fitted)
        targets = data.targets if targets is None else targets
        own = data.weights_of(data.fitted)
        shares = np.full(size, 1.0 / size) if own is None else own / own.sum()
        solution = binned_ridge(
            self.bins,
            targets[data.fitted],
            shares,
            ridge / size,
            tol=_ROUGH,
            settled=SETTLED,
            max_iter=_ROUGH_STEPS,
        )
        scores = np.empty((len(data.held), targets.shape[1]))
        sum_of_bins(self.held, self.bins.scale * solution.weights, scores)
        # What other targets leave out was fitted before.
        scores += solution.intercept + (data.targets - targets)[data.held]
        return data.error(scores), data.losses(scores)

    def best(
        self, near: float, most: int = 3, targets: Array | None = None
    ) -> tuple[float, float, Array | None]:
        """The least held-out error over ridges from `near` on, its ridge and its losses."""
        return climb(lambda ridge: self.error(ridge, targets), near, 3.0, most)


def climb(
    attempt: Callable[[float], tuple[float, Any]], first: float, ratio: float, most: int
) -> tuple[float, float, Any]:
    """(error, value, note) of the best value on a geometric grid, step by step while it falls.

    attempt(value) gives its error and a note to keep with it; `most` values are tried. Between two
    neighbours that were tried, the value is where the parabola through the three is lowest.

    >>> climb(lambda value: (abs(math.log(value / 9.0)), 0.0), 1.0, 3.0, 5)[1]
    9.0
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
    place = float(best)
    if best - 1 in tried and best + 1 in tried:
        below, least, above = (tried[best + k][0] for k in (-1, 0, 1))
        bend = below - 2.0 * least + above
        place += 0.5 * (below - above) / bend if bend > 0.0 else 0.0
    return tried[best][0], first * ratio**place, tried[best][1]
