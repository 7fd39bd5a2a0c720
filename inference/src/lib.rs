//! Language models: what a conversation asks becomes a prompt, a prompt becomes tokens, and tokens become a reply.
//!
//! A [`LanguageModel`] is the `ChatModel` of anything that continues ids of tokens: a `Decoder` with the chat template and the
//! processor of its model. It is the only place that knows their order. The local decoder is a [`Generator`]: the one thread that
//! owns the sessions of an `Engine`, decides what of a prompt is cached, and draws tokens with a [`Sampler`]. This crate imports
//! `alloquy-core` and `alloquy-engine` alone: templates, processors, grammars and engines are handed in.
//!
//! ```text
//! Request ─▶ rendered ─▶ parts ─▶ prompt ─▶ DecodeRequest ─▶ ids ─▶ text ─▶ deltas ─▶ Reply
//!            template    processor splice     decoder         └─ detokenizer, stops, parser
//! ```
//!
//! ```
//! use std::sync::Arc;
//! use alloquy_core::{ChatModel, Message, Preface, Request};
//! use alloquy_inference::{Generator, GeneratorOptions, LanguageModel};
//! use alloquy_testing::{ScriptedEngine, TaggedProcessor, TaggedTemplate};
//!
//! # pollster::block_on(async {
//! // An engine of a backend, such as alloquy-onnx, with the template and the processor that its files name.
//! let engine = Arc::new(ScriptedEngine::new([("<user>Hi<end><assistant>", "Hello!")]));
//! let generator = Generator::new(engine, GeneratorOptions::default())?;
//! let model = LanguageModel::builder(generator).template(TaggedTemplate).processor(TaggedProcessor).build()?;
//! let request = || Request::new(Preface::default(), vec![Message::user("Hi")]);
//! let first = model.reply(request()).await?.finish().await?;
//! assert_eq!(first.text(), "Hello!");
//!
//! // The same prompt again: all but its last unit, which says what comes next, is cached.
//! let again = model.reply(request()).await?.finish().await?;
//! assert_eq!(again.usage.reused, again.usage.prompt - 1);
//! # Ok::<(), alloquy_core::Error>(())
//! # })?;
//! # Ok::<(), alloquy_core::Error>(())
//! ```
//!
//! * `language_model`: one model call, from the request to the whole reply; media, grammars and stops on its way.
//! * `splice`: earlier replies in a prompt, as the ids that they were sampled as.
//! * `generator`: the thread of an engine: which session serves a prompt, generations that take turns, drafts, scores, snapshots.
//! * `sampler`: from logits to a token.
//! * `thinking`, `stop`: where thinking begins and ends; texts and tokens that end a reply.
//! * `benchmark`: how fast an engine computes here.

mod benchmark;
mod generator;
mod language_model;
mod role_markers;
mod sampler;
mod splice;
mod stop;
mod thinking;

pub use benchmark::{Benchmark, BenchmarkReport, BenchmarkRun};
pub use generator::{CacheBudget, Generator, GeneratorOptions, PromptLookup};
pub use language_model::{LanguageModel, LanguageModelBuilder};
pub use role_markers::RoleMarkers;
pub use sampler::Sampler;
pub use stop::{StopStrings, StopTokens};
