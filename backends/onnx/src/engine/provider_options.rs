//! The execution providers of an engine: named by the caller, or the fastest one.

use std::path::PathBuf;

use alloquy_core::Result;

use super::OnnxEngineBuilder;
use crate::cache_memory::CacheMemory;
use crate::graphs::Graphs;
use crate::identity::graph_digests;
use crate::provider_trial::{ProviderSpeed, ProviderTrial};
use crate::providers::{AUTO, CPU, Providers, fastest_first};
use crate::source::Wanted;
use crate::trial::Trial;

impl OnnxEngineBuilder {
    /// Sets the execution providers: `cpu`, and those of `cuda`, `coreml`, `directml` and `webgpu` that this build has as a
    /// feature and the library supports. An empty list means `cpu`.
    ///
    /// `auto` measures each of them with this model and takes the fastest. Where there are several, that loads the model once more
    /// for each. [`OnnxEngine::provider_choice`](crate::OnnxEngine::provider_choice) returns what was measured.
    ///
    /// The first provider computes. A later one replaces it only if all before it are unavailable or cannot load the model;
    /// [`ModelInfo::warnings`](alloquy_core::model_info::ModelInfo::warnings) and each reply report that.
    ///
    /// ```no_run
    /// use alloquy_engine::Engine;
    /// use alloquy_onnx::OnnxEngine;
    ///
    /// let engine = OnnxEngine::builder("models/qwen3-0.6b").providers(["cuda", "cpu"]).load()?;
    /// for warning in &engine.model().warnings {
    ///     eprintln!("{warning:?}");
    /// }
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    #[must_use]
    pub fn providers<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.providers = Providers::of(names).unwrap_or_else(|| Providers::first(CPU));
        self
    }

    /// Adds a library of an execution provider, for providers that are published apart from ONNX Runtime, such as
    /// `libonnxruntime_providers_webgpu.so`. Its provider is then one of the [`providers`](Self::providers), without a feature of this
    /// crate. A process loads it once, for all of its engines.
    ///
    /// ```no_run
    /// use alloquy_onnx::OnnxEngine;
    ///
    /// let engine = OnnxEngine::builder("models/qwen3-0.6b")
    ///     .provider_library("/opt/providers/libonnxruntime_providers_webgpu.so")
    ///     .providers(["webgpu"])
    ///     .load()?;
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    #[must_use]
    pub fn provider_library(mut self, file: impl Into<PathBuf>) -> Self {
        self.provider_libraries.push(file.into());
        self
    }

    /// Sets in which memory caches are kept between runs; the default is [`CacheMemory::Auto`].
    /// [`OnnxEngine::cache_location`](crate::OnnxEngine::cache_location) returns where they are.
    #[must_use]
    pub fn cache_memory(mut self, memory: CacheMemory) -> Self {
        self.cache_memory = memory;
        self
    }

    /// Sets the execution providers of the encoder of images and video, as [`providers`](Self::providers) does for the decoder.
    /// The default, and `auto`, is the decoder's providers.
    ///
    /// ```no_run
    /// use alloquy_onnx::OnnxEngine;
    ///
    /// let engine = OnnxEngine::builder("models/qwen2.5-vl-3b").vision_providers(["cuda", "cpu"]).load()?;
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    #[must_use]
    pub fn vision_providers<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.media.vision = Providers::of(names).filter(|providers| !providers.is_auto());
        self
    }

    /// Sets the execution providers of the encoder of audio; the default is the decoder's providers.
    #[must_use]
    pub fn audio_providers<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.media.audio = Providers::of(names).filter(|providers| !providers.is_auto());
        self
    }

    /// Measures what each execution provider of this build can do with the model: whether it loads it, how fast it computes, and
    /// what it leaves to the processor.
    ///
    /// # Errors
    /// As [`load`](Self::load) where no provider is at fault: missing files, or no ONNX Runtime. What is wrong with a provider is in
    /// its trial.
    ///
    /// ```no_run
    /// use alloquy_onnx::OnnxEngine;
    ///
    /// for trial in OnnxEngine::builder("models/qwen3-0.6b").try_providers()? {
    ///     println!("{trial}");
    /// }
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub fn try_providers(mut self) -> Result<Vec<ProviderTrial>> {
        self.check()?;
        let chunk = self.chunk();
        let wanted = Wanted { graph_type: self.graph_type.as_deref(), adapter: self.adapter.as_deref() };
        let parts = self.source.parts(wanted)?;
        let all = Providers::first(AUTO).with_libraries(&self.provider_libraries);
        let environment = all.environment(self.runtime.as_ref(), &mut self.on_event)?;
        parts.decoder.file.check_windows()?;
        let digests = graph_digests(&parts.decoder)?;
        let loading = Graphs {
            environment: &environment,
            threads: self.threads,
            optimization: self.optimization,
            cache_memory: self.cache_memory,
        };
        let trial = Trial { parts: &parts, digests: &digests, loading: &loading, chunk };
        let mut trials = Vec::new();
        for provider in fastest_first() {
            let speed = trial
                .speed(provider)
                .and_then(|speed| Ok(ProviderSpeed { on_cpu: Some(trial.share_of_cpu(provider)?), ..speed }));
            trials.push(ProviderTrial::new(provider, speed));
        }
        Ok(trials)
    }
}
