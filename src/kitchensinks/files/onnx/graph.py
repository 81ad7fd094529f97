"""The builder of an ONNX graph, which bases and converters add their nodes to."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from kitchensinks.numerics.arrays import AnyArray

# A protobuf message holds less than 2 GiB.
LARGEST = 2**31 - 2**20
# The version of the operators of machine learning that a LabelEncoder needs.
_ML_OPSET = 2
# A number of an attribute: its field and up to ten bytes.
_NUMBER_BYTES = 11


class OnnxGraph:
    """Adds nodes to skl2onnx's container, and names what passes between them."""

    def __init__(self, scope: Any, container: Any) -> None:
        self.scope = scope
        self.container = container
        self._bytes = 0

    def _add(self, size: int) -> None:
        self._bytes += size
        if self._bytes > LARGEST:
            raise ValueError(
                "The features make an ONNX file of more than 2 GB, which is the most: fit with "
                "fewer components."
            )

    def constant(self, array: AnyArray) -> str:
        from onnx import TensorProto, numpy_helper

        self._add(array.nbytes)
        name = str(self.scope.get_unique_variable_name("constant"))
        if array.dtype == object:
            self.container.add_initializer(name, TensorProto.STRING, array.shape, array.tolist())
        else:
            tensor = numpy_helper.from_array(np.ascontiguousarray(array), name)
            self.container.add_initializer(name, None, None, tensor)
        return name

    def node(
        self,
        kind: str,
        *inputs: Any,
        output: str | None = None,
        domain: str = "",
        **attributes: Any,
    ) -> str:
        """A node of the kind named; inputs are names, or arrays and numbers: constants."""
        names = [one if isinstance(one, str) else self.constant(np.asarray(one)) for one in inputs]
        result = output or str(self.scope.get_unique_variable_name(kind.lower()))
        own = self.scope.get_unique_operator_name(kind)
        version = _ML_OPSET if domain else self.container.target_opset_any_domain("")
        self.container.add_node(
            kind, names, result, domain, name=own, op_version=version, **attributes
        )
        return result

    def look_up(self, value: str, keys: AnyArray) -> str:
        """The place of each value among different keys (m,), whole numbers or text; m for none."""
        kind = "keys_strings" if keys.dtype == object else "keys_int64s"
        size = sum(map(len, keys)) if keys.dtype == object else _NUMBER_BYTES * len(keys)
        self._add(size + _NUMBER_BYTES // 2 * len(keys))
        own = {kind: keys.tolist(), "values_int64s": list(range(len(keys)))}
        return self.node("LabelEncoder", value, domain="ai.onnx.ml", default_int64=len(keys), **own)

    def split(self, text: str) -> str:
        """The words between the spaces of each text (n,), with "" after the last: (n, most)."""
        words, counts = (self.scope.get_unique_variable_name(one) for one in ("words", "counts"))
        own = self.scope.get_unique_operator_name("StringSplit")
        version = self.container.target_opset_any_domain("")
        self.container.add_node(
            "StringSplit", [text], [words, counts], name=own, op_version=version
        )
        return str(words)

    def cast(self, value: str, dtype: DTypeLike, output: str | None = None) -> str:
        """The value in another dtype."""
        from onnx import helper

        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.node("Cast", value, output=output, to=kind)


def rename(graph: Any, names: dict[str, str]) -> None:
    """Give inputs of a finished graph the names of columns; what has such a name gets another."""
    outputs = {one.name for one in graph.output} & set(names.values())
    if outputs:
        raise ValueError(
            f"The column {', '.join(map(repr, sorted(outputs)))} has the name of an output of the "
            "ONNX file: give it another name in the table, and fit again."
        )
    inner = {name for node in graph.node for name in node.output}
    inner |= {one.name for one in graph.initializer}
    mapping = {name: f"{name} (inner)" for name in inner & set(names.values())} | names
    for node in graph.node:
        for entries in (node.input, node.output):
            entries[:] = [mapping.get(name, name) for name in entries]
    for one in (*graph.input, *graph.initializer):
        one.name = mapping.get(one.name, one.name)
