"""Block coordinate descent: the direct solution without its Gram, and a gap that holds."""

import numpy as np
import pytest

import kitchensinks as ks
from tests.catalogue import build

RANDOM = np.random.default_rng(0)
ROWS = RANDOM.normal(size=(900, 4))
TARGETS = np.column_stack([np.sin(2 * ROWS[:, 0]) + ROWS[:, 1] * ROWS[:, 2], 5.0 + ROWS[:, 3]])
WEIGHTS = RANDOM.integers(0, 3, 900).astype(float)
# Room for the Gram of 64 features with its copies.
BUDGET = "200kB"


def fit(solver, **settings):
    given = {"n_components": 160, "dtype": "float64", "random_state": 0, "alpha": 0.03}
    model = build(ks.KitchenSinkRegressor, solver=solver, tol=1e-6, **given | settings)
    return model.fit(ROWS, TARGETS, WEIGHTS)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"fit_intercept": False},
        {"basis": ks.Fourier(gamma=0.2, form="paired"), "n_components": 80},
        {"basis": ks.ReLU()},
    ],
    ids=["fourier", "no intercept", "paired", "relu"],
)
def test_blocks_meet_the_direct_solution_within_their_gap(settings):
    direct = fit("direct", **settings)
    blocks = fit("blocks", memory_budget=BUDGET, **settings)
    assert blocks.converged_
    assert blocks.n_iter_ > 1
    assert blocks.objective_ - direct.objective_ + 1e-9 * direct.objective_ >= 0.0
    assert blocks.objective_ - direct.objective_ <= blocks.gap_ + 1e-9 * direct.objective_
    spread = TARGETS.std(axis=0)
    assert (np.abs(blocks.predict(ROWS) - direct.predict(ROWS)).max(axis=0) < 1e-2 * spread).all()


def test_a_gram_beyond_the_budget_goes_block_by_block_where_alpha_is_given():
    model = fit("auto", memory_budget=BUDGET)
    assert model.solver_ == "block coordinate descent"
    with pytest.warns(UserWarning, match="stochastic gradients"):
        model = fit("auto", memory_budget=BUDGET, alpha="auto", loss="huber")
    assert model.solver_ == "stochastic gradients"


def test_one_block_is_the_direct_solution():
    """All features in one block: the first round ends at the optimum."""
    blocks = fit("blocks", memory_budget="1GB")
    assert blocks.n_iter_ == 1
    weights = fit("direct").model_.weights
    np.testing.assert_allclose(
        blocks.model_.weights, weights, rtol=0, atol=1e-8 * np.abs(weights).max()
    )


def test_a_draw_that_is_not_held_gives_the_same_fit(monkeypatch):
    held = fit("blocks", memory_budget=BUDGET, max_iter=3)
    monkeypatch.setattr("kitchensinks.features.frozen.HELD_DRAW", 0)
    drawn = fit("blocks", memory_budget=BUDGET, max_iter=3)
    np.testing.assert_allclose(drawn.model_.weights, held.model_.weights, rtol=1e-9)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha": "auto"}, "needs a number for alpha"),
        ({"alpha": 0.0}, "alpha above zero"),
        ({"constraint": ks.L2Ball(1.0)}, "no constraint"),
        ({"loss": "huber"}, "is for loss='squared'"),
    ],
)
def test_what_blocks_cannot_do_is_said(settings, message):
    with pytest.raises(ValueError, match=message):
        fit("blocks", **settings)
