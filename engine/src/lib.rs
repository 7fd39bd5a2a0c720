//! What generates tokens and what computes: the contracts between a language model and whatever runs it.
//!
//! A conversation needs none of this: alloquy-core has messages, turns and stores, and asks any
//! [`ChatModel`](alloquy_core::ChatModel). This crate is for whoever runs a model token by token, or brings something that does:
//!
//! | trait | who implements it | who calls it |
//! |---|---|---|
//! | [`Decoder`](decoder::Decoder): ids in, a stream of generated ids out | `Generator` of alloquy-inference, over an engine; a client of a server that takes ids | `LanguageModel` of alloquy-inference |
//! | [`Engine`] and [`Session`]: a loaded model, and one KV cache | a backend, such as alloquy-onnx | `Generator` |
//! | [`MediaProcessor`](media_processor::MediaProcessor): images, audio and video as tensors | alloquy-media | an engine, and the prompt that needs the room |
//!
//! An engine computes and nothing else. It knows no text, no template and no sampling, and a [`Session`] knows no other session:
//! it takes units of a prompt and returns logits.
//!
//! ```
//! use alloquy_core::prompt::Unit;
//! use alloquy_engine::{Cancel, Engine};
//! use alloquy_testing::ScriptedEngine;
//!
//! // A backend's engine is opened from a folder. This one follows a script.
//! let engine = ScriptedEngine::new([("Hi<end><assistant>", "Hello!")]);
//! let mut session = engine.open()?;
//!
//! let prompt = engine.tokenizer().encode(&[alloquy_core::tokenizer::Piece::Text("Hi<end><assistant>")])?;
//! let units: Vec<_> = prompt.into_iter().map(Unit::Token).collect();
//! let logits = session.forward(&units, &Cancel::default())?;
//!
//! // The token with the highest logit is the first of the reply: a byte is a token here.
//! let best = logits.iter().enumerate().max_by(|left, right| left.1.total_cmp(right.1));
//! assert_eq!(best.map(|(id, _)| id), Some(usize::from(b'H')));
//! # Ok::<(), alloquy_core::Error>(())
//! ```
//!
//! # To write one
//!
//! * **A backend** implements [`Engine`] and [`Session`], and hands the engine to a `Generator`. `alloquy_testing::laws::session`
//!   checks it: equal units give equal logits however they were fed, a fork is independent, and what is rewound is forgotten.
//! * **A remote decoder** implements [`Decoder`](decoder::Decoder) with a stream of [`DecodeEvent`](decoder::DecodeEvent)s.
//!   `alloquy_testing::laws::decoder` checks it: an option that has no effect is refused or reported.
//! * **A media processor** implements [`MediaProcessor`](media_processor::MediaProcessor). `alloquy_testing::laws::media_processor`
//!   checks it.
//!
//! # Snapshots
//!
//! What a session has computed outlives the process as a [`Snapshot`](decoder::Snapshot): bytes with the digests of the model, the
//! template and the prompt. A snapshot that does not fit is refused with its reason
//! ([`SnapshotRefusal`](decoder::SnapshotRefusal)), and the prompt is computed.

pub mod decoder;
mod engine;
pub mod media_processor;

pub use engine::{Cancel, Engine, LoadPhase, LoadTiming, Session, Step};
