"""Held-out rows: to choose a ridge strength, or to calibrate probabilities."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import numpy as np

from kitchensinks.fitting.settings import Settings, silent
from kitchensinks.fitting.space import (
    CALIBRATION_ROWS,
    HELD_OUT,
    HeldOutScores,
    TrainingSet,
    array_space,
)
from kitchensinks.numerics.choices import first_least, lower
from kitchensinks.problem.design import Design
from kitchensinks.problem.losses import Array, Kinked, Loss
from kitchensinks.problem.problem import Solution, certified_gap
from kitchensinks.solvers.intercept import kink_shift
from kitchensinks.tables.keys import hold_out, lowest_keys

# Ratio of neighbouring ridge strengths where the search begins near a known one.
_STEP = 5.0
# The best ridge of pinball losses at outer quantiles is about this many times that of squared loss,
# in units of the targets' standard deviation (measured).
_LINEAR = 10.0
# Most strengths that are tried.
_MOST = 8


@dataclass
class Split:
    """Which rows are used (places), which of those are held out (a mask), and their weights.

    `fitted` are the weights with those of the held-out rows set to zero; `shares` those of the
    held-out rows, which sum to one.
    """

    places: np.ndarray
    held: np.ndarray
    fitted: Array
    shares: Array

    @classmethod
    def of(
        cls,
        settings: Settings,
        weights: Array | None,
        most: int | None = None,
        share: float = HELD_OUT,
        fold: int = 0,
    ) -> "Split | None":
        """Hold out a share of the distinct rows (of at most `most`), by content; None if too few.

        fold: which of several disjoint shares.
        """
        keys = settings.row_keys()
        places = np.arange(len(keys))
        if most is not None and len(keys) > most:
            places = np.flatnonzero(lowest_keys(keys, weights, most))
        own = np.ones(len(places)) if weights is None else weights[places]
        held = hold_out(keys[places], own, share, fold)
        fitted = np.where(held, 0.0, own)
        if not (own[held].any() and fitted.any()):
            return None
        return cls(places, held, fitted, own[held] / own[held].sum())


def held_out_scores(
    training: TrainingSet, solve: Callable[[TrainingSet], Solution]
) -> HeldOutScores | None:
    """(places, scores) of rows held out of a fit on a bounded number of the other rows."""
    space, settings = training.space, training.settings
    split = Split.of(settings, training.weights, most=round(CALIBRATION_ROWS / HELD_OUT))
    if split is None:
        return None
    features = space.pick(split.places)
    small = array_space(features, space.shift, len(features), space.span)
    quiet = replace(settings, progress=silent, checkpoint=None)
    found = solve(TrainingSet(small, training.targets[split.places], split.fitted, quiet))
    scores = features[split.held] @ found.weights + found.intercept
    return split.places[split.held], np.asarray(scores, dtype=np.float64)


def least_held_out(
    alphas: Collection[float],
    scores_of: Callable[[float], Array],
    targets: Array,
    split: Split,
    settings: Settings,
) -> tuple[float, Array, Array, HeldOutScores]:
    """Try ridge strengths from strong to weak until the held-out loss has risen twice.

    Returns the best, those tried with their losses, and (places, scores) of the held-out rows.
    """
    own = targets[split.places][split.held]
    kept: dict[float, Array] = {}

    def error_of(alpha: float) -> float:
        kept[alpha] = scores_of(alpha)
        return float(np.sum(split.shares @ settings.loss.value(own, kept[alpha])))

    near = ridge_near(settings, targets, split)
    chosen, tried, errors = least_error(alphas, error_of, settings, near)
    return chosen, tried, errors, (split.places[split.held], kept[chosen])


def least_error(
    alphas: Collection[float],
    error_of: Callable[[float], float],
    settings: Settings,
    near: float | None = None,
) -> tuple[float, Array, Array]:
    """The ridge strength of the least error, those tried from strong to weak, and their errors.

    From strong to weak until the error has risen twice; or from `near` on by steps to where the
    error falls, until it rises, but not below the weakest of the strengths given. Of errors that
    are equal up to rounding, that of the largest strength is the least.
    """
    weakest = min(alphas)
    found: dict[float, float] = {}

    def look(alpha: float) -> float:
        found[alpha] = error_of(alpha)
        settings.progress(f"alpha {alpha:.2g}: held-out loss {found[alpha]:.5g}")
        return found[alpha]

    if near is None:
        for alpha in alphas:
            look(alpha)
            errors = list(found.values())
            if len(errors) - 1 - first_least(errors) >= 2:
                break
    else:
        near = max(near, weakest)
        first = look(near)
        # Weaker ones first, and stronger ones where those are no better.
        for step in (1.0 / _STEP, _STEP):
            alpha, last = near, first
            while alpha * step >= weakest and len(found) < _MOST:
                alpha *= step
                error = look(alpha)
                if not lower(error, last):
                    break
                last = error
            if lower(last, first):
                break
    tried = np.array(sorted(found, reverse=True))
    errors = [found[alpha] for alpha in tried]
    return float(tried[first_least(errors)]), tried, np.array(errors)[:, None]


def ridge_near(settings: Settings, targets: Array, split: Split) -> float | None:
    """Where the search for a ridge begins: near that of a learned law, or None."""
    if settings.near is None or not settings.loss.shares_below:
        return settings.near
    own, shares = targets[split.places][split.held], split.shares
    spread = float(np.sqrt(np.mean(shares @ (own - shares @ own) ** 2)))
    return _LINEAR * settings.near / spread if spread > 0.0 else settings.near


def with_level(
    found: Solution,
    held_out: HeldOutScores | None,
    design: Design,
    targets: Array,
    shares: Array,
    loss: Loss,
) -> Solution:
    """The solution with its intercept calibrated on held-out rows, for pinball losses.

    A flexible quantile fit has the right share of the fitted targets below its scores, but not of
    others (Romano, Patterson and Candès 2019). If the share of held-out targets is off by more than
    its standard error, the scores are shifted by the quantile of the held-out residuals. Objective
    and gap grow by what the shift adds to the loss.
    """
    if held_out is None or not (isinstance(loss, Kinked) and loss.shares_below):
        return found
    places, scores = held_out
    own, weights = targets[places], shares[places] / shares[places].sum()
    below = weights @ (own < scores)
    # The slope is the share below, less the share wanted.
    wanted = -loss.slope(own, own - 1.0)[0]
    error = np.sqrt(wanted * (1.0 - wanted) * float(weights @ weights))
    shift = np.where(np.abs(below - wanted) > error, kink_shift(loss, own, scores, weights), 0.0)
    if not shift.any():
        return found
    fitted = design.scores(found.weights) + found.intercept
    change = loss.value(targets, fitted + shift) - loss.value(targets, fitted)
    more = float(np.sum(shares @ change))
    return found._replace(
        intercept=found.intercept + shift,
        objective=found.objective + more,
        gap=certified_gap(found.gap + more),
    )


def too_few(settings: Settings, n_rows: int) -> ValueError:
    return ValueError(
        f"alpha='auto' with loss={settings.loss.name!r} holds out a fifth of the rows, and there "
        f"are too few different ones among these {n_rows}. Give alpha a number."
    )
