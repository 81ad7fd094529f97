"""Calibration: the order of the scores is kept, and probabilities of classes are found again."""

import numpy as np
import pytest
from scipy.special import softmax

from kitchensinks.fitting.calibration import Calibration

RNG = np.random.default_rng(0)


def classes_of(chances):
    return (chances.cumsum(axis=1) > RNG.random((len(chances), 1))).argmax(axis=1)


def log_loss(chances, labels):
    return -float(np.mean(np.log(chances[np.arange(len(labels)), labels])))


@pytest.mark.parametrize("n_classes", [2, 3, 8])
def test_scores_of_squared_loss_become_their_probabilities(n_classes):
    """Scores 2p − 1 of classes that are unlikely and very unlikely."""
    chances = softmax(3.0 * RNG.normal(size=(4000, n_classes)), axis=1)
    labels, scores = classes_of(chances), 2.0 * chances - 1.0
    if n_classes == 2:
        found = Calibration.fit(scores[:, 1:], labels[:, None] == 1, None)
        given = found.probabilities(scores[:, 1:])
        assert found.tail == 0.0
    else:
        found = Calibration.fit(scores, labels[:, None] == np.arange(n_classes), None)
        given = found.probabilities(scores)
        assert found.tail > 0.5
    assert log_loss(given, labels) < 1.05 * log_loss(chances, labels)
    np.testing.assert_allclose(given.sum(axis=1), 1.0)


def test_the_most_probable_class_has_the_largest_score():
    scores = 3.0 * RNG.normal(size=(500, 4)) - 1.0
    labels = classes_of(softmax(scores, axis=1))
    found = Calibration.fit(scores, labels[:, None] == np.arange(4), None)
    chances = found.probabilities(scores)
    np.testing.assert_array_equal(chances.argmax(axis=1), scores.argmax(axis=1))
    far = found.probabilities(np.array([[1e300, -1e300, 0.0, 1.0], [-1e5, -1e4, -1e3, -1e2]]))
    assert np.isfinite(far).all()
