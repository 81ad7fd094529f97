"""Fits from files: the same as in memory, from every source, without holding the rows."""

import numpy as np
import pandas as pd
import pytest

import kitchensinks as ks
from kitchensinks.tables import lines
from kitchensinks.tables import table as tables
from tests.catalogue import build

N_ROWS = 6000


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(0)
    X = random.normal(size=(N_ROWS, 5)).round(6)
    y = (np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * random.normal(size=N_ROWS)).round(6)
    return X, y


@pytest.fixture(scope="module")
def files(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    X, y = data
    frame = pd.DataFrame(X, columns=list("abcde")).assign(y=y)
    (folder / "parquet").mkdir()
    frame[:4000].to_parquet(folder / "parquet" / "1.parquet", row_group_size=700)
    frame[4000:].to_parquet(folder / "parquet" / "2.parquet", row_group_size=700)
    frame.to_csv(folder / "rows.csv", index=False)
    frame.to_csv(folder / "rows.csv.gz", index=False)
    np.save(folder / "rows.npy", X)
    return folder


def source(kind, files, data):
    """Rows and targets as a file gives them."""
    if kind == "memmap":
        return np.load(files / "rows.npy", mmap_mode="r"), data[1]
    table = ks.open_table(files / kind)
    names = ["y"] if "y" in table.names else []
    y = ks.targets(table, "y") if names else data[1]
    return ks.Rows(table, ks.Columns.learn(table, exclude=names)), y


SOURCES = ["parquet", "rows.csv", "rows.csv.gz", "rows.npy", "memmap"]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(lines, "CHUNK_BYTES", 2**15)
    monkeypatch.setattr(tables, "BATCH_ROWS", 500)


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [*((kind, "float64") for kind in SOURCES), ("parquet", "float32"), ("memmap", "float32")],
)
def test_every_source_gives_the_fit_of_an_array(kind, dtype, files, data):
    X, y = data
    model = ks.KitchenSinkRegressor(
        ks.Fourier(),
        n_components=150,
        solver=ks.Solver(dtype=dtype, memory_budget="30MB"),
        random_state=0,
    )
    inside = model.fit(X, y).model_.weights
    scores = model.predict(X)
    rows, own = source(kind, files, data)
    outside = model.fit(rows, own).model_.weights
    if dtype == "float64":
        np.testing.assert_allclose(outside, inside, rtol=0, atol=1e-8 * np.abs(inside).max())
    assert np.abs(model.predict(rows) - scores).max() < 1e-3 * y.std()


OPTIONS = {
    "growth": {"n_components": "auto", "memory_budget": "20MB"},
    "hinge": {"loss": "hinge", "alpha": "auto"},
    "logistic": {"loss": "logistic", "alpha": 1e-5},
    "ball": {"constraint": ks.SupBall(50.0)},
    "binning": {"basis": ks.Binning(), "n_components": 20},
    "conjugate": {"solver": "conjugate", "alpha": 1e-5},
    "given law": {"basis": ks.Fourier(gamma=0.2), "standardize": False},
    "few rows": {"n_components": N_ROWS},
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", OPTIONS)
def test_every_way_of_fitting_takes_files(name, files, data):
    """Classes, weights, and all the solvers: as from an array, to the bits they can keep."""
    X, y = data[0][:3000], data[1][:3000]
    label, weights = y > 0, 1.0 + (y > 1)
    if name == "few rows":
        X, label, weights = X[:900], label[:900], weights[:900]
    options = {"n_components": 60, "random_state": 0, **OPTIONS[name]}
    if name == "few rows":
        options["n_components"] = 1000
    model = build(ks.KitchenSinkClassifier, **options)
    inside = model.fit(X, label, weights).decision_function(X)
    table = ks.open_table(pd.DataFrame(X, columns=list("abcde")))
    rows = ks.Rows(table, ks.Columns.learn(table))
    model.fit(rows, label, weights)
    np.testing.assert_allclose(model.decision_function(rows), inside, atol=1e-6)
    assert model.predict_proba(rows).shape == (len(X), 2)


def test_stochastic_gradients_read_stretches_of_a_file(files, data):
    rows, y = source("parquet", files, data)
    model = ks.KitchenSinkRegressor(
        ks.Fourier(),
        n_components=100,
        solver=ks.Solver("stochastic", max_iter=8),
        alpha=1e-6,
        random_state=0,
    )
    inside = model.fit(data[0], y).score(data[0], y)
    walks = count_walks(rows)
    model.fit(rows, y)
    assert len(walks) < 20
    assert model.score(rows, y) > inside - 0.02


def count_walks(rows):
    walks, read = [], rows.table.batches

    def batches(columns=None, start=0):
        walks.append(start)
        return read(columns, start)

    rows.table.batches = batches
    return walks


def test_how_often_a_fit_reads_a_file(files, data):
    """Scaler and law, pilot, sums, copies of rows, leave-one-out, rows to calibrate with."""
    rows, y = source("parquet", files, data)
    walks = count_walks(rows)
    ks.KitchenSinkRegressor(
        ks.Fourier(), n_components=50, random_state=0, solver=ks.Solver(memory_budget="3MB")
    ).fit(rows, y)
    assert walks == [0, 0, 0, 0, 0, 0]
    walks.clear()
    ks.KitchenSinkClassifier(
        ks.Fourier(), n_components=50, random_state=0, solver=ks.Solver(memory_budget="3MB")
    ).fit(rows, y > 0)
    assert walks == [0, 0, 0, 0, 0, 0]


def test_mixed_tables_end_to_end(tmp_path):
    """Fit from CSV, save, load, and predict from Parquet with new values and turned columns."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "colour": random.choice(["red", "green", "blue"], 800),
            "size": random.normal(size=800),
            "id": np.arange(800),
        }
    )
    frame["class"] = np.where((frame.colour == "red") == (frame["size"] > 0), "in", "out")
    frame.to_csv(tmp_path / "a.csv", index=False)
    table = ks.open_table(tmp_path / "a.csv")
    rows = ks.Rows(table, ks.Columns.learn(table, exclude=["class", "id"]))
    model = ks.KitchenSinkClassifier(ks.Fourier(), n_components=200, random_state=0)
    model.fit(rows, ks.targets(table, "class"))
    assert model.score(table, frame["class"]) > 0.97
    ks.save(model, tmp_path / "model.sinks")
    again = ks.load(tmp_path / "model.sinks")
    frame.loc[0, "colour"] = "purple"
    frame[["size", "colour"]].to_parquet(tmp_path / "b.parquet")
    other = ks.open_table(tmp_path / "b.parquet")
    assert again.predict(other).tolist() == model.predict(other).tolist()
    with pytest.raises(ValueError, match="no column 'colour': rename 'color' to 'colour'"):
        again.predict(ks.open_table(frame.rename(columns={"colour": "color"})))
    narrow = ks.open_table(frame[["size", "id"]])
    rows = ks.Rows(narrow, ks.Columns.learn(narrow))
    with pytest.raises(ValueError, match="no column 'colour'"):
        again.predict(rows)


@pytest.mark.slow
def test_adult_from_its_mixed_table(data_folder):
    """The raw census table with nothing chosen: better than one-hot columns of unit variance."""
    folder = data_folder / "adult"
    train, test = (ks.open_table(folder / f"adult_{part}.parquet") for part in ("train", "test"))
    rows = ks.Rows(train, ks.Columns.learn(train, exclude=["income"]))
    model = ks.KitchenSinkClassifier(ks.Fourier(), n_components=300, random_state=0)
    model.fit(rows, ks.targets(train, "income"))
    assert 1.0 - model.score(test, ks.targets(test, "income")) < 0.146


def test_a_model_of_arrays_knows_no_columns(files, data):
    model = ks.KitchenSinkRegressor(ks.Fourier(), n_components=20, random_state=0).fit(*data)
    with pytest.raises(ValueError, match="fitted to arrays"):
        model.predict(ks.open_table(files / "parquet"))
    rows, values = data
    model.fit(pd.DataFrame(rows, columns=[f"c{k}" for k in range(rows.shape[1])]), values)
    with pytest.raises(
        ValueError, match=r"fitted to a data frame of numbers.*with the columns c0, c1"
    ):
        model.predict(ks.open_table(files / "parquet"))


def test_a_table_with_the_name_of_its_target(data):
    """The target is no input, rows without one change nothing, and batches go on from there."""
    X, y = data
    frame = pd.DataFrame(X, columns=list("abcde")).assign(y=y)
    frame.loc[::5, "y"] = np.nan
    kept, weights = frame["y"].notna().to_numpy(), 1.0 + (X[:, 0] > 0)
    model = ks.KitchenSinkRegressor(ks.Fourier(), n_components=50, random_state=0)
    whole = model.fit(ks.open_table(frame), "y").predict(X)
    assert model.columns_.inputs == list("abcde")
    np.testing.assert_allclose(whole, model.fit(X[kept], y[kept]).predict(X), atol=1e-6)
    whole = model.fit(ks.open_table(frame), "y", weights).predict(X)
    part = model.fit(X[kept], y[kept], weights[kept]).predict(X)
    np.testing.assert_allclose(whole, part, atol=1e-6)
    stream = ks.KitchenSinkRegressor(ks.Fourier(), n_components=50, random_state=0)
    stream.freeze(ks.open_table(frame), "y")
    for rows in (frame[:3000], frame[3000:]):
        stream.partial_fit(ks.open_table(rows), "y")
    assert stream.score(X[kept], y[kept]) > model.score(X[kept], y[kept]) - 0.02
    with pytest.raises(ValueError, match="name of its target column"):
        model.fit(ks.open_table(frame), y)
    with pytest.raises(ValueError, match="no column 'z'"):
        model.fit(ks.open_table(frame), "z")


def test_frames_are_taken_where_tables_are():
    """A model of a table predicts for frames; one of a frame for its columns in any order."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": random.normal(size=300),
            "colour": random.choice(["red", "blue"], 300),
            "label": random.choice(["a", "b"], 300),
        }
    )
    inputs = frame.drop(columns="label")
    model = ks.KitchenSinkClassifier(ks.Fourier(), 30, random_state=0)
    table = ks.open_table(frame)
    answers = model.fit(table, "label").predict(table)
    np.testing.assert_array_equal(model.predict(inputs), answers)
    assert model.score(table, "label") == np.mean(answers == frame.label)
    answers = model.fit(inputs, frame.label).predict(inputs)
    np.testing.assert_array_equal(model.predict(frame[["label", "colour", "age"]]), answers)
    with pytest.raises(ValueError, match="y='label' names a column, and X is a DataFrame"):
        model.fit(frame, "label")
    with pytest.raises(ValueError, match="y='lable' is no column of X: did you mean 'label'"):
        model.fit(frame, "lable")
