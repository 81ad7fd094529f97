"""Files made of the originals of their publishers: small ones in the same layout."""

import gzip
import wave
from pathlib import Path

import numpy as np
import pytest

from kitchensinks.papers import datasets
from kitchensinks.papers.datasets import making

HERE = [name for name in datasets.available() if datasets.source(name).checksum]


def write_idx(path: Path, array: np.ndarray) -> None:
    head = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">i4").tobytes()
    path.write_bytes(gzip.compress(head + array.astype(np.uint8).tobytes()))


def read(name: str, folder: Path) -> dict:
    known = making.ORIGINALS[name]
    paths = known.found(folder)
    assert paths is not None
    return known.read(*paths)


def test_every_set_says_where_it_is_had():
    for name in datasets.names():
        source = datasets.source(name)
        assert source.told
        if source.files:
            assert source.place.startswith("https://")
            assert source.checksum or name == "timit"
    assert set(making.CHECKSUMS) < set(datasets.names())


@pytest.mark.slow
@pytest.mark.parametrize("name", HERE)
def test_the_sets_here_have_their_checksums(name):
    assert datasets.checksum(name) == datasets.source(name).checksum


def test_digits_of_idx_files(tmp_path):
    rng = np.random.default_rng(0)
    images, labels = rng.integers(256, size=(5, 28, 28)), rng.integers(10, size=5)
    for name, array in zip(making.ORIGINALS["mnist"].files, (images, labels) * 2, strict=True):
        write_idx(tmp_path / f"{name}.gz", array)
    found = read("mnist", tmp_path)
    np.testing.assert_array_equal(found["X_test"], images)
    np.testing.assert_array_equal(found["y_train"], labels)


def test_tables_of_text(tmp_path):
    pytest.importorskip("pyarrow")
    row = "39, ?, 77516, Bachelors, 13, Never-married, Sales, Wife, White, Male, 2174, 0, 40, Peru"
    (tmp_path / "adult.data").write_text(f"{row}, <=50K\n")
    (tmp_path / "adult.test").write_text(f"|1x3 Cross validator\n{row}, >50K.\n")
    found = read("adult", tmp_path)
    assert found["test"]["income"].tolist() == [">50K"]
    assert found["train"]["workclass"].isna().all()
    assert found["train"]["fnlwgt"].tolist() == [77516]
    (tmp_path / "kddcup.names").write_text("back,normal.\nduration: continuous.\nx_rate: c.\n")
    for name in ("kddcup.data_10_percent", "corrected"):
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(b"3,0.25,normal.\n"))
    table = read("kddcup99", tmp_path)["train"]
    assert table.columns.tolist() == ["duration", "x_rate", "label"]
    assert table["label"].tolist() == ["normal"]
    assert table["x_rate"].dtype == np.float32


def test_numbers_in_columns(tmp_path):
    pytest.importorskip("pandas")
    (tmp_path / "covtype.data").write_text(",".join(map(str, range(54))) + ",7\n")
    found = read("covtype", tmp_path)
    assert found["X"].shape == (1, 54)
    assert len(found["feature_names"]) == 54
    assert found["y"].tolist() == [7]
    for name in making.ORIGINALS["isolet"].files:
        (tmp_path / name).write_text("0.5, -0.25, 3.\n")
    found = read("isolet", tmp_path)
    assert found["X_test"].tolist() == [[0.5, -0.25]]
    assert found["y_test"].tolist() == [3]
    head = ",".join(["row.names", *(f"x.{i}" for i in range(1, 257)), "g", "speaker"])
    lines = [f"1,{'2.5,' * 256}{g},{part}.dr1.x" for g, part in (("sh", "train"), ("aa", "test"))]
    (tmp_path / "phoneme.data").write_text("\n".join([head, *lines]))
    found = read("phoneme", tmp_path)
    assert (found["y_train"].tolist(), found["y_test"].tolist()) == ([1], [0])
    assert found["X_train"].shape == (1, 256)
    for name, text in zip(
        making.ORIGINALS["uci_har"].files, ("0.5 1", "4", "2", "1 a\n2 b"), strict=True
    ):
        (tmp_path / name).write_text(text + "\n")
    assert read("uci_har", tmp_path)["feature_names"] == ["a", "b"]
    packed = tmp_path / "packed"
    packed.mkdir()
    for name in making.ORIGINALS["uci_har"].files:
        (packed / f"{name}.gz").write_bytes(gzip.compress((tmp_path / name).read_bytes()))
    assert read("uci_har", packed)["feature_names"] == ["a", "b"]


def test_sounds_and_faces(tmp_path):
    (tmp_path / "recordings").mkdir()
    for stem, sound in (("1_bo_0", [5]), ("0_bo_1", [3, 4]), ("0_al_10", [2]), ("0_al_9", [1])):
        with wave.open(str(tmp_path / "recordings" / f"{stem}.wav"), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(8000)
            file.writeframes(np.array(sound, "<i2").tobytes())
    found = read("fsdd", tmp_path)
    assert found["audio"].tolist() == [1, 2, 3, 4, 5]
    assert found["offsets"].tolist() == [0, 1, 2, 4, 5]
    assert found["digit"].tolist() == [0, 0, 0, 1]
    for subject in range(1, 41):
        (tmp_path / f"s{subject}").mkdir()
        for view in range(1, 11):
            pixels = np.full(112 * 92, subject, np.uint8).tobytes()
            (tmp_path / f"s{subject}" / f"{view}.pgm").write_bytes(b"P5\n92 112\n255\n" + pixels)
    found = read("orl_faces", tmp_path)
    assert found["X"].shape == (400, 112, 92)
    assert (found["X"][:, 0, 0] == found["subject"]).all()


def test_a_set_is_made_and_checked(tmp_path, monkeypatch):
    monkeypatch.setenv("KITCHENSINKS_DATA", str(tmp_path / "data"))
    with pytest.raises(
        FileNotFoundError, match=r"lacks some of a9a, a9a.t: download them from http"
    ):
        datasets.make("a9a", tmp_path)
    (tmp_path / "a9a").write_text("+1 2:1\n-1 123:1\n")
    (tmp_path / "a9a.t").write_text("-1 1:1\n")
    with pytest.raises(ValueError, match="differ from the set that results/ were measured on"):
        datasets.make("a9a", tmp_path)
    expected = np.zeros((3, 123))
    expected[[0, 1, 2], [1, 122, 0]] = 1
    content = making.digest(expected[:2], np.array([1, -1]), expected[2:], np.array([-1]))
    monkeypatch.setitem(making.CHECKSUMS, "a9a", content)
    (path,) = datasets.make("a9a", tmp_path)
    assert path == tmp_path / "data" / "adult" / "a9a.npz"
    np.testing.assert_array_equal(datasets.load("a9a").X_train, expected[:2])
    with pytest.raises(ValueError, match="cannot be made: it ships"):
        datasets.make("iris", tmp_path)
    with pytest.raises(ValueError, match="cannot be made: see http"):
        datasets.make("umist_faces", tmp_path)
    monkeypatch.delenv("KITCHENSINKS_DATA")
    with pytest.raises(ValueError, match="names the folder"):
        datasets.make("a9a", tmp_path)


def test_what_scikit_learn_downloads_is_written_too(tmp_path, monkeypatch):
    import sklearn.datasets

    class Found:
        data, target, feature_names = np.ones((20, 3)), np.arange(20.0), ["a", "b", "c"]

    monkeypatch.setenv("KITCHENSINKS_DATA", str(tmp_path))
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda **options: Found)
    with pytest.raises(ValueError, match="have the checksum"):
        datasets.make("cpu_act", tmp_path)
    assert datasets.load("cpu_act", download=False).X_train.shape == (18, 3)
