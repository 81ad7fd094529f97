"""What scikit-learn and skrub do with estimators: routed weights, frames, searches, pipelines."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.experimental import enable_halving_search_cv  # noqa: F401  (imported for its effect)
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.fixes import parse_version

import kitchensinks as ks

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
Y = np.sin(2 * X[:, 0]) + X[:, 1]
WEIGHTS = RNG.random(300)


def pieces(estimator):
    """A pipeline whose last step alone asks for weights."""
    estimator.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    return make_pipeline(StandardScaler().set_fit_request(sample_weight=False), estimator)


@pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.8"),
    reason="pipelines route weights to score since scikit-learn 1.8",
)
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_weights_are_routed(task):
    if task == "regression":
        make, y = ks.KitchenSinkRegressor, Y
    else:
        make, y = ks.KitchenSinkClassifier, Y > 0
    with sklearn.config_context(enable_metadata_routing=True):
        steps = pieces(make(ks.Fourier(), 30, alpha=1e-3, random_state=0))
        params = {"sample_weight": WEIGHTS}
        found = cross_validate(steps, X, y, params=params, return_estimator=True, cv=3)
        plain = cross_validate(steps, X, y, cv=3)
        assert not np.array_equal(found["test_score"], plain["test_score"])
        search = GridSearchCV(steps, {f"{make.__name__.lower()}__basis__gamma": [0.1, 1.0]}, cv=3)
        search.fit(X, y, sample_weight=WEIGHTS)
        best = search.best_estimator_
    # The same weights given by hand.
    rows = best[0].transform(X)
    alone = sklearn.clone(best[-1]).fit(rows, y, sample_weight=WEIGHTS)
    np.testing.assert_array_equal(alone.predict(rows), best.predict(X))


def test_a_solver_of_streams_takes_routed_weights():
    with sklearn.config_context(enable_metadata_routing=True):
        steps = pieces(ks.StreamingRidgeCV()).fit(X, Y, sample_weight=WEIGHTS)
        assert steps.score(X, Y, sample_weight=WEIGHTS) != steps.score(X, Y)


@pytest.mark.parametrize(("name", "frame"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
@pytest.mark.parametrize(
    "transformer",
    [
        ks.RandomFeatures(ks.Fourier(), 8, random_state=0),
        ks.KitchenSinkPCA(n_components=2, random_state=0),
        ks.MaxoutHash(random_state=0),
    ],
    ids=lambda one: type(one).__name__,
)
def test_transformers_give_frames(transformer, name, frame):
    table = frame({"a": X[:, 0], "b": X[:, 1]})
    plain = sklearn.clone(transformer).fit(X[:, :2])
    fitted = sklearn.clone(transformer).set_output(transform=name).fit(table)
    found = fitted.transform(table)
    assert isinstance(found, frame)
    assert list(found.columns) == list(fitted.get_feature_names_out())
    # A frame stores its columns one after another, so that sums are rounded in another order.
    np.testing.assert_allclose(found.to_numpy(), plain.transform(X[:, :2]), rtol=1e-9, atol=1e-12)


def test_bins_in_a_frame_are_refused_by_scikit_learn():
    bins = ks.RandomFeatures(ks.Binning(), 4, random_state=0).set_output(transform="pandas")
    with pytest.raises(ValueError, match="outputs a scipy sparse matrix"):
        bins.fit_transform(X)


@pytest.mark.usefixtures("little_work")
def test_halving_searches_over_nested_parameters():
    """The number of components is the resource, or the number of rows."""
    model = ks.KitchenSinkRegressor(ks.Fourier(), random_state=0)
    by_components = HalvingGridSearchCV(
        model,
        {"basis__gamma": [1e-4, 0.3], "basis__kernel": ["gaussian", "laplacian"]},
        resource="n_components",
        min_resources=10,
        max_resources=90,
        cv=3,
        random_state=0,
    ).fit(X, Y)
    assert by_components.n_resources_ == [10, 30]
    assert by_components.best_params_["basis__gamma"] == 0.3
    learned = ks.KitchenSinkRegressor(ks.Learned(ks.Fourier(), effort="quick"), random_state=0)
    by_rows = HalvingGridSearchCV(
        learned,
        {"basis__basis__kernel": ["gaussian", "laplacian"], "basis__members": [1]},
        min_resources=100,
        cv=3,
        random_state=0,
    ).fit(X, Y)
    assert by_rows.best_estimator_.score(X, Y) > 0.9


@pytest.mark.parametrize("basis", [ks.Fourier(), ks.Learned(effort="quick")], ids=repr)
def test_the_pipeline_of_skrub_takes_estimators(basis):
    skrub = pytest.importorskip("skrub")
    rng = np.random.default_rng(0)
    days = pd.to_timedelta(rng.integers(0, 3000, 300), unit="D")
    table = pd.DataFrame(
        {
            "size": X[:, 0],
            "colour": rng.choice(["red", "green", "blue"], 300),
            "when": pd.Timestamp("2020-01-01") + days,
        }
    )
    price = np.sin(table["size"]) + 2.0 * (table["colour"] == "red")
    model = ks.KitchenSinkRegressor(basis, random_state=0)
    steps = skrub.tabular_pipeline(model).fit(table[:200], price[:200])
    assert steps.score(table[200:], price[200:]) > 0.9
    chosen = ks.KitchenSinkClassifier(basis, random_state=0)
    steps = skrub.tabular_pipeline(chosen).fit(table[:200], price[:200] > 0.5)
    assert steps.predict_proba(table[200:]).shape == (100, 2)
    # Half of the rows are of each class.
    assert steps.score(table[200:], price[200:] > 0.5) > 0.8


def test_html_links_to_the_page_of_the_reference(monkeypatch):
    """Where the project's metadata have the address of the site; else there is no link."""
    from importlib import metadata

    from kitchensinks.features import links

    model = ks.KitchenSinkClassifier(ks.Fourier())
    for named, address in (
        (["Documentation, https://here.example/docs/"], True),
        (["A, b"], False),
    ):
        links._of_metadata.cache_clear()
        facts = metadata.metadata("numpy")
        del facts["Project-URL"]
        for one in named:
            facts["Project-URL"] = one
        monkeypatch.setattr(metadata, "metadata", lambda _, facts=facts: facts)
        for one in (model, ks.RandomFeatures(), ks.KitchenSinkPCA(), ks.StackedSinksRegressor()):
            page = f"https://here.example/docs/reference/{type(one).__name__}.html"
            assert (page in one._repr_html_()) == address
        assert (ks.Fourier()._get_doc_link(), ks.Learned()._get_doc_link()) == (
            tuple(
                f"https://here.example/docs/reference/{name}.html"
                for name in ("Fourier", "Learned")
            )
            if address
            else ("", "")
        )
        monkeypatch.undo()
    links._of_metadata.cache_clear()


@pytest.mark.parametrize("given", ["https://here.example/docs/", "a folder"])
def test_the_address_of_the_site_may_be_set(given, tmp_path, monkeypatch):
    from kitchensinks.features import links

    start = "https://here.example/docs"
    if given == "a folder":
        given, start = str(tmp_path), tmp_path.as_uri()
    monkeypatch.setenv(links.VARIABLE, given)
    page = f"{start}/reference/KitchenSinkRegressor.html"
    assert page in ks.KitchenSinkRegressor()._repr_html_()


def test_estimators_that_can_be_shown_have_a_page():
    """Every class with a link, of those that can be made, is a public name: they have pages."""
    from kitchensinks.features.links import Linked

    def below(cls):
        for one in cls.__subclasses__():
            yield one
            yield from below(one)

    made = {one.__name__ for one in below(Linked) if one.__module__.startswith("kitchensinks.")}
    shared = {
        "Basis",
        "Binned",
        "Compound",
        "Projected",
        "WithGamma",
        "OfParts",
        "TakesSparse",
        "KitchenSink",
        "Readings",
        "StreamingRidge",
        "_StackedSinks",
    }
    for name in ks.__all__:
        getattr(ks, name)
    assert made - shared <= set(ks.__all__)


class OwnClassifier(ks.KitchenSinkClassifier):
    """A class of another package."""


def test_classes_of_others_have_no_link_of_ours(monkeypatch):
    from kitchensinks.features import links

    monkeypatch.setattr(links, "documentation", lambda: "https://here.example")
    assert ks.KitchenSinkClassifier()._get_doc_link().startswith("https://here.example/")
    assert OwnClassifier()._get_doc_link() == ""
