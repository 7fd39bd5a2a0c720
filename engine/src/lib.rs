//! The traits that run models token by token: engines and sessions, decoders, and media processors.
//!
//! A conversation needs none of this: alloquy-core has messages, turns and stores, and calls any
//! [`ChatModel`](alloquy_core::ChatModel). This crate is for programs that run a model token by token, and for the authors of
//! backends:
//!
//! | trait | who implements it | who calls it |
//! |---|---|---|
//! | [`Decoder`](decoder::Decoder): ids in, a stream of generated ids out | `Generator` of alloquy-inference, over an engine; a client of a server that takes ids | `LanguageModel` of alloquy-inference |
//! | [`Engine`] and [`Session`]: a loaded model, and one KV cache | a backend, such as alloquy-onnx | `Generator` |
//! | [`MediaProcessor`](media_processor::MediaProcessor): images, audio and video as tensors | alloquy-media | an engine, and the prompt that needs the room |
//!
//! An engine only computes. It has a tokenizer, but no template and no sampler. A [`Session`] appends units of a prompt to its
//! KV cache and returns logits; a unit is a token, or a piece of media.
//!
//! ```
//! use alloquy_core::prompt::PromptUnit;
//! use alloquy_engine::{CancelToken, Engine};
//! use alloquy_testing::ScriptedEngine;
//!
//! // A backend's engine is opened from a folder. This one follows a script.
//! let engine = ScriptedEngine::new([("Hi<end><assistant>", "Hello!")]);
//! let mut session = engine.open()?;
//!
//! let prompt = engine.tokenizer().encode(&[alloquy_core::tokenizer::TokenizerInput::Text("Hi<end><assistant>")])?;
//! let units: Vec<_> = prompt.into_iter().map(PromptUnit::Token).collect();
//! let logits = session.forward(&units, &CancelToken::default())?;
//!
//! // The token with the highest logit is the first of the reply: a byte is a token here.
//! let best = logits.iter().enumerate().max_by(|left, right| left.1.total_cmp(right.1));
//! assert_eq!(best.map(|(id, _)| id), Some(usize::from(b'H')));
//! # Ok::<(), alloquy_core::Error>(())
//! ```
//!
//! # Implementing the traits
//!
//! * **A backend** implements [`Engine`] and [`Session`]. A `Generator` runs the engine. `alloquy_testing::laws::session`
//!   checks it: equal units give equal logits however they were appended, a fork is independent, and units that were cut off
//!   change nothing.
//! * **A remote decoder** implements [`Decoder`](decoder::Decoder) with a stream of [`DecodeEvent`](decoder::DecodeEvent)s.
//!   `alloquy_testing::laws::decoder` checks it: an option that has no effect is refused or reported.
//! * **A media processor** implements [`MediaProcessor`](media_processor::MediaProcessor). `alloquy_testing::laws::media_processor`
//!   checks it.
//!
//! # Snapshots
//!
//! The state of a session can be saved as a [`Snapshot`](decoder::Snapshot): bytes with the digests of the model, the template
//! and the prompt. A snapshot that does not fit is refused with a reason ([`SnapshotError`](decoder::SnapshotError)), and
//! the prompt is computed instead.
//!
//! # Limits
//!
//! * Sessions of one engine are used from one thread at a time.
//! * A snapshot is read by the same model, run in the same way, with the same template. There is no conversion.
//! * This crate has traits and snapshots alone: no backend, no sampler, and no network.
//!
//! # Where to read on
//!
//! * [`Engine`] and [`Session`]: the contract of a backend, method by method. `alloquy-onnx` implements it.
//! * [`decoder::Decoder`]: the contract of a decoder, with an example that implements it.
//! * [`decoder::snapshot`]: the layout of a snapshot.

pub mod decoder;
mod engine;
pub mod media_processor;

pub use engine::{BatchStep, CancelToken, Engine, LoadPhase, LoadTiming, Session};
