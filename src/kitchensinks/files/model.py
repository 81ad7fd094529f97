"""Model files that are safe to load: JSON and plain arrays in one archive, no pickle.

A file holds the parameters, the seed and a digest of the draw in place of the drawn matrices, and
the outer weights. Loading draws the features again, and refuses where they are not the same.
"""

import os
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

import kitchensinks
from kitchensinks.estimators import KitchenSinkClassifier, KitchenSinkRegressor
from kitchensinks.estimators.tables import importances_of
from kitchensinks.estimators.transform import check_dtype
from kitchensinks.features.bases import from_json, to_json
from kitchensinks.features.frozen import Frozen
from kitchensinks.features.scaling import Scaler, Warp
from kitchensinks.files.archive import ModelFileError, digest, read_archive, write_archive
from kitchensinks.fitting.calibration import Calibration
from kitchensinks.law import Adapt, Adaptation, Trial
from kitchensinks.problem import constraints, losses
from kitchensinks.state import Model
from kitchensinks.tables.columns import Columns

_ESTIMATORS = {cls.__name__: cls for cls in (KitchenSinkClassifier, KitchenSinkRegressor)}
# What a fit reports in single numbers; files keep them, and not what takes time to work out.
_FACTS = (
    "solver_",
    "objective_",
    "gap_",
    "converged_",
    "n_iter_",
    "alpha_",
    "alpha_sup_norm_",
    "condition_number_",
    "gram_noise_",
)
# Where a file keeps what the draw has learned from rows.
_LEARNED = "learned-"
# What a header of wrong values makes of the code that reads it.
_NONSENSE = (
    KeyError,
    TypeError,
    ValueError,
    AttributeError,
    IndexError,
    OverflowError,
    MemoryError,
)


class Saved(NamedTuple):
    """A model file: the estimator, and the notes that `save` was given with it."""

    estimator: Any
    notes: Any
    header: dict[str, Any]


def save(estimator: Any, path: str | os.PathLike[str], notes: Any = None) -> None:
    """Write a fitted estimator to `path`, atomically: no half file is ever left there.

    `notes`: anything that JSON can hold, such as the target's name; `open_model` gives it back.

    >>> import tempfile, kitchensinks as ks
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ks.KitchenSinkRegressor(n_components=50, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ks.save(model, f"{folder}/model.sinks")
    ...     again = ks.load(f"{folder}/model.sinks")
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    kind = type(estimator).__name__
    if kind not in _ESTIMATORS:
        raise TypeError(f"{kind} cannot be saved: need one of {', '.join(_ESTIMATORS)}.")
    check_is_fitted(estimator)
    arrays: dict[str, np.ndarray] = {}
    header = _describe(estimator, arrays)
    if notes is not None:
        header["notes"] = notes
    write_archive(Path(path), header, arrays)


def load(path: str | os.PathLike[str]) -> Any:
    """Read an estimator that `save` wrote; it predicts as it did, and can be refitted.

    >>> import tempfile, kitchensinks as ks
    >>> model = ks.KitchenSinkRegressor(n_components=5).fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ks.save(model, f"{folder}/model.sinks")
    ...     ks.load(f"{folder}/model.sinks").predict([[1.0]]) == model.predict([[1.0]])
    array([ True])
    """
    return open_model(path).estimator


def open_model(path: str | os.PathLike[str]) -> Saved:
    """Read all that a model file holds, or an error where it is damaged or makes no sense.

    >>> import tempfile, kitchensinks as ks
    >>> model = ks.KitchenSinkRegressor(n_components=5).fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ks.save(model, f"{folder}/model.sinks", notes={"target": "height"})
    ...     open_model(f"{folder}/model.sinks").notes
    {'target': 'height'}
    """
    path = Path(path)
    header, arrays = read_archive(path)
    try:
        estimator = _rebuild(header, arrays)
        _check_shapes(estimator)
    except ModelFileError:
        raise
    except _NONSENSE as error:
        raise ModelFileError(
            f"{path} makes no sense ({error}): it was damaged or not written by kitchensinks."
        ) from error
    return Saved(estimator, header.get("notes"), header)


def _describe(estimator: Any, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    estimator._settle()
    model: Model = estimator.model_
    arrays["weights"], arrays["intercept"] = model.weights, model.intercept
    if model.scaler is not None:
        for part in fields(model.scaler):
            arrays[part.name] = getattr(model.scaler, part.name)
    frozen = model.frozen
    header: dict[str, Any] = {
        "version": kitchensinks.__version__,
        "kind": type(estimator).__name__,
        "parameters": _parameters(estimator, arrays),
        "basis": _encode(frozen.basis, "basis", arrays),
        "seed": frozen.seed,
        "n_inputs": frozen.n_inputs,
        "n_components": frozen.n_components,
        "dtype": frozen.dtype.name,
        "scaled": model.scaler is not None,
        "warped": isinstance(model.scaler, Warp),
        "draw": draw_digest(frozen),
        "loss": _encode(estimator.loss_, "loss", arrays),
        "facts": {name: _number(getattr(estimator, name)) for name in _FACTS},
        "n_rows": int(getattr(estimator, "_n_rows", 0)),
    }
    arrays.update({f"{_LEARNED}{name}": array for name, array in frozen.pack().items()})
    if hasattr(estimator, "adaptation_"):
        header["adaptation"] = _describe_adaptation(estimator.adaptation_, arrays)
    elif "_plain" in vars(estimator):
        header["plain"] = estimator._plain
    header["n_features_in"] = int(estimator.n_features_in_)
    if hasattr(estimator, "feature_names_in_"):
        header["columns"] = [str(name) for name in estimator.feature_names_in_]
    if estimator.columns_ is not None:
        header["table"], own = estimator.columns_.describe()
        arrays.update(own)
    if isinstance(estimator, KitchenSinkClassifier):
        arrays["classes"] = _storable(estimator.classes_)
        if estimator._factors is not None:
            arrays["factors-of-classes"] = estimator._factors
        calibration = estimator.calibration_
        if calibration is not None:
            header["calibration"] = [calibration.slope, calibration.bend, calibration.unit]
    else:
        header["unit"] = float(estimator._unit)
        arrays["centre"] = np.asarray(estimator._centre)
        header["one_output"] = bool(estimator._one_output)
    return header


def _rebuild(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    if "frames" in header:
        raise ModelFileError(
            f"Version {header['version']} of kitchensinks wrote the columns of a mixed table in a "
            "way that is no longer read: fit the model again."
        )
    parameters = {name: _decode(value, arrays) for name, value in header["parameters"].items()}
    estimator = _ESTIMATORS[header["kind"]](**parameters)
    scaler = None
    if header["scaled"]:
        kind = Warp if header.get("warped") else Scaler
        scaler = kind(*(arrays[part.name] for part in fields(kind)))
    frozen = Frozen(
        scaler,
        _decode(header["basis"], arrays),
        int(header["seed"]),
        int(header["n_inputs"]),
        int(header["n_components"]),
        np.dtype(check_dtype(header["dtype"])),
    )
    if draw_digest(frozen) != header["draw"]:
        raise ModelFileError(
            f"This version of kitchensinks ({kitchensinks.__version__}) draws other features than "
            f"version {header['version']}, which wrote the file. Load it with that version, or fit "
            "again."
        )
    learned = [name for name in arrays if name.startswith(_LEARNED)]
    frozen = frozen.unpack({name.removeprefix(_LEARNED): arrays[name] for name in learned})
    estimator._set_frozen(frozen)
    estimator.model_ = Model(frozen, arrays["weights"], arrays["intercept"])
    estimator.n_features_in_ = header.get("n_features_in", frozen.n_inputs)
    if "adaptation" in header:
        estimator.adaptation_ = _rebuild_adaptation(header["adaptation"], arrays)
    elif "plain" in header:
        estimator._plain = str(header["plain"])
    estimator.loss_ = _decode(header["loss"], arrays)
    # A file keeps no sums: partial_fit cannot go on from it.
    estimator.moments_ = estimator._few = None
    for name, value in header["facts"].items():
        setattr(estimator, name, value)
    estimator._n_rows = int(header["n_rows"])
    recipe = header.get("table")
    estimator.columns_ = None if recipe is None else Columns.restore(recipe, arrays)
    if "columns" in header:
        estimator.feature_names_in_ = np.array(header["columns"], dtype=object)
    if "adaptation" in header:
        estimator.feature_importances_ = importances_of(estimator)
    if isinstance(estimator, KitchenSinkClassifier):
        estimator.classes_ = arrays["classes"]
        values = header.get("calibration")
        estimator.calibration_ = None if values is None else Calibration(*values)
        estimator._factors, estimator._sample = arrays.get("factors-of-classes"), None
    else:
        estimator._unit, estimator._one_output = header["unit"], header["one_output"]
        estimator._centre = arrays["centre"]
        estimator._n_outputs, estimator._posterior = len(arrays["intercept"]), None
    return estimator


def _describe_adaptation(record: Adaptation, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """What was tried and kept, as JSON; the law goes into the archive."""
    arrays["law-scales"], arrays["law-importances"] = record.scales, record.importances
    plain = {
        part.name: _number(getattr(record, part.name))
        for part in fields(record)
        if part.name not in ("scales", "importances", "trials")
    }
    return {**plain, "trials": [[_number(value) for value in astuple(t)] for t in record.trials]}


def _rebuild_adaptation(plain: dict[str, Any], arrays: dict[str, np.ndarray]) -> Adaptation:
    trials = tuple(Trial(*values) for values in plain["trials"])
    rest = {name: value for name, value in plain.items() if name != "trials"}
    scales, importances = arrays["law-scales"], arrays["law-importances"]
    return Adaptation(**rest, scales=scales, importances=importances, trials=trials)


def draw_digest(recipe: Frozen) -> str:
    """What the first few draws are, to six digits: it changes if the features would."""
    count = min(8, recipe.n_components)
    draw = recipe.basis.draw(recipe.seed, recipe.n_inputs, count, np.float64)
    probe = np.linspace(-1.5, 1.5, 3 * recipe.n_inputs).reshape(3, recipe.n_inputs)
    if recipe.basis.sparse:
        draw = draw.tabulate([probe])
    features = draw.features(probe)
    dense = features.toarray() if recipe.basis.sparse else features
    # Scaled so that rounding in the last digits of a feature does not reach the digest.
    text = np.array2string(np.round(dense, 6) + 0.0, threshold=10**6, precision=6)
    return digest(text.encode())


def _parameters(estimator: Any, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    values = estimator.get_params(deep=False)
    if not isinstance(values["random_state"], int | np.integer | None):
        values["random_state"] = estimator.seed_
    return {name: _encode(value, f"parameter-{name}", arrays) for name, value in values.items()}


def _encode(value: Any, place: str, arrays: dict[str, np.ndarray]) -> Any:
    """A value as JSON; arrays go into the archive under the name of their place."""
    if isinstance(value, np.ndarray):
        value = _storable(value)
    if isinstance(value, type | np.dtype):
        return np.dtype(value).name
    if isinstance(value, dict):
        pairs = [
            [_encode(key, f"{place}-key", arrays), _encode(item, f"{place}-{k}", arrays)]
            for k, (key, item) in enumerate(value.items())
        ]
        return {"dict": pairs}
    if isinstance(value, Adapt):
        return {"adapt": value.get_params()}
    for kind, module in (("constraint", constraints), ("loss", losses)):
        if getattr(module, type(value).__name__, None) is type(value):
            own = vars(value)
            held = {name: _encode(item, f"{place}-{name}", arrays) for name, item in own.items()}
            return {kind: type(value).__name__, "fields": held}
    return to_json(value, place, arrays)


def _decode(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    if not isinstance(value, dict) or value.keys() & {"array", "list", "basis"}:
        return from_json(value, arrays)
    if "dict" in value:
        return {_decode(key, arrays): _decode(item, arrays) for key, item in value["dict"]}
    if "adapt" in value:
        return Adapt(**value["adapt"])
    held = {name: _decode(item, arrays) for name, item in value["fields"].items()}
    if "constraint" in value:
        return _known(constraints, ("SupBall", "L2Ball"), value["constraint"])(**held)
    names = {type(loss).__name__ for loss in losses.LOSSES.values()}
    return _known(losses, names, value["loss"])(**held)


def _known(module: Any, names: Any, name: str) -> Any:
    if name not in names:
        raise ModelFileError(f"The model file names {name!r}, which this version does not know.")
    return getattr(module, name)


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _storable(array: np.ndarray) -> np.ndarray:
    """Labels of object dtype as text, numbers or truth values: no pickle in the file."""
    array = np.asarray(array)
    if array.dtype != object:
        return array
    plain = np.array(array.tolist())
    if plain.dtype == object or plain.shape != array.shape:
        raise ValueError(f"Labels {array.tolist()[:3]}… cannot be stored in a model file.")
    return plain


def _check_shapes(estimator: Any) -> None:
    """Weights, scaler and intercept that belong to each other; an error where they do not."""
    model: Model = estimator.model_
    frozen, scaler = model.frozen, model.scaler
    outputs = 1 if model.weights.ndim != 2 else model.weights.shape[1]
    wanted = {
        "weights": (model.weights, (frozen.n_columns, outputs)),
        "intercept": (model.intercept, (outputs,)),
    }
    given = frozen.n_inputs
    if isinstance(scaler, Warp):
        if scaler.rotation.size:
            given = len(scaler.rotation)
            wanted["rotation"] = (scaler.rotation, (given, frozen.n_inputs))
        wanted["factor"] = (scaler.factor, (given,))
    if scaler is not None:
        wanted["mean"] = (scaler.mean, (given,))
        wanted["scale"] = (scaler.scale, (given,))
    if isinstance(estimator, KitchenSinkClassifier):
        count = 2 if outputs == 1 else outputs
        wanted["classes"] = (estimator.classes_, (count,))
    columns = estimator.columns_
    if columns is not None and columns.width != given:
        raise ValueError(f"columns of {columns.width} numbers where {given} are needed")
    for name, (array, shape) in wanted.items():
        if array.shape != shape:
            raise ValueError(f"{name} of shape {array.shape} where {shape} is needed")
        if name != "classes" and not (array.dtype.kind == "f" and np.isfinite(array).all()):
            raise ValueError(f"{name} is not made of finite numbers")
