//! ONNX Runtime backend for Alloquy
