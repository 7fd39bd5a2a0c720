//! The engine of the built-in model.

use alloquy_onnx::{OnnxEngine, OnnxEngineBuilder, ThreadWaiting};

/// How many tokens of a prompt are computed at once. A prompt of usual length is one chunk.
const CHUNK: usize = 512;

/// Returns the engine, whose threads spin: a step takes half a millisecond, about as long as waking up a sleeping thread.
pub(super) fn engine() -> OnnxEngineBuilder {
    OnnxEngine::of_files(alloquy_pocket::files()).waiting(ThreadWaiting::Spin).prefill_chunk(CHUNK)
}
