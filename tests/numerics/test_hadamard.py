"""Fast Walsh-Hadamard products against the matrix written out."""

import numpy as np
import pytest
from scipy.linalg import hadamard

from kitchensinks.numerics.hadamard import fastfood
from tests.numerics import twins


def arguments(n_rows, n_inputs, n_blocks, start, count, dtype):
    rng = np.random.default_rng(n_rows + 10 * n_inputs + 100 * n_blocks)
    size = 1 << (n_inputs - 1).bit_length()
    signs = rng.choice([-1.0, 1.0], size=(n_blocks, size)).astype(dtype)
    order = np.array([rng.permutation(size) for _ in range(n_blocks)])
    normals = rng.normal(size=(n_blocks, size)).astype(dtype)
    radius = rng.random(count).astype(dtype)
    rows = rng.normal(size=(n_rows, n_inputs)).astype(dtype)
    return rows, signs, order, normals, radius, start


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("n_rows", "n_inputs", "n_blocks", "start", "count"),
    [
        (0, 3, 1, 0, 4),
        (1, 1, 1, 0, 1),
        (1, 1, 3, 1, 2),
        (5, 3, 2, 0, 8),
        (16, 8, 2, 3, 10),
        (17, 5, 3, 7, 17),
        (33, 16, 1, 0, 0),
        (31, 13, 4, 15, 33),
    ],
)
def test_compiled_product_is_the_plain_one(n_rows, n_inputs, n_blocks, start, count, dtype):
    given = arguments(n_rows, n_inputs, n_blocks, start, count, dtype)
    compiled, plain = np.full((2, n_rows, count), np.nan, dtype=dtype)
    fastfood(*given, compiled)
    twins.fastfood(*given, plain)
    tolerance = 1e-12 if dtype == np.float64 else 3e-5
    np.testing.assert_allclose(compiled, plain, rtol=tolerance, atol=tolerance)


def test_rows_in_any_memory_order():
    given = arguments(9, 6, 2, 0, 16, np.float64)
    straight, turned = np.empty((2, 9, 16))
    fastfood(*given, straight)
    fastfood(np.asfortranarray(given[0]), *given[1:], turned)
    np.testing.assert_array_equal(straight, turned)


def test_plain_twin_is_the_formula():
    """H·G·Π·H·B with SciPy's Hadamard matrix."""
    rows, signs, order, normals, radius, start = arguments(4, 8, 1, 0, 8, np.float64)
    out = np.empty((4, 8))
    twins.fastfood(rows, signs, order, normals, radius, start, out)
    matrix = hadamard(8)
    permute = np.eye(8)[order[0]]
    product = matrix @ np.diag(normals[0]) @ permute @ matrix @ np.diag(signs[0])
    np.testing.assert_allclose(out, rows @ product.T * radius, rtol=1e-12)
