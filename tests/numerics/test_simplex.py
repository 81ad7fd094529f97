"""Compiled loops over classes against their plain twins."""

import numpy as np
import pytest

from kitchensinks.numerics import simplex
from tests.numerics import twins

SHAPES = [(0, 3), (1, 1), (1, 2), (7, 5), (3, 4, 2), (1001, 3)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scale", [1.0, 300.0])
def test_loops_agree_with_their_plain_twins(shape, scale):
    scores = scale * np.random.default_rng(0).normal(size=shape)
    shares = simplex.softmax(scores)
    np.testing.assert_allclose(shares, twins.softmax(scores), rtol=1e-12)
    np.testing.assert_allclose(
        simplex.log_sum_exp(scores), twins.log_sum_exp(scores), rtol=1e-12, atol=1e-12
    )
    found, expected = simplex.entropy(shares), twins.entropy(shares)
    assert found.shape == shape[:-1]
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize(("n_rows", "n_classes"), [(0, 3), (1, 1), (1, 2), (33, 4)])
def test_tempered_losses_agree_with_their_plain_twin(n_rows, n_classes):
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(n_rows, n_classes))
    labels, weights = rng.integers(n_classes, size=n_rows), rng.random(n_rows)
    out = np.empty((2, n_rows))
    found = simplex._tempered(scores, labels, weights, 1.7, out[0])
    expected = twins.tempered(scores, labels, weights, 1.7, out[1])
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(*out, atol=1e-12)


def test_no_other_factor_has_a_lower_log_loss():
    rng = np.random.default_rng(2)
    scores, labels = rng.normal(size=(60, 3)), rng.integers(3, size=60)
    weights = rng.random(60) + 0.1
    scores[np.arange(60), labels] += 0.5
    best = np.average(simplex.log_losses(scores, labels, weights), weights=weights)
    for factor in np.geomspace(0.01, 100, 60):
        shares = twins.softmax(factor * scores)[np.arange(60), labels]
        assert best <= np.average(-np.log(shares), weights=weights) + 1e-8
