"""Balls: projection, support function, and the conjugate of ridge and ball together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize_scalar
from sklearn.base import clone
from sklearn.linear_model import Ridge

from kitchensinks.problem.constraints import L2Ball, SupBall, penalty_conjugate

BALLS = [SupBall, L2Ball]
vectors = arrays(np.float64, (5, 2), elements=st.floats(-10, 10))
radii = st.floats(0.1, 10)


def norm(ball, weights):
    order = np.inf if isinstance(ball, SupBall) else 2
    return np.linalg.norm(weights, order, axis=0)


@pytest.mark.parametrize("kind", BALLS)
@given(weights=vectors, others=vectors, radius=radii)
def test_projection_is_the_nearest_point(kind, weights, others, radius):
    ball = kind(radius)
    nearest = ball.project(weights)
    assert (norm(ball, nearest) <= radius * (1 + 1e-12)).all()
    np.testing.assert_allclose(ball.project(nearest), nearest)
    np.testing.assert_allclose(ball.norm(weights), norm(ball, weights))
    # the variational inequality (weights - nearest)·(inside - nearest) <= 0 for all inside
    inside = ball.project(others)
    assert (np.sum((weights - nearest) * (inside - nearest), axis=0) <= 1e-9).all()


@pytest.mark.parametrize("kind", BALLS)
@given(direction=vectors, others=vectors, radius=radii)
def test_support_is_the_largest_product(kind, direction, others, radius):
    ball = kind(radius)
    support = ball.support(direction)
    assert (support >= np.sum(direction * ball.project(others), axis=0) - 1e-9).all()
    # far along its best direction the projection reaches the support
    best = ball.project(1e9 * direction)
    np.testing.assert_allclose(np.sum(direction * best, axis=0), support, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", [*BALLS, None])
@given(direction=vectors, others=vectors, radius=radii, alpha=st.floats(0.01, 10))
def test_conjugate_with_ridge(kind, direction, others, radius, alpha):
    ball = None if kind is None else kind(radius)
    conjugate = penalty_conjugate(direction, alpha, ball)
    inside = others if ball is None else ball.project(others)
    young = np.sum(direction * inside, axis=0) - alpha * np.sum(inside**2, axis=0)
    assert (conjugate >= young - 1e-9).all()
    # the maximiser is the projection of the free maximiser, for both kinds of ball
    best = direction / (2 * alpha)
    best = best if ball is None else ball.project(best)
    reached = np.sum(direction * best, axis=0) - alpha * np.sum(best**2, axis=0)
    np.testing.assert_allclose(conjugate, reached, rtol=1e-9, atol=1e-9)


def test_conjugate_of_one_weight_by_search():
    found = minimize_scalar(lambda t: -(3.0 * t - 0.7 * t**2), bounds=(-1.5, 1.5), method="bounded")
    for ball in (SupBall(1.5), L2Ball(1.5)):
        assert ball.conjugate(np.array([3.0]), 0.7) == pytest.approx(-found.fun, abs=1e-4)


def test_no_penalty_at_all():
    np.testing.assert_array_equal(penalty_conjugate(np.eye(3, 2) * [0, 1], 0.0, None), [0, np.inf])


@pytest.mark.parametrize("kind", BALLS)
def test_plain_value_objects(kind):
    ball = kind(2.0)
    assert ball == eval(repr(ball))
    assert clone(Ridge(alpha=ball)).alpha == ball


@pytest.mark.parametrize("kind", BALLS)
@pytest.mark.parametrize("radius", [0, -1.0, np.nan, np.inf, "1", None, True])
def test_bad_radius(kind, radius):
    with pytest.raises(ValueError, match=r"need a positive finite number\. Leave constraint=None"):
        kind(radius)
