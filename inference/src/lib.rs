//! Language models: turns the request of a conversation into a prompt, runs a model on it, and reads the reply.
//!
//! A [`LanguageModel`] is a [`ChatModel`] for any [`Decoder`], which is anything that continues token ids: it adds the chat
//! template and the processor of the model. The local decoder is a [`Generator`]. It runs an [`Engine`] on a thread of its own
//! and draws tokens with a [`Sampler`]. Prompts continue in the KV caches of earlier ones, and concurrent replies share batches.
//!
//! # One model call
//!
//! ```text
//! Request ─▶ rendered ─▶ parts ─▶ prompt ─▶ DecodeRequest ─▶ ids ─▶ text ─▶ deltas ─▶ Reply
//!            template    processor splice     decoder         └─ detokenizer, stops, parser
//! ```
//!
//! The *template* prints the messages as text, and the *processor* of the model's family cuts it into parts, so that text of
//! a user never becomes a control token. *Splicing* puts the ids that earlier replies were sampled as into the prompt, so that
//! they are reused. The decoder's ids become text, the text is cut at stop strings, and the processor's *parser* finds
//! thinking and tool calls in it.
//!
//! # Example
//!
//! ```
//! use std::sync::Arc;
//! use alloquy_core::{ChatModel, Message, Preface, Request};
//! use alloquy_inference::{Generator, GeneratorOptions, LanguageModel};
//! use alloquy_testing::{ScriptedEngine, TaggedProcessor, TaggedTemplate};
//!
//! # pollster::block_on(async {
//! // In a program: an engine of a backend, such as alloquy-onnx, with the template and the processor that its files name.
//! let engine = Arc::new(ScriptedEngine::new([("<user>Hi<end><assistant>", "Hello!")]));
//! let generator = Generator::new(engine, GeneratorOptions::default())?;
//! let model = LanguageModel::builder(generator).template(TaggedTemplate).processor(TaggedProcessor).build()?;
//! let request = || Request::new(Preface::default(), vec![Message::user("Hi")]);
//! let first = model.reply(request()).await?.finish().await?;
//! assert_eq!(first.text(), "Hello!");
//!
//! // The same prompt again: all of it is reused but its last token, whose logits are needed.
//! let again = model.reply(request()).await?.finish().await?;
//! assert_eq!(again.usage.cached, again.usage.prompt - 1);
//! # Ok::<(), alloquy_core::Error>(())
//! # })?;
//! # Ok::<(), alloquy_core::Error>(())
//! ```
//!
//! # What is cached
//!
//! A generator keeps the KV caches of earlier prompts, as many as its [`CacheBudget`] allows. A new prompt continues in the
//! session with the longest common prefix, so that the next message of a conversation computes only what is new. A branch
//! continues in a copy, and the original stays. [`LanguageModel::snapshot`] and [`LanguageModel::restore`] keep a cache across
//! restarts. The report of each reply (`reply.cache`) says how much was reused, and why not more.
//!
//! # Main types
//!
//! * [`LanguageModel`], built by a [`LanguageModelBuilder`]: replies, prompts without a reply ([`LanguageModel::prepare`]),
//!   scores, snapshots.
//! * [`Generator`] with its [`GeneratorOptions`]: [`CacheBudget`], how many replies run concurrently, and speculative decoding
//!   by [`PromptLookup`] or a [`DraftModel`], as long as it saves time ([`Drafting`]).
//! * [`Sampler`]: from logits to a token, with the steps of Hugging Face `transformers` in their order.
//! * [`StopStrings`] and [`StopTokens`]: find what ends a reply in a stream, and hold back only what may become it.
//! * [`RoleMarkers`]: finds texts of users that look like the roles of a template, such as `USER:`.
//! * [`Benchmark`]: measures how fast an engine computes here; [`DraftBenchmark`]: what drafts save.
//!
//! # Limits
//!
//! * This crate imports `alloquy-core` and `alloquy-engine` alone: templates, processors, grammars and engines are passed in.
//!   Without `grammars`, a request with a grammar or a required tool is an error.
//! * A prompt is never shortened. One that does not fit is an error; the policies of `alloquy-context` choose what to omit.
//! * Nothing is retried, and a failed model call is never continued. What it generated is in the reply.
//! * Samplers with a seed draw the same tokens from the same logits everywhere. Logits may differ with the batch and with the
//!   device.
//!
//! # Where to read on
//!
//! * The examples `fork_and_compare` (two replies to one prompt) and `edit_history` (which tokens an edit computes again).
//! * `src/generator/slots.rs`: which session serves a prompt. `src/splice.rs`: how earlier replies are found in it.
//! * `alloquy-engine`: the traits [`Engine`], `Session` and [`Decoder`] for backends of your own.
//!
//! [`ChatModel`]: alloquy_core::ChatModel
//! [`Decoder`]: alloquy_engine::decoder::Decoder
//! [`Engine`]: alloquy_engine::Engine

mod benchmark;
mod draft_benchmark;
mod generator;
mod language_model;
mod repetition;
mod role_markers;
mod sampler;
mod splice;
mod stop;

pub use benchmark::{Benchmark, BenchmarkReport, BenchmarkRun};
pub use draft_benchmark::{DraftBenchmark, DraftRun};
pub use generator::{CacheBudget, DraftModel, Drafting, Generator, GeneratorOptions, PromptLookup};
pub use language_model::{LanguageModel, LanguageModelBuilder};
pub use role_markers::RoleMarkers;
pub use sampler::Sampler;
pub use stop::{StopStrings, StopTokens};
