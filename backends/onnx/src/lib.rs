//! ONNX Runtime backend for Alloquy: runs language models in the form in which other tools export them.
//!
//! An [`OnnxEngine`] loads a model's folder and computes logits for tokens, images and audio. It implements
//! [`Engine`](alloquy_engine::Engine), the interface that conversations are built on. Most programs use it through the crate
//! `alloquy`, which adds chat templates, sampling and conversations; this crate alone is enough to compute logits.
//!
//! # Example
//!
//! A prompt is encoded, a session computes it, and the likeliest next token is printed:
//!
//! ```no_run
//! use alloquy_core::prompt::PromptUnit;
//! use alloquy_core::tokenizer::TokenizerInput;
//! use alloquy_engine::{CancelToken, Engine};
//! use alloquy_onnx::OnnxEngine;
//!
//! let engine = OnnxEngine::load("models/qwen3-0.6b")?;
//! let prompt = engine.tokenizer().encode(&[TokenizerInput::Text("Once upon a time")])?;
//! let units: Vec<PromptUnit> = prompt.into_iter().map(PromptUnit::Token).collect();
//!
//! let mut session = engine.open()?;
//! let logits = session.forward(&units, &CancelToken::default())?;
//! let likeliest = (0..logits.len()).max_by(|&left, &right| logits[left].total_cmp(&logits[right]));
//! println!("the next token is {likeliest:?}");
//! # Ok::<(), alloquy_core::Error>(())
//! ```
//!
//! # Models
//!
//! Folders of ONNX Runtime GenAI, optimum and transformers.js are read as they are, and so are Hugging Face caches.
//! [`OnnxEngine::of_files`] loads a model from memory. Where a folder has several graphs,
//! [`graph_type`](OnnxEngineBuilder::graph_type) chooses one by its number type, such as `q4`.
//!
//! A graph must take a cache of keys and values; caches and logits may be `f32`, `f16` or `bf16`. There are two kinds of
//! cache. GenAI exports write into one buffer, so a rewind is free and a fork copies only what it must. Other exports make
//! new tensors at each run.
//!
//! Models of images, video and audio need a [media processor](OnnxEngineBuilder::media); the crate `alloquy-media` has them. What
//! an encoder has made of an image is kept, so that the image is encoded only once in a conversation; see [`MediaStatistics`].
//!
//! # Options
//!
//! [`OnnxEngineBuilder`] has an example of its most used options.
//!
//! | option | what it sets |
//! |---|---|
//! | [`runtime`](OnnxEngineBuilder::runtime) | where the library of ONNX Runtime is, and whether it may be downloaded |
//! | [`providers`](OnnxEngineBuilder::providers) | what computes: `cpu`, `cuda`, `coreml`, `directml`, `webgpu` |
//! | [`provider_library`](OnnxEngineBuilder::provider_library), [`cache_memory`](OnnxEngineBuilder::cache_memory) | a library of a provider, and whether caches stay in its memory |
//! | [`threads`](OnnxEngineBuilder::threads), [`waiting`](OnnxEngineBuilder::waiting) | how many threads compute, and how they wait for work |
//! | [`graph_optimization`](OnnxEngineBuilder::graph_optimization), [`graph_cache`](OnnxEngineBuilder::graph_cache) | how far a graph is rewritten, and where the result is kept |
//! | [`kv_cache`](OnnxEngineBuilder::kv_cache), [`matmul`](OnnxEngineBuilder::matmul) | other number types than those of the export |
//! | [`adapter`](OnnxEngineBuilder::adapter) | a low-rank adapter (LoRA) |
//! | [`media`](OnnxEngineBuilder::media), [`media_cache`](OnnxEngineBuilder::media_cache) | the media processor, and how much of its results is kept |
//!
//! # Embeddings and rerankers
//!
//! With the feature `retrieval`, `OnnxEmbedder` computes vectors of texts, and `OnnxReranker` reads a question and a passage together.
//! Both are members of the traits of the crate `alloquy-retrieval`. Folders of sentence-transformers are read as they are.
//!
//! # The library of ONNX Runtime
//!
//! The library is loaded while the program runs; version 1.23 or newer is needed. A [`Locator`] finds it, or downloads a pinned
//! wheel. A process loads one library, for all of its engines. [`inspect_runtime`] reports which one it is, with its version
//! and its providers:
//!
//! ```no_run
//! use alloquy_onnx::{DownloadPolicy, Locator, inspect_runtime};
//!
//! let runtime = inspect_runtime(&Locator::new().policy(DownloadPolicy::Never))?;
//! println!("{} from {}", runtime.version, runtime.library.path.display());
//! # Ok::<(), alloquy_core::Error>(())
//! ```
//!
//! Which providers this build has is known without a library:
//!
//! ```
//! assert!(alloquy_onnx::providers().any(|name| name == "cpu"));
//! ```
//!
//! # Limits
//!
//! * A model's folder may come from strangers: files that are damaged, too long, or outside of the folder are errors. But
//!   the nodes of a graph are not checked: ONNX Runtime is trusted with them.
//! * ONNX Runtime never sends telemetry: a library whose telemetry is not turned off is not loaded.
//! * A provider never replaces another one silently; [`ModelInfo::warnings`](alloquy_core::model_info::ModelInfo::warnings)
//!   lists replacements.
//! * Results of different versions of ONNX Runtime, providers or processors differ in rounding.
//!   [`Engine::identity`](alloquy_engine::Engine::identity) differs with the version and the provider, so stored states are not
//!   mixed.
//!
//! `docs/onnx.md` of the repository describes exports, files, providers and measurements in detail. To read
//! the source, start with `engine`, `source`, `layout`, `session` and `kv`.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod adapter;
mod adapter_file;
mod cache_element;
mod cache_memory;
mod cached_units;
mod calibration;
mod compute_time;
mod cpu;
mod decoder;
mod device_memory;
mod draft_heads;
mod element;
mod embedded;
mod embedder;
mod engine;
mod environment;
mod error;
mod feeds;
mod folder;
mod graph_cache;
mod graph_edit;
mod graph_file;
mod graph_names;
mod graph_optimization;
mod graphs;
mod identity;
mod kv;
mod layout;
mod media;
mod profile;
mod prompt_logits;
mod provider_trial;
mod providers;
mod quantization;
mod quantization_quality;
mod quantized_graph;
mod row;
mod runtime;
mod session;
mod slot;
mod source;
mod telemetry;
#[cfg(feature = "retrieval")]
mod text_model;
mod trial;
mod waiting;

pub use alloquy_onnx_runtime::{
    DownloadEvent, DownloadPolicy, Gpu, Library, LibraryOrigin, LocateError, Locator, Presence, Wheel,
    cache_folder,
};
pub use cache_memory::{CacheLocation, CacheMemory};
pub use decoder::most_threads;
pub use engine::{OnnxEngine, OnnxEngineBuilder};
pub use graph_cache::GraphCacheStatus;
pub use graph_optimization::GraphOptimization;
pub use media::MediaStatistics;
pub use prompt_logits::PromptLogits;
pub use provider_trial::{CpuShare, ProviderChoice, ProviderSpeed, ProviderTrial};
pub use providers::{providers, require_providers};
pub use quantization::{KvCacheType, MatMulType};
pub use quantization_quality::QuantizationQuality;
pub use runtime::{Runtime, inspect_runtime};
#[cfg(feature = "retrieval")]
pub use text_model::{
    EmbedderInfo, EmbedderOptions, OnnxEmbedder, OnnxReranker, PassageScores, Pooling, RerankerInfo,
    RerankerOptions, TextModelNote, TextModelOptions, open_embedder, open_reranker,
};
pub use waiting::ThreadWaiting;
