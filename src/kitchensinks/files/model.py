"""Model files that are safe to load: JSON and plain arrays in one archive, no pickle.

A file holds the parameters and the state of an estimator, field by field: the seed and a digest of
the draw in place of the drawn matrices, and the outer weights. Loading draws the features again,
and refuses where they are not the same. Only types of the library are made from a file.
"""

import os
import typing
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import kitchensinks
from kitchensinks.estimators import KitchenSinkClassifier, KitchenSinkRegressor
from kitchensinks.estimators.base import KitchenSink
from kitchensinks.features.bases import from_json, to_json
from kitchensinks.features.frozen import Frozen
from kitchensinks.features.scaling import Scaler, Warp
from kitchensinks.features.trend import Trend
from kitchensinks.files.archive import ModelFileError, digest, read_archive, write_archive
from kitchensinks.files.checks import (
    check_draw,
    check_learned,
    check_scaler,
    check_size,
    check_state,
)
from kitchensinks.fitting.calibration import Calibration, Residuals
from kitchensinks.fitting.plan import Plan
from kitchensinks.fitting.settings import Settings, Solver, check_dtype
from kitchensinks.law import Law, Learned, Record, Trial
from kitchensinks.law.values import UnseenScores
from kitchensinks.numerics.arrays import AnyArray, Arrays, Facts
from kitchensinks.problem.constraints import L2Ball, SupBall
from kitchensinks.problem.losses import LOSSES
from kitchensinks.problem.targets import Classes, Numbers
from kitchensinks.state import Evidence, Outer, State
from kitchensinks.tables.arrays import densify
from kitchensinks.tables.columns import Columns
from kitchensinks.tables.declared import declared

_ESTIMATORS = {kind.__name__: kind for kind in (KitchenSinkClassifier, KitchenSinkRegressor)}
# The types that a file may name: what it holds is made of them alone.
_OF_LAW = (Frozen, Law, Record, Trial, Trend, UnseenScores, Scaler, Warp, Learned)
_OF_FIT = (State, Settings, Plan, Outer, Evidence, Calibration, Residuals, Classes, Numbers)
_OF_PROBLEM = (SupBall, L2Ball, Solver, *map(type, LOSSES.values()))
_TYPES: dict[str, type] = {kind.__name__: kind for kind in (*_OF_LAW, *_OF_FIT, *_OF_PROBLEM)}
# What a file holds of a draw beside its fields.
_OF_DRAW = ("digest", "version", "learned")
# The fields that a header may have.
_HEADER = {"format", "version", "kind", "parameters", "state", "n_features_in", "columns", "table"}
_HEADER |= {"notes", "checksums", "header_checksum"}


class Saved(NamedTuple):
    """A model file: the estimator, and the notes that `save` was given with it."""

    estimator: KitchenSink
    notes: Any


def save(estimator: KitchenSink, path: str | os.PathLike[str], notes: object = None) -> None:
    """Write a fitted estimator to `path`, atomically: no half file is ever left there.

    `notes`: anything that JSON can hold, such as the target's name; `open_model` gives it back.

    >>> import tempfile, kitchensinks as ks
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ks.KitchenSinkRegressor(ks.Fourier(), n_components=50, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ks.save(model, f"{folder}/model.sinks")
    ...     again = ks.load(f"{folder}/model.sinks")
    >>> float(abs(again.predict(X) - model.predict(X)).max())
    0.0
    """
    kind = type(estimator).__name__
    if kind not in _ESTIMATORS:
        raise TypeError(f"{kind} cannot be saved: need one of {', '.join(_ESTIMATORS)}.")
    state = estimator._state().small()
    writer = _Writer()
    header: Facts = {
        "version": kitchensinks.__version__,
        "kind": kind,
        "parameters": _parameters(estimator, state.law.features.seed, writer),
        "state": writer.encode(replace(state, columns=None), "state"),
        "n_features_in": int(estimator.n_features_in_),
    }
    if hasattr(estimator, "feature_names_in_"):
        header["columns"] = [str(name) for name in estimator.feature_names_in_]
    if state.columns is not None:
        header["table"], own = state.columns.describe()
        writer.arrays |= own
    if notes is not None:
        header["notes"] = notes
    writer.add_digests()
    write_archive(Path(path), header, writer.arrays)


def load(path: str | os.PathLike[str]) -> Any:
    """Read an estimator that `save` wrote; it predicts as it did, and can be refitted.

    >>> import tempfile, kitchensinks as ks
    >>> model = ks.KitchenSinkRegressor(ks.Fourier(), n_components=5, random_state=0)
    >>> model = model.fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 5, 5])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ks.save(model, f"{folder}/model.sinks")
    ...     ks.load(f"{folder}/model.sinks").predict([[2.0], [3.0]]).round()
    array([5., 5.])
    """
    return open_model(path).estimator


def open_model(path: str | os.PathLike[str]) -> Saved:
    """Read all that a model file holds; an error where it is damaged or makes no sense."""
    path = Path(path)
    header, arrays = read_archive(path)
    try:
        estimator = _rebuild(header, arrays)
    except (ModelFileError, MemoryError):
        raise
    # Whatever fails, the values in the file are the cause.
    except Exception as error:
        raise ModelFileError(
            f"{path} makes no sense ({error}): it was damaged or not written by kitchensinks."
        ) from error
    return Saved(estimator, header.get("notes"))


def _rebuild(header: Facts, arrays: Arrays) -> KitchenSink:
    unknown = header.keys() - _HEADER
    if unknown:
        raise ValueError(f"the header has an unknown field {sorted(unknown)[0]!r}")
    parameters = {name: _decode(value, arrays) for name, value in header["parameters"].items()}
    estimator: KitchenSink = _ESTIMATORS[header["kind"]](**parameters)
    # A prediction uses some of the parameters: all of them are checked, as a fit does.
    estimator._spec()
    state = _decode(header["state"], arrays)
    if not isinstance(state, State):
        raise ValueError("the state is of another kind")
    recipe = header.get("table")
    columns = None if recipe is None else Columns.restore(recipe, arrays)
    estimator.state_ = replace(state, columns=columns)
    n_features_in = declared(header["n_features_in"], int, "n_features_in")
    classes = isinstance(estimator, KitchenSinkClassifier)
    check_state(estimator.state_, classes, n_features_in)
    estimator.n_features_in_ = n_features_in
    if "columns" in header:
        names = declared(header["columns"], list[str], "columns")
        if len(names) != n_features_in:
            raise ValueError(f"{len(names)} names of {n_features_in} columns")
        estimator.feature_names_in_ = np.array(names, dtype=object)
    return estimator


def _bytes_of(arrays: Arrays) -> int:
    return sum(array.nbytes for array in arrays.values())


def _parameters(estimator: KitchenSink, seed: int, writer: "_Writer") -> Facts:
    values = estimator.get_params(deep=False)
    if not isinstance(values["random_state"], int | np.integer | None):
        values["random_state"] = seed
    if getattr(values["basis"], "split", None) is not None:
        raise ValueError(
            f"basis={values['basis']!r} cannot be stored in a model file: it has a splitter. Call "
            "set_params(basis__split=None) before saving, or use pickle."
        )
    return {name: writer.encode(value, f"parameter-{name}") for name, value in values.items()}


@dataclass
class _Writer:
    """Values as JSON; arrays go into the archive under the name of their place.

    draws: the features among the values, each with its fields as JSON.
    """

    arrays: Arrays = field(default_factory=dict)
    draws: list[tuple[Frozen, Facts]] = field(default_factory=list)

    def encode(self, value: object, place: str) -> Any:
        if isinstance(value, np.ndarray):
            value = _storable(value)
        if isinstance(value, type | np.dtype):
            return np.dtype(value).name
        if isinstance(value, dict):
            pairs = [
                [self.encode(key, f"{place}-key"), self.encode(item, f"{place}-{k}")]
                for k, (key, item) in enumerate(value.items())
            ]
            return {"dict": pairs}
        if _TYPES.get(type(value).__name__) is type(value):
            own = sorted(_stored(type(value)))
            held = {name: self.encode(getattr(value, name), f"{place}-{name}") for name in own}
            if isinstance(value, Frozen):
                # The draw is made again from the seed, with what rows decided of it.
                held["version"] = kitchensinks.__version__
                held["learned"] = self.encode(value.pack(), f"{place}-learned")
                self.draws.append((value, held))
            return {"type": type(value).__name__, "fields": held}
        if isinstance(value, list | tuple):
            items = [self.encode(item, f"{place}-{k}") for k, item in enumerate(value)]
            return {"items": items, "tuple": isinstance(value, tuple)}
        return to_json(value, place, self.arrays)

    def add_digests(self) -> None:
        """Note what each draw must be, or refuse one that is too large before it is made."""
        for frozen, held in self.draws:
            try:
                check_size(frozen, _bytes_of(self.arrays), frozen.pack())
            except ValueError as error:
                raise ValueError(f"The model cannot be stored in a model file: {error}.") from None
            held["digest"] = draw_digest(frozen)


def _stored(kind: object) -> set[str]:
    """The fields that files hold; others, declared with stored=False, come back as defaults."""
    if is_dataclass(kind):
        return {one.name for one in fields(kind) if one.metadata.get("stored", True)}
    return set(getattr(kind, "_fields", ()))


def _decode(value: object, arrays: Arrays) -> Any:
    if not isinstance(value, dict) or value.keys() & {"array", "list", "basis"}:
        return from_json(value, arrays)
    if "dict" in value:
        return {_decode(key, arrays): _decode(item, arrays) for key, item in value["dict"]}
    if "items" in value:
        items = [_decode(item, arrays) for item in value["items"]]
        return tuple(items) if value["tuple"] else items
    held = {name: _decode(item, arrays) for name, item in value["fields"].items()}
    return _made(value["type"], held, _bytes_of(arrays))


def _made(name: str, held: Facts, size: int) -> Any:
    """A value of the type that a file names, if its fields are of the types declared."""
    kind = _TYPES.get(name)
    if kind is None:
        raise ModelFileError(f"The model file names {name!r}, which this version does not know.")
    written = {name: held.pop(name) for name in _OF_DRAW} if kind is Frozen else None
    if is_dataclass(kind) or hasattr(kind, "_fields"):
        hints = typing.get_type_hints(kind)
        unknown = held.keys() - _stored(kind)
        if unknown:
            raise ValueError(f"{name} has no field {sorted(unknown)[0]!r} in a file")
        if kind is Frozen:
            held["dtype"] = np.dtype(check_dtype(held["dtype"]))
        held = {name: declared(item, hints[name], name) for name, item in held.items()}
    made = kind(**held)
    return made if written is None else _drawn(made, size, **written)


def _drawn(frozen: Frozen, size: int, digest: str, version: str, learned: Arrays) -> Frozen:
    """Restore the data-dependent part of the draw (bins, selected features), after checking that
    the seed reproduces the saved draw.

    Everything in the file is checked before anything is drawn; size: bytes of its arrays.
    """
    check_learned(learned, frozen.n_components)
    check_size(frozen, size, learned)
    frozen.basis.check_in(frozen.n_inputs)
    check_scaler(frozen.scaler, frozen.n_inputs)
    if draw_digest(frozen) != digest:
        raise ModelFileError(
            f"This version of kitchensinks ({kitchensinks.__version__}) draws other features than "
            f"version {version}, which wrote the file. Load it with that version, or fit again."
        )
    frozen = frozen.unpack(learned)
    if frozen.learned is not None:
        check_draw(frozen.learned, frozen.n_components)
    return frozen


def draw_digest(recipe: Frozen) -> str:
    """What the first few draws are, to six digits: it changes if the features would."""
    count = min(8, recipe.n_components)
    draw = recipe.basis.draw(recipe.seed, recipe.n_inputs, count, np.float64)
    probe = np.linspace(-1.5, 1.5, 3 * recipe.n_inputs).reshape(3, recipe.n_inputs)
    if recipe.basis.sparse:
        draw = draw.tabulate([probe])
    # Rounded, so that the last digits of a feature do not reach the digest.
    rounded = np.round(densify(draw.features(probe)), 6) + 0.0
    return digest(np.array2string(rounded, threshold=10**6, precision=6).encode())


def _storable(array: AnyArray) -> AnyArray:
    """Labels of object dtype as text, numbers or booleans: no pickle in the file."""
    array = np.asarray(array)
    if array.dtype != object:
        return array
    plain = np.array(array.tolist())
    if plain.dtype == object or plain.shape != array.shape:
        raise ValueError(f"Labels {array.tolist()[:3]}… cannot be stored in a model file.")
    return plain
