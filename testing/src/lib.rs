//! What tests of a conversation need: the laws of each open set, which every member runs, and stand-ins for what would be
//! large, slow or far away.
//!
//! Whoever writes a store, a session, a processor, a chat model, a tool, a tokenizer or a policy for a full context takes this
//! crate as a dev-dependency and calls the laws of its set. Whoever writes a program takes the stand-ins.
//!
//! ```
//! use std::sync::Arc;
//!
//! use alloquy_core::{Manager, Preface};
//! use alloquy_core::store::MemoryStore;
//! use alloquy_testing::{ScriptedModel, laws};
//!
//! # pollster::block_on(async {
//! // A program, without a model.
//! let model = ScriptedModel::new([("<user>Hi<end><assistant>", "Hello!")]);
//! let manager = Manager::new(model);
//! let conversation = manager.create(Preface::default()).await?;
//! assert_eq!(conversation.send("Hi").finish().await?.text(), "Hello!");
//!
//! // A store, against everything that a store must do; a law that is broken panics with a sentence.
//! laws::store::all(async || MemoryStore::default()).await;
//! # Ok::<(), alloquy_core::Error>(())
//! # })?;
//! # Ok::<(), alloquy_core::Error>(())
//! ```
//!
//! * [`laws`]: a suite for each set.
//! * [`ScriptedModel`], [`EchoModel`]: models; [`ScriptedEngine`], [`NoiseEngine`]: engines, with [`ByteTokenizer`] and
//!   [`ScriptedMedia`].
//! * [`TaggedTemplate`], [`TaggedProcessor`]: the plainest template and processor; [`ReadReply`] and [`join_deltas`]: replies as
//!   they were read.
//! * [`FaultStore`]: a store that fails when it is told to. [`Draws`]: numbers that are the same in every run.
//!   [`CountingAllocator`]: how much memory something takes.

pub mod laws;
mod stand_ins;

pub use stand_ins::{
    ByteTokenizer, CountingAllocator, Draws, EchoModel, FaultStore, NoiseEngine, ReadReply, ScriptedEngine,
    ScriptedMedia, ScriptedModel, ScriptedReply, StoreCall, TaggedProcessor, TaggedTemplate, join_deltas,
};
