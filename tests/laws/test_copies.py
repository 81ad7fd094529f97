"""Laws of copies: what rows say does not change when they are there several times."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.metrics import roc_auc_score

import kitchensinks as ks
from kitchensinks.law.copies import one_of_each
from kitchensinks.law.learned import Learned
from kitchensinks.law.task import LearningRows
from kitchensinks.law.values import Request
from kitchensinks.problem.targets import Batch
from kitchensinks.solvers.path import Leaving
from kitchensinks.tables.columns import Columns
from kitchensinks.tables.keys import find_copies, row_keys
from kitchensinks.tables.means import learn_means, table_keys
from kitchensinks.tables.table import open_table
from tests.catalogue import build

QUICK = Learned(effort="quick")
RNG = np.random.default_rng(0)
SHUFFLED = RNG.permutation(np.repeat(np.arange(800), 5))


def numbers(n_rows, seed):
    rng = np.random.default_rng(seed)
    rows = rng.uniform(size=(n_rows, 6))
    level = 10 * np.sin(np.pi * rows[:, 0] * rows[:, 1]) + 20 * (rows[:, 2] - 0.5) ** 2
    return rows, level + 10 * rows[:, 3] + rng.normal(size=n_rows)


def rare(n_rows, seed):
    rng = np.random.default_rng(seed)
    names = rng.integers(0, n_rows // 3, n_rows)
    frame = pd.DataFrame({"who": [f"no {k}" for k in names], "a": rng.normal(size=n_rows)})
    frame["b"], frame["c"] = rng.normal(size=n_rows), rng.choice(list("xyz"), n_rows)
    score = frame["a"] + frame["b"] * (frame["c"] == "x") + 0.7 * rng.normal(size=n_rows)
    return frame, (score > 1.7).to_numpy().astype(int)


def oversampled(targets):
    """Places with as many rows of the rare class as of the other."""
    few, many = np.flatnonzero(targets == 1), np.flatnonzero(targets == 0)
    return np.random.default_rng(1).permutation(
        np.concatenate([many, few, np.random.default_rng(2).choice(few, len(many) - len(few))])
    )


def fitted(kind, rows, targets, weights=None):
    return build(kind, QUICK, random_state=0, n_jobs=1).fit(rows, targets, sample_weight=weights)


def rmse(model):
    rows, targets = numbers(2000, 1)
    return np.sqrt(np.mean((model.predict(rows) - targets) ** 2))


def test_rows_that_are_there_five_times_predict_as_once():
    rows, targets = numbers(800, 0)
    once = fitted(ks.KitchenSinkRegressor, rows, targets)
    with pytest.warns(UserWarning, match="80% of the rows are copies of others"):
        model = fitted(ks.KitchenSinkRegressor, rows[SHUFFLED], targets[SHUFFLED])
    assert rmse(model) < 1.05 * rmse(once)
    # Neighbours: the pool, its hold-out and the law are those of the rows themselves.
    places = np.repeat(np.arange(800), 5)
    with pytest.warns(UserWarning, match="copies"):
        model = fitted(ks.KitchenSinkRegressor, rows[places], targets[places])
    assert model.alpha_ == pytest.approx(once.alpha_)
    assert model.n_components_ == once.n_components_
    np.testing.assert_allclose(model.predict(rows), once.predict(rows), rtol=1e-2)


@pytest.mark.parametrize("few", [False, True], ids=["rounded", "few values"])
def test_values_that_repeat_are_not_called_copies(few):
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 3, size=(2000, 6)) if few else rng.normal(size=(2000, 2)).round(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted(ks.KitchenSinkRegressor, rows, np.sin(rows[:, 0]) + rows[:, 1])
    # A column that does not repeat says that the same rows were copied.
    rows = np.column_stack([rows, rng.normal(size=2000)])[rng.integers(0, 1000, 2000)]
    with pytest.warns(UserWarning, match=r"copies of others.*nothing needs to be done"):
        fitted(ks.KitchenSinkRegressor, rows, np.sin(rows[:, 0]) + rows[:, 1])


@pytest.mark.parametrize("kind", ["arrays", pytest.param("frames", marks=pytest.mark.slow)])
def test_an_oversampled_class_is_ranked_as_well_as_before(kind):
    (frame, targets), (others, known) = rare(1500, 0), rare(2000, 1)
    if kind == "arrays":
        frame, others = (one[["a", "b"]].assign(x=one["c"] == "x") for one in (frame, others))
        frame, others = frame.to_numpy(dtype=float), pd.DataFrame(others).to_numpy(dtype=float)
    places = oversampled(targets)
    more = frame.iloc[places] if kind == "frames" else frame[places]
    plain = fitted(ks.KitchenSinkClassifier, frame, targets)
    with pytest.warns(UserWarning, match="copies of others"):
        model = fitted(ks.KitchenSinkClassifier, more, targets[places])
    scores = [roc_auc_score(known, one.decision_function(others)) for one in (plain, model)]
    assert scores[1] > scores[0] - 0.02, scores


def test_of_laws_about_as_good_one_that_knows_copies_is_kept():
    """Rows to come are copies of the fitted ones as often as these are of each other."""
    rng = np.random.default_rng(0)
    rows = rng.uniform(size=(1000, 4))
    level = np.floor(4 * rows[:, 0]) + np.floor(3 * rows[:, 1])
    targets = level + 1.5 * rng.normal(size=1000)
    places = rng.integers(0, 1000, 2000)
    train, test = places[:1400], places[1400:]
    with pytest.warns(UserWarning, match="copies of others"):
        model = fitted(ks.KitchenSinkRegressor, rows[train], targets[train])
    assert isinstance(model.basis_, ks.Binning)
    # Dense features have 0.43, and a lower error of rows that are no copies.
    assert model.score(rows[test], targets[test]) > 0.45


def pool(rows, targets, weights=None):
    """The task that a law is learned by, and the copies that were found."""
    batch, copies = one_of_each(Batch(rows, targets[:, None], weights), 0)
    return LearningRows(batch, Request(seed=0), QUICK), copies


@pytest.mark.parametrize("source", ["dense", "sparse", "larger than the pool"])
def test_no_copy_of_a_held_out_row_is_fitted_and_no_batch_has_two(monkeypatch, source):
    if source == "larger than the pool":
        monkeypatch.setattr("kitchensinks.law.constants.POOL", 900)
    rows, targets = numbers(800, 0)
    given = sparse.csr_array(rows[SHUFFLED]) if source == "sparse" else rows[SHUFFLED]
    task, copies = pool(given, targets[SHUFFLED])
    keys = row_keys(task.pool, 0)
    assert len(np.unique(keys)) == len(keys) == task.counted == 800
    assert copies.each == 5.0
    assert task.own is None
    for step in range(3):
        chosen, _ = task.batches(task.pool[len(task.held) :].astype(np.float32), 0)(step, 200)
        assert len(np.unique(chosen, axis=0)) == 200


def test_few_copies_are_dropped_and_not_spoken_of():
    rows, targets = numbers(800, 0)
    places = np.append(np.arange(800), [3, 5])
    task, _ = pool(rows[places], targets[places])
    assert task.counted == 800
    assert task.own is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted(ks.KitchenSinkRegressor, rows[places], targets[places])


def test_observations_of_equal_rows_are_no_copies():
    """Columns of few values: equal rows have targets of their own, and each counts."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 4, size=(2000, 3)).astype(float)
    targets = rows[:, 0] + rng.normal(size=2000)
    assert find_copies(row_keys(rows, 0), targets[:, None]) is None
    assert pool(rows, targets)[0].counted == 2000
    # Without noise too: 64 different rows are a matter of the columns.
    assert pool(rows, rows[:, 0] + 1.0)[1] is None


@pytest.mark.parametrize("times", [10, 50])
def test_a_table_of_truth_has_sure_probabilities(times):
    """With all rows of one content left out, nothing says what their class is."""
    rows = np.repeat([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], times, axis=0)
    labels = np.logical_xor(*rows.T)
    for basis, loss in ((QUICK, "squared"), (ks.Fourier(), "squared"), (ks.Fourier(), "hinge")):
        model = ks.KitchenSinkClassifier(basis, loss=loss, random_state=0).fit(rows, labels)
        assert model.predict_proba(rows)[np.arange(len(rows)), labels.astype(int)].min() > 0.75


def test_few_different_rows_have_intervals():
    rows = np.arange(600.0)[:, None] % 12
    model = ks.KitchenSinkRegressor(QUICK, random_state=0).fit(rows, np.sin(rows[:, 0]))
    lower, upper = model.predict_interval(rows, coverage=0.9)
    assert np.max(upper - lower) < 0.1


def test_a_weight_is_as_many_copies():
    rows, targets = numbers(800, 0)
    times = np.random.default_rng(3).integers(1, 4, 800)
    places = np.repeat(np.arange(800), times)
    copied, _ = pool(rows[places], targets[places])
    weighted, _ = pool(rows, targets, times.astype(float))
    np.testing.assert_array_equal(copied.pool, weighted.pool)
    np.testing.assert_array_equal(copied.own, weighted.own)


@pytest.mark.usefixtures("little_work")
def test_rows_that_are_there_forty_times_are_copies():
    """As often as rows of few values are there: but those are not all there equally often."""
    rows, targets = numbers(200, 0)
    places = np.random.default_rng(1).permutation(np.repeat(np.arange(200), 40))
    plain = rmse(fitted(ks.KitchenSinkRegressor, rows, targets))
    for some in (places, places[: 3 * len(places) // 4]):
        task, copies = pool(rows[some], targets[some])
        assert task.counted == 200
        assert copies.each == len(some) / 200
    with pytest.warns(UserWarning, match="98% of the rows are copies of others"):
        model = fitted(ks.KitchenSinkRegressor, rows[places], targets[places])
    assert rmse(model) < 1.1 * plain


@pytest.mark.parametrize("count", [100, pytest.param(300, marks=pytest.mark.slow)])
def test_few_rows_that_are_there_four_times(count):
    rows, targets = numbers(count, 0)
    places = np.random.default_rng(3).permutation(np.repeat(np.arange(count), 4))
    plain = rmse(fitted(ks.KitchenSinkRegressor, rows, targets))
    with pytest.warns(UserWarning, match="75% of the rows are copies"):
        model = fitted(ks.KitchenSinkRegressor, rows[places], targets[places])
    assert rmse(model) < 1.1 * plain


def test_a_few_odd_targets_do_not_hide_the_copies():
    """Leave-one-out takes rows of equal content together, with their mean target."""
    rows, targets = numbers(800, 0)
    odd = targets[SHUFFLED].copy()
    odd[:5] += 0.5
    leaving = Leaving.of(row_keys(rows[SHUFFLED], 0), odd[:, None], None)
    np.testing.assert_array_equal(leaving.weights, 5.0)
    for place in (0, 4, 7):
        own = odd[SHUFFLED[place] == SHUFFLED]
        assert leaving.targets[place, 0] == pytest.approx(own.mean())


NOISES = [0.0, 1e-9, 1e-3, 0.2]


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("way", ["features", "span", "batches", "streaming ridge"])
def test_copies_whose_targets_differ_a_little_are_left_out_together(way, noise):
    """Another copy gave the target away, and the weakest ridge of all was chosen."""
    rows, targets = numbers(200, 0)
    places = np.repeat(np.arange(200), 5)
    changed = targets[places] + noise * np.random.default_rng(1).normal(size=1000)

    def fit(rows, targets):
        if way == "streaming ridge":
            wide = np.tanh(rows @ np.random.default_rng(2).normal(size=(6, 80)))
            # In the units of the number of rows.
            alphas = len(rows) * np.logspace(-12, 0, 13)
            return ks.StreamingRidgeCV(alphas).fit(wide, targets), wide
        model = build(ks.KitchenSinkRegressor, n_components=1200 if way == "span" else 60)
        model.set_params(random_state=0)
        if way != "batches":
            return model.fit(rows, targets), rows
        model.freeze(rows, targets)
        for part in range(3):
            model.partial_fit(rows[part::3], targets[part::3])
        return model, rows

    (once, own), (model, _) = fit(rows, targets), fit(rows[places], changed)
    size = 5.0 if way == "streaming ridge" else 1.0
    assert model.alpha_ == pytest.approx(size * once.alpha_, rel=1e-6)
    off = np.abs(model.predict(own) - once.predict(own)).max()
    assert off < noise + 1e-3 * targets.std(), off


def test_leave_one_out_of_copies_is_that_of_refits_without_them():
    rows, targets = numbers(40, 0)
    places = np.repeat(np.arange(40), 3)
    changed = targets[places] + 0.3 * np.random.default_rng(1).normal(size=120)
    weights = np.random.default_rng(2).uniform(0.5, 2.0, 120)
    model = build(ks.KitchenSinkRegressor, n_components=30, dtype="float64", random_state=0)
    model.fit(rows[places], changed, sample_weight=weights)
    features = np.asarray(model.law_.features.features(rows[places]), dtype=np.float64)
    for place in (8, 12, 16):
        alpha, total = model.alphas_[place], 0.0
        for one in range(40):
            rest = places != one
            ridge = Ridge(alpha * weights.sum(), solver="svd")
            ridge.fit(features[rest], changed[rest], weights[rest])
            error = changed[~rest] - ridge.predict(features[~rest])
            total += weights[~rest] @ error**2
        assert model.alpha_errors_[place, 0] == pytest.approx(total / weights.sum(), rel=1e-6)


def test_folds_of_mean_targets_keep_copies_together():
    frame, targets = rare(600, 0)
    places = np.random.default_rng(3).permutation(np.repeat(np.arange(600), 4))
    table, more = open_table(frame), open_table(frame.iloc[places])
    columns = Columns.learn(table)
    labels, coded = ("mean",), targets[:, None].astype(float)
    keys = table_keys(more, columns, 0)
    whole, folds = learn_means(more, columns, coded[places], None, labels, set())
    for key in np.unique(keys)[:100]:
        assert len(np.unique(folds.own[keys == key])) == 1
    # Four copies of every row have the means of the rows.
    once, _ = learn_means(table, columns, coded, None, labels, set())
    for mine, theirs in zip(whole.encoders, once.encoders, strict=True):
        if hasattr(mine, "table"):
            assert mine.levels == theirs.levels
            np.testing.assert_allclose(mine.table, theirs.table, rtol=1e-10, atol=1e-15)


def test_keys_of_a_table_are_those_of_its_content():
    frame = pd.DataFrame(
        {"a": [1.0, np.nan, 1.0, np.nan, 2.0], "b": ["x", None, " x ", None, "x"], "c": [1] * 5}
    )
    frame["d"] = pd.to_datetime(["2020-01-01", None, "2020-01-01", None, "2020-01-02"])
    table = open_table(frame)
    keys = table_keys(table, Columns.learn(table), 0)
    assert keys[0] == keys[2]
    assert keys[1] == keys[3]
    assert len(np.unique(keys)) == 3
