//! The model within this library, for programs that name none.

use alloquy_onnx::{OnnxEngine, OnnxEngineBuilder, Waiting};

/// How many tokens of its prompts are computed at once: a prompt of usual length is one chunk.
const CHUNK: usize = 512;

/// Its steps take half a millisecond, in which a thread that sleeps is hardly woken up.
pub(super) fn engine() -> OnnxEngineBuilder {
    OnnxEngine::of_files(alloquy_pocket::files()).waiting(Waiting::Spin).prefill_chunk(CHUNK)
}
