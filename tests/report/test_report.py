"""Reports: facts that are right, and a page that is whole, safe and readable."""

import json
import math
import re
import warnings
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.metrics import (
    accuracy_score,
    confusion_matrix,
    d2_pinball_score,
    log_loss,
    make_scorer,
    mean_pinball_loss,
    r2_score,
)
from sklearn.utils.fixes import parse_version

import kitchensinks as ks
from kitchensinks.report.effects import _most_frequent
from kitchensinks.report.page import page
from kitchensinks.state.outer import why_stopped

X, Y = load_diabetes(return_X_y=True, as_frame=True)
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "a&b</title></svg></style>",
    "' onload='alert(3)",
    "ordinary",
]


def fourier(kind=ks.KitchenSinkRegressor, **given):
    return kind(ks.Fourier(), **({"n_components": 80, "random_state": 0} | given))


@pytest.fixture(scope="module")
def regression():
    model = fourier().fit(X[::2], Y[::2])
    return model, model.report(X[1::2], Y[1::2])


@pytest.fixture(scope="module")
def classification():
    rows, labels = load_breast_cancer(return_X_y=True)
    model = fourier(ks.KitchenSinkClassifier).fit(rows[::2], labels[::2])
    return model, rows[1::2], labels[1::2], model.report(rows[1::2], labels[1::2])


class Seen(HTMLParser):
    """The elements of a page, which must be closed as they were opened."""

    EMPTY = ("meta", "line", "circle", "rect", "polyline")

    def __init__(self, text):
        super().__init__()
        self.open, self.found, self.attributes, self.text = [], [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.found.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.found.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


# -- facts ------------------------------------------------------------------------------------


def test_the_facts_of_numbers_are_those_of_scikit_learn(regression):
    model, found = regression
    score = {one.name: one for one in found.score}
    predicted = model.predict(X[1::2])
    assert score["R²"].value == pytest.approx(r2_score(Y[1::2], predicted))
    squares = (predicted - Y[1::2]) ** 2
    assert score["RMSE"].value == pytest.approx(math.sqrt(squares.mean()))
    # The delta method against the bootstrap.
    random = np.random.default_rng(0)
    again = [math.sqrt(random.choice(squares, len(squares)).mean()) for _ in range(2000)]
    assert score["RMSE"].standard_error == pytest.approx(np.std(again), rel=0.1)
    lower, upper = model.predict_interval(X[1::2])
    assert found.coverage == np.mean((lower <= Y[1::2]) & (Y[1::2] <= upper))
    assert found.outside_rows == model.outside(X[1::2]).rows.sum()


def test_the_facts_of_classes_are_those_of_scikit_learn(classification):
    model, rows, labels, found = classification
    score = {one.name: one.value for one in found.score}
    chances = model.predict_proba(rows)
    assert score["accuracy"] == pytest.approx(accuracy_score(labels, model.predict(rows)))
    assert score["log loss"] == pytest.approx(log_loss(labels, chances))
    assert found.confusion == confusion_matrix(labels, model.predict(rows)).tolist()
    most = np.bincount(labels).max() / len(labels)
    assert f"has {most:.4f} of these rows" in found._repr_html_()
    shares, means = calibration_curve(labels, chances[:, 1], n_bins=10, strategy="quantile")
    own = found.calibration["1"]
    np.testing.assert_allclose([one.probability for one in own], means, atol=0.02)
    np.testing.assert_allclose([one.share for one in own], shares, atol=0.08)
    assert sum(one.rows for one in own) == len(labels)
    assert found.sure[0].certainty == pytest.approx(chances.max())
    assert found.unsure[0].certainty == pytest.approx(chances.max(axis=1).min())


def test_importances_are_those_of_scikit_learn_within_their_errors(regression):
    model, found = regression
    peer = permutation_importance(
        model, X[1::2], Y[1::2], scoring="neg_mean_squared_error", n_repeats=30, random_state=0
    )
    for one in found.importances:
        spread = math.hypot(one.standard_error, peer.importances_std[one.place])
        assert abs(one.increase - peer.importances_mean[one.place]) < 4 * spread + 1e-9
    assert found.importances[0].share > 0.1


@pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.7"),
    reason="partial dependence takes values of one's own since scikit-learn 1.7",
)
def test_curves_are_the_partial_dependence_of_scikit_learn(regression):
    model, found = regression
    curve = found.curves[0]
    small = X[1::2]
    peer = partial_dependence(
        model, small, [curve.column], custom_values={curve.column: np.array(curve.values)}
    )
    # The mean is over 200 of the 221 rows.
    spread = np.ptp(peer["average"])
    np.testing.assert_allclose(curve.means["prediction"], peer["average"][0], atol=0.1 * spread)
    assert found.interaction is not None
    assert len(found.interaction.means) == len(found.interaction.first_values)


def test_three_models_on_one_split(regression):
    _, found = regression
    assert len(found.compared) == 3
    for one in found.compared:
        assert 0.3 < one.error < 1.0
        assert 0.0 < one.standard_error < 0.3


@pytest.mark.parametrize("tau", [0.1, 0.9])
def test_a_quantile_is_scored_by_its_own_loss(tau):
    """R² says nothing about a quantile: that of the best one may be below zero."""
    model = fourier(loss=ks.losses.Quantile(tau), alpha=1e-3).fit(X[::2], Y[::2])
    rows, truth = X[1::2], Y[1::2]
    found, predicted = model.report(rows, truth), model.predict(rows)
    values = {one.name: one.value for one in found.score}
    first = found.score[0]
    assert "explained quantile loss" in repr(found)
    assert first.name == "explained quantile loss (D²)"
    assert first.value == pytest.approx(d2_pinball_score(truth, predicted, alpha=tau), abs=1e-3)
    loss = mean_pinball_loss(truth, predicted, alpha=tau)
    assert values["quantile loss"] == pytest.approx(loss)
    assert values["share of targets below"] == np.mean(truth <= predicted)
    assert "R²" not in found.to_html()
    # The other two models fit the same quantile.
    assert len(found.compared) == 3
    assert all(0.4 < one.error < 1.1 for one in found.compared)
    moved = permutation_importance(
        *(model, rows, truth),
        n_repeats=3,
        random_state=0,
        scoring=make_scorer(mean_pinball_loss, greater_is_better=False, alpha=tau),
    )
    best = found.importances[0]
    assert best.increase == pytest.approx(
        moved.importances_mean[best.place], abs=4 * best.standard_error
    )


def test_object_columns_with_missing_values_of_pandas_are_reported():
    rows, plain = X.astype(object), X.copy()
    rows.iloc[0, 0], plain.iloc[0, 0] = pd.NA, np.nan
    model = fourier().fit(X, Y)
    assert model.report(rows, Y).score == model.report(plain, Y).score


def test_the_facts_are_json(regression, classification):
    for found in (regression[1], classification[3]):
        text = found.to_json()
        assert json.loads(text) == found.to_dict()
        assert "NaN" not in text
        assert "Infinity" not in text


def test_a_learned_law_shows_its_trials_and_a_frame_its_columns(tmp_path):
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": random.normal(size=900),
            "town": pd.Categorical(random.choice(["Ulm", "Bonn", "Kiel"], size=900)),
            "age": np.where(random.random(900) < 0.1, np.nan, random.normal(size=900)),
            "sold": pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 900, 900), "D"),
        }
    )
    price = frame["size"] + 2.0 * (frame["town"] == "Kiel") + 0.1 * random.normal(size=900)
    model = ks.KitchenSinkRegressor(ks.Learned(effort="quick"), random_state=0)
    model.fit(frame[:600], price[:600])
    found = model.report(frame[600:], price[600:])
    assert len(found.trials) == len(model.law_.record.trials) > 3
    assert {one.column for one in found.importances} == set(frame)
    assert {one.column for one in found.importances[:2]} == {"size", "town"}
    town = next(one for one in found.curves if one.column == "town")
    assert sorted(town.values) == ["Bonn", "Kiel", "Ulm"]
    means = dict(zip(town.values, town.means["prediction"], strict=True))
    assert means["Kiel"] - means["Ulm"] == pytest.approx(2.0, abs=0.3)
    # Dates are in their order.
    (sold,) = [one for one in found.curves if one.column == "sold"]
    assert sold.ordered
    assert sold.values == sorted(sold.values)
    assert all(len(value) == len("2024-01-01") for value in sold.values)
    json.loads(found.to_json())
    # From a file the same model gives the same facts.
    ks.save(model, tmp_path / "model.sinks")
    again = ks.load(tmp_path / "model.sinks").report(frame[600:], price[600:], compare=False)
    assert again.score == found.score
    assert again.importances == found.importances


def test_a_fit_that_stops_on_purpose_says_so():
    rows = np.random.default_rng(0).normal(size=(300, 2))
    learned = ks.Learned(ks.Binning(), effort="quick", members=1, steps=2)
    model = ks.KitchenSinkRegressor(learned, random_state=0).fit(rows, np.sign(rows[:, 0]))
    assert not model.converged_
    found = model.report(rows[:50], np.sign(rows[:50, 0]), compare=False)
    assert found.certificate["converged"] == f"no, {why_stopped(False, True)}"
    assert "no, on purpose: more steps would hardly" in page(found)
    # A file written before the reason was stored does not say which one it was.
    outer = model.state_.outer
    old = outer._replace(evidence=outer.evidence._replace(settled=None))
    model.state_ = replace(model.state_, outer=old)
    found = model.report(rows[:50], np.sign(rows[:50, 0]), compare=False)
    assert found.certificate["converged"] == "no"


def test_ordered_categories_keep_their_order():
    rng = np.random.default_rng(0)
    sizes = ["small", "medium", "large", "huge"]
    frame = pd.DataFrame(
        {
            "size": pd.Categorical(rng.choice(sizes[:3], 300), sizes, ordered=True),
            "age": rng.normal(size=300),
        }
    )
    y = frame["size"].cat.codes + frame["age"]
    found = fourier().fit(frame, y).report(frame, y, compare=False)
    assert found.interaction is not None
    shown = [found.interaction.first_values, found.interaction.second_values]
    assert sizes[:3] in shown
    assert [one.values for one in found.curves if one.column == "size"] == [sizes[:3]]


@pytest.mark.parametrize(
    "levels", [[(3, 4), (1, 2), (5,)], ["b", "a", "c"], [2, 1, 3], pd.to_datetime(["2021", "2020"])]
)
def test_levels_of_any_kind_are_counted(levels):
    index = pd.Index(levels, tupleize_cols=False)
    values = np.asarray(pd.Series(pd.Categorical.from_codes([1, 0, -1, 1], index, ordered=True)))
    assert _most_frequent(values, list(index), 5) == list(index[:2])
    assert _most_frequent(values, list(index), 1) == [index[1]]


def test_missing_values_of_single_rows_are_a_dash():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=200), "when": pd.date_range("2024", periods=200)})
    frame.loc[::2, "a"], frame.loc[1::2, "when"] = np.nan, pd.NaT
    found = fourier().fit(frame, np.arange(200.0)).report(frame, np.arange(200.0), compare=False)
    values = [row.values for row in found.sure + found.unsure]
    assert all((one["a"] is None) != (one["when"] is None) for one in values)
    assert not re.search(r">(nan|NaT)<", found._repr_html_())


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_many_classes(loss):
    rows, labels = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[labels]
    model = fourier(ks.KitchenSinkClassifier, loss=loss, alpha=1e-3).fit(rows[::2], names[::2])
    found = model.report(rows[1::2], names[1::2])
    assert found.labels == ["setosa", "versicolor", "virginica"]
    assert np.sum(found.confusion) == found.rows == 75
    assert len(found.curves[0].means) == 3
    Seen(found.to_html())


# -- the page ---------------------------------------------------------------------------------


def test_a_page_needs_nothing_else(regression, classification, tmp_path):
    for found in (regression[1], classification[3]):
        text = found.to_html()
        assert len(text.encode()) < 2_000_000
        seen = Seen(text)
        assert not {"script", "link", "img", "iframe", "object"} & set(seen.found)
        for _, name, value in seen.attributes:
            if name in ("href", "src"):
                assert value.startswith("#")
            assert not name.startswith("on")
        # The one address is the name of SVG's own language, which nothing is loaded from.
        assert text.replace("http://www.w3.org/2000/svg", "").count("//") == 0
        assert "prefers-color-scheme:dark" in text
        assert "@media print" in text
        found.save(tmp_path / "report.html")
        assert (tmp_path / "report.html").read_text("utf-8") == text
        found.save(tmp_path / "report.json")
        assert json.loads((tmp_path / "report.json").read_text("utf-8")) == found.to_dict()


def test_a_page_can_be_read_aloud(regression, classification):
    for found in (regression[1], classification[3]):
        seen = Seen(found.to_html())
        assert ("html", "lang", "en") in seen.attributes
        assert seen.found.count("h1") == seen.found.count("main") == 1
        # Every picture has a title, every table a caption and heads with a scope.
        assert seen.found.count("svg") == seen.found.count("title") - 1
        assert seen.found.count("svg") == seen.attributes.count(("svg", "role", "img"))
        assert seen.found.count("table") == seen.found.count("caption") > 3
        scopes = [entry for entry in seen.attributes if entry[:2] == ("th", "scope")]
        assert len(scopes) == seen.found.count("th")
        named = [value for tag, name, value in seen.attributes if name == "id"]
        assert len(named) == len(set(named))
        for _, name, value in seen.attributes:
            if name in ("aria-labelledby", "href"):
                assert value.removeprefix("#") in named


def mixed():
    """A table whose first column becomes several numbers, and whose last one decides."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"city": rng.choice(["Oslo", "Rome", "Lima"], 150)})
    frame["idle"], frame["works"] = rng.normal(size=150), rng.normal(size=150)
    return frame, frame["works"].to_numpy()


def test_rows_of_a_table_are_reported_by_its_columns():
    frame, y = mixed()
    table = ks.open_table(frame)
    rows = ks.Rows(table, ks.Columns.learn(table))
    model = fourier().fit(rows, y)
    found = model.report(rows, y)
    assert found.importances[0].column == "works"
    assert {one.column for one in found.importances} == set(frame.columns)
    assert found.importances == model.report(frame, y, compare=False).importances
    with pytest.raises(ValueError, match="fitted to 3 columns: give rows with these columns"):
        model.report(rows[:], y)
    with pytest.raises(ValueError, match="X has 150 rows and y is of shape"):
        model.report(rows, y[:3])
    numbers = ks.open_table(frame.drop(columns="city"))
    model = fourier().fit(ks.Rows(numbers, ks.Columns.learn(numbers)), y)
    found = model.report(frame[["idle", "works"]].to_numpy(), y)
    assert found.importances[0].column == "works"
    assert len(found.compared) == 3


def test_frames_are_reported_on_after_a_fit_to_arrays():
    model = fourier().fit(X.to_numpy(), Y)
    found = model.report(X, Y, compare=False)
    assert found.importances == model.report(X.to_numpy(), Y, compare=False).importances
    frame, y = mixed()
    frame.columns = [0, 1, 2]
    assert fourier().fit(frame, y).report(frame, y).importances[0].column == "2"


def test_hostile_names_and_values_stay_text():
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(200, 4)), columns=HOSTILE[:4])
    frame[HOSTILE[4]] = random.choice(HOSTILE, size=200)
    labels = np.where(frame[HOSTILE[0]] > 0, HOSTILE[1], HOSTILE[2])
    model = fourier(ks.KitchenSinkClassifier).fit(frame, labels)
    found = model.report(frame, labels)
    text = found.to_html()
    seen = Seen(text)
    assert not {"script", "img"} & set(seen.found)
    assert not [name for _, name, _ in seen.attributes if name.startswith("on")]
    # All of it is there to be read.
    told = "".join(seen.text)
    for name in HOSTILE[:3]:
        assert name in told
    inside = Seen(found._repr_html_())
    assert inside.found == ["iframe"]
    assert {value for _, name, value in inside.attributes if name == "srcdoc"} == {text}


def test_extremes_are_drawn():
    """Constant columns, one row, huge and tiny numbers."""
    rows = np.column_stack([np.ones(60), 1e200 * np.arange(60.0), 1e-200 * np.arange(60.0) ** 2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fourier(alpha=1e-3, standardize=True).fit(rows[:, :1], np.arange(60.0))
        one = model.report(rows[:1, :1], [3.0])
    Seen(page(one))
    assert one.compared == []
    assert one.rows == 1


# -- what cannot be reported ------------------------------------------------------------------


def test_errors_say_what_is_needed():
    model = fourier().fit(X, np.column_stack([Y, Y]))
    with pytest.raises(ValueError, match="one target"):
        model.report(X, Y)
    with pytest.raises(ValueError, match="no rows have come yet"):
        fourier().freeze(X, Y).report(X, Y)
    model = fourier().fit(X, Y)
    with pytest.raises(ValueError, match="one target for each row"):
        model.report(X, Y[:5])
    with pytest.raises(ValueError, match="y='price' names a column, and X is no table"):
        model.report(X, "price")
    with pytest.raises(ValueError, match="X has no rows"):
        model.report(X[:0], Y[:0])
    da = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match="not supported for Dask"):
        model.report(da.from_array(X.to_numpy()), Y)


@pytest.mark.parametrize(
    ("labels", "given", "said"),
    [
        (None, np.where(Y > 100, "high", "low"), "Need numbers; for labels use KitchenSinkClass"),
        (None, Y.where(Y > 50), "contains NaN"),
        ([0, 1], Y + 0.5, r"y has \d+\.5, and the classes that were fitted are 0, 1"),
        ([0, 1], np.linspace(0, 1, len(Y)), r"y has 0\.00\d*, and the classes"),
        ([0, 1], np.where(Y > 100, "1", "0"), "y has '1', and the classes that were fitted are 0"),
        (["no", "yes"], Y > 100, "y has True, and the classes that were fitted are 'no', 'yes'"),
        (["no", "yes"], np.full(len(Y), "maybe"), "y has 'maybe', and the classes"),
        ([0, 1], [0, 1, None] * 147 + [0], "y has None, and the classes"),
        ([0, 1], [0.0, 1.0, math.nan] * 147 + [0.0], "y has nan, and the classes"),
    ],
)
def test_targets_of_another_kind_are_an_error_of_ours(labels, given, said):
    model = fourier(n_components=20)
    if labels is not None:
        model = fourier(ks.KitchenSinkClassifier, n_components=20)
    model.fit(X, Y if labels is None else np.array(labels)[(Y > 100).astype(int)])
    with pytest.raises(ValueError, match=said):
        model.report(X, given, compare=False)


@pytest.mark.parametrize("kind", [float, bool, object], ids=lambda kind: kind.__name__)
def test_labels_may_come_as_other_types_that_are_equal(kind):
    model = fourier(ks.KitchenSinkClassifier, n_components=20).fit(X, (Y > 100).astype(int))
    found = model.report(X, (Y > 100).astype(int).astype(kind), compare=False)
    assert found.score[0].value == pytest.approx(model.score(X, Y > 100))
    new = np.array((Y > 100).astype(int))
    new[:5] = 2  # a class that was not fitted counts as an error
    assert model.report(X, new, compare=False).score[0].value < found.score[0].value
