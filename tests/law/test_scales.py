"""Learning scales: the gradient of the held-out error, and what descent on it finds."""

import numpy as np
import pytest

from kitchensinks.law import constants
from kitchensinks.law.scales import Room, descend, gradient
from kitchensinks.numerics.threads import threads

SCALES, RIDGE = np.array([0.5, 0.3, 0.2, 0.7, 0.1]), 0.1


def batch(n_rows=60, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, 5)).astype(np.float32)
    rows[:, 3:] = rows[:, 3:] > 0
    targets = np.column_stack([np.sin(2 * rows[:, 0]) + rows[:, 3], rows[:, 1]])
    return rows, (targets - targets.mean(axis=0)).astype(np.float32)


def held_out_by_definition(rows, targets, scales, ridge, kernel):
    """Fit the first rows and predict the others, in float64."""
    rows = rows.astype(float)
    gap = rows[:, None] - rows
    exponent = (np.abs(gap) * scales) if kernel == "laplacian" else (gap * scales) ** 2
    kept = np.exp(-exponent.sum(axis=2))
    fitted = int(constants.FITTED_SHARE * len(rows))
    inner = kept[:fitted, :fitted] + ridge * np.eye(fitted)
    scores = kept[fitted:, :fitted] @ np.linalg.solve(inner, targets[:fitted])
    return np.mean(np.sum((targets[fitted:] - scores) ** 2, axis=1))


@pytest.mark.parametrize("hot", [False, True])
@pytest.mark.parametrize("kernel", ["laplacian", "gaussian"])
def test_error_and_slopes_are_those_of_the_definition(kernel, hot):
    rows, targets = batch()
    is_hot = np.array([False, False, False, hot, hot])
    found, slopes = gradient(rows, targets, SCALES, RIDGE, kernel, is_hot)

    def error(log_scales, log_ridge):
        return held_out_by_definition(rows, targets, np.exp(log_scales), np.exp(log_ridge), kernel)

    place, step = np.log(SCALES), 1e-4
    assert found == pytest.approx(error(place, np.log(RIDGE)), rel=1e-4)
    for j in range(5):
        move = step * np.eye(5)[j]
        slope = error(place + move, np.log(RIDGE)) - error(place - move, np.log(RIDGE))
        assert slopes[j] == pytest.approx(slope / (2 * step), rel=2e-3, abs=2e-4)
    slope = error(place, np.log(RIDGE) + step) - error(place, np.log(RIDGE) - step)
    assert slopes[-1] == pytest.approx(slope / (2 * step), rel=2e-3, abs=2e-4)


@pytest.mark.parametrize("kernel", ["laplacian", "gaussian"])
def test_threads_and_memory_of_an_earlier_step_change_no_bit(kernel):
    """A batch of several parts of rows, whose work threads share."""
    is_hot = np.array([False, False, False, True, True])
    found = []
    for n_jobs in (1, 2):
        with threads(n_jobs):
            room = Room.of(500)
            gradient(*batch(500, seed=1), 3.0 * SCALES, RIDGE, kernel, is_hot, room)
            for own in (None, room):
                one = gradient(*batch(500), SCALES, RIDGE, kernel, is_hot, own)
                found.append([one[0], *one[1]])
    np.testing.assert_array_equal(found, np.tile(found[0], (4, 1)))


@pytest.mark.parametrize("kernel", ["laplacian", "gaussian"])
def test_columns_that_say_nothing_lose_their_scale(kernel):
    def batches(step, size):
        rng = np.random.default_rng(step)
        rows = rng.normal(size=(size, 4)).astype(np.float32)
        targets = np.sin(2 * rows[:, :1]) + 0.1 * rng.normal(size=(size, 1)).astype(np.float32)
        return rows, targets.astype(np.float32)

    law = descend(kernel, np.full(4, 0.3), batches, 25, 120)
    assert law.scales[0] > 5 * law.scales[1:].max()
    assert np.mean(law.errors[-5:]) < 0.5 * np.mean(law.errors[:2])


def test_a_constant_column_and_equal_rows_do_no_harm():
    rows = np.zeros((30, 2), dtype=np.float32)
    targets = np.random.default_rng(0).normal(size=(30, 1)).astype(np.float32)
    law = descend("laplacian", np.ones(2), lambda step, size: (rows, targets), 5, 30)
    assert np.isfinite(law.scales).all()
    assert np.isfinite(law.errors).all()


def test_a_late_descent_ends_after_a_step():
    def batches(step, size):
        rows = np.random.default_rng(step).normal(size=(size, 3)).astype(np.float32)
        return rows, np.sin(2 * rows[:, :1])

    whole = descend("laplacian", np.full(3, 0.3), batches, 10, 60)
    late = descend("laplacian", np.full(3, 0.3), batches, 10, 60, late=lambda: True)
    np.testing.assert_array_equal(late.errors, whole.errors[:1])
