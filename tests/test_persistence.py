"""Model files: the same predictions from a seed, and nothing unsafe or half-written."""

import io
import json
import pickle
import zipfile

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits

import kitchensinks as ks
from tests.catalogue import BASES, name_of

SOME = [basis for basis in BASES if not isinstance(basis, ks.Custom)][::4]
CANCER = load_breast_cancer(return_X_y=True)


@pytest.mark.parametrize("basis", [*SOME, ks.Stumps("quantile"), ks.Binning()], ids=name_of)
def test_a_loaded_model_predicts_as_the_saved_one(basis, tmp_path):
    if isinstance(basis, ks.Stumps) and not isinstance(basis.threshold, str):
        basis = ks.Stumps("uniform", a=2.0)
    X, y = CANCER
    model = ks.KitchenSinkClassifier(basis, n_components=20, random_state=3).fit(X, y)
    ks.save(model, tmp_path / "model.sinks")
    again = ks.load(tmp_path / "model.sinks")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.get_params(deep=False).keys() == model.get_params(deep=False).keys()


@pytest.mark.parametrize("loss", ["squared", "hinge", "logistic"])
def test_labels_losses_constraints_and_column_names_survive(loss, tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = load_digits(return_X_y=True, as_frame=True)
    labels = np.array([f"digit {k}" for k in y], dtype=object)
    model = ks.KitchenSinkClassifier(
        ks.ReLU(), 30, loss, alpha=1e-4, constraint=ks.L2Ball(50.0), random_state=0
    ).fit(X, labels)
    ks.save(model, tmp_path / "model.sinks")
    again = ks.load(tmp_path / "model.sinks")
    assert again.predict(X).tolist() == model.predict(X).tolist()
    assert again.feature_names_in_.tolist() == list(X.columns)
    assert again.constraint == ks.L2Ball(50.0)
    with pytest.raises(ValueError, match="feature names"):
        again.predict(pandas.DataFrame(X.to_numpy(), columns=[f"c{k}" for k in range(64)]))


def test_regressors_of_several_outputs(tmp_path):
    X, y = load_diabetes(return_X_y=True)
    both = np.column_stack([y, 1e6 * y])
    model = ks.KitchenSinkRegressor(n_components=40, random_state=0).fit(X, both)
    ks.save(model, tmp_path / "model.sinks")
    np.testing.assert_array_equal(ks.load(tmp_path / "model.sinks").predict(X), model.predict(X))


def test_a_file_holds_a_seed_and_not_the_matrix(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 784)).astype(np.float32), rng.normal(size=300)
    model = ks.KitchenSinkRegressor(n_components=5000, alpha=1e-3, random_state=0).fit(X, y)
    ks.save(model, tmp_path / "model.sinks")
    # Two vectors of 784 and one of 5000 doubles; the directions alone would be 15 MB.
    assert (tmp_path / "model.sinks").stat().st_size < 80_000


def test_saving_twice_gives_the_same_bytes_and_leaves_nothing_else(tmp_path):
    X, y = CANCER
    model = ks.KitchenSinkClassifier(n_components=20, random_state=0).fit(X, y)
    ks.save(model, tmp_path / "a.sinks")
    ks.save(model, tmp_path / "b.sinks")
    assert (tmp_path / "a.sinks").read_bytes() == (tmp_path / "b.sinks").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.sinks", "b.sinks"]


@pytest.fixture
def saved(tmp_path):
    X, y = CANCER
    model = ks.KitchenSinkClassifier(n_components=20, random_state=0).fit(X, y)
    ks.save(model, tmp_path / "model.sinks")
    return tmp_path / "model.sinks"


def rewrite(path, **changes):
    """The archive with some of its files replaced."""
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(contents["model.json"])
    for name, value in changes.items():
        if name in header:
            header[name] = value
        else:
            contents[f"{name}.npy"] = value
    contents["model.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in contents.items():
            archive.writestr(name, data)


def test_a_truncated_file_is_refused(saved):
    saved.write_bytes(saved.read_bytes()[:-100])
    with pytest.raises(ValueError, match="not a complete model file"):
        ks.load(saved)


def test_a_tampered_array_is_refused(saved):
    buffer = io.BytesIO()
    np.save(buffer, np.zeros((20, 1)))
    rewrite(saved, weights=buffer.getvalue())
    with pytest.raises(ValueError, match="checksum"):
        ks.load(saved)


def test_a_newer_format_is_refused(saved):
    rewrite(saved, format=99)
    with pytest.raises(ValueError, match="install a newer one"):
        ks.load(saved)


def test_other_draws_are_refused(saved):
    rewrite(saved, seed=1)
    with pytest.raises(ValueError, match="draws other features"):
        ks.load(saved)


def test_a_file_cannot_name_other_code(saved):
    rewrite(saved, loss={"loss": "__import__", "fields": {}})
    with pytest.raises(ValueError, match="does not know"):
        ks.load(saved)


def test_a_pickle_in_disguise_is_refused(saved):
    saved.write_bytes(pickle.dumps({"weights": 1}))
    with pytest.raises(ValueError, match="not a complete model file"):
        ks.load(saved)


def test_what_cannot_be_saved(tmp_path):
    X, y = CANCER
    custom = ks.Custom(
        lambda rng, d, n: rng.normal(size=(n, d)), lambda rows, theta: np.tanh(rows @ theta.T)
    )
    model = ks.KitchenSinkClassifier(custom, n_components=20, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="Custom"):
        ks.save(model, tmp_path / "model.sinks")
    with pytest.raises(TypeError, match="cannot be saved"):
        ks.save(ks.Fourier(), tmp_path / "model.sinks")
    with pytest.raises(FileNotFoundError, match="not a folder"):
        ks.save(
            ks.KitchenSinkClassifier(n_components=9).fit(X, y), tmp_path / "none" / "model.sinks"
        )
    assert list(tmp_path.iterdir()) == []
