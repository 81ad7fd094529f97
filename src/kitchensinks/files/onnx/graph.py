"""The builder of an ONNX graph, which bases and converters add their nodes to."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

# A protobuf message holds less than 2 GiB.
LARGEST = 2**31 - 2**20


class Graph:
    """Adds nodes to skl2onnx's container, and names what passes between them."""

    def __init__(self, scope: Any, container: Any) -> None:
        self.scope = scope
        self.container = container
        self._bytes = 0

    def constant(self, array: NDArray[Any]) -> str:
        from onnx import TensorProto, numpy_helper

        self._bytes += array.nbytes
        if self._bytes > LARGEST:
            raise ValueError(
                "The features make an ONNX file of more than 2 GB, which is the most: fit with "
                "fewer components."
            )
        name = str(self.scope.get_unique_variable_name("constant"))
        if array.dtype == object:
            self.container.add_initializer(name, TensorProto.STRING, array.shape, array.tolist())
        else:
            tensor = numpy_helper.from_array(np.ascontiguousarray(array), name)
            self.container.add_initializer(name, None, None, tensor)
        return name

    def node(self, kind: str, *inputs: Any, output: str | None = None, **attributes: Any) -> str:
        """A node of the kind named; inputs are names, or arrays and numbers: constants."""
        names = [one if isinstance(one, str) else self.constant(np.asarray(one)) for one in inputs]
        result = output or str(self.scope.get_unique_variable_name(kind.lower()))
        own = self.scope.get_unique_operator_name(kind)
        version = self.container.target_opset_any_domain("")
        self.container.add_node(kind, names, result, name=own, op_version=version, **attributes)
        return result

    def cast(self, value: str, dtype: DTypeLike, output: str | None = None) -> str:
        """The value in another dtype."""
        from onnx import helper

        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.node("Cast", value, output=output, to=kind)
