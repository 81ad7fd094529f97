"""The real data sets of the papers by name, and small ones that ship with scikit-learn."""

import difflib
import inspect
import math
import os
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kitchensinks.papers.datasets.synthetic import _check_count, _start

FOLDER_VARIABLE = "KITCHENSINKS_DATA"

# X_train, y_train, X_test, y_test, and feature_names where the columns have names.
Parts = dict[str, Any]


@dataclass(frozen=True, repr=False, eq=False)
class Dataset:
    """Training and test rows. X_* are arrays (rows, columns), or pandas tables for "adult"."""

    name: str
    X_train: Any
    y_train: np.ndarray
    X_test: Any
    y_test: np.ndarray
    feature_names: tuple[str, ...]
    task: str  # "classification" or "regression"
    description: str

    def __repr__(self) -> str:
        rows = f"{len(self.y_train)} training and {len(self.y_test)} test rows"
        return f"Dataset({self.name!r}: {self.task}, {rows}, {len(self.feature_names)} columns)"


def names() -> dict[str, str]:
    """Every name that `load` knows, with a one-line description.

    >>> names()["iris"]
    'iris flowers: 3 species, 4 columns; ships with scikit-learn'
    """
    return {name: recipe.description for name, recipe in _RECIPES.items()}


def available() -> list[str]:
    """The names that `load` can serve without a download: bundled, or with files in the folder.

    >>> {"breast_cancer", "digits"} <= set(available())
    True
    """
    return [name for name, recipe in _RECIPES.items() if recipe.paths() or not recipe.files]


def load(name: str, *, download: bool = True, **options: Any) -> Dataset:
    """The data set called `name`, split into training and test rows.

    Its files are looked for in the folder that the environment variable KITCHENSINKS_DATA names. If
    they are not there and `download` is true, scikit-learn's fetcher takes over where it has one
    (its cache, or the network). Options of single sets, with their defaults:

    - bundled sets (75/25), covtype, covtype-binary, cpu_act, house_16H (90/10): random_state=0
    - kddcup99: n_train=50_000, n_test=150_000 (None: all rows), random_state=0
    - uci_har: positive=None (activities that are +1, such as (1, 2, 3) for walking; the others are
      −1), n_irrelevant=0 (columns to add, each a permuted copy of a real one), random_state=0 (6 of
      21 subjects test)
    - orl_faces, umist_faces: test_share=0.25 (0: all rows, in order, are training rows),
      random_state=0; umist_faces also full_size=False (True: 412 images of 112 × 92)

    >>> load("iris")
    Dataset('iris': classification, 112 training and 38 test rows, 4 columns)
    """
    if name not in _RECIPES:
        raise unknown_name("data set", name, _RECIPES)
    recipe = _RECIPES[name]
    known = list(inspect.signature(recipe.build).parameters)[1:]
    if unknown := sorted(set(options) - set(known)):
        takes = ", ".join(known) or "no options"
        raise TypeError(f"load({name!r}) takes {takes}; it got {', '.join(unknown)}: remove these.")
    parts = recipe.build(_contents(name, recipe, download), **options)
    columns = parts.pop("feature_names", None)
    if columns is None:
        columns = [f"x{column}" for column in range(parts["X_train"].shape[1])]
    parts |= {"feature_names": tuple(map(str, columns)), "task": recipe.task}
    return Dataset(name=name, description=recipe.description, **parts)


def unknown_name(kind: str, name: str, known: Iterable[str]) -> ValueError:
    """The error for a name that no list has; it suggests the nearest names."""
    near = difflib.get_close_matches(str(name), list(known), n=3, cutoff=0.4)
    hint = f"The nearest: {', '.join(near)}. " if near else ""
    return ValueError(f"no {kind} {name!r}. {hint}All names: {', '.join(known)}.")


class _Recipe(NamedTuple):
    """One set: `build` turns the contents of `files` into the parts of a Dataset."""

    description: str
    build: Callable[..., Parts]
    files: tuple[str, ...] = ()  # none: ships with scikit-learn
    source: str = ""
    task: str = "classification"

    def paths(self) -> list[Path]:
        """Where the files are, if all of them are there."""
        folder = os.environ.get(FOLDER_VARIABLE)
        paths = [Path(folder).expanduser() / file for file in self.files] if folder else []
        return paths if all(path.is_file() for path in paths) else []


def _contents(name: str, recipe: _Recipe, download: bool) -> Any:
    """Everything, not yet split: arrays of an .npz file, or the tables "train" and "test"."""
    failure = "Nothing was downloaded."
    if paths := recipe.paths():
        if paths[0].suffix == ".npz":
            with np.load(paths[0]) as arrays:
                return dict(arrays)
        if paths[0].suffix == ".npy":
            return {path.stem: np.load(path, mmap_mode="r") for path in paths}
        train, test = map(_pandas().read_parquet, paths)
        return {"train": train, "test": test}
    if download or not recipe.files:
        try:
            if (fetched := _fetch(name)) is not None:
                return fetched
        except (OSError, ValueError) as error:  # no network, no such page, or a broken answer
            failure = f"The download by scikit-learn failed: {error!r}."
    folder = os.environ.get(FOLDER_VARIABLE) or "not set"
    raise FileNotFoundError(
        f"the data set {name!r} is missing: need {' and '.join(recipe.files)} in the folder named "
        f"by the environment variable {FOLDER_VARIABLE} (now: {folder}). {failure} "
        f"To get it: {recipe.source}."
    )


def _pandas() -> Any:
    try:
        import pandas
        import pyarrow  # noqa: F401  (pandas reads Parquet with it)
    except ImportError as error:
        message = f'{error.name} is needed to read tables: pip install "kitchensinks[tables]".'
        raise ImportError(message, name=error.name) from error
    return pandas


def _fetch(name: str) -> Any:
    """What scikit-learn ships or downloads, in the layout of our files; None if it has nothing."""
    from sklearn import datasets

    if not _RECIPES[name].files:
        return getattr(datasets, f"load_{name}")()
    if name == "mnist":
        _pandas()  # scikit-learn reads OpenML's files with it
        found = datasets.fetch_openml("mnist_784", version=1, as_frame=False)
        X_train, X_test = np.split(found.data, [60_000])
        y_train, y_test = np.split(found.target, [60_000])
        return _parts(X_train, y_train, X_test, y_test)
    if name in ("adult", "adult-onehot"):
        _pandas()
        table = datasets.fetch_openml("adult", version=2, as_frame=True).frame
        table = table.rename(columns={"class": "income"})
        train, test = table.iloc[16281:], table.iloc[:16281]  # OpenML has the test rows first
        if len(train) != 32561 or (train["income"] == ">50K").sum() != 7841:
            raise ValueError("OpenML changed the order of the rows, which gave the official split")
        return {"train": train, "test": test}
    if name in ("cpu_act", "house_16H", "covtype", "covtype-binary"):
        if name in ("covtype", "covtype-binary"):
            found = datasets.fetch_covtype()
        else:
            _pandas()
            data_id = {"cpu_act": 197, "house_16H": 574}[name]
            found = datasets.fetch_openml(data_id=data_id, as_frame=False)
        return {"X": found.data, "y": found.target, "feature_names": found.feature_names}
    return None


def _parts(X_train: Any, y_train: Any, X_test: Any, y_test: Any, **rest: Any) -> Parts:
    return dict(X_train=X_train, y_train=y_train, X_test=X_test, y_test=y_test, **rest)


def _split(
    rows: Any, targets: Any, test_share: float, random_state: Any, by_class: bool = False
) -> Parts:
    """Split by seed. By class: each class gives its share, and the rows keep their order."""
    from sklearn.model_selection import train_test_split

    if not 0 <= test_share < 1:
        raise ValueError(f"test_share={test_share!r}: need a number from 0 to below 1.")
    train, test = np.arange(len(targets)), np.arange(0)
    if n_test := round(test_share * len(targets)):
        classes = targets if by_class else None
        train, test = train_test_split(
            train, test_size=n_test, random_state=random_state, stratify=classes
        )
    if by_class:
        train, test = np.sort(train), np.sort(test)
    return _parts(rows[train], targets[train], rows[test], targets[test])


def _bundled(raw: Any, random_state: Any = 0) -> Parts:
    return _split(raw.data, raw.target, 0.25, random_state) | {"feature_names": raw.feature_names}


def _official(raw: Any) -> Parts:
    X_train, X_test = (raw[part].astype(np.float32) for part in ("X_train", "X_test"))
    return _parts(X_train, raw["y_train"].astype(np.int64), X_test, raw["y_test"].astype(np.int64))


def _timit(raw: Any) -> Parts:
    for part in ("train", "test"):
        rows, targets = raw[f"X_{part}"], raw[f"y_{part}"]
        if rows.ndim != 2 or targets.shape != (len(rows),):
            raise ValueError(
                f"timit/X_{part}.npy has shape {rows.shape} and y_{part}.npy {targets.shape}: need "
                "(frames, columns) and (frames,)."
            )
    return _parts(*(raw[part] for part in ("X_train", "y_train", "X_test", "y_test")))


def _mnist(raw: Any) -> Parts:
    images = {part: raw[part].reshape(-1, 784) for part in ("X_train", "X_test")}
    parts = _official(raw | images)
    return parts | {part: parts[part] / np.float32(255) for part in images}


def _tenth(raw: Any, random_state: Any = 0) -> Parts:
    parts = _split(raw["X"], raw["y"], 0.1, random_state)
    return parts | {"feature_names": raw["feature_names"]}


def _regression(raw: Any, random_state: Any = 0) -> Parts:
    return _tenth(raw | {"y": raw["y"].astype(np.float64)}, random_state)


def _covtype(raw: Any, random_state: Any = 0) -> Parts:
    columns = {"X": raw["X"].astype(np.float32), "y": raw["y"].astype(np.int64)}
    return _tenth(raw | columns, random_state)


def _covtype_binary(raw: Any, random_state: Any = 0) -> Parts:
    return _covtype(raw | {"y": np.where(raw["y"] == 2, 1, -1)}, random_state)


def _adult(raw: Any) -> Parts:
    X_train, X_test = (raw[part].drop(columns="income") for part in ("train", "test"))
    y_train, y_test = (np.asarray(raw[part]["income"], dtype=str) for part in ("train", "test"))
    return _parts(X_train, y_train, X_test, y_test, feature_names=X_train.columns)


def _adult_onehot(raw: Any) -> Parts:
    parts = _adult(raw)
    columns, train, test = _one_hot(parts["X_train"], parts["X_train"], parts["X_test"])
    y_train, y_test = (np.where(parts[part] == ">50K", 1, -1) for part in ("y_train", "y_test"))
    return _parts(train, y_train, test, y_test, feature_names=columns)


def _kddcup99(
    raw: Any, n_train: int | None = 50_000, n_test: int | None = 150_000, random_state: Any = 0
) -> Parts:
    random = _start(1, 0.0, random_state)
    tables = []
    for part, count in (("train", n_train), ("test", n_test)):
        table = raw[part]
        if count is not None:
            _check_count(f"n_{part}", count)
            if count > len(table):
                raise ValueError(f"n_{part}={count}: only {len(table)} rows; None takes them all.")
            table = table.iloc[random.choice(len(table), count, replace=False)]
        tables.append(table)
    # Categories come from all training rows, so that the columns do not depend on the sample.
    columns, train, test = _one_hot(raw["train"].drop(columns="label"), *tables)
    y_train, y_test = (np.where(table["label"] == "normal", -1, 1) for table in tables)
    return _parts(train, y_train, test, y_test, feature_names=columns)


def _one_hot(learn: Any, *tables: Any) -> tuple[Any, ...]:
    """Column names, then each table as float32: numbers as they are, a 0/1 column per category.

    The columns and categories are those of the table `learn`, null being a category where it
    occurs there; a category that `learn` lacks gives zeros.
    """
    is_number = _pandas().api.types.is_numeric_dtype
    pairs: list[tuple[str, Any]] = []
    for column in learn.columns:
        categories: list[Any] = [None]
        if not is_number(learn[column]):
            missing = ["missing"] if learn[column].isna().any() else []
            categories = sorted(learn[column].dropna().unique()) + missing
        pairs += [(column, category) for category in categories]

    def read(values: Any, category: Any) -> Any:
        if category is None:
            return values.to_numpy(np.float32)
        return (values.isna() if category == "missing" else values == category).to_numpy(np.float32)

    columns = [column if value is None else f"{column}={value}" for column, value in pairs]
    stacked = [[read(table[column], value) for column, value in pairs] for table in tables]
    return columns, *map(np.column_stack, stacked)


def _har(
    raw: Any,
    positive: Collection[int] | None = None,
    n_irrelevant: int = 0,
    random_state: Any = 0,
) -> Parts:
    _check_count("n_irrelevant", n_irrelevant, least=0)
    random = _start(1, 0.0, random_state)
    labels = raw["y"].astype(np.int64)
    if positive is not None:
        if not set() < set(positive) < set(range(1, 7)):
            raise ValueError(f"positive={positive!r}: need some of the activities 1 to 6, not all.")
        labels = np.where(np.isin(labels, list(positive)), 1, -1)
    test = np.isin(raw["subject"], random.choice(np.unique(raw["subject"]), 6, replace=False))
    copied = random.randint(raw["X"].shape[1], size=n_irrelevant)
    rows = np.column_stack([raw["X"], *(random.permutation(raw["X"][:, i]) for i in copied)])
    columns = [*raw["feature_names"], *(f"irrelevant{i}" for i in range(n_irrelevant))]
    return _parts(rows[~test], labels[~test], rows[test], labels[test], feature_names=columns)


def _fsdd(raw: Any) -> Parts:
    """Log energies of 20 mel-spaced bands from 100 to 4000 Hz in 16 windows of each recording.

    A window is 256 samples (32 ms) under a Hann curve; windows start at equal steps from the first
    sample to the last possible one; the recording is scaled to mean square 1 first.
    """
    low, high = (2595 * math.log10(1 + hertz / 700) for hertz in (100, 4000))
    mels = np.linspace(low, high, 21)
    edges = np.round((10 ** (mels / 2595) - 1) * 700 / (8000 / 256)).astype(int)
    rows = []
    for sound in np.split(raw["audio"].astype(np.float64), raw["offsets"][1:-1]):
        starts = np.linspace(0, len(sound) - 256, 16).astype(int)
        windows = sound[starts[:, None] + np.arange(256)] * np.hanning(256)
        power = np.abs(np.fft.rfft(windows)) ** 2 / np.mean(sound**2)
        rows.append(np.log(np.add.reduceat(power, edges, axis=1)[:, :20] + 0.01).ravel())
    bands, digits = np.array(rows, np.float32), raw["digit"].astype(np.int64)
    test = raw["index"] < 5
    return _parts(bands[~test], digits[~test], bands[test], digits[test])


def _faces(raw: Any, test_share: float = 0.25, random_state: Any = 0) -> Parts:
    rows = raw["X"].reshape(len(raw["X"]), -1).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return _split(rows, raw["subject"].astype(np.int64), test_share, random_state, by_class=True)


def _umist(
    raw: Any, full_size: bool = False, test_share: float = 0.25, random_state: Any = 0
) -> Parts:
    size = "112x92" if full_size else "28x23"
    sized = {"X": raw[f"X_{size}"], "subject": raw[f"subject_{size}"]}
    return _faces(sized, test_share, random_state)


_SPLIT = "saved with numpy.savez as X_train, y_train, X_test, y_test"
_TABLE = "saved with numpy.savez as X, y, feature_names"
_ADULT = ("adult/adult_train.parquet", "adult/adult_test.parquet")
_CENSUS = "adult.data and adult.test of UCI 'Adult' as Parquet: '?' as null, target 'income'"
_KDD = ("kddcup99/kddcup99_10percent.parquet", "kddcup99/kddcup99_corrected.parquet")

# fmt: off
_RECIPES = {
    "mnist": _Recipe(
        "handwritten digits, 28 × 28 pixels / 255: 60,000 + 10,000 rows, official split",
        _mnist, ("mnist/mnist.npz",), f"the four IDX files of MNIST, {_SPLIT}"),
    "adult": _Recipe(
        "census income, mixed table of 14 columns: 32,561 + 16,281 rows, official split",
        _adult, _ADULT, _CENSUS),
    "adult-onehot": _Recipe(
        "adult as 6 numeric and 102 binary columns, one for each category, null included",
        _adult_onehot, _ADULT, _CENSUS),
    "a9a": _Recipe(
        "adult as 123 binary columns: 32,561 + 16,281 rows, official split",
        _official, ("adult/a9a.npz",), f"a9a and a9a.t of the LIBSVM data page, {_SPLIT}"),
    "covtype": _Recipe(
        "forest cover, 7 types, 54 columns: 522,911 + 58,101 rows, split by seed",
        _covtype, ("covtype/covtype.npz",), f"covtype.data of UCI 'Covertype', {_TABLE}"),
    "covtype-binary": _Recipe(
        "forest cover, type 2 (+1) against the rest: 522,911 + 58,101 rows, split by seed",
        _covtype_binary, ("covtype/covtype.npz",), f"covtype.data of UCI 'Covertype', {_TABLE}"),
    "kddcup99": _Recipe(
        "network connections, attack (+1) or normal, 118 columns: 50,000 + 150,000 rows by seed",
        _kddcup99, _KDD, "the '10 percent' and 'corrected' files of UCI 'KDD Cup 1999' as Parquet "
        "(scikit-learn's fetcher lacks the second)"),
    "cpu_act": _Recipe(
        "percent of CPU time in user mode, 21 columns: 7,373 + 819 rows, split by seed",
        _regression, ("cpu_act/cpu_act.npz",), f"OpenML data 197, {_TABLE}", "regression"),
    "house_16H": _Recipe(
        "median house price by region, 16 census columns: 20,506 + 2,278 rows, split by seed",
        _regression, ("census_house/house_16H.npz",), f"OpenML data 574, {_TABLE}", "regression"),
    "uci_har": _Recipe(
        "6 activities, 561 columns of phone motion: 7,352 rows of 21 people, split by person",
        _har, ("uci_har/uci_har_train.npz",),
        f"the training part of UCI 'Human Activity Recognition', {_TABLE}, subject"),
    "isolet": _Recipe(
        "26 spoken letters (1-26), 617 columns: 6,238 + 1,559 rows, official split",
        _official, ("isolet/isolet.npz",), f"isolet1+2+3+4 and isolet5 of UCI 'ISOLET', {_SPLIT}"),
    "phoneme": _Recipe(
        "phonemes aa, ao, dcl, iy, sh (0-4), 256 log-periodogram columns: 3,340 + 1,169 rows",
        _official, ("timit_phoneme_esl/phoneme.npz",),
        f"phoneme.data of 'The Elements of Statistical Learning', {_SPLIT}"),
    "timit": _Recipe(
        "your own frames of TIMIT (licensed), such as 147 states of 11 × 40 spliced columns",
        _timit, tuple(f"timit/{part}.npy" for part in ("X_train", "y_train", "X_test", "y_test")),
        "the corpus is LDC93S1 of the Linguistic Data Consortium; make frames from it with your "
        "own tools and save them with numpy.save: X_*.npy of shape (frames, columns) in float32, "
        "y_*.npy of shape (frames,) with the state or phone of each frame"),
    "fsdd": _Recipe(
        "10 spoken digits, 320 log band energies: 2,700 + 300 rows, official split",
        _fsdd, ("fsdd/fsdd.npz",), "GitHub Jakobovski/free-spoken-digit-dataset, recordings saved "
        "with numpy.savez as audio (joined), offsets, digit, index"),
    "orl_faces": _Recipe(
        "400 faces of 40 people, 112 × 92 pixels at unit norm, split by seed",
        _faces, ("orl_faces/orl_faces.npz",),
        "the AT&T 'Database of Faces', saved with numpy.savez as X, subject"),
    "umist_faces": _Recipe(
        "575 faces of 20 people turning, 28 × 23 (or 112 × 92) pixels at unit norm, split by seed",
        _umist, ("umist_faces/umist_faces.npz",), "the UMIST (Sheffield) faces, saved with "
        "numpy.savez as X_28x23, subject_28x23, X_112x92, subject_112x92"),
    "breast_cancer": _Recipe(
        "breast tumours: 2 classes (0 and 1), 30 columns; ships with scikit-learn", _bundled),
    "digits": _Recipe(
        "small handwritten digits: 10 classes, 64 columns; ships with scikit-learn", _bundled),
    "wine": _Recipe("wines: 3 growers, 13 columns; ships with scikit-learn", _bundled),
    "diabetes": _Recipe(
        "progress of diabetes, 10 columns; ships with scikit-learn", _bundled, task="regression"),
    "iris": _Recipe("iris flowers: 3 species, 4 columns; ships with scikit-learn", _bundled),
}
# fmt: on
