"""From the contents of files to training and test rows: one function for each kind of set."""

import math
from collections.abc import Collection
from typing import Any

import numpy as np

from kitchensinks.papers.datasets.synthetic import _check_count, _start

# X_train, y_train, X_test, y_test; feature_names where the columns have names; lengths_train and
# lengths_test where rows are frames of utterances.
SetParts = dict[str, Any]


def pandas() -> Any:
    try:
        import pandas
        import pyarrow  # noqa: F401  (pandas reads Parquet with it)
    except ImportError as error:
        message = f'{error.name} is needed to read tables: pip install "kitchensinks[tables]".'
        raise ImportError(message, name=error.name) from error
    return pandas


def parts(X_train: Any, y_train: Any, X_test: Any, y_test: Any, **rest: Any) -> SetParts:
    return dict(X_train=X_train, y_train=y_train, X_test=X_test, y_test=y_test, **rest)


def split(
    rows: Any, targets: Any, test_share: float, random_state: Any, by_class: bool = False
) -> SetParts:
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
    return parts(rows[train], targets[train], rows[test], targets[test])


def bundled(raw: Any, random_state: Any = 0) -> SetParts:
    return split(raw.data, raw.target, 0.25, random_state) | {"feature_names": raw.feature_names}


def official(raw: Any) -> SetParts:
    X_train, X_test = (raw[part].astype(np.float32) for part in ("X_train", "X_test"))
    return parts(X_train, raw["y_train"].astype(np.int64), X_test, raw["y_test"].astype(np.int64))


def timit(raw: Any) -> SetParts:
    for part in ("train", "test"):
        rows, states, lengths = (raw[f"{name}_{part}"] for name in ("X", "y", "lengths"))
        if rows.ndim != 2 or states.shape != (len(rows),) or lengths.sum() != len(rows):
            raise ValueError(
                f"timit/X_{part}.npy has shape {rows.shape}, y_{part}.npy {states.shape}, and "
                f"lengths_{part}.npy sums to {lengths.sum()}: need (frames, columns), (frames,) "
                "and the frames of each utterance."
            )
    return dict(raw)


def mnist(raw: Any) -> SetParts:
    images = {part: raw[part].reshape(-1, 784) for part in ("X_train", "X_test")}
    found = official(raw | images)
    return found | {part: found[part] / np.float32(255) for part in images}


def tenth(raw: Any, random_state: Any = 0) -> SetParts:
    found = split(raw["X"], raw["y"], 0.1, random_state)
    return found | {"feature_names": raw["feature_names"]}


def regression(raw: Any, random_state: Any = 0) -> SetParts:
    return tenth(raw | {"y": raw["y"].astype(np.float64)}, random_state)


def covtype(raw: Any, random_state: Any = 0) -> SetParts:
    columns = {"X": raw["X"].astype(np.float32), "y": raw["y"].astype(np.int64)}
    return tenth(raw | columns, random_state)


def covtype_binary(raw: Any, random_state: Any = 0) -> SetParts:
    return covtype(raw | {"y": np.where(raw["y"] == 2, 1, -1)}, random_state)


def adult(raw: Any) -> SetParts:
    X_train, X_test = (raw[part].drop(columns="income") for part in ("train", "test"))
    y_train, y_test = (np.asarray(raw[part]["income"], dtype=str) for part in ("train", "test"))
    return parts(X_train, y_train, X_test, y_test, feature_names=X_train.columns)


def adult_onehot(raw: Any) -> SetParts:
    found = adult(raw)
    columns, train, test = one_hot(found["X_train"], found["X_train"], found["X_test"])
    y_train, y_test = (np.where(found[part] == ">50K", 1, -1) for part in ("y_train", "y_test"))
    return parts(train, y_train, test, y_test, feature_names=columns)


def kddcup99(
    raw: Any, n_train: int | None = 50_000, n_test: int | None = 150_000, random_state: Any = 0
) -> SetParts:
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
    columns, train, test = one_hot(raw["train"].drop(columns="label"), *tables)
    y_train, y_test = (np.where(table["label"] == "normal", -1, 1) for table in tables)
    return parts(train, y_train, test, y_test, feature_names=columns)


def one_hot(learn: Any, *tables: Any) -> tuple[Any, ...]:
    """Column names, then each table as float32: numbers as they are, a 0/1 column per category.

    The columns and categories are those of the table `learn`, null being a category where it
    occurs there; a category that `learn` lacks gives zeros.
    """
    is_number = pandas().api.types.is_numeric_dtype
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


def har(
    raw: Any, positive: Collection[int] | None = None, n_irrelevant: int = 0, random_state: Any = 0
) -> SetParts:
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
    return parts(rows[~test], labels[~test], rows[test], labels[test], feature_names=columns)


# Samples of a window (32 ms at 8 kHz), and between the starts of frames.
_WINDOW, _HOP = 256, 160
# Recordings that are joined to one utterance, and states of a digit.
_JOINED, DIGIT_STATES = 5, 5


def fsdd(raw: Any, frames: bool = False) -> SetParts:
    """Log energies of 20 mel-spaced bands from 100 to 4000 Hz, in 16 windows of each recording.

    Windows start at equal steps from the first sample to the last possible one; the recording is
    scaled to mean square 1 first. With `frames`, a row is a frame of 20 ms; utterances are five
    recordings of one speaker in random order, and bands are centred in each of them. The target
    is a state: a recording is cut into five equal parts, and part s of digit u is 5u + s.
    """
    test = raw["index"] < 5
    sounds = np.split(raw["audio"].astype(np.float64), raw["offsets"][1:-1])
    if not frames:
        places = (np.linspace(0, len(sound) - _WINDOW, 16).astype(int) for sound in sounds)
        rows = [_bands(*pair).ravel() for pair in zip(sounds, places, strict=True)]
        bands, digits = np.array(rows, np.float32), raw["digit"].astype(np.int64)
        return parts(bands[~test], digits[~test], bands[test], digits[test])
    found: SetParts = {}
    for part, chosen in (("train", ~test), ("test", test)):
        rows, states, lengths = [], [], []
        for group in _spoken_together(raw["speaker"], np.flatnonzero(chosen)):
            own = [_bands(s := sounds[i], np.arange(0, len(s) - _WINDOW, _HOP)) for i in group]
            joined = np.concatenate(own)
            rows.append(joined - joined.mean(axis=0))
            states += [
                DIGIT_STATES * int(raw["digit"][i]) + np.arange(len(f)) * DIGIT_STATES // len(f)
                for i, f in zip(group, own, strict=True)
            ]
            lengths.append(len(joined))
        found[f"X_{part}"] = np.concatenate(rows).astype(np.float32)
        found[f"y_{part}"] = np.concatenate(states).astype(np.int64)
        found[f"lengths_{part}"] = np.array(lengths)
    return found


def _bands(sound: Any, starts: Any) -> Any:
    """Log energies of the windows that start there, (windows, 20)."""
    low, high = (2595 * math.log10(1 + hertz / 700) for hertz in (100, 4000))
    mels = np.linspace(low, high, 21)
    edges = np.round((10 ** (mels / 2595) - 1) * 700 / (8000 / _WINDOW)).astype(int)
    windows = sound[starts[:, None] + np.arange(_WINDOW)] * np.hanning(_WINDOW)
    power = np.abs(np.fft.rfft(windows)) ** 2 / np.mean(sound**2)
    return np.log(np.add.reduceat(power, edges, axis=1)[:, :20] + 0.01)


def _spoken_together(speaker: Any, places: Any) -> list[Any]:
    """Recordings of one speaker in random order, five at a time."""
    random = np.random.default_rng(0)
    groups: list[Any] = []
    for own in np.unique(speaker):
        order = random.permutation(places[speaker[places] == own])
        groups += np.array_split(order, len(order) // _JOINED)
    return groups


def faces(raw: Any, test_share: float = 0.25, random_state: Any = 0) -> SetParts:
    rows = raw["X"].reshape(len(raw["X"]), -1).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return split(rows, raw["subject"].astype(np.int64), test_share, random_state, by_class=True)


def umist(
    raw: Any, full_size: bool = False, test_share: float = 0.25, random_state: Any = 0
) -> SetParts:
    size = "112x92" if full_size else "28x23"
    sized = {"X": raw[f"X_{size}"], "subject": raw[f"subject_{size}"]}
    return faces(sized, test_share, random_state)
