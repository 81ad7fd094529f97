"""Fits to features that are made in advance are those of the estimators that make them."""

import numpy as np
import pytest

import kitchensinks as ks
from kitchensinks.papers.experiments import bandwidths, relu_table3_1
from kitchensinks.papers.experiments.data import fit_quietly


@pytest.mark.parametrize("basis", bandwidths.BASES)
@pytest.mark.parametrize("radius", [0.5, 1000.0])
def test_the_ball_is_the_same_whoever_makes_the_features(basis, radius, monkeypatch):
    monkeypatch.setattr(bandwidths, "_radius", lambda name: radius)
    rows, labels = bandwidths.synthetic("sine", 400, 0)
    solver = ks.Solver("stochastic", step=4.0, batch_size=20, epochs=5)
    drawn = bandwidths.BASES[basis](gamma=0.5)
    whole = fit_quietly(bandwidths.classifier("sine", solver, drawn, 20), rows, labels)
    features = ks.RandomFeatures(drawn, 20, random_state=0)
    made = features.fit_transform(rows)
    outer = fit_quietly(bandwidths.classifier("sine", solver), made, labels)
    np.testing.assert_allclose(
        outer.decision_function(made), whole.decision_function(rows), rtol=1e-4, atol=1e-5
    )
    assert np.linalg.norm(whole.state_.model.weights) / np.sqrt(20) <= radius * (1 + 1e-6)


def test_a_climb_ends_where_no_neighbour_is_higher():
    seen = []

    def height(place):
        seen.append(place)
        return -((place[0] - 3) ** 2) - 2 * (place[1] + 2) ** 2

    assert relu_table3_1._climb((0, 0), height) == ((3, -2), 0)
    assert len(seen) == len(set(seen))
    assert {(2, -2), (4, -2), (3, -1), (3, -3)} <= set(seen)
