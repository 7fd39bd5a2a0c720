//! ONNX Runtime backend for Alloquy.

mod tokenizer;

pub use tokenizer::HuggingFaceTokenizer;
