//! ONNX Runtime backend for Alloquy: language models as other tools export them.
//!
//! ```no_run
//! use alloquy_engine::{Cancel, Engine};
//! use alloquy_core::prompt::Unit;
//! use alloquy_core::tokenizer::Piece;
//! use alloquy_onnx::OnnxEngine;
//!
//! let engine = OnnxEngine::load("models/qwen3-0.6b")?;
//! let mut session = engine.open()?;
//! let prompt = engine.tokenizer().encode(&[Piece::Text("Once upon a time")])?;
//! let units: Vec<Unit> = prompt.into_iter().map(Unit::Token).collect();
//! let logits = session.forward(&units, &Cancel::default())?;
//! # Ok::<(), alloquy_core::Error>(())
//! ```
//!
//! Folders of ONNX Runtime GenAI, optimum and transformers.js are read as they are, or their files in memory; the modules are listed in the
//! order in which a folder becomes a session.

mod adapter;
mod adapter_file;
mod compute_time;
mod cpu;
mod decoder;
mod element;
mod embedded;
mod embedder;
mod engine;
mod environment;
mod error;
mod feeds;
mod folder;
mod graph_cache;
mod graph_file;
mod graph_names;
mod graph_optimization;
mod graphs;
mod held;
mod identity;
mod kv;
mod layout;
mod media;
mod providers;
mod row;
mod runtime;
mod session;
mod source;
mod telemetry;
mod waiting;

pub use alloquy_onnx_runtime::{
    Event, Gpu, Library, LocateError, Locator, Origin, Policy, Presence, Wheel, cache_folder,
};
pub use engine::{OnnxEngine, OnnxEngineBuilder, most_threads};
pub use graph_cache::GraphCacheUse;
pub use graph_optimization::GraphOptimization;
pub use media::MediaStatistics;
pub use providers::{providers, require_providers};
pub use runtime::{Runtime, inspect_runtime};
pub use waiting::Waiting;
