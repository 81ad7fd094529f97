"""A share of the rows put aside: to choose a ridge strength, or to calibrate probabilities."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kitchensinks.fitting.settings import Settings, silent
from kitchensinks.fitting.space import CALIBRATION_ROWS, HELD_OUT, Space
from kitchensinks.problem.losses import Array
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
    ) -> "Split | None":
        """A share of the different rows (of at most `most`), by content; None if too few."""
        keys = settings.row_keys()
        places = np.arange(len(keys))
        if most is not None and len(keys) > most:
            places = np.flatnonzero(lowest_keys(keys, weights, most))
        own = np.ones(len(places)) if weights is None else weights[places]
        held = hold_out(keys[places], own, share)
        fitted = np.where(held, 0.0, own)
        if not (own[held].any() and fitted.any()):
            return None
        return cls(places, held, fitted, own[held] / own[held].sum())


def held_out_scores(
    space: Space,
    targets: Array,
    weights: Array | None,
    settings: Settings,
    solve: Callable[[Space, Array, Array, Settings], tuple[Array, Array]],
) -> tuple[np.ndarray, Array] | None:
    """(places, scores) of rows held out of a fit on a bounded number of the other rows.

    `solve(space, targets, weights, settings)` returns outer weights and intercept.
    """
    split = Split.of(settings, weights, most=round(CALIBRATION_ROWS / HELD_OUT))
    if split is None:
        return None
    features = space.pick(split.places)
    everything = slice(0, len(features))

    def walk(work: Any = None) -> Iterator[tuple[slice, Any]]:
        yield everything, features if work is None else work(everything, features)

    def fresh(work: Any = None) -> Iterator[tuple[slice, Any]]:
        copy = features.copy()
        yield everything, copy if work is None else work(everything, copy)

    small = replace(
        space,
        walk=walk,
        fresh=fresh,
        pick=features.__getitem__,
        n_rows=len(features),
        cached=True,
        sums=None,
    )
    one = None if settings.one is None else settings.one[split.places]
    quiet = replace(settings, one=one, progress=silent, checkpoint=None)
    fitted, intercept = solve(small, targets[split.places], split.fitted, quiet)
    scores = features[split.held] @ fitted + intercept
    return split.places[split.held], np.asarray(scores, dtype=np.float64)


def least_held_out(
    alphas: Iterable[float],
    scores_of: Callable[[float], Array],
    targets: Array,
    split: Split,
    settings: Settings,
) -> tuple[float, Array, Array, tuple[np.ndarray, Array]]:
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
