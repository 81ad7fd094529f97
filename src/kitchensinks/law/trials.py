"""Small fits scored on held-out rows, to choose bandwidth and ridge and to compare bases."""

import copy
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kitchensinks.features.bases import Basis
from kitchensinks.features.blocks import BlockFunction
from kitchensinks.features.frozen import Frozen
from kitchensinks.features.scaling import Warp
from kitchensinks.fitting.space import shares_of
from kitchensinks.fitting.sparse import LEAST_GAIN
from kitchensinks.fitting.squared import effective_dimension
from kitchensinks.law import constants
from kitchensinks.law.searches import best_ridge, lowest, preferred, search_ridges
from kitchensinks.numerics.arrays import Block, Matrix
from kitchensinks.numerics.combinations import sum_of_bins
from kitchensinks.numerics.simplex import log_losses
from kitchensinks.numerics.threads import in_order, row_tiles
from kitchensinks.problem.bins import Bins
from kitchensinks.problem.losses import Array
from kitchensinks.problem.moments import Moments
from kitchensinks.solvers.binned import binned_ridge
from kitchensinks.solvers.cholesky import ridge_solve
from kitchensinks.tables.arrays import block_slices

# Rows whose features are made at a time: few enough that threads share the products.
_BLOCK = 4096


class Score(NamedTuple):
    """The held-out error of a trial, and that of half its components (NaN until it is needed); log
    losses of the rows (`TrialRows.losses`) or None; bandwidth factor, ridge and number of
    components."""

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
        return self.error + self._gain * (self.components / count - 1.0)

    def enough(self, tolerance: float) -> float:
        """The number of components beyond which the error falls by less than this share."""
        return self._gain * self.components / (tolerance * (self.error - self._gain))

    @property
    def _gain(self) -> float:
        return min(max(self.half - self.error, 0.0), constants.MOST_GAIN * self.error)


@dataclass(frozen=True)
class TrialRows:
    """Rows (n, d), centred targets (n, outputs) and weights (n,) or None; `fitted`, `held`: places.

    unit: the targets' variance, summed over outputs; level: what they were centred by, (outputs,);
    labels: the class of each row, or None where the targets are numbers. scored: the weights of the
    rows in errors, where these are not `weights`.
    """

    rows: Matrix
    targets: Array
    weights: Array | None
    fitted: np.ndarray
    held: np.ndarray
    unit: float
    level: Array
    labels: NDArray[np.int64] | None
    scored: Array | None = None

    def error(self, scores: Array) -> float:
        """Of scores of the held-out rows: squared error in units of the targets' variance."""
        return float(self.squares(scores).sum())

    def squares(self, scores: Array) -> Array:
        """The share of each held-out row in `error`."""
        own = self.scored_of(self.held)
        loss = np.sum((self.targets[self.held] - scores) ** 2, axis=1) / self.unit
        return np.asarray(loss * (1.0 / len(loss) if own is None else own / own.sum()))

    def losses(self, scores: Array) -> Array | None:
        """The share of each held-out row in the mean log loss of the classes, or None for numbers.

        Squared error may prefer a law whose classes are worse. The scores are multiplied by the
        factor that minimises the mean log loss.
        """
        if self.labels is None:
            return None
        scores = scores + self.level
        if scores.shape[1] == 1:
            scores = np.hstack([-scores, scores])
        own = self.scored_of(self.held)
        own = np.ones(len(scores)) if own is None else own
        losses: Array = log_losses(scores, self.labels[self.held], own)
        return np.asarray(losses * (own / own.sum()))

    def weights_of(self, places: np.ndarray) -> Array | None:
        return None if self.weights is None else self.weights[places]

    def scored_of(self, places: np.ndarray) -> Array | None:
        """The weights of these rows in errors."""
        return self.weights_of(places) if self.scored is None else self.scored[places]


class DenseFit(NamedTuple):
    """Held-out error of a ridge fit on dense features, with half of them, and its losses; its ridge
    λ = α·n; the features, their weights about their mean, and the level of the targets;
    the ridge of more features, if that was asked for."""

    error: float
    half: float
    losses: Array | None
    ridge: float
    frozen: Frozen
    weights: Array
    mean: Array
    level: Array
    ridge_of_more: float = math.nan

    def scores(self, rows: Matrix) -> Array:
        """f of rows (n, d), in blocks."""
        frozen = self.frozen
        out = np.empty((rows.shape[0], len(self.level)))

        def score(part: slice) -> None:
            features = frozen.features(rows[part]) - self.mean.astype(frozen.dtype)
            out[part] = features @ self.weights.astype(frozen.dtype) + self.level

        for _ in in_order(score, block_slices(rows.shape[0], _BLOCK)):
            pass
        return out


def dense_fit(
    data: TrialRows,
    frozen: Frozen,
    near: float | None = None,
    by_classes: bool = False,
    fixed: float | None = None,
    more: int | None = None,
) -> DenseFit:
    """A ridge fit on dense features of the fitted rows.

    Four ridges, or `near` where that is given, and from the best of them on while the error falls;
    `by_classes`: of those that are about as good, the one that `preferred` takes; `fixed`: the one
    ridge that is to be used; `more`: a number of features that the ridge is wanted for too.
    """
    path = _DensePath(data, frozen)
    if fixed is None:
        tried = path.search(constants.DENSE_RIDGES if near is None else (near,))
    else:
        tried = {fixed: path.tried(fixed)}
    best = path.by_classes(tried) if by_classes else best_ridge(tried)
    half, whole = path.solve(best, 0.5), path.scores(tried[best][1])
    return DenseFit(
        data.error(whole),
        data.error(path.scores(half)),
        data.losses(whole),
        best,
        frozen,
        tried[best][1],
        path.equations.mean,
        path.equations.target,
        math.nan if more is None else path.ridge_of(more, best),
    )


class _DensePath:
    """Ridge fits on the fitted rows for any ridge λ = α·n, from one Gram."""

    def __init__(self, data: TrialRows, frozen: Frozen) -> None:
        self.data = data
        shift = frozen.features(data.rows[data.fitted[:512]]).mean(axis=0, dtype=np.float64)
        moments = Moments.zeros(shift, data.targets.shape[1])

        rows = len(data.fitted)
        parts = block_slices(rows, row_tiles(rows, row_tiles(rows, _BLOCK)))

        def walk(work: BlockFunction) -> Iterator[Block]:
            def of_block(part: slice) -> Block:
                return part, work(part, frozen.features(data.rows[data.fitted[part]]))

            return in_order(of_block, parts)

        moments.add_blocks(walk, data.targets[data.fitted], data.weights_of(data.fitted))
        self.equations = moments.normal_equations(fit_intercept=True)
        mean = self.equations.mean.astype(frozen.dtype)
        self.held = frozen.features(data.rows[data.held]) - mean

    def scores(self, weights: Array) -> Array:
        """Of the held-out rows, from the weights of the first features."""
        held = self.held[:, : len(weights)]
        return np.asarray(held @ weights.astype(held.dtype) + self.equations.target)

    def solve(self, ridge: float, share: float = 1.0) -> Array:
        """Weights of the first share of the features, which are as much larger."""
        gram, cross = self.equations.gram, self.equations.cross
        size = max(1, int(share * len(gram)))
        # Larger by c = K/size: c·(c·G + αI)⁻¹ = (G + α/c·I)⁻¹.
        alpha = ridge / len(self.data.fitted) * size / len(gram)
        return np.asarray(ridge_solve(gram[:size, :size], alpha, cross[:size]))

    def ridge_of(self, count: int, ridge: float) -> float:
        """The ridge with which `count` features are regularised as these are.

        K random features with ridge λ predict, on average over their draw, as the exact kernel does
        with a larger ridge κ, and λ = κ·(1 − d/K), where d = Σ s/(s + α) is the effective dimension
        of the fit. So the same κ needs a larger λ for more features. Where d is nearly K, neither
        is well determined, and the ridge grows by RIDGE_STEP at most.
        """
        gram, most = self.equations.gram, constants.RIDGE_STEP
        if count <= len(gram):
            return ridge
        dimension = effective_dimension(gram, ridge / len(self.data.fitted))
        now, then = 1.0 - dimension / len(gram), 1.0 - dimension / count
        return ridge * min(then / now, most) if now > 0.0 else ridge * most

    def search(self, first: Sequence[float]) -> dict[float, tuple[float, Array]]:
        """Error and weights of the first ridges, and of others from the best on while it falls."""
        numbers = self.data.labels is None
        weakest = constants.WEAKEST if numbers else constants.WEAKEST_OF_CLASSES
        strongest = constants.STRONGEST * len(self.data.fitted)
        return search_ridges(self.tried, first, weakest, strongest)

    def tried(self, ridge: float) -> tuple[float, Array]:
        """Error and weights of a ridge."""
        weights = self.solve(ridge)
        return self.data.error(self.scores(weights)), weights

    def by_classes(self, tried: dict[float, tuple[float, Array]]) -> float:
        """The ridge that `preferred` takes, among the tried ones and up to two weaker and two
        stronger neighbours of the best that are nearly as good."""
        best = best_ridge(tried)
        least, strongest = tried[best][0], constants.STRONGEST * len(self.data.fitted)
        for ratio in (constants.RIDGE_STEP, 1.0 / constants.RIDGE_STEP):
            ridge = best
            for _ in range(2):
                if ridge not in tried or tried[ridge][0] >= constants.EVEN * least:
                    break
                ridge *= ratio
                if ridge not in tried and constants.WEAKEST_OF_CLASSES <= ridge <= strongest:
                    tried[ridge] = self.tried(ridge)
        ridges = sorted(tried, reverse=True)
        errors = [tried[ridge][0] for ridge in ridges]
        losses = [self.data.losses(self.scores(tried[ridge][1])) for ridge in ridges]
        return ridges[preferred(errors, losses)]


class GridFits:
    """Fits on the bins of `count` grids; the rows are hashed once for all of them.

    Every fit starts from zero, because stopping early regularises: a fit that starts from the
    weights of another ridge would stop after its first step.
    """

    def __init__(self, data: TrialRows, scaler: Warp, basis: Basis, count: int, seed: int) -> None:
        self.data = data
        places = np.concatenate([data.fitted, data.held])
        rows = np.asarray(scaler.apply(data.rows[places], np.float32))
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
        """The fits on the first grids only; nothing is hashed again."""
        part = copy.copy(self)
        part.held = self.held[:count]
        part.bins = self.bins.first(count, 1.0 / math.sqrt(count))
        return part

    def scores(self, ridges: Sequence[float], targets: Array | None = None) -> list[Array]:
        """Scores of the held-out rows for each ridge λ = α·n, of these targets or of the rows' own.

        One fit serves all ridges, each with a copy of the targets: looking up a bin costs more than
        adding to it.
        """
        data, size = self.data, len(self.data.fitted)
        targets = data.targets if targets is None else targets
        shares, n_outputs = shares_of(data.weights_of(data.fitted), size), targets.shape[1]
        solution = binned_ridge(
            self.bins,
            np.tile(targets[data.fitted], len(ridges)),
            shares,
            np.repeat(ridges, n_outputs) / size if len(ridges) > 1 else ridges[0] / size,
            least_gain=LEAST_GAIN,
            max_iter=constants.ROUGH_STEPS,
        )
        scores = np.empty((len(data.held), n_outputs * len(ridges)))
        sum_of_bins(self.held, solution.weights, self.bins.scale, scores)
        # Targets that differ from the rows' own are residuals of an earlier stage.
        before = (data.targets - targets)[data.held]
        parts = np.split(scores + solution.intercept, len(ridges), axis=1)
        return [part + before for part in parts]

    def best(
        self, near: float, targets: Array | None = None, fixed: float | None = None
    ) -> tuple[float, float, Array | None]:
        """The least held-out error over ridges about `near`, its ridge and its losses.

        Three neighbours, and once more three where the best of them is at an edge; `fixed`: the one
        ridge that is to be used.
        """
        if fixed is not None:
            (scores,) = self.scores([fixed], targets)
            return self.data.error(scores), fixed, self.data.losses(scores)
        step, tried = constants.RIDGE_STEP, {}
        for _ in range(2):
            ridges = [near / step, near, step * near]
            missing = [ridge for ridge in ridges if ridge not in tried]
            for ridge, scores in zip(missing, self.scores(missing, targets), strict=True):
                tried[ridge] = self.data.error(scores), self.data.losses(scores)
            best = best_ridge(tried)
            if best == near:
                break
            near = best
        errors = {round(math.log(r / best, step)): tried[r][0] for r in tried}
        return tried[best][0], best * step ** lowest(errors), tried[best][1]

    def of_fitted(self, which: NDArray[np.intp]) -> "GridFits":
        """The same, with some of the fitted rows in place of those held out."""
        part = copy.copy(self)
        part.data = replace(self.data, held=self.data.fitted[which])
        part.held = np.ascontiguousarray(self.bins.columns[:, which])
        return part

    def error(self, ridge: float) -> float:
        """Held-out error with one ridge."""
        return self.data.error(self.scores([ridge])[0])

    def squares(self, ridge: float) -> Array:
        """The share of each held-out row in that error."""
        return self.data.squares(self.scores([ridge])[0])
