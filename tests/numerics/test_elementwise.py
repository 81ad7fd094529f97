"""Fused passes against their plain twins."""

import numpy as np
import pytest

from kitchensinks.numerics import elementwise
from kitchensinks.numerics.elementwise import (
    add_lower,
    centre,
    cosine,
    cosine_plain,
    mean_with_rank_two,
)


@pytest.fixture(autouse=True, params=["compiled", "by size"])
def compiled(request, monkeypatch):
    """Every shape through the compiled loop, and through whichever its size asks for."""
    if request.param == "compiled":
        monkeypatch.setattr(elementwise, "SMALL", 0)


SHAPES = [(0, 3), (1, 1), (3, 0), (7, 5), (33, 130), (67, 513)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cosine_agrees_with_its_plain_twin(shape, dtype):
    rng = np.random.default_rng(0)
    angle = (50 * rng.normal(size=shape)).astype(dtype)
    phase = rng.uniform(-np.pi, np.pi, shape[1]).astype(dtype)
    expected = angle.astype(np.float64)
    cosine_plain(expected, phase.astype(np.float64), np.sqrt(2))
    cosine(angle, phase, np.sqrt(2))
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(angle, expected, atol=300 * eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cosine_at_special_and_large_angles(dtype):
    angle = np.array([[0.0, np.pi / 2, np.pi, -np.pi, 2 * np.pi, 1e4, -1e4]], dtype=dtype)
    expected = np.cos(angle.astype(np.float64))
    cosine(angle, np.zeros(7, dtype=dtype), 1.0)
    np.testing.assert_allclose(angle, expected, atol=2e4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("size", [0, 1, 3, 300])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("unit", [1.0, 1e60])
def test_add_lower_adds_below_the_diagonal_alone(size, dtype, unit):
    rng = np.random.default_rng(0)
    part = np.asfortranarray(rng.normal(size=(size, size)).astype(dtype))
    total = np.asfortranarray(unit * np.tril(rng.normal(size=(size, size))))
    expected = total + unit * np.tril(part).astype(np.float64)
    part[np.triu_indices(size, 1)] = np.nan
    add_lower(total, part, unit)
    np.testing.assert_allclose(total, expected, rtol=1e-12)


@pytest.mark.parametrize("size", [0, 1, 3, 64, 300])
def test_mean_with_rank_two_is_its_formula(size):
    rng = np.random.default_rng(0)
    total = rng.normal(size=(size, size))
    total = np.asfortranarray(total + total.T)
    left, right = rng.normal(size=(2, size))
    expected = total / 3.0 + np.outer(left, right) + np.outer(right, left)
    found = mean_with_rank_two(np.asfortranarray(np.tril(total)), 3.0, left, right)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(found, found.T)


@pytest.mark.parametrize("shape", [*SHAPES, (64, 2), (200, 3)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_centre_subtracts_and_sums(shape, dtype):
    rng = np.random.default_rng(0)
    values, shift = rng.normal(size=shape).astype(dtype), rng.normal(size=shape[1])
    expected = values - shift.astype(dtype)
    tolerance = 100 * np.finfo(dtype).eps * len(values)
    sums = expected.sum(axis=0, dtype=np.float64)
    np.testing.assert_allclose(centre(values, shift), sums, atol=tolerance)
    np.testing.assert_array_equal(values, expected)
