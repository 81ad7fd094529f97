"""Model files: the same predictions from a seed, and nothing unsafe or half-written."""

import json
import pickle
import zipfile

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits

import kitchensinks as ks
from kitchensinks.files import archive
from kitchensinks.files import model as model_files
from kitchensinks.files.model import open_model
from kitchensinks.tables.means import NO_FOLDS
from tests.catalogue import ANY_WIDTH, name_of
from tests.files.crafted import array_bytes, contents, mixed_frame, rewrite, with_arrays

SOME = [basis for basis in ANY_WIDTH if not isinstance(basis, ks.Custom)][::4]
CANCER = load_breast_cancer(return_X_y=True)


@pytest.mark.parametrize("basis", [*SOME, ks.Stumps("quantile"), ks.Binning()], ids=name_of)
def test_a_loaded_model_predicts_as_the_saved_one(basis, tmp_path):
    X, y = CANCER
    model = ks.KitchenSinkClassifier(basis, n_components=20, random_state=3).fit(X, y)
    ks.save(model, tmp_path / "model.sinks")
    again = ks.load(tmp_path / "model.sinks")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.get_params(deep=False).keys() == model.get_params(deep=False).keys()


@pytest.mark.parametrize(
    "basis",
    [
        ks.Product([ks.Fourier(), ks.Stumps("quantile")], places=[[0, 1], [2]]),
        ks.Union([ks.Product([ks.Fourier(gamma=[[0.1, 0.2]]), ks.Stumps()], places=[[2, 0], [1]])]),
        ks.Reweighted(ks.Product([ks.Fourier(), ks.Stumps("quantile")], places=[[0, 1], [2]])),
        ks.Fourier(gamma=np.array([1, 2])),
        ks.Binning(pitch=np.array([1, 2, 4])),
        ks.Orthonormal(np.array([4, 2, 1])),
    ],
    ids=name_of,
)
def test_parts_with_columns_of_their_own_and_whole_numbers_come_back(basis, tmp_path):
    X, y = CANCER[0][:100, :3], CANCER[0][:100, 4]
    model = ks.KitchenSinkRegressor(basis, n_components=20, random_state=3).fit(X, y)
    ks.save(model, tmp_path / "model.sinks")
    again = ks.load(tmp_path / "model.sinks")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_intervals_of_rows_with_copies_survive(tmp_path):
    rows = np.random.default_rng(0).integers(0, 6, size=(400, 2)).astype(float)
    model = ks.KitchenSinkRegressor(ks.Fourier(), 30, random_state=0).fit(rows, rows.sum(axis=1))
    expected = model.predict_interval(rows[:5])
    ks.save(model, tmp_path / "model.sinks")
    np.testing.assert_array_equal(
        ks.load(tmp_path / "model.sinks").predict_interval(rows[:5]), expected
    )


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
    model = ks.KitchenSinkRegressor(ks.Fourier(), n_components=40, random_state=0).fit(X, both)
    ks.save(model, tmp_path / "model.sinks")
    np.testing.assert_array_equal(ks.load(tmp_path / "model.sinks").predict(X), model.predict(X))


def test_the_recipe_of_a_mixed_table_survives(tmp_path):
    """Numbers, categories as indicators and as means, dates and free text; no code in the file."""
    frame = mixed_frame(300)
    table, path = ks.open_table(frame), tmp_path / "model.sinks"
    columns = ks.Columns.learn(table, exclude=["y"])
    rows = ks.Rows(table, columns, NO_FOLDS)
    indicators = ks.KitchenSinkRegressor(ks.Fourier(), 20, random_state=0).fit(rows, frame["y"])
    means = ks.KitchenSinkRegressor(ks.Fourier(), 20, random_state=0).fit(table, "y")
    for model in (indicators, means):
        ks.save(model, path)
        again = ks.load(path)
        assert again.columns_.outputs == model.columns_.outputs
        assert again.columns_.fingerprint() == model.columns_.fingerprint()
        np.testing.assert_array_equal(again.predict(table), model.predict(table))
    assert indicators.columns_.fingerprint() != means.columns_.fingerprint()
    rewrite(path, table={"dtype": "float64", "columns": [{"kind": "os.system", "name": "x"}]})
    with pytest.raises(archive.ModelFileError, match=r"'os\.system' is not known"):
        ks.load(path)


def test_a_file_holds_a_seed_and_not_the_matrix(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 784)).astype(np.float32), rng.normal(size=300)
    model = ks.KitchenSinkRegressor(
        ks.Fourier(), n_components=20_000, alpha=1e-3, random_state=0
    ).fit(X, y)
    ks.save(model, tmp_path / "model.sinks")
    # Two vectors of 784 and one of 20,000 doubles; the directions alone would be 63 MB.
    assert (tmp_path / "model.sinks").stat().st_size < 200_000


def test_saving_twice_gives_the_same_bytes_and_leaves_nothing_else(tmp_path):
    X, y = CANCER
    model = ks.KitchenSinkClassifier(ks.Fourier(), n_components=20, random_state=0).fit(X, y)
    ks.save(model, tmp_path / "a.sinks")
    ks.save(model, tmp_path / "b.sinks")
    assert (tmp_path / "a.sinks").read_bytes() == (tmp_path / "b.sinks").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.sinks", "b.sinks"]


@pytest.fixture
def saved(tmp_path):
    X, y = CANCER
    model = ks.KitchenSinkClassifier(ks.Fourier(), n_components=20, random_state=0).fit(X, y)
    ks.save(model, tmp_path / "model.sinks")
    return tmp_path / "model.sinks"


def test_a_tampered_array_is_refused(saved):
    header, entries = contents(saved)
    (place,) = [name for name in entries if name.endswith("-weights.npy")]
    with zipfile.ZipFile(saved, "w") as packed:
        for name, data in {**entries, place: array_bytes(np.zeros((20, 1)))}.items():
            packed.writestr(name, data)
        packed.writestr("model.json", json.dumps(header))
    with pytest.raises(ValueError, match="checksum"):
        ks.load(saved)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"format": 99}, "install a newer one"),
        ({"seed": 1}, "draws other features"),
        ({"loss": {"type": "__import__", "fields": {}}}, "does not know"),
    ],
    ids=["newer format", "other draws", "other code"],
)
def test_files_of_another_version_or_origin_are_refused(saved, changes, words):
    rewrite(saved, **changes)
    with pytest.raises(ValueError, match=words):
        ks.load(saved)


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "Ridge"},
        {"n_components": 10**15},
        {"n_components": -3},
        {"n_inputs": 10**15},
        {"n_inputs": 7},
        {"dtype": "object"},
        {"basis": None},
        {"parameters": {"shape": 3}},
        {"parameters": 7},
        {"state": None},
        {"checksums": {}},
        {"checksums": {"missing.npy": ""}},
        {"law": {"type": "Plan", "fields": {}}},
        {"checksums": []},
        {"format": "1"},
        {"calibrated": [1.0]},
        {"seed": "first"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_wrong_values_in_the_header_are_refused_with_one_clear_error(saved, changes):
    rewrite(saved, **changes)
    with pytest.raises(archive.ModelFileError, match=r"model\.sinks|draws other features"):
        ks.load(saved)


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((19, 1)),
        np.zeros(20),
        np.zeros((20, 3)),
        np.full((20, 1), np.nan),
        np.array([["a"]] * 20),
    ],
    ids=["rows", "flat", "outputs", "nan", "text"],
)
def test_arrays_that_do_not_belong_together_are_refused(saved, array):
    with_arrays(saved, weights=array_bytes(array))
    with pytest.raises(archive.ModelFileError, match="makes no sense"):
        ks.load(saved)


def test_a_huge_declared_shape_takes_no_memory(saved):
    small = array_bytes(np.zeros((20, 1)))
    huge = small.replace(b"(20, 1), }          ", b"(20, 99999999999), }")
    assert len(huge) == len(small)
    assert huge != small
    with_arrays(saved, weights=huge)
    with pytest.raises(archive.ModelFileError, match=r"weights\.npy cannot be read"):
        ks.load(saved)


def test_objects_in_an_array_are_refused(saved):
    with_arrays(saved, weights=array_bytes(np.array([{}], dtype=object), allow_pickle=True))
    with pytest.raises(archive.ModelFileError, match=r"weights\.npy cannot be read"):
        ks.load(saved)


def test_nothing_is_unpacked(saved):
    with zipfile.ZipFile(saved) as packed:
        entries = {name: packed.read(name) for name in packed.namelist()}
    with zipfile.ZipFile(saved, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in entries.items():
            packed.writestr(name, data)
    with pytest.raises(archive.ModelFileError, match="not stored plainly"):
        ks.load(saved)


@pytest.mark.parametrize("step", [17, pytest.param(1, marks=pytest.mark.slow)])
def test_every_cut_of_a_file_is_refused(saved, step):
    whole = saved.read_bytes()
    # Somewhere in every entry, and anywhere in the records at the end, which say where they are.
    for length in (*range(0, len(whole), step), *range(len(whole) - 100, len(whole))):
        saved.write_bytes(whole[:length])
        with pytest.raises(archive.ModelFileError, match="not a complete model file"):
            ks.load(saved)


def test_too_little_memory_is_no_damage(saved, monkeypatch):
    def fail(*_):
        raise MemoryError

    for place in (archive.zipfile, "ZipFile"), (model_files, "_rebuild"):
        with monkeypatch.context() as patched:
            patched.setattr(*place, fail)
            with pytest.raises(MemoryError):
                ks.load(saved)


def test_every_flipped_byte_is_refused_or_changes_nothing(saved):
    """A byte of the archive's own records may hold a date, say; one of ours may not."""
    model, whole = ks.load(saved), saved.read_bytes()
    X, _ = CANCER
    expected = model.predict_proba(X[:5])
    # All of the last record too: it says where the others are.
    for place in (*range(0, len(whole), 61), *range(len(whole) - 22, len(whole))):
        changed = bytearray(whole)
        changed[place] ^= 0x55
        saved.write_bytes(bytes(changed))
        try:
            again = ks.load(saved)
        except archive.ModelFileError:
            continue
        np.testing.assert_array_equal(again.predict_proba(X[:5]), expected)


def test_the_header_is_read_without_the_arrays(saved):
    header = archive.read_header(saved)
    assert header["kind"] == "KitchenSinkClassifier"
    assert header["n_features_in"] == CANCER[0].shape[1]


def test_notes_come_back(tmp_path):
    model = ks.KitchenSinkClassifier(ks.Fourier(), n_components=20, random_state=0).fit(*CANCER)
    notes = {"target": "måling", "columns": [{"name": "a", "kind": "number"}]}
    ks.save(model, tmp_path / "model.sinks", notes=notes)
    assert open_model(tmp_path / "model.sinks").notes == notes


@pytest.mark.parametrize("how", [pickle, joblib], ids=lambda how: how.__name__)
def test_pickle_and_joblib_work_too(how, tmp_path):
    X, y = CANCER
    for basis in (ks.Fourier(), ks.Binning()):
        model = ks.KitchenSinkClassifier(basis, n_components=20, random_state=0).fit(X, y)
        with (tmp_path / "model.pickle").open("wb") as file:
            how.dump(model, file)
        with (tmp_path / "model.pickle").open("rb") as file:
            again = how.load(file)
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


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
            ks.KitchenSinkClassifier(ks.Fourier(), n_components=9).fit(X, y),
            tmp_path / "none" / "model.sinks",
        )
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.sinks does not exist: need a model file"):
        ks.load(tmp_path / "none.sinks")


def test_a_folder_is_no_name_of_a_file(tmp_path):
    model = ks.KitchenSinkRegressor(ks.Fourier(), 5, random_state=0).fit(np.eye(3), [1.0, 2.0, 3.0])
    with pytest.raises(IsADirectoryError, match="is a folder: need the name of a file"):
        ks.save(model, tmp_path)
    assert not list(tmp_path.parent.glob(f".{tmp_path.name}*"))
