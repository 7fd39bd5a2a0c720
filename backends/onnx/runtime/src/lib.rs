//! Finds the shared library of ONNX Runtime.
