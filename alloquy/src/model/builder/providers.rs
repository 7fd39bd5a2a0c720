//! The execution providers of a model, and what each of them can do.

use std::path::PathBuf;

use alloquy_core::Result;
use alloquy_onnx::{CacheMemory, ProviderTrial};

use super::ModelBuilder;

impl ModelBuilder {
    /// Sets the execution providers of the decoder, in the order of preference. The default is `cpu`.
    ///
    /// `auto` is the fastest one, which [`ModelWarning::ProviderChosen`](crate::ModelWarning::ProviderChosen) reports. The others are `cuda`, `coreml`, `directml` and `webgpu`, each with its feature. If the first one is not used, a warning
    /// and each reply report it.
    pub fn providers<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.engine.providers = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the execution providers of the encoder of images and video. The default is those of the decoder.
    pub fn vision_providers<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.engine.vision_providers = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the execution providers of the encoder of audio. The default is those of the decoder.
    pub fn audio_providers<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.engine.audio_providers = names.into_iter().map(Into::into).collect();
        self
    }

    /// Adds a library of an execution provider that is published apart from ONNX Runtime, such as
    /// `libonnxruntime_providers_webgpu.so`. Its provider is then one of the [`providers`](Self::providers), without a feature.
    ///
    /// ```no_run
    /// use alloquy::Model;
    ///
    /// let model = Model::builder("models/qwen3-0.6b")
    ///     .provider_library("/opt/providers/libonnxruntime_providers_webgpu.so")
    ///     .providers(["webgpu"])
    ///     .build()?;
    /// # Ok::<(), alloquy::Error>(())
    /// ```
    pub fn provider_library(mut self, file: impl Into<PathBuf>) -> Self {
        self.engine.provider_libraries.push(file.into());
        self
    }

    /// Sets in which memory caches are kept between runs. By default, they are in that of the device that computes. Where that is
    /// impossible, [`ModelWarning::CachesOffDevice`](crate::ModelWarning::CachesOffDevice) reports it.
    pub fn cache_memory(mut self, memory: CacheMemory) -> Self {
        self.engine.cache_memory = memory;
        self
    }

    /// Measures what each execution provider of this build can do with the model.
    ///
    /// # Errors
    /// As [`OnnxEngineBuilder::try_providers`](crate::onnx::OnnxEngineBuilder::try_providers), and as
    /// [`ModelBuilder::load_engine`].
    ///
    /// ```no_run
    /// use alloquy::Model;
    ///
    /// for trial in Model::builder("models/qwen3-0.6b").try_providers()? {
    ///     println!("{trial}");
    /// }
    /// # Ok::<(), alloquy::Error>(())
    /// ```
    pub fn try_providers(&self) -> Result<Vec<ProviderTrial>> {
        self.engine_builder()?.try_providers()
    }
}
