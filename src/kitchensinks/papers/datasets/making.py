"""Files of the data sets, made from the originals of their publishers; checksums of their content.

`ORIGINALS` names the original files of a set and turns them into the arrays (or tables) that
`load` reads. Archives compress in different ways, so that a checksum is of what `load` returns.
"""

import gzip
import hashlib
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kitchensinks.papers.datasets.builders import pandas, parts

Contents = dict[str, Any]


def digest(*given: Any) -> str:
    """SHA-256 of arrays and tables: shapes, numbers as float64, and text.

    >>> digest(np.ones((2, 1), np.uint8)) == digest(np.ones((2, 1)))
    True
    """
    found = hashlib.sha256()
    for part in given:
        columns = [part] if isinstance(part, np.ndarray) else [part[name] for name in part]
        for column in map(np.asarray, columns):
            found.update(repr(column.shape).encode())
            if column.dtype.kind in "OSU":
                text = ("" if each is None or each != each else str(each) for each in column)
                found.update("\n".join(text).encode())
            else:
                found.update(np.ascontiguousarray(column, dtype=np.float64).tobytes())
    return found.hexdigest()


def write(contents: Contents, paths: list[Path]) -> None:
    """Save as `load` reads them: one .npz, or the Parquet tables "train" and "test"."""
    # Imported here: the list of the sets is quick without it.
    from kitchensinks.tables.disk import atomic

    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
    if paths[0].suffix == ".npz":
        with atomic(paths[0]) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, **contents)
        return
    for path, part in zip(paths, ("train", "test"), strict=True):
        with atomic(path) as temporary:
            contents[part].to_parquet(temporary, index=False)


class Originals(NamedTuple):
    """The original files of a set, and what makes contents of them, given their paths."""

    files: tuple[str, ...]
    read: Callable[..., Contents]

    def found(self, folder: Path) -> list[Path] | None:
        """Where the files are, packed by gzip or not; None if one is missing."""
        both = [[folder / name, folder / f"{name}.gz"] for name in self.files]
        paths = [next((one for one in pair if one.exists()), None) for pair in both]
        return None if None in paths else [path for path in paths if path is not None]


def _bytes(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def _idx(*paths: Path) -> Contents:
    """MNIST: a head of four bytes whose last is the number of axes, their lengths, the pixels."""
    arrays = []
    for path in paths:
        raw = _bytes(path)
        shape = np.frombuffer(raw, ">i4", raw[3], 4)
        arrays.append(np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(shape))
    return parts(*arrays)


def _a9a(train: Path, test: Path) -> Contents:
    from sklearn.datasets import load_svmlight_file

    pairs = [load_svmlight_file(str(path), n_features=123) for path in (train, test)]
    both = [(X.toarray().astype(np.uint8), y.astype(np.int8)) for X, y in pairs]
    return parts(*both[0], *both[1])


def _adult(train: Path, test: Path) -> Contents:
    names = (
        "age workclass fnlwgt education education-num marital-status occupation relationship race "
        "sex capital-gain capital-loss hours-per-week native-country income"
    )
    tables = {}
    for part, path in (("train", train), ("test", test)):
        table = pandas().read_csv(
            path, names=names.split(), na_values="?", skipinitialspace=True, comment="|"
        )
        table["income"] = table["income"].str.rstrip(".")
        tables[part] = table
    return tables


def _covtype(path: Path) -> Contents:
    table = pandas().read_csv(path, header=None).to_numpy(np.int16)
    soils = [f"Soil_Type{i}" for i in range(1, 41)]
    names = [*_COVER.split(), *(f"Wilderness_Area{i}" for i in range(1, 5)), *soils]
    return {"X": table[:, :-1], "y": table[:, -1].astype(np.uint8), "feature_names": names}


_COVER = (
    "Elevation Aspect Slope Horizontal_Distance_To_Hydrology Vertical_Distance_To_Hydrology "
    "Horizontal_Distance_To_Roadways Hillshade_9am Hillshade_Noon Hillshade_3pm "
    "Horizontal_Distance_To_Fire_Points"
)


def _kddcup99(names: Path, train: Path, test: Path) -> Contents:
    lines = _bytes(names).decode().splitlines()
    columns = [*(line.split(":")[0] for line in lines if ":" in line), "label"]
    tables = {}
    for part, path in (("train", train), ("test", test)):
        table = pandas().read_csv(path, names=columns)
        table["label"] = table["label"].str.rstrip(".")
        rates = {name: np.float32 for name in columns if name.endswith("_rate")}
        tables[part] = table.astype(rates)
    return tables


def _isolet(train: Path, test: Path) -> Contents:
    tables = [pandas().read_csv(path, header=None).to_numpy(np.float64) for path in (train, test)]
    both = [(each[:, :-1], each[:, -1].astype(np.uint8)) for each in tables]
    return parts(*both[0], *both[1])


def _phoneme(path: Path) -> Contents:
    """phoneme.data of ESL: the speaker says to which part a frame belongs."""
    table = pandas().read_csv(path)
    rows = table[[f"x.{i}" for i in range(1, 257)]].to_numpy(np.float64)
    _, labels = np.unique(table["g"].astype(str), return_inverse=True)
    train = table["speaker"].astype(str).str.startswith("train").to_numpy()
    return parts(rows[train], labels[train], rows[~train], labels[~train])


def _har(rows: Path, labels: Path, subjects: Path, names: Path) -> Contents:
    return {
        "X": np.loadtxt(rows, dtype=np.float32),
        "y": np.loadtxt(labels, dtype=np.uint8),
        "subject": np.loadtxt(subjects, dtype=np.uint8),
        "feature_names": [line.split()[1] for line in _bytes(names).decode().splitlines()],
    }


def _fsdd(folder: Path) -> Contents:
    """recordings/DIGIT_SPEAKER_INDEX.wav, in the order of digit, speaker and index."""
    heads = [(path, path.stem.split("_")) for path in folder.glob("*.wav")]
    speakers = sorted({names[1] for _, names in heads})
    sounds: list[np.ndarray] = []
    facts = sorted((int(d), speakers.index(s), int(i), path) for path, (d, s, i) in heads)
    for *_, path in facts:
        with wave.open(str(path)) as file:
            sounds.append(np.frombuffer(file.readframes(file.getnframes()), "<i2"))
    digit, speaker, index = (np.array([fact[place] for fact in facts]) for place in range(3))
    return {
        "audio": np.concatenate(sounds),
        "offsets": np.cumsum([0, *map(len, sounds)]),
        "digit": digit,
        "speaker": speaker,
        "index": index,
        "speaker_names": speakers,
    }


def _orl(*folders: Path) -> Contents:
    """s1/1.pgm to s40/10.pgm: a head of three lines, then 112 × 92 bytes."""
    images = [
        np.frombuffer((folder / f"{view}.pgm").read_bytes()[-112 * 92 :], np.uint8)
        for folder in folders
        for view in range(1, 11)
    ]
    subject = np.repeat(np.arange(1, len(folders) + 1), 10).astype(np.uint8)
    return {"X": np.stack(images).reshape(-1, 112, 92), "subject": subject}


_UCI = "https://archive.ics.uci.edu/dataset"
_HAR = ("X_train.txt", "y_train.txt", "subject_train.txt", "features.txt")
_IDX = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")
ORIGINALS = {
    "mnist": Originals(tuple(f"{name}-ubyte" for name in _IDX), _idx),
    "a9a": Originals(("a9a", "a9a.t"), _a9a),
    "adult": Originals(("adult.data", "adult.test"), _adult),
    "covtype": Originals(("covtype.data",), _covtype),
    "kddcup99": Originals(("kddcup.names", "kddcup.data_10_percent", "corrected"), _kddcup99),
    "isolet": Originals(("isolet1+2+3+4.data", "isolet5.data"), _isolet),
    "phoneme": Originals(("phoneme.data",), _phoneme),
    "uci_har": Originals(_HAR, _har),
    "fsdd": Originals(("recordings",), _fsdd),
    "orl_faces": Originals(tuple(f"s{i}" for i in range(1, 41)), _orl),
}
# Where the originals can be had.
PLACES = {
    "mnist": "https://ossci-datasets.s3.amazonaws.com/mnist",
    "adult": f"{_UCI}/2/adult",
    "a9a": "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary.html#a9a",
    "covtype": f"{_UCI}/31/covertype",
    "kddcup99": f"{_UCI}/130/kdd+cup+1999+data",
    "cpu_act": "https://www.openml.org/d/197",
    "house_16H": "https://www.openml.org/d/574",
    "uci_har": f"{_UCI}/240/human+activity+recognition+using+smartphones",
    "isolet": f"{_UCI}/54/isolet",
    "phoneme": "https://hastie.su.domains/ElemStatLearn/datasets/phoneme.data",
    "timit": "https://catalog.ldc.upenn.edu/LDC93S1",
    "fsdd": "https://github.com/Jakobovski/free-spoken-digit-dataset",
    "orl_faces": "https://cam-orl.co.uk/facedatabase.html",
    "umist_faces": "https://www.visioneng.org.uk/datasets",
}
# Of the sets as they are loaded without options; of "fsdd", whose rows are computed, of the sound.
CHECKSUMS = {
    "mnist": "0c6cdffbaee05721972adc5f65c693f9572db9c512c2d8e429e25bab521ba32f",
    "adult": "4a472ed9404691a72b6d88855ade35816ab7d3aa679620716f7226f9cfbce761",
    "adult-onehot": "f185ecf70a8ad11e2c1eb69a4c0173620104007c8ab0e66e0a712e7b4a8d1a03",
    "a9a": "896af1f5033cb7d5b48602a6bca3344bbec4da098c42ae7d89489664852bf48f",
    "covtype": "5bd0be0bb8285893d57488f7c65c4f75f0de1782179983a17d7c85a4495e82de",
    "covtype-binary": "1be94995aeaef72382d483c706988eb1ebc768caffa33026726fdb85a7109b89",
    "kddcup99": "e85b2803c47cc31f6019ff62f028ccca8e2ce3ea7a27cc080b065087df582f99",
    "cpu_act": "fa6cfae15c3b10290336fd1fd9371c042f31fd439b435f3c81e341bea21c0c10",
    "house_16H": "fb409c89c1e6d2b373104a38799571217efed3d4ae96cc3552dcb12e33e89f72",
    "uci_har": "8f7717ec2f85061208e534cea8fa00a80b2435641e2cee23c92c5021859ba2dd",
    "isolet": "562c4a3bf887ea528633a5d39e5c5b7c5a292127a89a1899ba5449ff405fbf40",
    "phoneme": "ed96db655754e4ec0f5b04d589372dc1301834f513dc16e8202504f31d4bdacc",
    "fsdd": "9d6506f686be055424e715b53d9f239a17754bfa9e49fe480fa57c9d8552bf02",
    "orl_faces": "89265bbb83bc1291ab77b3870e51893610dc0bc47e5e30f37c560fcb17e6eea6",
    "umist_faces": "413a5a6d0fb94d40ea602b2b93d3835d0a2b21c53228eb7839d2ef98cc92332b",
}
