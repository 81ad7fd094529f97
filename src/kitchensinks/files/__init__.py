"""What is written to disk: model files, checkpoints, ONNX."""
