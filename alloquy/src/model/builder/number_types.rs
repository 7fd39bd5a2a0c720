//! The number types of a model, where others than those of the export are chosen.

use alloquy_onnx::{KvCacheType, MatMulType};

use super::ModelBuilder;

impl ModelBuilder {
    /// Sets the number type of the cache of keys and values. The default is that of the export.
    ///
    /// With [`KvCacheType::Int8`], the cache takes a quarter of the memory, and replies after long prompts are computed faster; prompts are computed
    /// slower. [`ModelWarning::Quantized`](crate::ModelWarning::Quantized) reports how much the model changed.
    /// [`OnnxEngineBuilder::kv_cache`](crate::onnx::OnnxEngineBuilder::kv_cache) says what a graph must have.
    ///
    /// ```no_run
    /// use alloquy::Model;
    /// use alloquy::onnx::KvCacheType;
    ///
    /// let model = Model::builder("models/qwen3-0.6b").kv_cache(KvCacheType::Int8).build()?;
    /// # Ok::<(), alloquy::Error>(())
    /// ```
    pub fn kv_cache(mut self, kind: KvCacheType) -> Self {
        self.engine.kv_cache = kind;
        self
    }

    /// Sets the number type of products with weights of few bits, where the export has no accuracy level. The default is that of the export.
    ///
    /// [`ModelWarning::Quantized`](crate::ModelWarning::Quantized) reports how much the model changed.
    ///
    /// ```no_run
    /// use alloquy::Model;
    /// use alloquy::onnx::MatMulType;
    ///
    /// let model = Model::builder("models/qwen3-0.6b").matmul(MatMulType::Int8).build()?;
    /// # Ok::<(), alloquy::Error>(())
    /// ```
    pub fn matmul(mut self, kind: MatMulType) -> Self {
        self.engine.matmul = kind;
        self
    }
}
