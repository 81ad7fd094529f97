"""The real data sets of the papers by name, and small ones that ship with scikit-learn."""

import difflib
import inspect
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kitchensinks.papers.datasets import builders, making
from kitchensinks.papers.datasets.builders import SetParts

FOLDER_VARIABLE = "KITCHENSINKS_DATA"
# What scikit-learn downloads.
_FETCHED = ("mnist", "adult", "covtype", "cpu_act", "house_16H")


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
    # Rows of each utterance, where rows are frames of speech.
    lengths_train: np.ndarray | None = None
    lengths_test: np.ndarray | None = None

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

    >>> sorted({"breast_cancer", "digits"} & set(available()))
    ['breast_cancer', 'digits']
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
    - fsdd: frames=False (True: frames of utterances of five digits, with their states)

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


class Source(NamedTuple):
    """Where a set is had: our files, the page of its publisher, the original files of which
    `make` makes ours, whether scikit-learn downloads it, a note, and the checksum of its content.
    """

    files: tuple[str, ...]
    place: str
    originals: tuple[str, ...]
    fetched: bool
    note: str
    checksum: str

    @property
    def told(self) -> str:
        """The way to the set, in words."""
        if not self.files:
            return "it ships with scikit-learn"
        names = self.originals if len(self.originals) < 5 else (*self.originals[:2], "…")
        ways = [f"download {', '.join(names)} from {self.place}"] if names else []
        ways += ["let scikit-learn download it"] if self.fetched else []
        made = ", and `sinks datasets NAME --make FOLDER` makes the file"
        way = " or ".join(ways) + made if ways else f"see {self.place}"
        return f"{way}; {self.note}" if self.note else way


def source(name: str) -> Source:
    """Where the set called `name` can be had; nothing for sets that ship with scikit-learn.

    >>> source("isolet").originals
    ('isolet1+2+3+4.data', 'isolet5.data')
    """
    if name not in _RECIPES:
        raise unknown_name("data set", name, _RECIPES)
    recipe, first = _RECIPES[name], _first_of(name)
    known = making.ORIGINALS.get(first)
    return Source(
        recipe.files,
        making.PLACES.get(first, ""),
        known.files if known else (),
        first in _FETCHED,
        recipe.note,
        making.CHECKSUMS.get(name, ""),
    )


def _first_of(name: str) -> str:
    """The first set that has the same files."""
    return next(one for one in _RECIPES if _RECIPES[one].files == _RECIPES[name].files)


def make(name: str, originals: Path) -> list[Path]:
    """Write the files of a set into the folder of KITCHENSINKS_DATA, and return their paths.

    They are made from the originals of its publisher in the folder `originals`, or from what
    scikit-learn downloads. A ValueError where the content is not that of the checksum.
    """
    known, folder = source(name), os.environ.get(FOLDER_VARIABLE)
    if not known.originals and not known.fetched:
        raise ValueError(f"{name!r} cannot be made: {known.told}.")
    if not folder:
        raise ValueError(f"{FOLDER_VARIABLE} is not set: it names the folder to write into.")
    first = _first_of(name)
    found = making.ORIGINALS[first].found(originals) if known.originals else None
    if found is None and not known.fetched:
        raise FileNotFoundError(
            f"{originals} lacks some of {', '.join(known.originals)}: download them from "
            f"{known.place}."
        )
    contents = _fetch(first) if found is None else making.ORIGINALS[first].read(*found)
    paths = [Path(folder).expanduser() / file for file in known.files]
    making.write(contents, paths)
    if (checked := checksum(name)) != known.checksum:
        raise ValueError(
            f"{', '.join(map(str, paths))} have the checksum {checked} and not {known.checksum}: "
            "they differ from the set that results/ were measured on. Are the originals complete?"
        )
    return paths


def checksum(name: str) -> str:
    """Of the content of a set that is here, as `sinks datasets` lists it."""
    if name == "fsdd":
        raw = _contents(name, _RECIPES[name], download=False)
        return making.digest(raw["audio"], raw["digit"], raw["index"])
    data = load(name, download=False)
    return making.digest(data.X_train, data.y_train, data.X_test, data.y_test)


def unknown_name(kind: str, name: str, known: Iterable[str]) -> ValueError:
    """The error for a name that no list has; it suggests the nearest names."""
    near = difflib.get_close_matches(str(name), list(known), n=3, cutoff=0.4)
    hint = f"The nearest: {', '.join(near)}. " if near else ""
    return ValueError(f"no {kind} {name!r}. {hint}All names: {', '.join(known)}.")


class _RealSet(NamedTuple):
    """One set: `build` turns the contents of `files` into the parts of a Dataset."""

    description: str
    build: Callable[..., SetParts]
    files: tuple[str, ...] = ()  # none: ships with scikit-learn
    note: str = ""
    task: str = "classification"

    def paths(self) -> list[Path]:
        """Where the files are, if all of them are there."""
        folder = os.environ.get(FOLDER_VARIABLE)
        paths = [Path(folder).expanduser() / file for file in self.files] if folder else []
        return paths if all(path.is_file() for path in paths) else []


def _contents(name: str, recipe: _RealSet, download: bool) -> Any:
    """Everything, not yet split: arrays of an .npz file, or the tables "train" and "test"."""
    failure = "Nothing was downloaded."
    if paths := recipe.paths():
        if paths[0].suffix == ".npz":
            with np.load(paths[0]) as arrays:
                return dict(arrays)
        if paths[0].suffix == ".npy":
            return {path.stem: np.load(path, mmap_mode="r") for path in paths}
        train, test = map(builders.pandas().read_parquet, paths)
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
        f"To get it: {source(name).told}."
    )


def _fetch(name: str) -> Any:
    """What scikit-learn ships or downloads, in the layout of our files; None if it has nothing."""
    from sklearn import datasets

    if not _RECIPES[name].files:
        return getattr(datasets, f"load_{name}")()
    if name in ("mnist", "adult", "adult-onehot", "cpu_act", "house_16H"):
        builders.pandas()  # scikit-learn reads OpenML's files with it
    if name == "mnist":
        found = datasets.fetch_openml("mnist_784", version=1, as_frame=False)
        X_train, X_test = np.split(found.data, [60_000])
        y_train, y_test = np.split(found.target.astype(np.uint8), [60_000])
        return builders.parts(X_train, y_train, X_test, y_test)
    if name in ("adult", "adult-onehot"):
        table = datasets.fetch_openml("adult", version=2, as_frame=True).frame
        table = table.rename(columns={"class": "income"})
        train, test = table.iloc[16281:], table.iloc[:16281]  # OpenML has the test rows first
        if len(train) != 32561 or (train["income"] == ">50K").sum() != 7841:
            raise ValueError("OpenML changed the order of the rows, which gave the official split")
        return {"train": train, "test": test}
    if name in ("covtype", "covtype-binary"):
        found = datasets.fetch_covtype()
    elif name in ("cpu_act", "house_16H"):
        number = {"cpu_act": 197, "house_16H": 574}[name]
        found = datasets.fetch_openml(data_id=number, as_frame=False)
    else:
        return None
    return {"X": found.data, "y": found.target, "feature_names": found.feature_names}


_ADULT = ("adult/adult_train.parquet", "adult/adult_test.parquet")
_KDD = ("kddcup99/kddcup99_10percent.parquet", "kddcup99/kddcup99_corrected.parquet")
_COVER, _TREES = ("covtype/covtype.npz",), "forest cover, 7 types, 54 columns"
_FRAMES = tuple(
    f"timit/{name}_{part}.npy" for part in ("train", "test") for name in ("X", "y", "lengths")
)
_SHIPPED = "ships with scikit-learn"

# fmt: off
_RECIPES = {
    "mnist": _RealSet(
        "handwritten digits, 28 × 28 pixels / 255: 60,000 + 10,000 rows, official split",
        builders.mnist, ("mnist/mnist.npz",)),
    "adult": _RealSet(
        "census income, mixed table of 14 columns: 32,561 + 16,281 rows, official split",
        builders.adult, _ADULT),
    "adult-onehot": _RealSet(
        "adult as 6 numeric and 102 binary columns, one for each category, null included",
        builders.adult_onehot, _ADULT),
    "a9a": _RealSet(
        "adult as 123 binary columns: 32,561 + 16,281 rows, official split",
        builders.official, ("adult/a9a.npz",)),
    "covtype": _RealSet(
        f"{_TREES}: 522,911 + 58,101 rows, split by seed", builders.covtype, _COVER),
    "covtype-binary": _RealSet(
        "forest cover, type 2 (+1) against the rest: 522,911 + 58,101 rows, split by seed",
        builders.covtype_binary, _COVER),
    "kddcup99": _RealSet(
        "network connections, attack (+1) or normal, 118 columns: 50,000 + 150,000 rows by seed",
        builders.kddcup99, _KDD, "scikit-learn's fetcher lacks the second file"),
    "cpu_act": _RealSet(
        "percent of CPU time in user mode, 21 columns: 7,373 + 819 rows, split by seed",
        builders.regression, ("cpu_act/cpu_act.npz",), task="regression"),
    "house_16H": _RealSet(
        "median house price by region, 16 census columns: 20,506 + 2,278 rows, split by seed",
        builders.regression, ("census_house/house_16H.npz",), task="regression"),
    "uci_har": _RealSet(
        "6 activities, 561 columns of phone motion: 7,352 rows of 21 people, split by person",
        builders.har, ("uci_har/uci_har_train.npz",), "the training part alone"),
    "isolet": _RealSet(
        "26 spoken letters (1-26), 617 columns: 6,238 + 1,559 rows, official split",
        builders.official, ("isolet/isolet.npz",)),
    "phoneme": _RealSet(
        "phonemes aa, ao, dcl, iy, sh (0-4), 256 log-periodogram columns: 3,340 + 1,169 rows",
        builders.official, ("timit_phoneme_esl/phoneme.npz",)),
    "timit": _RealSet(
        "your own frames of TIMIT (licensed), such as fMLLR of 40 columns; 3 states a phone",
        builders.timit, _FRAMES,
        "the corpus is LDC93S1 of the Linguistic Data Consortium; make frames from it with your "
        "own tools and save them with numpy.save: X_*.npy of shape (frames, 40) in float32, not "
        "spliced; y_*.npy of shape (frames,), the state of each frame: 3p + s for part s of 3 of "
        "phone p, in the order of kitchensinks.papers.experiments.speech.PHONES or of the lines of "
        "a file phones.txt of yours (the paper's 147 states have 49 phones); lengths_*.npy with "
        "the frames of each utterance"),
    "fsdd": _RealSet(
        "10 spoken digits, 320 log band energies: 2,700 + 300 rows, official split",
        builders.fsdd, ("fsdd/fsdd.npz",)),
    "orl_faces": _RealSet(
        "400 faces of 40 people, 112 × 92 pixels at unit norm, split by seed",
        builders.faces, ("orl_faces/orl_faces.npz",)),
    "umist_faces": _RealSet(
        "575 faces of 20 people turning, 28 × 23 (or 112 × 92) pixels at unit norm, split by seed",
        builders.umist, ("umist_faces/umist_faces.npz",), "images saved with numpy.savez as "
        "X_28x23, subject_28x23, X_112x92, subject_112x92"),
    "breast_cancer": _RealSet(
        f"breast tumours: 2 classes (0 and 1), 30 columns; {_SHIPPED}", builders.bundled),
    "digits": _RealSet(
        f"small handwritten digits: 10 classes, 64 columns; {_SHIPPED}", builders.bundled),
    "wine": _RealSet(f"wines: 3 growers, 13 columns; {_SHIPPED}", builders.bundled),
    "diabetes": _RealSet(
        f"progress of diabetes, 10 columns; {_SHIPPED}", builders.bundled, task="regression"),
    "iris": _RealSet(f"iris flowers: 3 species, 4 columns; {_SHIPPED}", builders.bundled),
}
# fmt: on
