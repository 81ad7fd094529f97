"""Explanations of single predictions, and importances of columns."""

import copy
import itertools
import math
import pickle
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes, load_iris
from sklearn.pipeline import make_pipeline

import kitchensinks as ks
from kitchensinks.inspect.explain import _kind

ROWS, VALUES = load_diabetes(return_X_y=True)
RANDOM = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "size": RANDOM.normal(size=300),
        "town": RANDOM.choice(["Ulm", "Bonn", "Kiel", "Jena"], size=300),
        "age": np.where(RANDOM.random(300) < 0.1, np.nan, RANDOM.normal(size=300)),
    }
)
PRICE = FRAME["size"] + 2.0 * (FRAME["town"] == "Kiel") + FRAME["age"].fillna(0.0) ** 2
pytestmark = pytest.mark.usefixtures("little_work")


def fourier(kind=ks.KitchenSinkRegressor, **given):
    given = {"basis": ks.Fourier(), "n_components": 60, "random_state": 0} | given
    return kind(**given)


def regressor():
    return fourier().fit(ROWS, VALUES), ROWS


def outputs():
    return fourier().fit(ROWS, np.column_stack([VALUES, -VALUES])), ROWS


def frame():
    return fourier().fit(FRAME, PRICE), FRAME


def two_classes():
    return fourier(ks.KitchenSinkClassifier).fit(ROWS, VALUES > 140), ROWS


def logistic():
    model = fourier(ks.KitchenSinkClassifier, loss="logistic", alpha=1e-3)
    return model.fit(ROWS, VALUES > 140), ROWS


def classes():
    X, y = load_iris(return_X_y=True)
    return fourier(ks.KitchenSinkClassifier).fit(X, y), X


def bins():
    return ks.KitchenSinkRegressor(ks.Binning(), n_components=50, random_state=0).fit(
        ROWS, VALUES
    ), ROWS


def learned():
    return ks.KitchenSinkRegressor(ks.Learned(effort="quick"), random_state=0).fit(
        ROWS, VALUES
    ), ROWS


MODELS = [regressor, outputs, frame, two_classes, logistic, classes, bins, learned]


@pytest.mark.parametrize("make", [regressor, frame, two_classes, bins, learned])
def test_without_a_background_predictions_are_compared_with_fitted_rows(make):
    model, X = make()
    found = ks.explain(model, X[:2])
    assert found.compared == "100 fitted rows"
    assert "(the mean of 100 fitted rows)" in repr(found)
    total = found.base + found.contributions.sum(axis=1)
    np.testing.assert_allclose(total, found.predictions, rtol=1e-9)
    given = ks.explain(model, X[:2], background=X)
    assert given.compared == "100 given rows"
    # Two samples of the same rows: about the same mean prediction.
    assert abs(found.base - given.base) < 0.3 * np.std(answers(model, X, found.method))


@pytest.mark.parametrize("loss", ["huber", "quantile", "poisson", "tweedie"])
@pytest.mark.parametrize("stream", [False, True], ids=["fit", "partial_fit"])
def test_predictions_of_every_loss_are_compared_with_fitted_rows(loss, stream):
    model = fourier(loss=loss, alpha=1e-3)
    targets = np.exp(VALUES / np.std(VALUES))
    if stream:
        model.freeze(ROWS, targets).partial_fit(ROWS, targets)
    else:
        model.fit(ROWS, targets)
    assert ks.explain(model, ROWS[:1]).compared == "100 fitted rows"


def test_copies_are_among_the_hundred_background_rows_as_often_as_among_all():
    """Once all copies of a hundred different rows were used, whatever their number."""
    rows = np.random.default_rng(0).integers(0, 2, size=(5000, 2)).astype(float)
    rows[:, 0] *= rows[:, 1]
    model = fourier().fit(rows, rows @ [1.0, 2.0])
    few = "3 different fitted rows by weight"
    for background, compared in ((rows, "100 given rows"), (None, few)):
        found = ks.explain(model, rows[:1], background)
        assert found.compared == compared
        assert abs(found.base - model.predict(rows).mean()) < 0.05


def test_a_model_that_remembers_no_rows_compares_those_of_X_and_says_so(tmp_path):
    model, X = regressor()
    ks.save(model, tmp_path / "model.sinks")
    loaded = ks.load(tmp_path / "model.sinks")
    with pytest.warns(UserWarning, match="rows of X are compared with each other"):
        found = ks.explain(loaded, X[:5])
    assert found.compared == "5 of the rows explained"
    same = ks.explain(loaded, X[:5], background=X[:5])
    np.testing.assert_array_equal(found.contributions, same.contributions)
    with pytest.raises(ValueError, match="give some training rows"):
        ks.explain(loaded, X[:1])


def test_the_largest_contributions_of_a_class_are_found_by_its_label_or_its_place():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    found = ks.explain(fourier(ks.KitchenSinkClassifier).fit(X, names[y]), X[60:62])
    wanted = [(j, float(found.contributions[1, j, 2])) for j in range(4)]
    wanted.sort(key=lambda item: -abs(item[1]))
    assert found.largest(1, output="virginica") == found.largest(1, output=2) == wanted
    assert found.largest(1, output=-1) == wanted
    assert found.largest(1) == found.largest(1, output="setosa")
    for wrong in ("rose", 3, 1.5):
        with pytest.raises(ValueError, match="need one of setosa, versicolor, virginica, or a pl"):
            found.largest(output=wrong)
    # A number that is a label is one, and not a place.
    found = ks.explain(fourier(ks.KitchenSinkClassifier).fit(X, y - 1), X[60:61])
    assert dict(found.largest(output=0)) == dict(enumerate(found.contributions[0, :, 1]))
    assert found.largest() == found.largest(output=-1)
    model, X = two_classes()
    with pytest.raises(ValueError, match="one output, for two classes the answer for the second"):
        ks.explain(model, X[:1]).largest(output=True)
    for wrong in (np.arange(2), [0], np.array(["setosa"])):
        with pytest.raises(TypeError, match="need one label or one place"):
            found.largest(output=wrong)


def test_the_one_output_of_numbers_has_place_0():
    X, y = load_iris(return_X_y=True)
    found = ks.explain(fourier().fit(X, y), X[:2])
    assert found.largest(0, 5, 0) == found.largest(0, 5, np.int64(0)) == found.largest(0, 5)
    for wrong in (1, False, "a"):
        with pytest.raises(ValueError, match=r"there is one output.*Leave it out"):
            found.largest(output=wrong)
    # Here 0 is the label of the class whose answer is not explained.
    model, X = two_classes()
    with pytest.raises(ValueError, match=r"there is one output.*Leave it out"):
        ks.explain(model, X[:1]).largest(output=0)
    with pytest.raises(TypeError, match="need one label or one place"):
        found.largest(output=np.zeros(2))


def test_weighted_background_rows_are_counted_once():
    rows = np.random.default_rng(0).normal(size=(40, 2))
    weights = np.where(np.arange(40) < 5, 50.0, 1.0)
    model = fourier().fit(rows, rows[:, 0], sample_weight=weights)
    count, said = ks.explain(model, rows[:1]).compared.split(" ", 1)
    assert 5 <= int(count) < 40
    assert said == "different fitted rows by weight"


def answers(model, X, method):
    found = getattr(model, method)(X)
    return found[:, 1] if method == "predict_proba" and found.shape[1] == 2 else found


@pytest.mark.parametrize("made", MODELS, ids=lambda made: made.__name__)
def test_contributions_sum_to_the_prediction(made):
    model, X = made()
    for method in ["predict_proba", "decision_function"] if hasattr(model, "classes_") else [None]:
        found = ks.explain(model, X[:4], X, method=method)
        expected = answers(model, X[:4], found.method)
        assert found.contributions.shape[:2] == (4, X.shape[1])
        np.testing.assert_allclose(found.predictions, expected, rtol=1e-5, atol=1e-7)
        total = found.base + found.contributions.sum(axis=1)
        scale = np.abs(found.contributions).max()
        np.testing.assert_allclose(total, found.predictions, rtol=0, atol=1e-12 * scale * 100)


def brute_force(model, X, background):
    """Shapley values by all orders of the columns, on frames as a user has them."""
    names, orders = list(X), list(itertools.permutations(range(X.shape[1])))
    found = np.zeros(X.shape)
    for place in range(len(X)):
        for order in orders:
            mixed = background.copy()
            before = model.predict(mixed).mean()
            for column in order:
                mixed[names[column]] = X[names[column]].iloc[place]
                mixed = mixed.astype(X.dtypes)
                after = model.predict(mixed).mean()
                found[place, column] += (after - before) / len(orders)
                before = after
    return found


def test_few_columns_are_exact_and_a_category_is_one_column():
    model, X = frame()
    assert model.columns_.width > 3
    background = FRAME[100:120]
    found = ks.explain(model, X[:3], background)
    assert found.columns == ["size", "town", "age"]
    assert not found.errors.any()
    expected = brute_force(model, X[:3], background)
    np.testing.assert_allclose(found.contributions, expected, atol=1e-4 * np.abs(expected).max())
    assert found.base == pytest.approx(model.predict(background).mean(), rel=1e-5)


def test_the_rows_that_are_explained_are_kept_by_their_columns():
    model, X = frame()
    expected = ks.explain(model, X[:3], X[:20]).data
    table = ks.open_table(X[:3])
    for given in (table, ks.Rows(table, model.columns_)):
        data = ks.explain(model, given, X[:20]).data
        assert data.shape == (3, 3)
        assert data[:, 1].tolist() == expected[:, 1].tolist()
    named = pd.DataFrame(ROWS[:2]).add_prefix("column ")
    with pytest.warns(UserWarning, match="fitted without feature names"):
        found = ks.explain(regressor()[0], named, ROWS[:20])
    np.testing.assert_array_equal(found.data, ROWS[:2])


def test_sampled_contributions_are_within_their_errors(monkeypatch):
    model, X = regressor()
    sampled = [ks.explain(model, X[:3], X[50:90], random_state=seed) for seed in range(40)]
    # By its name: the attribute of the package is the function.
    monkeypatch.setattr(sys.modules["kitchensinks.inspect.explain"], "_EXACT_COLUMNS", 10)
    exact = ks.explain(model, X[:3], X[50:90])
    errors = np.array([one.contributions for one in sampled]) - exact.contributions
    assert not exact.errors.any()
    # Unbiased, and as far away as is stated: mean squares over forty independent repetitions.
    stated = np.sqrt(np.mean([one.errors**2 for one in sampled], axis=0))
    assert (np.abs(errors.mean(axis=0)) < 5 * stated / math.sqrt(40)).all()
    ratio = np.sqrt((errors**2).mean()) / np.sqrt((stated**2).mean())
    assert 0.8 < ratio < 1.25
    finer = ks.explain(model, X[:3], X[50:90], n_permutations=18)
    assert finer.errors.mean() < 0.5 * stated.mean()


def test_columns_that_do_not_matter_have_no_contribution():
    model = ks.KitchenSinkRegressor(ks.Stumps(), n_components=200, random_state=0)
    X = np.column_stack([ROWS, np.zeros(len(ROWS))])
    found = ks.explain(model.fit(X, VALUES), X[:2], X)
    assert not found.contributions[:, -1].any()
    assert not found.errors[:, -1].any()


def test_an_additive_function_has_the_contributions_of_its_terms():
    """Stumps are functions of one column each, so every order gives the same."""
    model = ks.KitchenSinkRegressor(ks.Stumps(), n_components=200, random_state=0)
    model.fit(ROWS, VALUES)
    found = ks.explain(model, ROWS[:5], ROWS[60:90])
    assert found.errors.max() < 1e-9
    for column in range(10):
        alone = np.repeat(ROWS[60:90], 5, axis=0)
        alone[:, column] = np.tile(ROWS[:5, column], 30)
        moved = model.predict(alone).reshape(30, 5).mean(axis=0) - found.base
        np.testing.assert_allclose(found.contributions[:, column], moved, atol=1e-8)


def test_the_same_rows_have_the_same_explanation():
    model, X = regressor()
    one, two = ks.explain(model, X[:3], X), ks.explain(model, X[2:4], X)
    np.testing.assert_allclose(one.contributions[2], two.contributions[0], rtol=1e-9)
    other = ks.explain(model, X[:3], X, random_state=1)
    assert np.abs(other.contributions - one.contributions).max() > 0


def test_shap_gets_the_same_values():
    shap = pytest.importorskip("shap")
    X, y = load_iris(return_X_y=True)
    model = fourier(ks.KitchenSinkClassifier).fit(X, y)
    found = ks.explain(model, X[:4], X[:40])
    peer = shap.explainers.Exact(model.predict_proba, shap.maskers.Independent(X[:40]))(X[:4])
    np.testing.assert_allclose(found.values, peer.values, atol=1e-5)
    np.testing.assert_allclose(found.base_values, peer.base_values, atol=1e-5)
    assert found.shape == (4, 4, 3)
    with_names = ks.explain(*frame(), FRAME)
    assert with_names.feature_names == ["size", "town", "age"]
    assert with_names.data[0, 1] == FRAME["town"][0]


def test_plots_of_shap_take_explanations():
    shap = pytest.importorskip("shap")
    plt = pytest.importorskip("matplotlib.pyplot")
    many = ks.explain(regressor()[0], ROWS[:20], ROWS[:40])
    X, y = load_iris(return_X_y=True)
    classes = ks.explain(fourier(ks.KitchenSinkClassifier).fit(X, y), X[:20], X[:40])
    for found in (many, classes[:, :, 2], ks.explain(frame()[0], FRAME[:20], FRAME)):
        assert isinstance(found, shap.Explanation)
        for plot in (shap.plots.beeswarm, shap.plots.bar, shap.plots.heatmap):
            plot(found, show=False)
            plt.close("all")
        for plot in (shap.plots.waterfall, shap.plots.bar):
            plot(found[0], show=False)
            plt.close("all")


def test_an_explanation_for_shap_stays_our_own():
    shap = pytest.importorskip("shap")
    model, X = regressor()
    found = ks.explain(model, X[:5], X)
    assert isinstance(found, ks.inspect.Explanation)
    assert repr(found).startswith("<Explanation of predict: 5 × 10 contributions")
    again = pickle.loads(pickle.dumps(found))
    for one in (found, again):
        total = one.base + one.contributions.sum(axis=1)
        np.testing.assert_allclose(total, one.predictions, rtol=1e-12)
        np.testing.assert_array_equal(one.error_std, found.errors)
        assert one.largest(0) == found.largest(0)
    # What shap makes of it is its own.
    for one in (found[0], found.abs, found.percentile(50, axis=0), copy.deepcopy(found)):
        assert type(one) is shap.Explanation
    np.testing.assert_array_equal(found[3].values, found.contributions[3])


def test_without_shap_explanations_are_the_same(monkeypatch):
    model, X = regressor()
    known = ks.explain(model, X[:3], X)
    monkeypatch.setitem(sys.modules, "shap", None)
    _kind.cache_clear()
    found = ks.explain(model, X[:3], X)
    _kind.cache_clear()
    assert type(found) is ks.inspect.Explanation
    np.testing.assert_array_equal(found.contributions, known.contributions)
    assert repr(found) == repr(known)


def test_what_cannot_be_explained():
    model, X = regressor()
    with pytest.raises(TypeError, match="not Pipeline"):
        ks.explain(make_pipeline(model), X, X)
    with pytest.raises(ValueError, match="method='predict_proba': need 'predict'"):
        ks.explain(model, X, X, method="predict_proba")
    with pytest.raises(ValueError, match="need 2 or more"):
        ks.explain(model, X, X, n_permutations=1)


# -- importances -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "basis", [ks.Fourier(), ks.ReLU(), ks.Stumps(), ks.Binning()], ids=lambda b: type(b).__name__
)
def test_importances_are_shares_of_the_variance(basis):
    X = np.random.default_rng(0).normal(size=(3000, 3)) * [1.0, 10.0, 0.1] + 5.0
    y = 3.0 * X[:, 0] + 0.1 * X[:, 1]
    model = ks.KitchenSinkRegressor(basis, n_components=500, random_state=0).fit(X, y)
    # Total effects of a sum of independent terms are their variances, 9 to 1 to 0.
    np.testing.assert_allclose(model.feature_importances_, [0.9, 0.1, 0.0], atol=0.05)
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_importances_of_frames_files_and_classes(tmp_path):
    model, _ = frame()
    assert model.feature_importances_.shape == (3,)
    ks.save(model, tmp_path / "model.sinks")
    again = ks.load(tmp_path / "model.sinks")
    np.testing.assert_array_equal(again.feature_importances_, model.feature_importances_)
    three, _ = classes()
    assert np.argmax(three.feature_importances_) in (2, 3)


@pytest.mark.parametrize("loss", ["squared", "huber"])
@pytest.mark.parametrize("gamma", ["median", 0.2])
@pytest.mark.parametrize("solver", ["auto", "stochastic"])
def test_importances_of_columns_that_come_as_they_are(solver, gamma, loss, tmp_path):
    """Their spread is that of sampled rows, here all of them, and files hold it."""
    Z = (ROWS - ROWS.mean(axis=0)) / ROWS.std(axis=0)
    how = ks.Solver(solver, max_iter=10 if solver == "stochastic" else 200)
    given = {"basis": ks.Fourier(gamma=gamma), "alpha": 1e-3, "solver": how, "loss": loss}
    plain = fourier(standardize=False, **given).fit(Z, VALUES)
    scaled = fourier(**given).fit(Z, VALUES)
    np.testing.assert_allclose(plain.feature_importances_, scaled.feature_importances_, atol=0.02)
    ks.save(plain, tmp_path / "model.sinks")
    again = ks.load(tmp_path / "model.sinks")
    np.testing.assert_array_equal(again.feature_importances_, plain.feature_importances_)


def test_importances_of_streams_and_sparse_rows_that_come_as_they_are():
    stream = fourier(standardize=False).partial_fit(ROWS[:200], VALUES[:200])
    whole = fourier(standardize=False).fit(sparse.csr_array(ROWS), VALUES)
    for one in (stream, whole):
        assert one.feature_importances_.sum() == pytest.approx(1.0)


def test_importances_of_equal_scales_are_shares_of_the_variance():
    """Equal scales say nothing of the columns, whatever learned them."""
    model = ks.KitchenSinkRegressor(ks.Learned(effort="quick"), random_state=0).fit(ROWS, VALUES)
    law = model.law_
    equal = np.full(ROWS.shape[1], 0.1)
    record = replace(law.record, scaling="equal", map="standard", importances=equal)
    model.state_ = replace(model.state_, law=replace(law, record=record))
    found = model.feature_importances_
    assert found.sum() == pytest.approx(1.0)
    assert np.ptp(found) > 0.05
