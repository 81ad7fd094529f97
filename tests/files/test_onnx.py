"""Exported models answer as the library does, basis by basis and label by label."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kitchensinks as ks
from kitchensinks.features.scaling import Spread, warp
from kitchensinks.files.onnx import graph, register_converters
from kitchensinks.numerics.warps import LINEAR, MIX, QUANTILE, SQUASH
from tests.catalogue import ANY_WIDTH, BASES, name_of

skl2onnx = pytest.importorskip("skl2onnx")
onnxruntime = pytest.importorskip("onnxruntime")

IRIS = load_iris(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
EXPORTED = [basis for basis in BASES if not isinstance(basis, ks.Custom)]


def run(path, rows):
    return onnxruntime.InferenceSession(path).run(None, {"rows": np.asarray(rows, np.float64)})


@pytest.mark.parametrize("basis", [*EXPORTED, ks.Stumps("quantile")], ids=name_of)
def test_a_file_answers_as_the_classifier(basis, tmp_path):
    X, y = IRIS
    model = ks.KitchenSinkClassifier(basis, n_components=40, random_state=0).fit(X, y)
    ks.to_onnx(model, tmp_path / "model.onnx")
    label, probabilities = run(tmp_path / "model.onnx", X)
    np.testing.assert_array_equal(label, model.predict(X))
    np.testing.assert_allclose(probabilities, model.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("basis", [one for one in EXPORTED if one in ANY_WIDTH][::5], ids=name_of)
def test_a_file_answers_as_the_regressor(basis, dtype, tmp_path):
    X, y = DIABETES
    both = np.column_stack([y + 1e4, -1e-3 * y])
    model = ks.KitchenSinkRegressor(
        basis, n_components=40, solver=ks.Solver(dtype=dtype), random_state=0
    )
    # A mean far from zero, which float32 rows would not keep.
    far = X + np.where(np.arange(X.shape[1]) == 1, 1e4, 0.0)
    model.fit(far, both)
    ks.to_onnx(model, tmp_path / "model.onnx")
    names = [
        one.name for one in onnxruntime.InferenceSession(tmp_path / "model.onnx").get_outputs()
    ]
    assert names == ["prediction"]
    (prediction,) = run(tmp_path / "model.onnx", far)
    assert np.all(np.abs(prediction - model.predict(far)) <= 1e-4 * np.std(both, axis=0))


@pytest.mark.parametrize(
    ("loss", "two", "kind"),
    [
        ("squared", True, "int32"),
        ("squared", False, "object"),
        ("hinge", True, "bool"),
        ("hinge", False, "float"),
        ("logistic", True, "U"),
        ("logistic", False, "int64"),
    ],
)
def test_labels_keep_their_kind(loss, two, kind, tmp_path):
    X, y = IRIS
    if two:
        X, y = X[y > 0], y[y > 0] - 1
    labels = np.array(["setosa", "blåklocka", "virginica"])[y] if kind in "Uobject" else y
    labels = labels.astype(kind if kind != "U" else labels.dtype)
    model = ks.KitchenSinkClassifier(
        ks.Fourier(), n_components=30, loss=loss, alpha=1e-4, standardize=not two, random_state=0
    ).fit(X, labels)
    ks.to_onnx(model, tmp_path / "model.onnx")
    label, probabilities = run(tmp_path / "model.onnx", X)
    assert label.tolist() == model.predict(X).tolist()
    np.testing.assert_allclose(probabilities, model.predict_proba(X), atol=1e-4)


def test_thresholds_that_are_values_of_the_rows_stay_on_their_side(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 7, size=(400, 3)) / 10.0
    y = X[:, 0] + rng.normal(size=400)
    model = ks.KitchenSinkRegressor(
        ks.Stumps("quantile"), 100, solver=ks.Solver(dtype="float32"), random_state=0
    )
    model.fit(X, y)
    ks.to_onnx(model, tmp_path / "model.onnx")
    (prediction,) = run(tmp_path / "model.onnx", X)
    np.testing.assert_allclose(prediction[:, 0], model.predict(X), atol=1e-4)


def test_pipelines_convert():
    X, y = IRIS
    X = X.astype(np.float32)
    transformer = ks.RandomFeatures(ks.Reweighted(ks.Fourier(), pool=5), 60, random_state=0)
    steps = make_pipeline(StandardScaler(), transformer, LogisticRegression()).fit(X, y)
    own = make_pipeline(
        StandardScaler(), ks.KitchenSinkClassifier(ks.Fourier(), n_components=30)
    ).fit(X, y)
    register_converters()
    for pipeline in (steps, own):
        model = skl2onnx.to_onnx(pipeline, X[:1], options={"zipmap": False})
        session = onnxruntime.InferenceSession(model.SerializeToString())
        label, probabilities = session.run(None, {"X": X})
        assert (label == pipeline.predict(X)).mean() > 0.99
        np.testing.assert_allclose(probabilities, pipeline.predict_proba(X), atol=1e-4)
        assert probabilities.dtype == np.float32


@pytest.mark.parametrize(
    "basis", [ks.Binning(), ks.Union([ks.Fourier(), ks.Union([ks.Binning(), ks.ReLU()])])]
)
def test_bins_of_a_transformer_are_dense_in_onnx(basis):
    X, _ = IRIS
    transformer = ks.RandomFeatures(basis, 20, random_state=0).fit(X[::3])
    register_converters()
    model = skl2onnx.to_onnx(transformer, X[:1])
    (found,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"X": X})
    features = transformer.transform(X).toarray()
    # Some rows fall into bins that the fitted ones do not.
    assert not isinstance(basis, ks.Binning) or (features.sum(axis=1) < 20**0.5 - 1e-6).any()
    np.testing.assert_allclose(found, features, atol=1e-5)


@pytest.mark.parametrize("columns", [[0, 1, 2, 3], [2]])
def test_far_values_and_bins_never_seen(columns, tmp_path):
    """Cells are whole numbers of 64 bits that wrap, as in the library."""
    X, y = IRIS
    model = ks.KitchenSinkRegressor(
        ks.Binning(gamma=[0.5, 3.0]), 60, standardize=False, random_state=0
    ).fit(X[::2, columns], y[::2])
    ks.to_onnx(model, tmp_path / "model.onnx")
    sizes = 10.0 ** np.arange(150)[:, None]
    far = np.random.default_rng(0).normal(size=(150, len(columns))) * sizes
    for rows in (X[:, columns], far, -far):
        (found,) = run(tmp_path / "model.onnx", rows)
        np.testing.assert_allclose(found[:, 0], model.predict(rows), atol=1e-6)


def test_what_cannot_be_exported(tmp_path):
    X, y = IRIS
    path = tmp_path / "model.onnx"
    own = ks.Custom(
        lambda rng, d, n: rng.normal(size=(n, d)), lambda rows, theta: np.tanh(rows @ theta.T)
    )
    model = ks.KitchenSinkClassifier(own, n_components=9, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"Custom cannot be exported.*Use one of Binning"):
        ks.to_onnx(model, path)
    bins = ks.RandomFeatures(ks.Binning(gamma=5.0), 300, random_state=0).fit(X)
    register_converters()
    with pytest.raises(ValueError, match=r"[0-9,]+ columns cannot be exported.*16,384"):
        skl2onnx.to_onnx(bins, X[:1])
    with pytest.raises(TypeError, match="need a fitted KitchenSinkClassifier"):
        ks.to_onnx(LogisticRegression(), path)
    good = ks.KitchenSinkClassifier(ks.Fourier(), n_components=9, random_state=0).fit(X, y)
    with pytest.raises(FileNotFoundError, match="not a folder"):
        ks.to_onnx(good, tmp_path / "none" / "model.onnx")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_answers_otherwise_is_not_kept(tmp_path, monkeypatch):
    X, y = IRIS
    path = tmp_path / "model.onnx"
    path.write_text("what was there before")
    model = ks.KitchenSinkClassifier(ks.Fourier(), n_components=9, random_state=0).fit(X, y)
    plain = ks.Fourier.onnx
    wrong = lambda self, graph, *rest: graph.node("Neg", plain(self, graph, *rest))  # noqa: E731
    monkeypatch.setattr(ks.Fourier, "onnx", wrong)
    with pytest.raises(RuntimeError, match="nothing was written"):
        ks.to_onnx(model, path)
    assert path.read_text() == "what was there before"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("how", ["auto", "stochastic", "batches"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_calibration_that_nobody_has_asked_for_yet_is_made(how, tmp_path):
    X, y = IRIS
    model = ks.KitchenSinkClassifier(
        ks.Fourier(), 30, alpha=1e-3, solver="auto" if how == "batches" else how, random_state=0
    )
    if how == "batches":
        model.freeze(X, y)
        for start in range(0, 150, 50):
            model.partial_fit(X[start : start + 50], y[start : start + 50], classes=[0, 1, 2])
    else:
        model.fit(X, y)
    assert model.state_.calibrated is None
    assert "calibration" not in vars(model.state_)
    ks.to_onnx(model, tmp_path / "model.onnx")
    probabilities = run(tmp_path / "model.onnx", X)[1]
    np.testing.assert_allclose(probabilities, model.predict_proba(X), atol=1e-4)


def test_a_classifier_that_cannot_be_calibrated_says_so(tmp_path):
    X, y = IRIS
    model = ks.KitchenSinkClassifier(ks.Fourier(), n_components=30, random_state=0).fit(X, y)
    model.state_ = replace(model.state_.small(), calibrated=None)
    with pytest.raises(ValueError, match="has no calibration"):
        ks.to_onnx(model, tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []


def test_too_large_for_a_file_is_said_before_the_work(tmp_path, monkeypatch):
    X, y = IRIS
    model = ks.KitchenSinkClassifier(ks.Fourier(), n_components=50, random_state=0).fit(X, y)
    monkeypatch.setattr(graph, "LARGEST", 1000)
    with pytest.raises(ValueError, match="fewer components"):
        ks.to_onnx(model, tmp_path / "model.onnx")


@pytest.mark.parametrize("kind", [LINEAR, SQUASH, QUANTILE, MIX])
def test_columns_are_mapped_to_the_same_bits(kind, tmp_path):
    """A hundred thousand bins of values with ties: one that is off would be seen."""
    X, y = DIABETES
    X = np.round(200 * X) / 40
    model = ks.KitchenSinkRegressor(ks.Binning(gamma=5.0), 3, random_state=0).fit(X, y)
    law = warp(Spread.of(X[::2]), X[::2], kind).times(np.linspace(0.5, 2.0, 10))
    frozen = replace(model.law_.features, scaler=law, n_components=300).with_learned(X)
    weights = np.random.default_rng(0).normal(size=(frozen.n_columns, 1))
    state = replace(model.state_, law=replace(model.law_, features=frozen))
    model.state_ = replace(state, outer=state.outer._replace(weights=weights))
    ks.to_onnx(model, tmp_path / "model.onnx")
    found = run(tmp_path / "model.onnx", X)[0]
    np.testing.assert_allclose(found.ravel(), model.predict(X), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", [LINEAR, SQUASH, QUANTILE, MIX])
@pytest.mark.parametrize("rank", [0, 3])
def test_a_learned_law_is_in_the_file(kind, rank, tmp_path):
    """Every map of the columns, with ties among the values, and turned to fewer directions."""
    X, y = DIABETES
    X = np.round(20 * X) / 4
    model = ks.KitchenSinkRegressor(ks.Fourier(gamma=0.1), 40, random_state=0).fit(X, y)
    law = warp(Spread.of(X), X, kind).times(np.linspace(0.5, 2.0, 10))
    frozen = replace(model.law_.features, scaler=law)
    if rank:
        turned = law.turned(np.random.default_rng(0).normal(size=(10, rank)))
        frozen = replace(frozen, scaler=turned, n_inputs=rank)
    model.state_ = replace(model.state_, law=replace(model.law_, features=frozen))
    ks.to_onnx(model, tmp_path / "model.onnx")
    found = run(tmp_path / "model.onnx", X)[0]
    np.testing.assert_allclose(found.ravel(), model.predict(X), rtol=1e-3, atol=1e-2)
