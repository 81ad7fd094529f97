"""Fits by stochastic gradients: whole data sets in epochs, or streams batch by batch."""

import math
from collections import deque
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kitchensinks.features.blocks import FeatureBlocks
from kitchensinks.features.frozen import Frozen
from kitchensinks.fitting.settings import Settings
from kitchensinks.fitting.space import CALIBRATION_ROWS, Fit
from kitchensinks.numerics.arrays import Matrix
from kitchensinks.numerics.words import Stream, Words
from kitchensinks.problem.losses import Array
from kitchensinks.problem.problem import Solution
from kitchensinks.problem.targets import Batch
from kitchensinks.solvers.stochastic import Objective, StochasticState, stochastic_step
from kitchensinks.tables.arrays import block_slices
from kitchensinks.tables.keys import row_keys
from kitchensinks.tables.view import Rows

# Rows of one step where none are given.
BATCH = 512
# Passes of a whole fit over the rows.
EPOCHS = 10
# Few rows are passed over more often, until a fit has taken this many steps.
FEWEST_STEPS = 200
# With fewer steps in its first epoch, the scores of that epoch say little of the whole fit. A fit
# without a fifth of the rows then gives the scores for probabilities and intervals.
UNSEEN_STEPS = 50
# Scores of this size, in units of the encoded targets, are those of steps that are too long.
_DIVERGED = 1e9
# The ridge where none is given: a stochastic fit cannot choose one.
DEFAULT_ALPHA = 1e-6
# Rows of a file that are held, and shuffled, at a time.
_STRETCH = 2**16
# Features of a batch are kept between the two walks of a step up to this many bytes.
_KEPT = 2**27


def _shuffled(
    rows: Matrix, places: np.ndarray, size: int, random: np.random.Generator
) -> Iterator[tuple[np.ndarray, Matrix]]:
    """Even batches of at most `size` of the rows at `places` in a random order: (places, rows).

    Rows of a file are shuffled within stretches, which come in a random order themselves:
    every row on its own would be found by reading all of them.
    """
    if not isinstance(rows, Rows):
        order = random.permutation(places)
        for part in _even(len(order), size):
            chosen = np.sort(order[part])
            yield chosen, rows[chosen]
        return
    stretches = list(block_slices(len(places), _STRETCH))
    for number in random.permutation(len(stretches)):
        own = places[stretches[number]]
        held = rows[own[0] : own[-1] + 1]
        order = random.permutation(len(own))
        for part in _even(len(order), size):
            chosen = np.sort(own[order[part]])
            yield chosen, held[chosen - own[0]]


def _even(count: int, size: int) -> Iterator[slice]:
    """Slices of at most `size` that differ by one at most: a step counts all of its rows alike, and
    a last one of a single row would count that row `size` times.

    >>> [part.stop for part in _even(7, 3)]
    [2, 4, 7]
    """
    n_parts = -(-count // size)
    for part in range(n_parts):
        yield slice(count * part // n_parts, count * (part + 1) // n_parts)


def fit_stochastic(blocks: FeatureBlocks, batch: Batch, settings: Settings) -> Fit:
    """A whole data set in epochs, each in a random order of its own. Nothing is certified."""
    frozen = blocks.frozen
    stochastic = Stochastic.start(frozen, batch.targets.shape[1], settings)
    stochastic.fit(batch, settings)
    if settings.loss.link is None and len(batch.targets) < UNSEEN_STEPS * _size_of(settings):
        unseen = _held_out_scores(frozen, batch, settings)
        if unseen is not None:
            stochastic.recent = deque([unseen], maxlen=stochastic.recent.maxlen)
    return stochastic.as_fit(settings)


def _held_out_scores(
    frozen: Frozen, batch: Batch, settings: Settings
) -> tuple[Array, Array, Array] | None:
    """Scores, targets and weights of a fifth of the rows, by a fit to the others.

    Copies of a row are held out together. None where there are no rows on one of the sides.
    """
    counted = batch.own_weights
    chosen = row_keys(batch.rows, settings.seed) % np.uint64(5) == 0
    held, others = (np.flatnonzero(own & (counted > 0)) for own in (chosen, ~chosen))
    if not len(held) or not len(others):
        return None
    trial, unseen = Stochastic.start(frozen, batch.targets.shape[1], settings), batch.part(held)
    trial.fit(batch.part(others), settings)
    scores = np.tile(trial.state.mean_intercept, (len(held), 1))
    for columns, features in frozen.walk(unseen.rows):
        scores += features @ trial.state.mean_weights[columns].astype(features.dtype)
    return scores, unseen.targets, counted[held]


@dataclass
class Stochastic:
    """The weights so far, and the scores of rows before they were fitted (for calibration)."""

    frozen: Frozen
    state: StochasticState
    # Rows so far and their weight: a batch counts by its mean weight beside theirs.
    count: int = 0
    weight: float = 0.0
    recent: deque[tuple[Array, Array, Array]] = field(default_factory=deque)

    @classmethod
    def start(cls, frozen: Frozen, n_outputs: int, settings: Settings) -> "Stochastic":
        zeros = np.zeros((frozen.n_columns, n_outputs)), np.zeros(n_outputs)
        return cls(frozen, StochasticState.at(*zeros), recent=_recent(settings))

    @classmethod
    def after(
        cls, frozen: Frozen, weights: Array, intercept: Array, n_rows: int, settings: Settings
    ) -> "Stochastic":
        """From a finished fit, which counts as the steps of a stochastic one."""
        steps = max(FEWEST_STEPS, EPOCHS * -(-n_rows // _size_of(settings)))
        state = StochasticState.at(weights, intercept, steps)
        return cls(frozen, state, recent=_recent(settings))

    def fit(self, batch: Batch, settings: Settings) -> None:
        """Several epochs over all rows, each in a random order of its own."""
        random = Words(settings.seed, 0, Stream.STOCHASTIC_ORDER).generator()
        (rows, targets, weights), places = batch, batch.counted_places
        size = _size_of(settings)
        n_batches = -(-len(places) // size)
        usual = min(settings.max_iter, max(EPOCHS, FEWEST_STEPS // n_batches))
        epochs = usual if settings.epochs is None else settings.epochs
        for epoch in range(epochs):
            for chosen, block in _shuffled(rows, places, size, random):
                own = None if weights is None else weights[chosen]
                self._step(Batch(block, targets[chosen], own), settings, unseen=epoch == 0)
            settings.progress("epochs over the rows", epoch + 1, epochs)

    def add(self, batch: Batch, settings: Settings) -> None:
        for part in block_slices(len(batch.targets), _size_of(settings)):
            some = batch.part(part)
            if some.weights is None or some.weights.any():
                self._step(some, settings)

    def _step(self, batch: Batch, settings: Settings, unseen: bool = True) -> None:
        """One step; the scores before it are kept where the rows were not fitted before."""
        targets, own = batch.targets, batch.own_weights
        total = float(own.sum())
        self.count, self.weight = self.count + len(own), self.weight + total
        emphasis = (total / len(own)) / (self.weight / self.count)
        ridge, ball = _alpha_of(settings), settings.constraint
        objective = Objective(settings.loss, ridge, settings.fit_intercept, ball, settings.step)
        parts = self._walker(batch.rows)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = stochastic_step(self.state, parts, objective, targets, own / total, emphasis)
        bounded = np.isfinite(self.state.weights).all() and np.abs(scores).max() < _DIVERGED
        if settings.step is not None and not bounded:
            raise ValueError(
                f"Stochastic gradients diverge: steps of {settings.step:g} are too large. Give a "
                "smaller one, solver=ks.Solver('stochastic', step=...), or step=None for proximal "
                "steps."
            )
        if unseen:
            self.recent.append((scores, targets, own))

    def copy(self) -> "Stochastic":
        """A copy to go on from, which leaves this one as it is."""
        return replace(self, state=deepcopy(self.state), recent=self.recent.copy())

    def as_fit(self, settings: Settings) -> Fit:
        """The averaged weights so far, with an infinite gap: nothing bounds their distance."""
        state = self.state
        solution = Solution(
            weights=state.mean_weights,
            intercept=state.mean_intercept,
            objective=math.inf,
            gap=math.inf,
            iterations=state.steps,
            passes=state.steps,
            converged=False,
            solver="stochastic gradients",
        )
        return Fit(_alpha_of(settings), solution, stochastic=self)

    def _walker(self, rows: Matrix) -> Any:
        """A function that walks the features of a batch: kept if small, else made anew."""
        entries = rows.shape[0] * self.frozen.n_columns * self.frozen.dtype.itemsize
        if entries > _KEPT:
            return lambda: self.frozen.walk(rows)
        kept = list(self.frozen.walk(rows))
        return lambda: iter(kept)

    def seen_before(self) -> tuple[Array, Array, Array]:
        """Scores, targets and weights of the last rows, from the weights before them."""
        scores, targets, weights = zip(*self.recent, strict=True)
        return np.concatenate(scores), np.concatenate(targets), np.concatenate(weights)


def _recent(settings: Settings) -> deque[tuple[Array, Array, Array]]:
    """Room for the batches that a calibration takes its rows from."""
    return deque(maxlen=-(-CALIBRATION_ROWS // _size_of(settings)))


def _size_of(settings: Settings) -> int:
    return settings.batch_size or BATCH


def _alpha_of(settings: Settings) -> float:
    return DEFAULT_ALPHA if settings.alpha == "auto" else float(settings.alpha)
