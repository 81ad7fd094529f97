"""Which rows are held out while a law is learned: by splitter, group and time."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    PredefinedSplit,
    TimeSeriesSplit,
    cross_validate,
)

import kitchensinks as ks
from kitchensinks.law.choice import _note_runs
from kitchensinks.law.splits import NO_ORDER, Order, folds_of, held_rows, order_of, split_rows
from kitchensinks.law.task import LearningRows
from kitchensinks.law.values import Request
from kitchensinks.numerics.words import Stream, Words
from kitchensinks.problem.targets import Batch

# No choice of a law matters to these tests, but to those that are marked.
pytestmark = pytest.mark.usefixtures("little_work")

QUICK = ks.Learned(steps=4, batch=64, seconds=0.03, members=1)
COUNTED = np.arange(1000)


def split(learned, order=NO_ORDER, counted=COUNTED, size=1000, labels=None):
    labels = np.arange(1000) % 3 if labels is None else labels
    found = split_rows(counted, size, 0, learned, order, labels)
    assert len(np.unique(found.places)) == len(found.places)
    assert np.isin(found.places, counted).all()
    return found.places[: found.held], found.places[found.held :], found.words


@pytest.mark.parametrize(
    ("learned", "order"),
    [
        (ks.Learned(), NO_ORDER),
        (ks.Learned(), Order(groups=np.arange(1000) % 7)),
        (ks.Learned(), Order(times=np.arange(1000.0))),
        (ks.Learned(split=KFold(4)), NO_ORDER),
    ],
)
@pytest.mark.parametrize("size", [1000, 400])
@pytest.mark.parametrize("counted", [COUNTED, COUNTED[::2]], ids=len)
def test_every_way_holds_some_rows_out_and_fits_others(learned, order, size, counted):
    held, fitted, _ = split(learned, order, counted, min(size, len(counted)))
    assert len(held) > 0
    assert len(fitted) >= min(size, len(counted)) // 2


def test_the_latest_rows_are_held_out():
    times = np.random.default_rng(0).permutation(1000).astype(float)
    held, fitted, words = split(ks.Learned(), Order(times=times))
    assert times[held].min() > times[fitted].max()
    assert words == "the last 200 rows in the order of time"


def test_whole_groups_are_held_out():
    groups = np.random.default_rng(0).integers(0, 30, 1000)
    held, fitted, words = split(ks.Learned(), Order(groups=groups))
    assert not np.intersect1d(groups[held], groups[fitted]).size
    assert 100 <= len(held) <= 200
    assert words.endswith("groups")
    # A single group that has nearly all rows can still be held out, or the others.
    held, fitted, _ = split(ks.Learned(), Order(groups=(np.arange(1000) < 990).astype(int)))
    assert len(held) in (10, 990)
    with pytest.raises(ValueError, match="need two groups or more"):
        split(ks.Learned(), Order(groups=np.zeros(1000, int)))


def test_a_splitter_says_which_rows():
    fold = np.where(np.arange(1000) < 100, 0, -1)
    held, _, words = split(ks.Learned(split=PredefinedSplit(fold)))
    np.testing.assert_array_equal(np.sort(held), np.arange(100))
    assert words == "100 rows by PredefinedSplit"


def test_a_splitter_gets_groups_and_the_order_of_time():
    groups = np.arange(1000) % 10
    held, fitted, _ = split(ks.Learned(split=GroupKFold(5)), Order(groups=groups))
    assert not np.intersect1d(groups[held], groups[fitted]).size
    times = -np.arange(1000.0)
    held, fitted, _ = split(ks.Learned(split=TimeSeriesSplit(4)), Order(times=times))
    np.testing.assert_array_equal(np.sort(held), np.arange(200))
    assert len(fitted) == 800


def test_a_splitter_that_holds_nothing_out_is_refused():
    class Nothing:
        def split(self, X, y=None, groups=None):
            yield np.arange(len(X)), np.arange(0)

    with pytest.raises(ValueError, match="need some of each"):
        split(ks.Learned(split=Nothing()))


def test_folds_of_few_rows_go_by_the_same_rules():
    labels, groups = np.zeros(100), np.arange(100) % 12
    folds, _ = folds_of(ks.Learned(), Order(groups=groups), labels, 5, 0)
    assert sorted(np.concatenate(folds)) == list(range(100))
    owners = [set(groups[fold]) for fold in folds]
    assert sum(map(len, owners)) == 12
    (later,), _ = folds_of(ks.Learned(), Order(times=np.arange(100.0)), labels, 5, 0)
    np.testing.assert_array_equal(later, np.arange(80, 100))
    assert len(folds_of(ks.Learned(split=KFold(4)), NO_ORDER, labels, 5, 0).held) == 4
    assert len(folds_of(ks.Learned(split=TimeSeriesSplit(4)), NO_ORDER, labels, 5, 0).held) == 1
    held, used = folds_of(ks.Learned(split=TimeSeriesSplit(4, gap=7)), NO_ORDER, labels, 5, 0)
    np.testing.assert_array_equal(held[0], np.arange(80, 100))
    np.testing.assert_array_equal(used, np.delete(np.arange(100), np.arange(73, 80)))
    assert folds_of(ks.Learned(), NO_ORDER, labels, 5, 0) is None


def test_rows_to_score_with_are_groups_or_the_latest():
    counted = np.arange(100) < 90
    held = held_rows(Order(times=np.arange(100.0)), counted, 0.2, Words(0, 0, Stream.VALIDATION))
    np.testing.assert_array_equal(np.flatnonzero(held), np.arange(72, 90))
    groups = np.arange(100) % 10
    held = held_rows(Order(groups=groups), counted, 0.2, Words(0, 0, Stream.VALIDATION))
    assert not np.intersect1d(groups[held], groups[~held & counted]).size


def frame(n_rows=900, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "when": pd.date_range("2021-03-01", periods=n_rows, freq="6h"),
            "who": [f"p{k}" for k in rng.integers(0, 20, n_rows)],
            "size": rng.normal(size=n_rows),
        }
    )
    return table, np.sin(2 * table["size"].to_numpy()) + 0.1 * rng.normal(size=n_rows)


def held_by(model):
    return [one.what for one in model.law_.record.trials if one.stage == "split"]


def test_rows_in_the_order_of_a_date_hold_the_last_ones_out_unasked():
    X, y = frame()
    told = []
    model = ks.KitchenSinkRegressor(QUICK, random_state=0)
    model.fit(X, y, verbose=lambda text, done, total: told.append((text.split(":")[0], done)))
    # What is only for the record takes the progress back to no earlier stage.
    stages = [stage for stage, _ in told]
    assert "split" not in stages[stages.index("basis") :]
    said = held_by(model)
    assert said[0] == "held out: the last 180 rows in the order of time"
    assert said[1].startswith("first by runs of rows:")
    assert said[2].startswith("first by the last rows:")
    order = np.random.default_rng(0).permutation(len(y))
    mixed = ks.KitchenSinkRegressor(QUICK, random_state=0).fit(X.iloc[order], y[order])
    assert held_by(mixed) == []
    told = clone(model).set_params(basis__time="when").fit(X.iloc[order], y[order])
    assert held_by(told) == said[:1]
    free = clone(model).set_params(basis__split=KFold(5, shuffle=True, random_state=0)).fit(X, y)
    assert held_by(free) == ["held out: 180 rows by KFold"]


def test_columns_are_named_or_counted():
    X, y = frame()
    order = order_of(ks.Learned(groups="who"), _rows(X))
    assert len(np.unique(order.groups)) == 20
    assert (order_of(ks.Learned(groups=1), _rows(X)).groups == order.groups).all()
    days = order_of(ks.Learned(time="when"), _rows(X)).times
    assert (np.diff(days) == 0.25).all()
    numbers = X[["size"]].to_numpy()
    times = order_of(ks.Learned(time=-1), numbers).times
    np.testing.assert_array_equal(times, numbers[:, 0])
    model = ks.KitchenSinkRegressor(clone(QUICK).set_params(time="size"), random_state=0)
    model.fit(X[["size"]], y)
    assert held_by(model) == ["held out: the last 180 rows in the order of time"]


@pytest.mark.parametrize("given", ["table", "array"])
def test_rows_without_a_group_or_time_are_of_no_other_group_and_not_the_latest(given):
    """They were of the group of the first row, and the latest of all."""
    X = pd.DataFrame({"who": [1.0, None, 2.0, None, 1.0], "when": [3.0, 1.0, None, 5.0, 4.0]})
    rows = _rows(X) if given == "table" else X.to_numpy()
    groups = order_of(ks.Learned(groups=0), rows).groups
    assert [list(groups).index(one) for one in groups] == [0, 1, 2, 1, 0]
    times = order_of(ks.Learned(time=1), rows).times
    np.testing.assert_array_equal(np.argsort(times), [2, 1, 0, 4, 3])
    with pytest.raises(ValueError, match="time=0 is missing in every row"):
        order_of(ks.Learned(time=0), X.to_numpy()[1:2])


def _rows(X):
    table = ks.open_table(X)
    return ks.Rows(table, ks.Columns.learn(table))


@pytest.mark.parametrize(
    ("learned", "error", "words"),
    [
        ({"split": 5}, TypeError, "need a splitter of scikit-learn"),
        ({"split": "time"}, TypeError, "need a splitter of scikit-learn"),
        ({"groups": 0.5}, TypeError, "groups=0.5: need a column of X"),
        ({"groups": ["a"]}, TypeError, r"given to fit: fit\(X, y, groups=...\)"),
        ({"time": True}, TypeError, "time=True: need a column of X"),
        ({"time": np.arange(900.0)}, TypeError, r"^time=.{,40}: need a column of X"),
        ({"time": "who"}, ValueError, "need a column of dates or numbers"),
        ({"time": "wen"}, ValueError, "^time='wen': .*: did you mean 'when'"),
        ({"groups": 3}, ValueError, "has 3 columns"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(learned, error, words):
    X, y = frame()
    with pytest.raises(error, match=words):
        ks.KitchenSinkRegressor(clone(QUICK).set_params(**learned)).fit(X, y)


@pytest.mark.parametrize("learned", [{"time": "x"}, {"groups": 4}], ids=str)
def test_arrays_have_places_and_no_names(learned):
    X = np.zeros((50, 2))
    with pytest.raises(ValueError, match=r"place of the column|X has 2 columns"):
        ks.KitchenSinkRegressor(ks.Learned(**learned)).fit(X, X[:, 0])


@pytest.mark.parametrize("what", ["groups", "time"])
def test_a_mistyped_column_of_a_frame_of_numbers_is_answered_with_the_nearest(what):
    X = pd.DataFrame(np.zeros((50, 2)), columns=["site", "day"])
    with pytest.raises(ValueError, match=f"^{what}='sites' is no column of X: did you mean 'site'"):
        ks.KitchenSinkRegressor(ks.Learned(**{what: "sites"})).fit(X, X["day"])


@pytest.mark.usual_work
def test_a_group_is_not_learned_by_heart():
    """The targets of a group are alike for no reason: held-out groups show that, runs do not."""
    rng = np.random.default_rng(0)
    owner = rng.permutation(np.repeat(np.arange(40), 30))
    X = np.column_stack([owner, rng.normal(size=1200)])
    y = rng.normal(size=40)[owner] + 0.3 * X[:, 1]
    errors = {}
    for groups in (None, 0):
        learned = clone(QUICK).set_params(groups=groups)
        task = LearningRows(
            Batch(X, y[:, None]), Request(seed=0, order=order_of(learned, X)), learned
        )
        model = ks.KitchenSinkRegressor(learned, random_state=0).fit(X, y)
        held, fitted = task.places[: len(task.held)], task.places[len(task.held) :]
        errors[groups] = min(
            one.error for one in model.law_.record.trials if one.stage in ("basis", "again")
        )
        assert bool(np.intersect1d(owner[held], owner[fitted]).size) == (groups is None)
    assert errors[0] > 2 * errors[None]


def test_groups_may_be_given_to_fit_as_to_a_splitter():
    X, y = frame()
    named = ks.KitchenSinkRegressor(clone(QUICK).set_params(groups="who"), random_state=0).fit(X, y)
    given = ks.KitchenSinkRegressor(QUICK, random_state=0)
    given.fit(X, y, groups=list(X["who"]))
    assert held_by(given) == held_by(named)
    assert held_by(given)[0].endswith("groups")
    np.testing.assert_array_equal(given.predict(X), named.predict(X))
    expected = order_of(ks.Learned(groups="who"), _rows(X)).groups
    for kind in (np.asarray, list, pd.Series):
        found = order_of(ks.Learned(), _rows(X), given=kind(X["who"])).groups
        np.testing.assert_array_equal(found, expected)


def test_groups_are_routed_to_the_splitter_and_to_the_fit():
    X, y = frame(300)
    with sklearn.config_context(enable_metadata_routing=True):
        model = ks.KitchenSinkRegressor(QUICK, random_state=0).set_fit_request(groups=True)
        params = {"groups": X["who"]}
        found = cross_validate(
            model, X, y, cv=GroupKFold(2), params=params, return_estimator=True, error_score="raise"
        )
    fitted = GroupKFold(2).split(X, y, X["who"])
    for one, (rows, _) in zip(found["estimator"], fitted, strict=True):
        alone = clone(model).fit(X.iloc[rows], y[rows], groups=X["who"].iloc[rows])
        np.testing.assert_array_equal(one.predict(X), alone.predict(X))


def test_missing_groups_are_a_group_together():
    given = np.array(["b", None, "a", None, "b"], dtype=object)
    for groups in (given, pd.Series(given), [2.0, np.nan, 1.0, np.nan, 2.0]):
        found = order_of(ks.Learned(), np.zeros((5, 1)), given=groups).groups
        assert [list(found).index(one) for one in found] == [0, 1, 2, 1, 0]


@pytest.mark.parametrize(
    ("basis", "groups", "words"),
    [
        (QUICK, np.arange(10), "for 900 rows: need the group of each row"),
        (ks.Learned(groups="who"), np.arange(900), "leave one out"),
        (ks.Fourier(), np.arange(900), r"need basis=None or ks.Learned\(...\), or fit without"),
    ],
    ids=["length", "twice", "given basis"],
)
def test_groups_that_make_no_sense_are_refused(basis, groups, words):
    X, y = frame()
    with pytest.raises(ValueError, match=words):
        ks.KitchenSinkRegressor(basis).fit(X, y, groups=groups)


def test_groups_that_are_refused_discard_no_fit():
    rows = np.random.default_rng(0).normal(size=(60, 2))
    model = ks.KitchenSinkRegressor(QUICK, random_state=0).fit(rows, rows[:, 0])
    before = model.predict(rows)
    for groups in (np.arange(10), [[0]] * 60, [{}] * 60):
        with pytest.raises((ValueError, TypeError)):
            model.fit(rows, rows[:, 0], groups=groups)
        np.testing.assert_array_equal(model.predict(rows), before)


def test_groups_and_gradients_are_given_by_name():
    rows = np.random.default_rng(0).normal(size=(60, 2))
    for kind in (ks.KitchenSinkRegressor, ks.KitchenSinkClassifier):
        with pytest.raises(TypeError, match="positional"):
            kind(QUICK).fit(rows, rows[:, 0] > 0, None, None, False, np.arange(60))


def test_a_record_of_other_splits_takes_no_time_that_is_not_left():
    late = SimpleNamespace(request=Request(0, order=Order(dated=True)), late=lambda share: True)
    assert _note_runs(late, [], []) is None


def test_few_rows_in_the_order_of_a_date_hold_the_last_out():
    X, y = frame(300)
    model = ks.KitchenSinkRegressor(QUICK, random_state=0).fit(X, y)
    assert model.law_.record is not None


def test_a_splitter_is_not_stored_in_a_file(tmp_path):
    X, y = frame()
    learned = clone(QUICK).set_params(split=KFold(5))
    model = ks.KitchenSinkRegressor(learned, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="basis__split=None"):
        ks.save(model, tmp_path / "model.sinks")
    ks.save(model.set_params(basis__split=None), tmp_path / "model.sinks")
    np.testing.assert_array_equal(ks.load(tmp_path / "model.sinks").predict(X), model.predict(X))


class Given:
    """A splitter that gives what it was made with."""

    def __init__(self, splits):
        self.splits = splits

    def split(self, X, y=None, groups=None):
        return self.splits


ROWS = np.arange(300)


@pytest.mark.parametrize(
    ("splits", "error", "words"),
    [
        ([], ValueError, "makes no split of 300 rows"),
        (None, TypeError, "did not yield pairs of index arrays"),
        ([1], TypeError, "did not yield pairs of index arrays"),
        (
            [(ROWS[:200], ROWS + 1)],
            ValueError,
            "indices that are not rows: need whole numbers from 0 to 299",
        ),
        (
            [(ROWS[:200], [-1, -2])],
            ValueError,
            "indices that are not rows: need whole numbers from 0 to 299",
        ),
        (
            [(ROWS[:200] * 1.0, ROWS[200:] * 1.0)],
            ValueError,
            "indices that are not rows: need whole numbers from 0 to 299",
        ),
        (
            [(ROWS < 200, ROWS >= 200)],
            ValueError,
            "indices that are not rows: need whole numbers from 0 to 299",
        ),
        ([(ROWS, ROWS)], ValueError, "none in both"),
        ([(ROWS, [])], ValueError, "need some of each"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_splits_that_make_no_sense_are_refused_in_words(splits, error, words):
    """They ended as an IndexError of some line inside."""
    X = np.random.default_rng(0).normal(size=(300, 2))
    model = ks.KitchenSinkRegressor(clone(QUICK).set_params(split=Given(splits)), random_state=0)
    with pytest.raises(error, match=words):
        model.fit(X, X[:, 0])


def test_few_rows_with_both_groups_and_times():
    """Groups are held out; a trend was then looked for in rows that were not there."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(300.0), rng.integers(0, 30, 300), rng.normal(size=300)])
    basis = clone(QUICK).set_params(time=0, groups=1)
    model = ks.KitchenSinkRegressor(basis, random_state=0).fit(X, X[:, 0] / 100 + X[:, 2])
    assert model.score(X, X[:, 0] / 100 + X[:, 2]) > 0.9


def test_missing_groups_are_one_and_equal_values_are_one():
    given = np.array(["a", None, np.nan, "a", 1, 1.0, "1"], dtype=object)
    rows = np.zeros((len(given), 2))
    found = order_of(ks.Learned(), rows, given=given).groups
    assert found.tolist() == [found[0], -1, -1, found[0], found[4], found[4], found[6]]
    assert len(set(found.tolist())) == 4


def test_groups_of_a_splitter_are_no_groups_of_a_fit():
    """With metadata routing, a cross-validation by groups needs no request of the estimator."""
    rows = np.random.default_rng(0).normal(size=(60, 3))
    model = ks.KitchenSinkRegressor(ks.Fourier(), n_components=5, random_state=0)
    with sklearn.config_context(enable_metadata_routing=True):
        found = cross_validate(
            model, rows, rows[:, 0], params={"groups": np.arange(60) % 6}, cv=GroupKFold(3)
        )
    assert np.isfinite(found["test_score"]).all()


@pytest.mark.usefixtures("little_work")
@pytest.mark.parametrize("column", [{"groups": 0}, {"time": 0}])
def test_rows_that_wait_have_neither_groups_nor_times(column):
    rng = np.random.default_rng(0)
    rows = np.column_stack([np.arange(400) // 40, rng.normal(size=(400, 2))])
    model = ks.KitchenSinkRegressor(ks.Learned(ks.Fourier(), **column), random_state=0)
    with pytest.raises(ValueError, match=r"partial_fit keeps rows without .* call freeze"):
        model.partial_fit(rows, rows[:, 1])
    model.freeze(rows, rows[:, 1]).partial_fit(rows, rows[:, 1])
    model.fit(rows, rows[:, 1]).partial_fit(rows, rows[:, 1])


def test_a_part_of_a_large_group_is_scored_and_none_of_it_fitted():
    groups = (np.arange(1000) < 500).astype(int)
    held, fitted, _ = split(ks.Learned(), Order(groups=groups), size=100)
    assert (len(held), len(fitted)) == (100, 50)
    assert not np.intersect1d(groups[held], groups[fitted]).size


@pytest.mark.usefixtures("little_work")
def test_rows_in_the_gap_of_a_splitter_say_nothing_of_a_law_of_few_rows():
    """Nor do those before its largest number of rows to fit."""
    rng = np.random.default_rng(0)
    rows = rng.uniform(size=(300, 2))
    targets = np.sin(5.0 * rows[:, 0]) + 0.1 * rng.normal(size=300)
    other = targets.copy()
    other[210:240], other[:60] = other[239:209:-1], other[59::-1]
    splitter = TimeSeriesSplit(4, gap=30, max_train_size=150)
    basis = ks.Learned(ks.Fourier(), split=splitter)
    errors = []
    for given in (targets, other):
        law = ks.KitchenSinkRegressor(basis, random_state=0).fit(rows, given).law_
        errors.append([one.error for one in law.record.trials if one.stage != "trend"])
    np.testing.assert_allclose(errors[1], errors[0], rtol=1e-9)


def test_groups_and_times_that_are_all_missing_are_refused_and_dates_with_gaps_are_no_order():
    table, y = frame()
    for what, name in (("groups", "who"), ("time", "when")):
        model = ks.KitchenSinkRegressor(ks.Learned(**{what: name}), random_state=0)
        with pytest.raises(ValueError, match=f"{what}='{name}' is missing in every row"):
            model.fit(table.assign(**{name: None}), y)
    gaps = ks.open_table(table.assign(when=table["when"].mask(np.arange(len(table)) % 10 == 5)))
    assert order_of(ks.Learned(), ks.Rows(gaps, ks.Columns.learn(gaps))) == NO_ORDER
