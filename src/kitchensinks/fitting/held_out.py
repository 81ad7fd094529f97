"""A share of the rows put aside: to choose a ridge strength, or to calibrate probabilities."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from kitchensinks.fitting.settings import Settings, silent
from kitchensinks.fitting.space import CALIBRATION_ROWS, HELD_OUT, HeldOut, Task, array_space
from kitchensinks.problem.losses import Array
from kitchensinks.problem.problem import Solution
from kitchensinks.tables.keys import hold_out, lowest_keys


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
        """A share of the different rows (of at most `most`), by content; None if too few.

        fold: which of several shares without a row in common.
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


def held_out_scores(task: Task, solve: Callable[[Task], Solution]) -> HeldOut | None:
    """(places, scores) of rows held out of a fit on a bounded number of the other rows."""
    space, settings = task.space, task.settings
    split = Split.of(settings, task.weights, most=round(CALIBRATION_ROWS / HELD_OUT))
    if split is None:
        return None
    features = space.pick(split.places)
    small = array_space(features, space.shift, len(features), space.span)
    quiet = replace(settings, progress=silent, checkpoint=None)
    found = solve(Task(small, task.targets[split.places], split.fitted, quiet))
    scores = features[split.held] @ found.weights + found.intercept
    return split.places[split.held], np.asarray(scores, dtype=np.float64)


def least_held_out(
    alphas: Iterable[float],
    scores_of: Callable[[float], Array],
    targets: Array,
    split: Split,
    settings: Settings,
) -> tuple[float, Array, Array, HeldOut]:
    """Try ridge strengths from strong to weak until the held-out loss has risen twice.

    Returns the best, those tried with their losses, and (places, scores) of the held-out rows.
    """
    own = targets[split.places][split.held]
    kept: dict[float, Array] = {}

    def error_of(alpha: float) -> float:
        kept[alpha] = scores_of(alpha)
        return float(np.sum(split.shares @ settings.loss.value(own, kept[alpha])))

    chosen, tried, errors = least_error(alphas, error_of, settings)
    return chosen, tried, errors, (split.places[split.held], kept[chosen])


def least_error(
    alphas: Iterable[float], error_of: Callable[[float], float], settings: Settings
) -> tuple[float, Array, Array]:
    """Ridge strengths from strong to weak until the error has risen twice: best, tried, errors."""
    tried: list[float] = []
    errors: list[float] = []
    for alpha in alphas:
        tried.append(alpha)
        errors.append(error_of(alpha))
        settings.progress(f"alpha {alpha:.2g}: held-out loss {errors[-1]:.5g}")
        if len(errors) - 1 - int(np.argmin(errors)) >= 2:
            break
    return tried[int(np.argmin(errors))], np.array(tried), np.array(errors)[:, None]


def too_few(settings: Settings, n_rows: int) -> ValueError:
    return ValueError(
        f"alpha='auto' with loss={settings.loss.name!r} holds out a fifth of the rows, and there "
        f"are too few different ones among these {n_rows}. Give alpha a number."
    )
