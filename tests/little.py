"""Laws that are learned with little work, for tests that no choice of a law matters to."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kitchensinks.law import constants, ending
from kitchensinks.law.candidates import try_stages
from kitchensinks.law.learned import EFFORTS

# Counts of the search, by the names of `law/constants.py`. Every stage of it has its turn and
# compares what it always compares, with fewer folds, steps, trials, rows and features.
COUNTS = {
    "FOLDS": 2,
    "FEWER_FOLDS": 2,
    "TWICE": 0,
    "FEW_FEATURES": 300,
    "SMALLEST_BATCH": 240,
    "SHORT_STEPS": 3,
    "SHORT_BATCH": 200,
    "SHORT_COUNTED": 2,
    "TREND_FITTED": 150,
    "TRIES": 2,
    "TRIAL_GRIDS": 24,
    "TRIAL_FEATURES": 80,
    "ROUGH_STEPS": 8,
    "AGAIN": 1.25,
    "AGAIN_PRODUCTS": 1e8,
    "LAST_PRODUCTS": 1e9,
    "MOST_GRIDS": 60,
    "FEWEST_FEATURES": 100,
    "MOST_FEATURES": 300,
    "RIDGE_FEATURES": 200,
    "TREES": 8,
}
# Members, steps, batches and shares of the efforts.
WORK = {
    "quick": {"steps": 2, "batch": 400},
    "default": {"members": 2, "steps": 3, "batch": 400, "share": 0.2},
}


@contextmanager
def little_work() -> Iterator[None]:
    """Within it a law is learned by the same stages, each with few steps, trials and features."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in COUNTS.items():
            patch.setattr(constants, name, value)
        for effort, fewer in WORK.items():
            patch.setitem(EFFORTS, effort, EFFORTS[effort]._replace(**fewer))
        yield


def stages_at(patch: pytest.MonkeyPatch, share: float) -> None:
    """Let two stages have this share of the held-out error that they have."""

    def tried(*given: object) -> tuple[float, float]:
        error, ridge = try_stages(*given)
        return share * error, ridge

    patch.setattr(ending, "try_stages", tried)
