"""The rows that a law is learned from: a pool in memory, part of which is held out."""

import copy
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from kitchensinks.features.frozen import spread_of
from kitchensinks.features.scaling import indicators
from kitchensinks.features.trend import Trend
from kitchensinks.law import constants
from kitchensinks.law.learned import Learned
from kitchensinks.law.splits import Places, split_rows
from kitchensinks.law.trials import TrialRows
from kitchensinks.law.values import Request, Trial
from kitchensinks.numerics.arrays import AnyArray
from kitchensinks.numerics.threads import in_order
from kitchensinks.numerics.words import Stream, Words
from kitchensinks.problem.losses import Array
from kitchensinks.problem.targets import Batch
from kitchensinks.tables.arrays import densify

Item = TypeVar("Item")
Result = TypeVar("Result")

# Step index reserved for sampling: beyond those of 1000 members, the most that are taken.
_SAMPLING_STEP = 2**20
# Steps that each member of a committee may take.
_STEPS_A_MEMBER = 2**10
# Halvings of the interval that holds a power of the weights.
_HALVINGS = 20


def in_effect(weights: Array) -> float:
    """The effective number of rows, (Σw)²/Σw²: so many rows of equal weight tell as much."""
    shares = weights / weights.max()
    return float(shares.sum() ** 2 / (shares**2).sum())


class LearningRows:
    """Rows, targets and weights to learn a law from, with a pool of them in memory.

    hold : the rows to hold out, as indices among the rows of positive weight; None: they are chosen
        here.
    source, targets, weights : all rows. The targets of numbers count in units of each output's own
        deviation (sizes); those of classes are positive in the column of the row's class (one
        column for two classes: positive for the second).
    basis, effort : the basis of the user, whose law is learned, or None; what may be spent.
    asked : the number of draws, or None where the law decides it.
    n_inputs, counted : the columns, and how many rows have a positive weight.
    places, held, split : where the rows of the pool come from, which of them are held out, and what
        that means in words.
    pool, own, spread : the rows of the pool, their weights, and the spread of the columns.
    sample, hot : rows that quantiles are taken of, and which columns are 0 or 1.
    wide : whether there are many columns that are not.
    level, sizes, unit : of the targets: mean, deviations, and variance summed over the outputs.
    descended : the targets that scales are learned for.
    data, few : the pool for the trials, and fewer rows of it.
    trend : subtracted from the targets of the trials, or None.
    copied : which of all rows have copies, where many do, or None.
    """

    def __init__(
        self, batch: Batch, request: Request, learned: Learned, hold: Places | None = None
    ) -> None:
        self.given, self.request, self.learned = batch, request, learned
        self.trials: list[Trial] = []
        self.trend: Trend | None = None
        self.copied: NDArray[np.bool_] | None = None
        self.source, self.targets, self.weights = batch
        self.seed, self.classes, self.effort = request.seed, request.classes, learned.work
        self.basis = learned.basis
        count = request.n_components
        self.asked = None if count is None or count == "auto" else int(count)
        self.n_inputs, counted = self.source.shape[1], batch.counted_places
        self.counted = len(counted)
        widest = max(constants.FEW_SAMPLED, constants.POOL_ENTRIES // self.n_inputs)
        size = min(len(counted), constants.POOL, widest)
        labels = self.labels
        if hold is None:
            found = split_rows(counted, size, self.seed, learned, request.order, labels)
            self.places, held, self.split = found
        else:
            rest = np.delete(np.arange(len(counted)), hold)
            self.places = counted[np.concatenate([hold, rest])[:size]]
            held, self.split = len(hold), ""
        size, self.held = len(self.places), self.places[:held]
        own = None if self.weights is None else self.weights[self.places]
        self.own = None if own is None or not np.ptp(own) else own / own.max()
        self.spread = spread_of(self.source, self.weights)
        self.pool = densify(self.source[self.places]).astype(np.float64, copy=False)
        self.level = np.average(self.targets[self.places], axis=0, weights=self.own)
        centred = self.targets[self.places] - self.level
        self.sizes = np.ones(centred.shape[1])
        if not self.classes:
            spread = np.sqrt(np.average(centred**2, axis=0, weights=self.own))
            self.sizes = np.where(spread > 0.0, spread, 1.0)
            centred /= self.sizes
        self.unit = float(np.average(np.sum(centred**2, axis=1), weights=self.own))
        # The targets of the pool may be constant.
        with np.errstate(invalid="ignore"):
            self.descended = (centred[held:] / math.sqrt(self.unit)).astype(np.float32)
        self.sample = self.pool[self._sample(held)]
        if hold is not None:
            # This pool is in the order of the table, in which neighbours are often alike.
            self.sample = self._random(_SAMPLING_STEP).permutation(self.sample)
        self.hot = indicators(self.spread, self.sample)
        self.wide = bool(np.count_nonzero(~self.hot) > constants.WIDE)
        self.data = TrialRows(
            self.pool,
            centred,
            self.own,
            np.arange(held, size),
            np.arange(held),
            self.unit,
            self.level,
            labels[self.places] if self.classes else None,
        )
        self.few = replace(self.data, fitted=self.data.fitted[: self.effort.few])

    def temper(self, numbers: Array | None) -> None:
        """Let copies count less in errors, so that a few of the rows held out do not decide.

        A row that was there c times (`numbers`, of all rows) counts c^p times, with the largest
        p ≤ 1 for which those held out count as half of their number or as
        `constants.LEAST_IN_EFFECT`. Fits have all copies, and weights that were given stay.
        """
        own, held = self.own, self.data.held
        if numbers is None or own is None:
            return
        count, least = numbers[self.places], min(len(held) // 2, constants.LEAST_IN_EFFECT)

        def scored(power: float) -> Array:
            return np.asarray(own * count ** (power - 1.0))

        low, high = 0.0, 1.0
        if in_effect(scored(high)[held]) >= least:
            return
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            enough = in_effect(scored(middle)[held]) >= least
            low, high = (middle, high) if enough else (low, middle)
        found = scored(low)
        self.data, self.few = replace(self.data, scored=found), replace(self.few, scored=found)

    def without(self, trend: Trend | None) -> "LearningRows":
        """The same rows with a trend subtracted from the targets, and the same record."""
        if trend is None:
            return self
        own = copy.copy(self)
        own.trend = trend
        known = trend.in_units(self.request.unit).values(self.pool)
        targets = self.data.targets - known / self.sizes
        own.data, own.few = replace(self.data, targets=targets), replace(self.few, targets=targets)
        return own

    @property
    def later(self) -> bool:
        """Whether the rows held out are the latest."""
        order = self.request.order
        return order.times is not None and order.groups is None and self.learned.split is None

    @property
    def varies(self) -> bool:
        """Whether targets differ both among the fitted and among the held-out rows."""
        parts = (self.data.fitted, self.data.held)
        return all(np.ptp(self.data.targets[part], axis=0).any() for part in parts)

    @property
    def kernels(self) -> tuple[str, ...]:
        """The kernels whose scales are learned."""
        if self.basis is not None:
            return (self.basis.metric,)
        return ("gaussian",) if self.learned.law == "agop" else ("laplacian", "gaussian")

    @property
    def linear(self) -> bool:
        """Whether a linear model is a candidate: it needs a draw for each column."""
        return self.asked is None or self.asked >= self.n_inputs

    def mean_error(self) -> float:
        """The held-out error of the mean target, which is the first trial of the record."""
        data = self.data
        level = np.average(data.targets[data.fitted], axis=0, weights=data.scored_of(data.fitted))
        mean = data.error(level[None, :])
        self.note("mean", "the targets' mean alone", len(data.fitted), mean)
        return mean

    @property
    def labels(self) -> AnyArray:
        """The class of each row, or its first target where that is a number."""
        if not self.classes:
            return self.targets[:, 0]
        if self.targets.shape[1] == 1:
            return (self.targets[:, 0] > 0).astype(np.int64)
        return np.asarray(self.targets.argmax(axis=1))

    def _sample(self, held: int) -> NDArray[np.intp]:
        """Places in the pool of rows to learn from, as often as their weights say."""
        places = np.arange(held, len(self.places))
        if self.own is None:
            return places[: constants.SAMPLED]
        shares = self.own[held:] / self.own[held:].sum()
        count = min(len(places), constants.SAMPLED)
        return places[self._random(_SAMPLING_STEP).choice(len(places), count, p=shares)]

    def _random(self, step: int) -> np.random.Generator:
        return Words(self.seed, step, Stream.LAW_BATCHES).generator()

    def batch_size(self, kernel: str) -> int:
        """Rows of a batch; half as many are enough for a smooth kernel.

        The effect of a column that changes from value to value (a day, a person) is visible only if
        a batch has several rows of the same value, so small tables have large batches too.
        """
        smooth = self.wide or kernel == "gaussian"
        most = self.effort.batch // 2 if smooth else self.effort.batch
        least = min(constants.SMALLEST_BATCH, most)
        share = constants.BATCH_SHARE * self.counted
        return min(int(np.clip(share, least, most)), self.largest_batch)

    @property
    def largest_batch(self) -> int:
        """Half of the rows to learn from, so that batches differ."""
        return max(2, len(self.descended) // 2)

    def note(self, stage: str, what: str, rows: int, error: float) -> None:
        """Put a trial into the record."""
        self.trials.append(Trial(stage, what, rows, error))
        text = f"{stage}: {what}, squared error {error:.1%} of the variance"
        self.request.progress(text, constants.DONE.get(stage), 100)

    def fixed_ridge(self, rows: int) -> float | None:
        """λ = α·n of a fit to so many rows where α is given, or None; bins need it positive."""
        alpha = self.request.alpha
        return None if alpha is None else max(alpha * rows, constants.WEAKEST_OF_CLASSES)

    def late(self, share: float) -> bool:
        """Whether more than this share of the time limit is used up."""
        return self.used > share

    def reaches(self, seconds: float) -> bool:
        """Whether work of so many seconds leaves time for the last fit."""
        limit = self.learned.time_limit
        return limit is None or self.used + seconds / limit < constants.LATE_LAST

    @property
    def used(self) -> float:
        """The share of the time limit that is used up; 0 without one."""
        limit = self.learned.time_limit
        return 0.0 if limit is None else (time.monotonic() - self.request.started) / limit

    def early(
        self,
        share: float,
        work: Callable[["LearningRows", Item], Result],
        items: Iterable[Item],
        last: Callable[[Item], bool] = lambda item: False,
    ) -> list[Result | None]:
        """work(task, item) for each item, in parallel; results and trials are as the items are.

        None for items that would begin after this share of the time limit; the first to begin
        always runs. Each item gets a copy of the task with an empty record. last: which items begin
        after all others.
        """
        jobs = [(copy.copy(self), item) for item in items]
        for own, _ in jobs:
            own.trials = []
        order = sorted(range(len(jobs)), key=lambda place: last(jobs[place][1]))

        def one(place: int) -> Result | None:
            return None if place != order[0] and self.late(share) else work(*jobs[place])

        results = dict(zip(order, in_order(one, order, ahead=len(jobs) + 1), strict=True))
        for own, _ in jobs:
            self.trials.extend(own.trials)
        return [results[place] for place in range(len(jobs))]

    def together(
        self, work: Callable[["LearningRows", Item], Result], items: Iterable[Item]
    ) -> list[Result]:
        """`early` without a limit of time."""
        return [found for found in self.early(math.inf, work, items) if found is not None]

    def batches(self, rows: NDArray[np.float32], member: int) -> Callable[[int, int], Any]:
        """Batches of the mapped pool without its held-out rows: (step, size) -> rows, targets."""
        chance = None
        if self.own is not None:
            chance = self.own[len(self.held) :][: len(rows)]
            chance = chance / chance.sum()

        def batch(step: int, size: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
            # No row is drawn twice: its copy would predict it where it is held out.
            size = min(size, len(rows) if chance is None else int(np.count_nonzero(chance)))
            chosen = self._random(_STEPS_A_MEMBER * member + step).choice(
                len(rows), size, replace=False, p=chance
            )
            targets = self.descended[chosen]
            return rows[chosen], targets - targets.mean(axis=0)

        return batch
