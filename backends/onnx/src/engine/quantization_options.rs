//! The number types of an engine, where a caller chooses others than those of the export.

use super::OnnxEngineBuilder;
use crate::quantization::{KvCacheType, MatMulType};

/// How many tokens of a prompt are computed at once by default. A graph computes logits for each of them, so a long
/// chunk is costly with a large vocabulary; a short one uses the kernels badly.
const PREFILL_CHUNK: usize = 128;

/// How many tokens of a prompt are computed at once by default where keys and values have 8 bits: each chunk makes them of `f32` again, so
/// longer ones cost less.
const INT8_PREFILL_CHUNK: usize = 256;

impl OnnxEngineBuilder {
    /// Sets the number type of the cache of keys and values; the default is that of the export.
    ///
    /// With [`KvCacheType::Int8`] the cache takes a quarter of the memory of `f32`, and replies after long prompts are computed faster; prompts are
    /// computed slower. The graph is edited when it is loaded: it must keep its cache with `GroupQueryAttention`, as exports of ONNX Runtime GenAI
    /// and transformers.js do, and ONNX Runtime must be 1.31 or newer, on the processor.
    ///
    /// The scales of the numbers are measured on a text of 512 tokens. Then the probabilities of the next token are compared with those of the
    /// export: [`OnnxEngine::quantization_quality`](crate::OnnxEngine::quantization_quality) returns the result, and a model that changes too much is refused. Both happen once if there is
    /// a [`graph_cache`](Self::graph_cache), else at each load.
    ///
    /// ```no_run
    /// use alloquy_onnx::{KvCacheType, OnnxEngine};
    ///
    /// let engine = OnnxEngine::builder("models/qwen3-0.6b").kv_cache(KvCacheType::Int8).graph_cache("cache/graphs").load()?;
    /// if let Some(quality) = engine.quantization_quality() {
    ///     eprintln!("{quality}");
    /// }
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    #[must_use]
    pub fn kv_cache(mut self, kind: KvCacheType) -> Self {
        self.quantization.cache = kind;
        self
    }

    /// Sets the number type of products with weights of few bits; the default is that of the export.
    ///
    /// With [`MatMulType::Int8`], what is multiplied by weights of 4 or 8 bits is rounded to 8 bits, which is several times faster on most
    /// processors. Exports that chose a level themselves are refused. The quality is measured as for [`kv_cache`](Self::kv_cache).
    ///
    /// ```no_run
    /// use alloquy_onnx::{MatMulType, OnnxEngine};
    ///
    /// let engine = OnnxEngine::builder("models/qwen3-0.6b").matmul(MatMulType::Int8).load()?;
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    #[must_use]
    pub fn matmul(mut self, kind: MatMulType) -> Self {
        self.quantization.products = kind;
        self
    }

    /// Returns how many tokens of a prompt are computed at once.
    pub(super) fn chunk(&self) -> usize {
        let chunk = match self.quantization.cache {
            KvCacheType::Exported => PREFILL_CHUNK,
            KvCacheType::Int8 => INT8_PREFILL_CHUNK,
        };
        self.prefill_chunk.unwrap_or(chunk)
    }
}
