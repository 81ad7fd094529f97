"""The search for a ridge strength, with and without a place to begin."""

import math

import numpy as np
import pytest

from kitchensinks.fitting.held_out import least_error
from kitchensinks.fitting.settings import Settings
from kitchensinks.problem.losses import LOSSES

SETTINGS = Settings(LOSSES["huber"], "auto", None, True, 1e-3, 200, "auto", 0)
ALPHAS = [10.0**power for power in range(0, -8, -1)]


@pytest.mark.parametrize("best", [1e-1, 1e-3, 1e-6])
@pytest.mark.parametrize("near", [None, 1e-2, 1e-3, 1e-5])
def test_the_least_error_is_found_from_anywhere(best, near):
    looked = []

    def error_of(alpha):
        looked.append(alpha)
        return math.log10(alpha / best) ** 2

    found, tried, errors = least_error(ALPHAS, error_of, SETTINGS, near)
    assert abs(math.log10(found / best)) <= 0.5
    np.testing.assert_array_equal(tried, sorted(set(looked), reverse=True))
    assert len(looked) == len(set(looked)), "nothing is tried twice"
    assert errors.min() == (math.log10(found / best)) ** 2
    if near is not None:
        assert len(looked) <= 8


def test_the_search_stays_above_the_weakest():
    _, tried, _ = least_error(ALPHAS, lambda alpha: alpha, SETTINGS, 1e-6)
    assert tried.min() >= min(ALPHAS)
    _, tried, _ = least_error(ALPHAS, lambda alpha: alpha, SETTINGS, 1e-12)
    assert tried.tolist() == pytest.approx([5e-7, 1e-7])
