"""Features of every dense basis as nodes of an ONNX graph: the library's own arithmetic."""

import math
from typing import Any

import numpy as np

from kitchensinks.features.bases import (
    Draw,
    Fourier,
    Maxout,
    Orthonormal,
    ReLU,
    Sigmoid,
    Stumps,
    Union,
)
from kitchensinks.features.bases.orthonormal import degrees_by_total
from kitchensinks.features.bases.projections import Fastfood


class Graph:
    """Adds nodes to skl2onnx's container, and names what passes between them."""

    def __init__(self, scope: Any, container: Any) -> None:
        self.scope = scope
        self.container = container

    def constant(self, array: np.ndarray) -> str:
        from onnx import TensorProto, numpy_helper

        name = str(self.scope.get_unique_variable_name("constant"))
        if array.dtype == object:
            self.container.add_initializer(name, TensorProto.STRING, array.shape, array.tolist())
        else:
            tensor = numpy_helper.from_array(np.ascontiguousarray(array), name)
            self.container.add_initializer(name, None, None, tensor)
        return name

    def node(self, kind: str, *inputs: Any, output: str | None = None, **attributes: Any) -> str:
        """A node of the kind named; inputs are names, or arrays that become constants."""
        names = [one if isinstance(one, str) else self.constant(one) for one in inputs]
        result = output or str(self.scope.get_unique_variable_name(kind.lower()))
        own = self.scope.get_unique_operator_name(kind)
        version = self.container.target_opset_any_domain("")
        self.container.add_node(kind, names, result, name=own, op_version=version, **attributes)
        return result

    def cast(self, value: str, dtype: Any, output: str | None = None) -> str:
        from onnx import helper

        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.node("Cast", value, output=output, to=kind)


def require_exportable(basis: Any) -> None:
    """An error where a basis has no form in ONNX."""
    parts = basis.bases if isinstance(basis, Union) else [basis]
    for part in parts:
        if isinstance(part, Union):
            require_exportable(part)
        elif type(part) not in FEATURES:
            reason = "a table of bins" if part.sparse else "functions of your own"
            raise ValueError(
                f"{type(part).__name__} cannot be exported: it is made of {reason}. "
                "Use one of " + ", ".join(kind.__name__ for kind in FEATURES) + "."
            )


def features_of(graph: Graph, draw: Draw, rows: str) -> str:
    """φ(x; θ_k) times its factor, unscaled, of rows in the dtype of the draw."""
    require_exportable(draw.basis)
    features = FEATURES[type(draw.basis)](graph, draw, rows)
    if draw.factors is not None:
        factors = np.repeat(draw.factors, np.diff(draw.offsets)).astype(draw.dtype)
        features = graph.node("Mul", features, factors)
    return features


def _project(graph: Graph, rows: str, directions: Any, n_inputs: int) -> str:
    if isinstance(directions, Fastfood):
        directions = directions.take(np.arange(len(directions)), n_inputs)
    return graph.node("MatMul", rows, directions.T)


def _fourier(graph: Graph, draw: Draw, rows: str) -> str:
    directions, dtype = draw.theta["directions"], draw.dtype
    angle = _project(graph, rows, directions, draw.n_inputs)
    if "phase" in draw.theta:
        phase = draw.theta["phase"]
    else:
        # sin t = cos(t − π/2): each frequency stands twice, with two phases.
        angle = graph.node("Gather", angle, np.repeat(np.arange(len(directions)), 2), axis=1)
        phase = np.tile([0.0, -math.pi / 2.0], len(directions)).astype(dtype)
    cosine = graph.node("Cos", graph.node("Add", angle, phase))
    return graph.node("Mul", cosine, np.array(math.sqrt(2.0), dtype))


def _stumps(graph: Graph, draw: Draw, rows: str) -> str:
    values = graph.node("Gather", rows, draw.theta["column"].astype(np.int64), axis=1)
    reached = graph.node("GreaterOrEqual", values, draw.theta["threshold"])
    one = np.ones((), draw.dtype)
    return graph.node("Where", reached, one, -one)


def _sigmoid(graph: Graph, draw: Draw, rows: str) -> str:
    argument = _project(graph, rows, draw.theta["directions"], draw.n_inputs)
    argument = graph.node("Add", argument, draw.theta["offset"])
    activation = draw.basis.activation
    if activation == "step":
        zero, one = np.zeros((), draw.dtype), np.ones((), draw.dtype)
        return graph.node("Where", graph.node("GreaterOrEqual", argument, zero), one, zero)
    if activation == "erf":
        # onnxruntime has it in float32 alone.
        return graph.cast(graph.node("Erf", graph.cast(argument, np.float32)), draw.dtype)
    return graph.node({"logistic": "Sigmoid", "tanh": "Tanh"}[activation], argument)


def _relu(graph: Graph, draw: Draw, rows: str) -> str:
    argument = _project(graph, rows, draw.theta["directions"], draw.n_inputs)
    return graph.node("Relu", graph.node("Add", argument, draw.theta["offset"]))


def _maxout(graph: Graph, draw: Draw, rows: str) -> str:
    theta = draw.theta
    if "planes" in theta:
        projected = [_project(graph, rows, plane, draw.n_inputs) for plane in theta["planes"].value]
        choices = theta["choice"].astype(np.int64).T
        pieces = [
            graph.node("Gather", piece, choice, axis=1)
            for piece, choice in zip(projected, choices, strict=True)
        ]
    else:
        pieces = [
            _project(graph, rows, theta[f"plane{j}"], draw.n_inputs) for j in range(len(theta))
        ]
    return graph.node("Max", *pieces)


def _orthonormal(graph: Graph, draw: Draw, rows: str) -> str:
    """Products over the columns of single functions, then the coefficients of each draw."""
    basis: Any = draw.basis
    low, high = (float(end) for end in basis.box)
    degrees = np.array(degrees_by_total(draw.n_inputs, len(basis.eigenvalues)))
    place = graph.node("Sub", graph.cast(rows, np.float64), np.array(low))
    place = graph.node("Div", place, np.array(high - low))
    place = graph.node("Clip", place, np.array(0.0), np.array(1.0))
    single = _cosines if basis.system == "cosine" else _legendre
    # Degree by degree, all columns: function i of column j stands at degree·d + j.
    table = graph.node("Concat", *single(graph, place, int(degrees.max())), axis=1)
    product = ""
    for column in range(draw.n_inputs):
        if degrees[:, column].any():
            where = degrees[:, column] * draw.n_inputs + column
            factor = graph.node("Gather", table, where, axis=1)
            product = graph.node("Mul", product, factor) if product else factor
    if not product:  # one eigenvalue: the constant function alone
        product = graph.node("Gather", table, np.zeros(len(degrees), np.int64), axis=1)
    functions = graph.cast(product, draw.dtype)
    return graph.node("MatMul", functions, draw.theta["coefficients"].T)


def _cosines(graph: Graph, place: str, highest: int) -> list[str]:
    angle = [graph.node("Mul", place, np.array(math.pi * k)) for k in range(highest + 1)]
    sizes = [1.0] + [math.sqrt(2.0)] * highest
    return [
        graph.node("Mul", graph.node("Cos", one), np.array(size))
        for one, size in zip(angle, sizes, strict=True)
    ]


def _legendre(graph: Graph, place: str, highest: int) -> list[str]:
    """√(2k + 1)·P_k(t) by (k + 1)·P_{k+1} = (2k + 1)·t·P_k − k·P_{k−1}."""
    t = graph.node("Sub", graph.node("Mul", place, np.array(2.0)), np.array(1.0))
    plain = [graph.node("Add", graph.node("Mul", t, np.array(0.0)), np.array(1.0)), t]
    for k in range(1, highest):
        ahead = graph.node("Mul", graph.node("Mul", t, plain[k]), np.array((2 * k + 1) / (k + 1)))
        behind = graph.node("Mul", plain[k - 1], np.array(k / (k + 1)))
        plain.append(graph.node("Sub", ahead, behind))
    return [
        graph.node("Mul", one, np.array(math.sqrt(2 * k + 1)))
        for k, one in enumerate(plain[: highest + 1])
    ]


def _union(graph: Graph, draw: Draw, rows: str) -> str:
    union = draw.theta["parts"]
    pieces, places = [], []
    for j, part in enumerate(union.parts):
        if part is not None:
            features = features_of(graph, part, rows)
            share = np.array(1.0 / math.sqrt(part.basis.features_per_draw), draw.dtype)
            pieces.append(graph.node("Mul", features, share))
            mine = np.flatnonzero(union.owners == j)
            places += [np.arange(draw.offsets[k], draw.offsets[k + 1]) for k in mine]
    together = graph.node("Concat", *pieces, axis=1)
    return graph.node("Gather", together, np.argsort(np.concatenate(places)), axis=1)


FEATURES = {
    Fourier: _fourier,
    Stumps: _stumps,
    Sigmoid: _sigmoid,
    ReLU: _relu,
    Maxout: _maxout,
    Orthonormal: _orthonormal,
    Union: _union,
}
