"""Synthetic sets follow their formulas; real sets have the documented sizes and splits."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from kitchensinks.papers import datasets
from tests.jobs import python

TWO_CLASSES = [
    datasets.make_annulus,
    datasets.make_sine,
    datasets.make_strips,
    datasets.make_square,
    datasets.make_checkboard,
]
GENERATORS = [*TWO_CLASSES, datasets.make_depth_separation]
BUNDLED = ["breast_cancer", "digits", "wine", "diabetes", "iris"]


@pytest.fixture
def data_folder():
    folder = os.environ.get("KITCHENSINKS_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("KITCHENSINKS_DATA names no folder, so there are no real data sets to check")
    return Path(folder)


@pytest.fixture
def no_folder(monkeypatch):
    monkeypatch.delenv("KITCHENSINKS_DATA", raising=False)


def here(name):
    if name not in datasets.available():
        pytest.skip(f"the files of {name} are not in the folder KITCHENSINKS_DATA")
    return name


def fitted_parts(data):
    return data.X_train, data.y_train, data.X_test, data.y_test


# Synthetic sets


@pytest.mark.parametrize("make", GENERATORS)
def test_same_seed_same_rows(make):
    first, second, other = make(50, random_state=3), make(50, random_state=3), make(50)
    for left, right in zip(first, second, strict=True):
        np.testing.assert_array_equal(left, right)
    assert not np.array_equal(first[0], other[0])
    with_state = make(50, random_state=np.random.RandomState(3))
    np.testing.assert_array_equal(first[0], with_state[0])


@pytest.mark.parametrize("make", TWO_CLASSES)
@pytest.mark.parametrize("n_rows", [1, 7, 400])
def test_shapes_and_labels(make, n_rows):
    rows, labels = make(n_rows, random_state=0)
    assert rows.shape == (n_rows, 2)
    assert rows.dtype == np.float64
    assert labels.shape == (n_rows,)
    assert set(labels) <= {-1, 1}


@pytest.mark.parametrize("make", TWO_CLASSES)
def test_noise_flips_that_share_of_the_labels_and_moves_no_row(make):
    clean, flipped = (
        make(20_000, noise=0.0, random_state=0),
        make(20_000, noise=0.2, random_state=0),
    )
    np.testing.assert_array_equal(clean[0], flipped[0])
    assert np.mean(clean[1] != flipped[1]) == pytest.approx(0.2, abs=5 * np.sqrt(0.16 / 20_000))


@pytest.mark.parametrize("make", TWO_CLASSES)
def test_classes_are_balanced(make):
    labels = make(20_000, random_state=1)[1]
    assert abs(labels.mean()) < 5 / np.sqrt(20_000)


@pytest.mark.parametrize("n_inputs", [1, 2, 10])
def test_annulus_is_the_thesis_one(n_inputs):
    rows, labels = datasets.make_annulus(20_000, noise=0.0, n_inputs=n_inputs, random_state=0)
    radius = np.linalg.norm(rows, axis=1)
    np.testing.assert_array_equal(labels, np.where(radius < 1, -1, 1))
    assert radius[labels == -1].max() <= 0.9
    assert radius[labels == 1].min() >= 1.1
    assert radius.max() <= 2
    # uniform by volume: r^d is uniform between its ends in either part
    for part, low, high in ((labels == -1, 0.0, 0.9), (labels == 1, 1.1, 2.0)):
        powers = radius[part] ** n_inputs
        quarters = np.quantile(powers, [0.25, 0.5, 0.75])
        low, high = low**n_inputs, high**n_inputs
        np.testing.assert_allclose((quarters - low) / (high - low), [0.25, 0.5, 0.75], atol=0.03)


def test_unit_circle_has_the_bayes_error_of_the_noisy_annulus():
    rows, labels = datasets.make_annulus(20_000, random_state=0)
    bayes = np.where((rows**2).sum(axis=1) < 1, -1, 1)
    assert np.mean(bayes != labels) == pytest.approx(0.1, abs=5 * np.sqrt(0.09 / 20_000))


def test_boundaries_of_the_pictured_sets():
    rows, labels = datasets.make_sine(500, random_state=0)
    np.testing.assert_array_equal(labels == 1, rows[:, 1] < np.sin(rows[:, 0]))
    rows, labels = datasets.make_strips(500, random_state=0)
    strip = np.searchsorted([-1.0, 0.0, 0.1], rows[:, 0], side="right")
    np.testing.assert_array_equal(labels, np.array([-1, 1, -1, 1])[strip])
    assert set(strip) == {0, 1, 2, 3}
    rows, labels = datasets.make_square(500, random_state=0)
    np.testing.assert_array_equal(labels == -1, np.abs(rows).max(axis=1) < np.sqrt(0.125))
    rows, labels = datasets.make_checkboard(500, random_state=0)
    np.testing.assert_array_equal(labels == 1, np.floor(rows).sum(axis=1) % 2 == 1)
    assert np.abs(rows).max() <= 2


@pytest.mark.parametrize(
    ("make", "low", "high"),
    [
        (datasets.make_sine, 0.98, 1.0),
        (datasets.make_strips, 0.75, 0.95),
        (datasets.make_square, 0.93, 0.99),
        (datasets.make_checkboard, 0.65, 0.82),
    ],
)
def test_twenty_fourier_features_do_about_as_well_as_in_the_thesis(make, low, high):
    from sklearn.kernel_approximation import RBFSampler
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    def mean_accuracy(gamma):
        scores = []
        for seed in range(5):
            sampler = RBFSampler(gamma=gamma, n_components=20, random_state=seed)
            model = make_pipeline(sampler, LinearSVC(C=100, dual=False))
            model.fit(*make(1000, random_state=seed))
            scores.append(model.score(*make(3000, random_state=100 + seed)))
        return np.mean(scores)

    assert low < max(map(mean_accuracy, [0.1, 0.3, 1.0, 3.0, 10.0])) < high


def test_depth_separation_is_radial_and_its_target_does_not_depend_on_the_rows():
    rows, smooth, labels = datasets.make_depth_separation(5000, random_state=0)
    assert rows.shape == (5000, 4)
    radius = np.linalg.norm(rows, axis=1)
    assert radius.min() >= 10.4
    assert radius.max() <= 15.6
    assert np.abs(rows.mean(axis=0)).max() < 5 * rows.std() / np.sqrt(5000)
    assert set(labels) == {-1, 0, 1}
    assert np.abs(smooth).max() <= 1 + 1e-12

    others, other_smooth, other_labels = datasets.make_depth_separation(5000, random_state=1)
    order = np.argsort(radius)
    other_radius = np.linalg.norm(others, axis=1)
    near = np.interp(other_radius, radius[order], smooth[order])
    assert np.mean(np.abs(near - other_smooth)) < 0.01
    bands = np.floor((np.r_[radius, other_radius] - 10.4) / (5.2 / 22))
    for band in np.unique(bands):
        assert len(set(np.r_[labels, other_labels][bands == band])) == 1

    # smoothing changes nothing further than 0.1 band from an edge
    place = (radius - 10.4) / (5.2 / 22) % 1
    inside = (place > 0.101) & (place < 0.899)
    np.testing.assert_allclose(smooth[inside], labels[inside], atol=1e-12)
    assert np.any(smooth != labels)


def test_depth_separation_has_zero_labels_where_rows_are_rare():
    rows, _, labels = datasets.make_depth_separation(20_000, random_state=0)
    place = np.floor((np.linalg.norm(rows, axis=1) - 10.4) / (5.2 / 22))
    counts = {band: np.sum(place == band) for band in np.unique(place)}
    sizes = np.array([counts[band] for band in place])
    assert sizes[labels == 0].mean() < 0.7 * sizes[labels != 0].mean()


def test_depth_separation_signs_follow_the_target_seed():
    first = datasets.make_depth_separation(500, target_seed=0, random_state=0)
    second = datasets.make_depth_separation(500, target_seed=1, random_state=0)
    np.testing.assert_array_equal(first[0], second[0])
    np.testing.assert_array_equal(first[2] == 0, second[2] == 0)
    assert not np.array_equal(first[2], second[2])


@pytest.mark.parametrize("make", GENERATORS)
@pytest.mark.parametrize("n_rows", [0, -1, 2.5, True, "10", None])
def test_wrong_number_of_rows(make, n_rows):
    with pytest.raises(ValueError, match=r"n_rows=.*need an integer of 1 or more"):
        make(n_rows)


@pytest.mark.parametrize("noise", [-0.1, 1.5, float("nan")])
def test_wrong_noise(noise):
    with pytest.raises(ValueError, match=r"noise=.*need a probability"):
        datasets.make_sine(10, noise=noise)


# Real sets: the bundled ones and the errors need no folder


def test_import_is_light():
    code = (
        "import sys, kitchensinks.papers.datasets as d; d.names(); d.available();"
        "print([m for m in ('pandas', 'sklearn.datasets') if m in sys.modules])"
    )
    assert python("-c", code).strip() == "[]"


def test_names_say_what_each_set_is():
    lines = datasets.names()
    assert len(lines) == 21
    assert all(text and "\n" not in text for text in lines.values())


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_sets_need_no_folder(name, no_folder):
    assert name in datasets.available()
    data = datasets.load(name, download=False)
    n_rows = len(data.y_train) + len(data.y_test)
    assert len(data.y_test) == round(n_rows / 4)
    assert data.X_train.shape == (len(data.y_train), len(data.feature_names))
    assert data.X_test.shape == (len(data.y_test), len(data.feature_names))
    assert data.task == ("regression" if name == "diabetes" else "classification")
    assert data.description == datasets.names()[name]
    again, other = datasets.load(name), datasets.load(name, random_state=1)
    for left, right in zip(fitted_parts(data), fitted_parts(again), strict=True):
        np.testing.assert_array_equal(left, right)
    assert not np.array_equal(data.X_train, other.X_train)
    assert name in repr(data)


def test_without_a_folder_only_bundled_sets_are_available(no_folder):
    assert sorted(datasets.available()) == sorted(BUNDLED)


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("isolet", "isolet/isolet.npz"),
        ("mnist", "mnist/mnist.npz"),
        ("adult", "adult/adult_train.parquet and adult/adult_test.parquet"),
        (
            "timit",
            "timit/X_train.npy and timit/y_train.npy and timit/lengths_train.npy and "
            "timit/X_test.npy and timit/y_test.npy and timit/lengths_test.npy",
        ),
    ],
)
def test_missing_files_say_which_and_how(name, file, no_folder):
    with pytest.raises(FileNotFoundError) as caught:
        datasets.load(name, download=False)
    message = str(caught.value)
    assert f"need {file} in the folder" in message
    assert "KITCHENSINKS_DATA (now: not set)" in message
    assert "To get it: " in message


def test_missing_files_name_the_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("KITCHENSINKS_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=tmp_path.name):
        datasets.load("uci_har")  # there is no fetcher for it


def test_frames_of_timit_are_read_from_arrays_and_stay_on_disk(tmp_path, monkeypatch):
    monkeypatch.setenv("KITCHENSINKS_DATA", str(tmp_path))
    (tmp_path / "timit").mkdir()
    for part, count in (("train", 7), ("test", 4)):
        np.save(tmp_path / "timit" / f"X_{part}.npy", np.ones((count, 40), np.float32))
        np.save(tmp_path / "timit" / f"y_{part}.npy", np.arange(count))
        np.save(tmp_path / "timit" / f"lengths_{part}.npy", [count - 1, 1])
    assert "timit" in datasets.available()
    found = datasets.load("timit")
    assert found.X_train.shape == (7, 40)
    assert found.lengths_test.tolist() == [3, 1]
    assert isinstance(found.X_train, np.memmap)
    assert found.y_test.tolist() == [0, 1, 2, 3]
    np.save(tmp_path / "timit" / "y_test.npy", np.arange(5))
    with pytest.raises(ValueError, match=r"X_test.npy has shape \(4, 40\), y_test.npy \(5,\)"):
        datasets.load("timit")


@pytest.mark.parametrize("name", ["mnist", "adult", "cpu_act", "covtype"])
@pytest.mark.parametrize("error", [OSError("no route to host"), ValueError("bad page")])
def test_failed_downloads_become_the_same_message(name, error, no_folder, monkeypatch):
    import sklearn.datasets

    def fail(*args, **kwargs):
        raise error

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fail)
    monkeypatch.setattr(sklearn.datasets, "fetch_covtype", fail)
    with pytest.raises(FileNotFoundError, match=r"download by scikit-learn failed.*To get it"):
        datasets.load(name)


def test_fetched_tables_are_shaped_like_files(no_folder, monkeypatch):
    import sklearn.datasets
    from sklearn.utils import Bunch

    rows = np.arange(40.0).reshape(20, 2)
    found = Bunch(data=rows, target=np.arange(20), feature_names=["a", "b"])
    monkeypatch.setattr(sklearn.datasets, "fetch_covtype", lambda: found)
    data = datasets.load("covtype-binary")
    assert data.X_train.shape == (18, 2)
    assert data.feature_names == ("a", "b")
    assert (np.r_[data.y_train, data.y_test] == 1).sum() == 1


@pytest.mark.parametrize(
    ("wrong", "near"), [("adlut", "adult"), ("MNIST", None), ("covtyp", "covtype")]
)
def test_unknown_name_lists_the_nearest_names(wrong, near):
    with pytest.raises(ValueError, match=f"no data set '{wrong}'") as caught:
        datasets.load(wrong)
    message = str(caught.value)
    assert all(name in message for name in datasets.names())
    if near:
        assert near in message.split("All names")[0]


def test_unknown_option_lists_the_options():
    with pytest.raises(TypeError, match=r"takes random_state; it got shuffle"):
        datasets.load("iris", shuffle=True)
    with pytest.raises(TypeError, match=r"takes no options; it got random_state"):
        datasets.load("mnist", random_state=1)


def test_missing_pandas_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r'pip install "kitchensinks\[tables\]"'):
        datasets.builders.pandas()


def test_one_hot_learns_categories_and_null_from_one_table():
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    learn = pandas.DataFrame({"size": [1, 2, 3], "kind": ["b", None, "a"]})
    other = pandas.DataFrame({"size": [4, 5], "kind": ["new", None]})
    columns, first, second = datasets.builders.one_hot(learn, learn, other)
    assert columns == ["size", "kind=a", "kind=b", "kind=missing"]
    np.testing.assert_array_equal(first, [[1, 0, 1, 0], [2, 0, 0, 1], [3, 1, 0, 0]])
    np.testing.assert_array_equal(second, [[4, 0, 0, 0], [5, 0, 0, 1]])
    assert first.dtype == np.float32


# Real sets from the folder: sizes as published


@pytest.mark.parametrize(
    ("name", "n_train", "n_test", "n_columns", "labels"),
    [
        ("adult-onehot", 32_561, 16_281, 108, (-1, 1)),
        ("a9a", 32_561, 16_281, 123, (-1, 1)),
        ("covtype", 522_911, 58_101, 54, range(1, 8)),
        ("kddcup99", 50_000, 150_000, 118, (-1, 1)),
        ("isolet", 6238, 1559, 617, range(1, 27)),
        ("phoneme", 3340, 1169, 256, range(5)),
        ("fsdd", 2700, 300, 320, range(10)),
        ("orl_faces", 300, 100, 112 * 92, range(1, 41)),
        ("umist_faces", 431, 144, 28 * 23, range(1, 21)),
    ],
)
def test_sizes_and_labels(name, n_train, n_test, n_columns, labels, data_folder):
    data = datasets.load(here(name), download=False)
    assert data.X_train.shape == (n_train, n_columns)
    assert data.X_test.shape == (n_test, n_columns)
    assert data.X_train.dtype == np.float32
    assert np.isfinite(data.X_train).all()
    assert len(data.feature_names) == n_columns
    for targets, rows in ((data.y_train, n_train), (data.y_test, n_test)):
        assert targets.shape == (rows,)
        assert set(targets) == set(labels)


def test_mnist_size_counts_and_scale(data_folder):
    data = datasets.load(here("mnist"))
    assert np.bincount(data.y_test).tolist() == [
        980,
        1135,
        1032,
        1010,
        982,
        892,
        958,
        1028,
        974,
        1009,
    ]
    assert data.X_train.shape == (60_000, 784)
    assert data.X_train.dtype == np.float32
    assert data.X_train.min() == 0
    assert data.X_train.max() == 1


def test_adult_is_a_mixed_table_and_its_encodings_agree(data_folder):
    table, onehot, binary = (datasets.load(here(name)) for name in ("adult", "adult-onehot", "a9a"))
    assert table.X_train.shape == (32_561, 14)
    assert table.X_train["workclass"].isna().sum() == 1836
    assert "income" not in table.feature_names
    for part in ("y_train", "y_test"):
        labels = np.where(getattr(table, part) == ">50K", 1, -1)
        np.testing.assert_array_equal(labels, getattr(onehot, part))
        np.testing.assert_array_equal(labels, getattr(binary, part))
    assert (onehot.y_train == 1).sum() == 7841
    column = dict(zip(onehot.feature_names, onehot.X_train.T, strict=True))
    assert column["workclass=missing"].sum() == 1836
    np.testing.assert_array_equal(column["age"], table.X_train["age"])
    # every row has one category in each of the 8 categorical columns
    assert sum(values for name, values in column.items() if "=" in name).tolist() == [8] * 32_561


def test_covtype_binary_is_type_two(data_folder):
    data = datasets.load(here("covtype-binary"))
    assert data.X_train.shape == (522_911, 54)
    assert data.X_test.shape == (58_101, 54)
    assert set(data.y_test) == {-1, 1}
    assert (data.y_train == 1).sum() + (data.y_test == 1).sum() == 283_301


def test_kddcup99_samples_by_seed(data_folder):
    size = {"n_train": 1000, "n_test": 2000}
    first, again = (datasets.load(here("kddcup99"), **size) for _ in range(2))
    other = datasets.load("kddcup99", **size, random_state=1)
    np.testing.assert_array_equal(first.X_train, again.X_train)
    assert first.feature_names == other.feature_names
    assert not np.array_equal(first.X_train, other.X_train)
    assert np.mean(first.y_train == -1) == pytest.approx(97_278 / 494_021, abs=0.07)
    assert np.mean(first.y_test == -1) == pytest.approx(60_593 / 311_029, abs=0.05)
    with pytest.raises(ValueError, match=r"n_test=400000: only 311029 rows"):
        datasets.load("kddcup99", n_test=400_000)


@pytest.mark.parametrize(
    ("name", "n_rows", "n_columns", "mean"),
    [("cpu_act", 8192, 21, 83.97), ("house_16H", 22_784, 16, 50_074.44)],
)
def test_regression_sets(name, n_rows, n_columns, mean, data_folder):
    data = datasets.load(here(name))
    assert data.task == "regression"
    assert data.X_train.shape == (n_rows - round(n_rows / 10), n_columns)
    assert data.y_train.dtype == np.float64
    assert np.r_[data.y_train, data.y_test].mean() == pytest.approx(mean, abs=0.005)


def test_har_splits_by_subject(data_folder):
    data = datasets.load(here("uci_har"))
    with np.load(data_folder / "uci_har/uci_har_train.npz") as arrays:
        owner = {
            row.tobytes(): person
            for row, person in zip(arrays["X"], arrays["subject"], strict=True)
        }
    train, test = ({owner[row.tobytes()] for row in part} for part in (data.X_train, data.X_test))
    assert len(train) == 15
    assert len(test) == 6
    assert not train & test
    counts = np.bincount(np.r_[data.y_train, data.y_test])[1:]
    assert counts.tolist() == [1226, 1073, 986, 1286, 1374, 1407]


def test_har_walking_with_irrelevant_columns(data_folder):
    plain = datasets.load(here("uci_har"))
    data = datasets.load("uci_har", positive=(1, 2, 3), n_irrelevant=200)
    assert data.X_train.shape[1] == len(data.feature_names) == 761
    np.testing.assert_array_equal(data.X_train[:, :561], plain.X_train)
    np.testing.assert_array_equal(data.y_test, np.where(plain.y_test <= 3, 1, -1))
    extra = data.X_train[:, 561:]
    varied = extra[:, extra.std(axis=0) > 0]
    walks = [abs(np.corrcoef(column, data.y_train)[0, 1]) for column in varied.T]
    assert max(walks) < 5 / np.sqrt(len(extra))


def test_faces_have_unit_norm_and_every_person_in_both_parts(data_folder):
    for name in ("orl_faces", "umist_faces"):
        data = datasets.load(here(name))
        np.testing.assert_allclose(np.linalg.norm(data.X_train, axis=1), 1, rtol=1e-5)
        assert set(data.y_train) == set(data.y_test)


def test_all_full_size_umist_faces_come_in_order(data_folder):
    data = datasets.load(here("umist_faces"), full_size=True, test_share=0)
    assert data.X_train.shape == (412, 112 * 92)
    assert data.X_test.shape == (0, 112 * 92)
    assert np.all(np.diff(data.y_train) >= 0)
    assert (data.y_train == 20).sum() == 34


def test_spoken_digits_can_be_told_apart(data_folder):
    from sklearn.linear_model import RidgeClassifier

    data = datasets.load(here("fsdd"))
    model = RidgeClassifier(100.0).fit(data.X_train, data.y_train)
    assert model.score(data.X_test, data.y_test) > 0.85
