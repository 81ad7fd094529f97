"""Every loss on Dask: row vectors stay in partitions, and the answer is that of one machine."""

import numpy as np
import pytest
from dask import delayed
from scipy import sparse

import kitchensinks as ks
from kitchensinks.execution import fits
from kitchensinks.execution.order import order_statistic
from kitchensinks.execution.partitions import Partitions
from kitchensinks.state.remembered import Limits
from tests.execution.conftest import assert_same_fit, classifier, regressor, spread_out

SMOOTH = ["logistic", "squared_hinge", "exponential"]


def weights_of(rows):
    return np.random.default_rng(2).integers(0, 3, len(rows)).astype(float)


def assert_certified(cluster, memory):
    """Both objectives are within their gaps of the same optimum."""
    assert cluster.gap_ <= cluster.solver.tol * cluster.objective_
    assert abs(cluster.objective_ - memory.objective_) <= max(cluster.gap_, memory.gap_)


@pytest.mark.parametrize("loss", SMOOTH)
@pytest.mark.parametrize("classes", [2, 3])
def test_smooth_losses_give_the_weights_of_one_machine(rows, labels, loss, classes):
    """Unequal partitions, an empty one, one with a single class, and weights of rows."""
    y = labels if classes == 3 else labels == "b"
    settings = {"loss": loss, "alpha": 1e-2}
    memory = classifier(**settings).fit(rows, y, weights_of(rows))
    X, c, w = spread_out(rows, y, weights_of(rows))
    model = classifier(**settings).fit(X, c, w)
    assert_same_fit(model, memory)
    assert model.solver_ == memory.solver_
    chances = model.predict_proba(X).compute()
    np.testing.assert_allclose(chances, memory.predict_proba(rows), atol=1e-7)


@pytest.mark.parametrize(
    "constraint",
    [None, pytest.param(ks.L2Ball(30.0), marks=pytest.mark.slow), ks.SupBall(20.0)],
    ids=["ridge", "ball", "box"],
)
def test_hinge_is_certified(rows, labels, constraint):
    settings = {"loss": "hinge", "alpha": 1e-2, "constraint": constraint, "class_weight": {"a": 2}}
    memory = classifier(**settings).fit(rows, labels)
    model = classifier(**settings).fit(*spread_out(rows, labels))
    assert_certified(model, memory)
    assert (model.predict(rows) == memory.predict(rows)).mean() > 0.95
    assert np.abs(model.predict_proba(rows) - memory.predict_proba(rows)).max() < 0.05


def test_regression_losses(rows, values):
    w = weights_of(rows)
    both = np.column_stack([values, rows[:, 3]])
    memory = regressor(loss="huber", alpha=1e-3).fit(rows, both, w)
    model = regressor(loss="huber", alpha=1e-3).fit(*spread_out(rows, both, w))
    assert model.loss_ == memory.loss_
    assert_same_fit(model, memory)
    quantile = ks.losses.Quantile(0.8)
    memory = regressor(loss=quantile, alpha=1e-3).fit(rows, values, w)
    model = regressor(loss=quantile, alpha=1e-3).fit(*spread_out(rows, values, w))
    assert_certified(model, memory)


def test_the_ridge_is_chosen_on_the_same_held_out_rows(rows, labels):
    settings = {"loss": "logistic", "tol": 1e-2}
    memory = classifier(**settings).fit(rows, labels == "b")
    model = classifier(**settings).fit(*spread_out(rows, labels == "b"))
    np.testing.assert_allclose(model.alpha_errors_, memory.alpha_errors_, rtol=1e-9)
    assert_same_fit(model, memory)


@pytest.mark.parametrize("budget", [None, "400kB"])
def test_features_are_kept_or_made_anew_and_rows_may_be_sparse(rows, labels, budget):
    few = np.where(np.abs(rows) > 1.0, rows, 0.0)
    settings = {"loss": "logistic", "alpha": 1e-2, "memory_budget": budget}
    X, y = spread_out(few, labels)
    told = []
    model = classifier(**settings)
    model.fit(X.map_blocks(sparse.csr_matrix), y, verbose=lambda text, *_: told.append(text))
    where = "features are kept" if budget is None else "rows are kept"
    assert any(where in text for text in told)
    assert_same_fit(model, classifier(**settings).fit(few, labels))


def test_blocks_of_features_meet_the_direct_solution(rows, values):
    settings = {"n_components": 300, "alpha": 1e-2, "tol": 1e-8}
    direct = regressor(**settings, solver="direct").fit(rows, values)
    # A budget with room for the Gram of 90 features, and not of 300.
    blocks = regressor(**settings, memory_budget="400kB").fit(*spread_out(rows, values))
    assert blocks.solver_ == "block coordinate descent"
    assert blocks.n_iter_ > 1
    assert blocks.gap_ <= 1e-8 * blocks.objective_
    assert blocks.objective_ - direct.objective_ <= blocks.gap_
    same = regressor(**settings, memory_budget="400kB").fit(rows, values)
    assert_same_fit(blocks, same)


def test_no_room_for_a_gram_is_said(rows, values):
    with pytest.raises(ValueError, match=r"300 features make .* GB of Gram .* block by block"):
        regressor(n_components=300, memory_budget="400kB").fit(*spread_out(rows, values))


def test_without_any_penalty_a_kinked_loss_is_refused(rows, labels):
    with pytest.raises(ValueError, match="needs alpha > 0 or a constraint"):
        classifier(loss="hinge", alpha=0.0).fit(*spread_out(rows, labels))


@pytest.mark.parametrize("share", [0.01, 0.5, 1.0])
def test_order_statistics_from_sums(share):
    random = np.random.default_rng(0)
    words = random.integers(0, 2**64, (500, 2), dtype=np.uint64)
    words[::7] = words[3]
    weights = random.integers(0, 3, 500).astype(float)
    nodes = [delayed((words[part], weights[part])) for part in np.array_split(np.arange(500), 4)]
    X, _ = spread_out(np.zeros((4, 1)), np.zeros(4), chunks=(4,))
    found = order_statistic(Partitions.of(X), nodes, lambda total: share * total)
    for column in range(2):
        order = np.argsort(words[:, column])
        reached = np.cumsum(weights[order])
        place = np.argmax(reached >= share * reached[-1])
        assert found[column] == words[order[place], column]


def test_the_law_is_learned_from_a_sample(rows, values):
    """With nothing chosen: from rows that are brought here; the fit itself is of all rows."""
    X, y = spread_out(rows, values)
    model = regressor(basis=ks.Learned(steps=2), n_components=60, dtype=None).fit(X, y)
    assert model.law_.record is not None
    assert model.n_components_ == 60
    assert not model.basis_.sparse
    assert model.score(X, y) > 0.5
    again = regressor(basis=model.law_, n_components=None, dtype=None).fit(X, y)
    assert again.basis_ == model.basis_
    np.testing.assert_allclose(again.model_.weights, model.model_.weights)


@pytest.mark.usefixtures("little_work")
@pytest.mark.parametrize("given", [True, False], ids=["law of another fit", "learned"])
def test_no_row_is_clipped_to_the_range_of_a_sample(given, monkeypatch):
    """The range was that of at most 2000 rows, or of those that the law was learned from."""
    monkeypatch.setattr(fits, "_LEARNED", Limits(300, 2**24))
    rows = np.random.default_rng(0).normal(size=(4000, 2))
    values = rows.sum(axis=1)
    basis = ks.Learned(steps=2, members=1)
    if given:
        basis = regressor(basis=basis, n_components=20).fit(rows[:100], values[:100]).law_
    X, y = spread_out(rows, values, chunks=(3000, 1000))
    model = regressor(basis=basis, n_components=None if given else 20).fit(X, y)
    scaler = model.law_.features.scaler
    np.testing.assert_array_equal(scaler.low, rows.min(axis=0))
    np.testing.assert_array_equal(scaler.high, rows.max(axis=0))


@pytest.mark.parametrize(("asked", "count"), [(60, 60), (None, 447)])
def test_a_law_that_cannot_be_learned_is_the_plain_one(rows, values, asked, count):
    settings = {"basis": ks.Learned(ks.Fourier(), effort="quick"), "n_components": asked}
    few, short = spread_out(rows[:24], values[:24], chunks=(8,) * 3)
    with pytest.warns(UserWarning, match="24 rows, and a law is learned from 30 or more"):
        model = regressor(**settings).fit(few, short)
    assert "24 rows" in model.law_.note
    memory = regressor(n_components=count).fit(rows[:24], values[:24])
    assert model.n_components_ == memory.n_components_
    np.testing.assert_allclose(model.predict(rows), memory.predict(rows), atol=1e-6)
