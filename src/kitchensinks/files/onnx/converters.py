"""Models as ONNX files, which serve without Python.

Converters of skl2onnx for the estimators and the transformer over every basis but Custom, so that
they convert alone and inside pipelines. The graph repeats the library's own arithmetic: rows are
standardised in float64 and go on in the dtype of the fit.
"""

import json
import math
import os
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from sklearn.utils.validation import check_is_fitted

from kitchensinks.estimators import KitchenSinkClassifier, KitchenSinkRegressor
from kitchensinks.estimators.transform import RandomFeatures
from kitchensinks.features.scaling import Scaler, Warp
from kitchensinks.files.onnx.graph import OnnxGraph, rename
from kitchensinks.files.onnx.recipe import (
    TEXT,
    array_numbers,
    array_probes,
    table_inputs,
    table_numbers,
    table_probes,
)
from kitchensinks.numerics.arrays import AnyArray
from kitchensinks.numerics.warps import BEND, HALF, LINEAR, MIX, QUANTILE
from kitchensinks.numerics.words import Stream, Words
from kitchensinks.state import State
from kitchensinks.tables.disk import atomic

Exportable = KitchenSinkClassifier | KitchenSinkRegressor

# The newest operators that the converters were written for.
_OPSET = 18
# The first that can split text, which categories need.
_TEXT_OPSET = 20
# Rows that a file is tried on.
_PROBES = 64
# Share of their entries that are missing.
_MISSING = 0.05
# The largest difference between the answers of a file and ours.
_TOLERANCE = 1e-4
# Share of the rows that must be so near where there are bins.
_INSIDE = 0.9
# What a column of a table is called until the graph is made: some names are refused by skl2onnx.
_COLUMN = "column_{}"


def to_onnx(estimator: Exportable, path: str | os.PathLike[str], notes: Any = None) -> None:
    """Write a fitted classifier or regressor as an ONNX file, checked before it is kept.

    The file takes float64 rows (n, d) as `rows`. The file of a model of a table takes its columns,
    each (n, 1), by their names: numbers as float64 with NaN for missing ones, categories as text,
    dates as seconds since 1970. A classifier gives `label` and `probabilities`, a regressor
    `prediction`. The file is run by onnxruntime on a few rows, and kept where it answers as the
    estimator does to 1e-4 (of the spread of the answers, for a regressor). With bins, a tenth of
    the rows may differ.

    Every basis but Custom, which is code, can be exported, and every column but free text. The bins
    of a Binning are a table of the file, which holds less than 2 GB (about 100 million bins).
    `notes`: a dict of texts to store with the file.

    >>> import tempfile, kitchensinks as ks
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ks.KitchenSinkClassifier(ks.Fourier(), n_components=50, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ks.to_onnx(model, f"{folder}/model.onnx")
    ...     import onnxruntime
    ...     session = onnxruntime.InferenceSession(f"{folder}/model.onnx")
    ...     label, probabilities = session.run(None, {"rows": X})
    >>> label[::50].tolist(), model.predict(X[::50]).tolist()
    ([0, 1, 2], [0, 1, 2])
    """
    if not isinstance(estimator, Exportable):
        raise TypeError(
            f"{type(estimator).__name__} cannot be exported: need a fitted KitchenSinkClassifier "
            "or KitchenSinkRegressor. For pipelines call register_converters() and then "
            "skl2onnx.to_onnx."
        )
    check_is_fitted(estimator)
    with atomic(path) as file:
        data = _convert(estimator, notes or {})
        _verify(estimator, data)
        file.write_bytes(data)


def register_converters() -> None:
    """Teach skl2onnx the estimators and `RandomFeatures`, also as steps of a pipeline.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> import kitchensinks as ks
    >>> from kitchensinks.files.onnx import register_converters
    >>> X, y = ks.datasets.make_annulus(200, random_state=0)
    >>> steps = make_pipeline(ks.RandomFeatures(random_state=0), LogisticRegression()).fit(X, y)
    >>> import skl2onnx
    >>> register_converters()
    >>> len(skl2onnx.to_onnx(steps, X[:1]).graph.output)
    2
    """
    register = _skl2onnx().update_registered_converter
    options = {"zipmap": [True, False, "columns"], "nocl": [True, False]}
    register(
        KitchenSinkClassifier,
        "KitchenSinkClassifier",
        _classifier_shapes,
        _convert_classifier,
        options=options,
    )
    register(KitchenSinkRegressor, "KitchenSinkRegressor", _regressor_shapes, _convert_regressor)
    register(RandomFeatures, "KitchenSinkFeatures", _features_shapes, _convert_features)


def _skl2onnx() -> Any:
    try:
        import onnxruntime  # noqa: F401  (a file is tried before it is kept)
        import skl2onnx
    except ImportError as error:
        raise ImportError(
            f'{error.name} is needed to export a model: pip install "kitchensinks[export]".',
            name=error.name,
        ) from error
    return skl2onnx


def _convert(estimator: Exportable, notes: dict[str, str]) -> bytes:
    skl2onnx = _skl2onnx()
    register_converters()
    types, columns = skl2onnx.common.data_types, estimator.state_.columns
    inputs = {} if columns is None or columns.n_given else table_inputs(columns)
    initial = [
        (
            _COLUMN.format(k),
            (types.StringTensorType if kind == TEXT else types.DoubleTensorType)([None, 1]),
        )
        for k, kind in enumerate(inputs.values())
    ]
    initial = initial or [("rows", types.DoubleTensorType([None, _given(estimator)]))]
    classifier = isinstance(estimator, KitchenSinkClassifier)
    model = skl2onnx.convert_sklearn(
        estimator,
        initial_types=initial,
        final_types=None if classifier else [("prediction", None)],
        options={id(estimator): {"zipmap": False}} if classifier else None,
        target_opset=_TEXT_OPSET if TEXT in inputs.values() else _OPSET,
    )
    if inputs:
        rename(model.graph, {_COLUMN.format(k): name for k, name in enumerate(inputs)})
        notes = {"columns": json.dumps(inputs, ensure_ascii=False), **notes}
    for name, text in notes.items():
        entry = model.metadata_props.add()
        entry.key, entry.value = name, text
    return bytes(model.SerializeToString())


def _given(estimator: Exportable) -> int:
    """Columns that a row comes with: a learned law may turn them to fewer directions."""
    columns = estimator.state_.columns
    given = estimator.model_.frozen.n_given if columns is None else columns.n_given
    return int(given)


def _verify(estimator: Exportable, data: bytes) -> None:
    """Run the file on rows like those of the fit, and compare."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    feeds, rows = _probes(estimator)
    scores = estimator.model_.scores(rows)
    answers = session.run(None, feeds)
    if isinstance(estimator, KitchenSinkClassifier):
        ours, theirs, size = estimator.state_.probabilities(scores), answers[1], 1.0
    else:
        theirs = answers[0]
        ours = estimator.state_.answer("predict", scores).reshape(theirs.shape)
        size = float(np.ptp(ours)) or float(np.abs(ours).max()) or 1.0
    apart = np.abs(ours - theirs).max(axis=1) / size
    # Rows that are turned differ in their last digits, which may put them into another bin.
    distance = float(np.quantile(apart, _INSIDE if estimator.model_.frozen.basis.sparse else 1.0))
    if not distance <= _TOLERANCE:
        raise RuntimeError(
            f"The ONNX model answers {distance:.1e} away from this one on {_PROBES} rows, and "
            f"{_TOLERANCE:g} is the most that is accepted: nothing was written. Fit with "
            "solver=ks.Solver(dtype='float64') and export again."
        )


def _probes(estimator: Exportable) -> tuple[dict[str, AnyArray], AnyArray]:
    """Rows like those of the fit, as the inputs of the graph and as the numbers of the model."""
    rng = Words(0, 0, Stream.PROBES).generator()
    columns, frozen = estimator.state_.columns, estimator.model_.frozen
    scaler = frozen.scaler
    width = _given(estimator) if columns is None else columns.width
    centre = np.zeros(width) if scaler is None else scaler.mean
    scale = np.ones(width) if scaler is None else scaler.scale
    if columns is None:
        rows = centre + scale * rng.normal(size=(_PROBES, width))
    elif columns.n_given:
        rows = array_probes(columns, centre, scale, _PROBES, rng)
    else:
        return table_probes(columns, centre, scale, _PROBES, _MISSING, rng)
    if frozen.measured is not None:
        rows[rng.random(rows.shape) < _MISSING] = np.nan
    return {"rows": rows}, estimator.state_.numbers(rows)


def _numbers(graph: OnnxGraph, inputs: list[Any], state: State) -> str:
    """Rows without missing values: `State.numbers` in ONNX, or the recipe of a table.

    A step of a pipeline has one input, and takes the numbers that the recipe would make.
    """
    columns, measured = state.columns, state.law.features.measured
    names: list[str] = [one.full_name for one in inputs]
    if columns is not None and inputs[0].raw_name == _COLUMN.format(0):
        return table_numbers(graph, columns, names)
    (rows,) = names
    if columns is not None and columns.n_given:
        given = graph.cast(rows, np.float64)
        if columns.coded:
            return array_numbers(graph, columns, given)
        places, flags, fills, own, _ = columns.places
        given = graph.node("Gather", given, places, axis=1)
        missing = graph.node("IsNaN", given)
        # Numbers first and flags after them, then each flag beside its number.
        flagged = graph.node("Gather", missing, np.flatnonzero(flags), axis=1)
        both = graph.node("Where", missing, fills, given), graph.cast(flagged, np.float64)
        order = np.argsort(np.concatenate([own, own[flags] + 0.5]))
        return graph.node("Gather", graph.node("Concat", *both, axis=1), order, axis=1)
    if measured is None:
        return rows
    given = graph.cast(rows, np.float64)
    return graph.node("Where", graph.node("IsNaN", given), measured.middle, given)


def _scaled(graph: OnnxGraph, rows: str, scaler: Scaler | None, dtype: DTypeLike) -> str:
    """Rows standardised, or mapped by a learned law, in float64, as the draw takes them."""
    if isinstance(scaler, Warp) and (taken := scaler.taken) is not None:
        rows = graph.node("Gather", rows, taken.astype(np.int64), axis=1)
        scaler = scaler.of_columns(taken)
    if scaler is not None:
        given = graph.cast(rows, np.float64)
        if not (np.isinf(scaler.low).all() and np.isinf(scaler.high).all()):
            given = graph.node("Min", graph.node("Max", given, scaler.low), scaler.high)
        centred = graph.node("Sub", given, scaler.mean)
        if isinstance(scaler, Warp):
            standard = graph.node("Mul", centred, 1.0 / scaler.scale)
            rows = _warped(graph, given, standard, scaler)
        else:
            rows = graph.node("Div", centred, scaler.scale)
    rows = graph.cast(rows, dtype)
    if isinstance(scaler, Warp) and scaler.rotation.size:
        rows = graph.node("MatMul", rows, scaler.rotation.astype(dtype))
    return rows


def _warped(graph: OnnxGraph, given: str, standard: str, scaler: Warp) -> str:
    """The map of every column: `kitchensinks.numerics.warps.warp_rows` in ONNX.

    The operations are the same in the same order, so that a value falls into the same bin.
    """
    square = graph.node("Mul", graph.node("Mul", standard, standard), 1.0 / BEND**2)
    root = graph.node("Sqrt", graph.node("Add", square, 1.0))
    squashed = graph.node("Div", standard, root)
    mapped = graph.node("Where", scaler.kind == LINEAR, standard, squashed)
    if (scaler.kind >= QUANTILE).any():
        rank = graph.node("Mul", _rank(graph, given, scaler.knots), 2.0)
        ranked = graph.node("Mul", graph.node("Sub", rank, 1.0), HALF)
        both = graph.node("Mul", graph.node("Add", squashed, ranked), 0.5)
        mapped = graph.node("Where", scaler.kind == QUANTILE, ranked, mapped)
        mapped = graph.node("Where", scaler.kind == MIX, both, mapped)
    return graph.node("Mul", mapped, scaler.factor)


def _rank(graph: OnnxGraph, rows: str, knots: AnyArray) -> str:
    """Place of each value among its column's knots, from 0 to 1: the middle of those it equals."""
    value, last = graph.node("Unsqueeze", rows, np.array([2])), knots.shape[1] - 1

    def count(kind: str) -> str:
        those = graph.cast(graph.node(kind, knots, value), np.int64)
        return graph.node("ReduceSum", those, np.array([2]), keepdims=0)

    def knot(place: str) -> str:
        place = graph.node("Clip", place, np.int64(0), np.int64(last))
        return graph.node("Gather", knots.ravel(), graph.node("Add", place, first))

    # Knots below the value, and those not above it.
    low, end = count("Less"), count("LessOrEqual")
    first = knots.shape[1] * np.arange(len(knots))
    before = graph.node("Sub", low, np.int64(1))
    left = knot(before)
    gap = graph.node("Sub", knot(low), left)
    gap = graph.node("Where", graph.node("Greater", gap, 0.0), gap, 1.0)
    share = graph.node("Div", graph.node("Sub", rows, left), gap)
    between = graph.node("Add", graph.cast(before, np.float64), share)
    both = graph.cast(graph.node("Add", before, end), np.float64)
    equal = graph.node("Greater", end, low)
    place = graph.node("Where", equal, graph.node("Mul", both, 0.5), between)
    return graph.node("Div", graph.node("Clip", place, 0.0, float(last)), float(last))


def _scores(graph: OnnxGraph, estimator: Exportable, inputs: list[Any]) -> str:
    """f(x) of every output in float64, (n, outputs)."""
    model = estimator.model_
    frozen = model.frozen
    rows = _numbers(graph, inputs, estimator.state_)
    scaled = _scaled(graph, rows, frozen.scaler, frozen.dtype)
    unit, weights = model._narrow
    scores = graph.cast(frozen.draw.onnx_scores(graph, scaled, weights), np.float64)
    scores = graph.node("Add", graph.node("Mul", scores, unit * frozen.scale), model.intercept)
    if (trend := model.trend) is None:
        return scores
    # `Trend.values` of the rows as they come.
    own = graph.node("Gather", graph.cast(rows, np.float64), trend.places, axis=1)
    own = graph.node("Min", graph.node("Max", own, trend.low), trend.high)
    line = graph.node("MatMul", graph.node("Sub", own, trend.mean), trend.slopes)
    return graph.node("Add", scores, line)


def _probabilities(graph: OnnxGraph, estimator: KitchenSinkClassifier, scores: str) -> str:
    """As `predict_proba` and `Calibration.probabilities` have them."""
    if estimator.state_.calibrates:
        calibration = estimator.calibration_
        if calibration is None:
            raise ValueError(
                "This classifier has no calibration, which the probabilities of an exported one "
                "need: there were too few rows. Fit again with loss='logistic'."
            )
        raw, scaled = scores, graph.node("Div", scores, calibration.unit)
        scaled = graph.node("Clip", scaled, -1e3, 1e3)
        square = graph.node("Mul", scaled, scaled)
        slope = graph.node("Mul", square, calibration.bend)
        slope = graph.node("Add", slope, calibration.slope)
        scores = graph.node("Mul", scaled, slope)
        if calibration.tail > 0.0:
            within = graph.node("Add", graph.node("Clip", raw, -20.0, 20.0), 1.0)
            power = graph.node("Mul", within, 15.0)
            rising = graph.node("Log", graph.node("Add", graph.node("Exp", power), 1.0))
            # log(1 + exp) is exp where that is below rounding.
            small = graph.node("Less", power, -30.0)
            logs = graph.node("Where", small, power, graph.node("Log", rising))
            logs = graph.node("Sub", logs, math.log(30.0))
            scores = graph.node("Add", scores, graph.node("Mul", logs, calibration.tail))
    if len(estimator.classes_) > 2:
        return graph.node("Softmax", scores, axis=1)
    chance = graph.node("Sigmoid", scores)
    return graph.node("Concat", graph.node("Sub", 1.0, chance), chance, axis=1)


def _convert_classifier(scope: Any, operator: Any, container: Any) -> None:
    graph, estimator = OnnxGraph(scope, container), operator.raw_operator
    scores = _scores(graph, estimator, operator.inputs)
    if len(estimator.classes_) == 2:
        positive = graph.node("Greater", scores, 0.0)
        place = graph.node("Reshape", graph.cast(positive, np.int64), np.array([-1]))
    else:
        place = graph.node("ArgMax", scores, axis=1, keepdims=0)
    label, probabilities = operator.outputs
    graph.node("Gather", _labels(estimator), place, axis=0, output=label.full_name)
    chances = _probabilities(graph, estimator, scores)
    graph.cast(chances, _float_of(operator), probabilities.full_name)


def _convert_regressor(scope: object, operator: Any, container: object) -> None:
    graph = OnnxGraph(scope, container)
    scores = _scores(graph, operator.raw_operator, operator.inputs)
    if operator.raw_operator.state_.targets.log:
        scores = graph.node("Exp", scores)
    graph.cast(scores, _float_of(operator), operator.outputs[0].full_name)


def _convert_features(scope: Any, operator: Any, container: Any) -> None:
    graph, draw = OnnxGraph(scope, container), operator.raw_operator.draw_
    features = draw.onnx(graph, _scaled(graph, operator.inputs[0].full_name, None, draw.dtype))
    scaled = graph.node("Mul", features, np.array(draw.scale, draw.dtype))
    graph.cast(scaled, _float_of(operator), operator.outputs[0].full_name)


def _labels(estimator: KitchenSinkClassifier) -> AnyArray:
    """Classes as ONNX has them: whole numbers, booleans as 0 and 1, or text."""
    classes = estimator.classes_
    if classes.dtype.kind in "biu":
        return np.asarray(classes.astype(np.int64))
    if classes.dtype.kind == "f":
        return np.asarray(classes.astype(np.float64))
    return np.array([str(label) for label in classes], dtype=object)


def _float_of(operator: Any) -> Any:
    """float64 for float64 rows and for tables, else float32."""
    from skl2onnx.common.data_types import DoubleTensorType, StringTensorType

    wide = DoubleTensorType, StringTensorType
    return np.float64 if isinstance(operator.inputs[0].type, wide) else np.float32


def _number_type(operator: Any, width: int) -> Any:
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    kind = DoubleTensorType if _float_of(operator) is np.float64 else FloatTensorType
    return kind([operator.inputs[0].get_first_dimension(), width])


def _classifier_shapes(operator: Any) -> None:
    from skl2onnx.common.data_types import DoubleTensorType, Int64TensorType, StringTensorType

    kinds = {"i": Int64TensorType, "f": DoubleTensorType, "O": StringTensorType}
    labels = _labels(operator.raw_operator)
    operator.outputs[0].type = kinds[labels.dtype.kind]([operator.inputs[0].get_first_dimension()])
    operator.outputs[1].type = _number_type(operator, len(labels))


def _regressor_shapes(operator: Any) -> None:
    estimator = operator.raw_operator
    operator.outputs[0].type = _number_type(operator, len(estimator.model_.intercept))


def _features_shapes(operator: Any) -> None:
    operator.outputs[0].type = _number_type(operator, operator.raw_operator.draw_.n_columns)
