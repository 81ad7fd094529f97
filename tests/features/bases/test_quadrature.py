"""Gauss rules integrate what they should."""

import numpy as np
import pytest

from kitchensinks.features.bases.sigmoid import gauss_rule


def test_gauss_rule_of_a_flat_law_is_gauss_legendre():
    nodes, weights = np.polynomial.legendre.leggauss(50)
    few, chances = gauss_rule(nodes, weights, 6)
    expected, halves = np.polynomial.legendre.leggauss(6)
    np.testing.assert_allclose(few, expected, atol=1e-13)
    np.testing.assert_allclose(chances, halves / 2, atol=1e-13)


def test_gauss_rule_of_one_point_is_the_mean():
    nodes, weights = gauss_rule(np.array([1.0, 2.0, 6.0]), np.array([1.0, 1.0, 2.0]), 1)
    assert nodes.tolist() == pytest.approx([3.75])
    assert weights.tolist() == pytest.approx([1.0])
