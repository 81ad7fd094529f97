"""Exact local linear models: finite differences, the piece of a row, and clear refusals."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

import kitchensinks as ks
from kitchensinks.features.scaling import Spread, warp
from kitchensinks.numerics.warps import LINEAR, SQUASH
from tests.catalogue import ANY_WIDTH, drawn, name_of

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(300, 3))
TARGETS = np.abs(ROWS[:, 0]) + ROWS[:, 1] * (ROWS[:, 2] > 0)
PIECEWISE = [
    *(ks.ReLU(projection=kind) for kind in ("gaussian", "orthogonal", "hadamard")),
    ks.Maxout(3),
    ks.Maxout(3, projections=30),
    ks.Maxout(2, projection="hadamard"),
    ks.Linear(),
    ks.Union([ks.ReLU(), ks.Maxout(2)]),
    ks.Reweighted(ks.ReLU(), pool=3),
]


@pytest.mark.parametrize("basis", PIECEWISE, ids=repr)
def test_coefficients_are_the_gradient_and_give_the_prediction(basis):
    model = ks.KitchenSinkRegressor(basis, 40, alpha=1e-3, random_state=0).fit(ROWS, TARGETS)
    inside = 0.5 * ROWS[:40]
    local = model.local_coefficients(inside)
    assert local.coefficients.shape == (40, 3)
    total = (local.coefficients * inside).sum(axis=1) + local.intercepts
    np.testing.assert_allclose(total, model.predict(inside), rtol=1e-9, atol=1e-9)
    step = 1e-6
    for j in range(3):
        moved = inside + step * np.eye(3)[j]
        slope = (model.predict(moved) - model.predict(inside)) / step
        # A kink within the step may belong to a row: nearly all have none.
        right = np.isclose(slope, local.coefficients[:, j], rtol=1e-3, atol=1e-4)
        assert right.mean() > 0.97


def test_one_model_serves_the_whole_piece():
    """Steps that change no sign of a ramp stay on the line, however far; brute force finds them."""
    model = ks.KitchenSinkRegressor(ks.ReLU(), 12, alpha=1e-3, random_state=1).fit(ROWS, TARGETS)
    row = 0.3 * ROWS[:1]
    local = model.local_coefficients(row)
    draw, scaler = model.model_.draw, model.scaler_

    def signs(rows):
        return draw.features(scaler.apply(rows, draw.dtype)) > 0

    around = row + 0.2 * RNG.normal(size=(400, 3))
    same = (signs(around) == signs(row)).all(axis=1)
    assert 5 < same.sum() < 400
    line = around @ local.coefficients[0] + local.intercepts[0]
    np.testing.assert_allclose(model.predict(around[same]), line[same], rtol=1e-9, atol=1e-9)
    assert np.abs(model.predict(around[~same]) - line[~same]).max() > 1e-4


def test_several_outputs_and_values_outside_of_the_range():
    labels = np.digitize(TARGETS, [0.5, 1.2])
    model = ks.KitchenSinkClassifier(ks.Maxout(3), 40, random_state=0).fit(ROWS, labels)
    rows = ROWS[:20].copy()
    rows[0, 1] = 100.0
    local = model.local_coefficients(rows)
    assert local.coefficients.shape == (20, 3, 3)
    assert (local.coefficients[0, :, 1] == 0.0).all()
    total = np.einsum("nod,nd->no", local.coefficients, rows) + local.intercepts
    np.testing.assert_allclose(total, model.decision_function(rows), rtol=1e-5, atol=1e-5)
    assert ks.KitchenSinkClassifier(ks.ReLU(), 20, standardize=False, random_state=0).fit(
        ROWS, labels > 0
    ).local_coefficients(rows).coefficients.shape == (20, 3)


@pytest.mark.parametrize("turned", [False, True])
def test_gradients_go_back_through_a_learned_map(turned):
    """Columns that are left out, rescaled and turned, against central differences."""
    map_ = warp(Spread.of(ROWS), ROWS, LINEAR).times(np.array([2.0, 0.0, 0.3]))
    if turned:
        map_ = map_.turned(RNG.normal(size=(3, 2)))
    direction, row, step = RNG.normal(size=(1, 1, map_.width)), 0.3 * ROWS[:1], 1e-5
    found = map_.pulled_back(row, direction)
    for j in range(3):
        ends = (map_.apply(row + s * step * np.eye(3)[j], np.float64) for s in (1, -1))
        slope = np.subtract(*ends) @ direction[0, 0] / (2 * step)
        np.testing.assert_allclose(found[0, 0, j], slope[0], rtol=1e-8, atol=1e-10)


def test_a_map_that_bends_has_no_pieces():
    bent = warp(Spread.of(ROWS), ROWS, SQUASH)
    assert bent.pulled_back(ROWS, np.ones((300, 1, 3))) is None
    model = ks.KitchenSinkRegressor(ks.ReLU(), 20, random_state=0).fit(ROWS, TARGETS)
    state = model.state_
    bent_law = replace(state.law, features=replace(state.law.features, scaler=bent))
    model.state_ = replace(state, law=bent_law)
    with pytest.raises(ValueError, match="bends some columns"):
        model.local_coefficients(ROWS)


@pytest.mark.parametrize("basis", ANY_WIDTH, ids=name_of)
def test_every_basis_says_whether_it_has_pieces(basis):
    """Where it says so, differences agree; where not, it is none of the piecewise linear ones."""
    rows = RNG.normal(size=(20, 4))
    draw = drawn(basis, rows, 0, 20)
    weights = RNG.normal(size=(draw.n_columns, 2))
    found = draw.linear_pieces(rows, weights)
    if found is None:
        assert not isinstance(basis, ks.ReLU | ks.Maxout | ks.Linear)
        return
    assert found.shape == (20, 2, 4)
    for j in range(4):
        step = 1e-7 * np.eye(4)[j]
        before, after = (draw.scaled_features(rows + s) @ weights for s in (-step, step))
        close = np.isclose((after - before) / 2e-7, found[:, :, j], rtol=1e-4, atol=1e-5)
        assert close.mean() > 0.95


def test_other_bases_refuse():
    model = ks.KitchenSinkRegressor(ks.Fourier(), 20, random_state=0).fit(ROWS, TARGETS)
    with pytest.raises(ValueError, match=r"^Fourier has no linear pieces: need.*ks.ReLU"):
        model.local_coefficients(ROWS)
    mixed = clone(model).set_params(basis=ks.Union([ks.ReLU(), ks.Fourier()])).fit(ROWS, TARGETS)
    with pytest.raises(ValueError, match="has no linear pieces"):
        mixed.local_coefficients(ROWS)
