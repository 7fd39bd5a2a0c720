//! Options of the ONNX engine, and the folder of its graph cache.

use std::path::PathBuf;

use alloquy_core::{Error, ErrorKind, Result};
use alloquy_onnx::{
    CacheMemory, GraphOptimization, KvCacheType, LocateError, Locator, MatMulType, OnnxEngineBuilder,
    ThreadWaiting,
};

/// The options that are set; the engine decides the others.
#[derive(Clone, Debug, Default)]
pub(super) struct EngineOptions {
    pub(super) providers: Vec<String>,
    pub(super) vision_providers: Vec<String>,
    pub(super) audio_providers: Vec<String>,
    pub(super) provider_libraries: Vec<PathBuf>,
    pub(super) cache_memory: CacheMemory,
    pub(super) runtime: Option<Locator>,
    pub(super) threads: Option<usize>,
    pub(super) waiting: Option<ThreadWaiting>,
    pub(super) adapter: Option<PathBuf>,
    pub(super) optimization: Option<GraphOptimization>,
    pub(super) graph_cache: Option<PathBuf>,
    pub(super) graph_type: Option<String>,
    pub(super) kv_cache: KvCacheType,
    pub(super) matmul: MatMulType,
    pub(super) prefill_chunk: Option<usize>,
    pub(super) media_cache: Option<usize>,
}

impl EngineOptions {
    /// Adds the options that are set to the builder of an engine.
    pub(super) fn added_to(&self, mut builder: OnnxEngineBuilder) -> OnnxEngineBuilder {
        if let Some(locator) = &self.runtime {
            builder = builder.runtime(locator.clone());
        }
        builder = builder.providers(&self.providers);
        builder = builder.vision_providers(&self.vision_providers);
        builder = builder.audio_providers(&self.audio_providers);
        for library in &self.provider_libraries {
            builder = builder.provider_library(library);
        }
        builder = builder.cache_memory(self.cache_memory);
        if let Some(threads) = self.threads {
            builder = builder.threads(threads);
        }
        if let Some(waiting) = self.waiting {
            builder = builder.waiting(waiting);
        }
        if let Some(file) = &self.adapter {
            builder = builder.adapter(file);
        }
        if let Some(level) = self.optimization {
            builder = builder.graph_optimization(level);
        }
        if let Some(folder) = &self.graph_cache {
            builder = builder.graph_cache(folder);
        }
        if let Some(name) = &self.graph_type {
            builder = builder.graph_type(name);
        }
        builder = builder.kv_cache(self.kv_cache).matmul(self.matmul);
        if let Some(tokens) = self.prefill_chunk {
            builder = builder.prefill_chunk(tokens);
        }
        if let Some(bytes) = self.media_cache {
            builder = builder.media_cache(bytes);
        }
        builder
    }
}

/// Returns the usual folder of [`ModelBuilder::graph_cache`](crate::ModelBuilder::graph_cache), in this user's cache folder.
///
/// # Errors
/// [`ErrorKind::Invalid`] when there is no home folder.
///
/// ```
/// let folder = alloquy::graph_cache_folder()?;
/// assert!(folder.ends_with("graphs"));
/// # Ok::<(), alloquy::Error>(())
/// ```
pub fn graph_cache_folder() -> Result<PathBuf> {
    match alloquy_onnx::cache_folder() {
        Ok(folder) => Ok(folder.join("graphs")),
        Err(source) => Err(unknown(source)),
    }
}

fn unknown(source: LocateError) -> Error {
    Error::new(ErrorKind::Invalid, source.to_string()).with_source(source)
}
