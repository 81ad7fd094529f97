"""Fitted models in formats that serve without Python."""

from kitchensinks.files.onnx.converters import register_converters, to_onnx

__all__ = ["register_converters", "to_onnx"]
