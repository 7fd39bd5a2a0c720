//! Test support for Alloquy: a suite of laws for each of its traits, and test doubles for models, engines and stores.
//!
//! Add this crate as a dev-dependency for one of two reasons:
//!
//! * You implement a trait of Alloquy: a store, a session, a processor, a chat model, a tool, a tokenizer or a policy for a
//!   full context. Call the suite of the trait in [`laws`]; it checks everything that callers rely on.
//! * You write a program with Alloquy. Test it with a [`ScriptedModel`], which needs no weights, no thread and no network,
//!   and with a [`FaultStore`], which fails when the test wants it to.
//!
//! # Example
//!
//! ```
//! use std::sync::Arc;
//!
//! use alloquy_core::{Manager, Preface};
//! use alloquy_core::store::MemoryStore;
//! use alloquy_testing::{ScriptedModel, laws};
//!
//! # pollster::block_on(async {
//! // Tests a program without a model.
//! let model = ScriptedModel::new([("<user>Hi<end><assistant>", "Hello!")]);
//! let manager = Manager::new(model);
//! let conversation = manager.create(Preface::default()).await?;
//! assert_eq!(conversation.send("Hi").finish().await?.text(), "Hello!");
//!
//! // Tests a store. A broken law panics with a sentence that names it.
//! laws::store::all(async || MemoryStore::default()).await;
//! # Ok::<(), alloquy_core::Error>(())
//! # })?;
//! # Ok::<(), alloquy_core::Error>(())
//! ```
//!
//! # Laws
//!
//! | suite | for |
//! |---|---|
//! | [`laws::chat_model`] | [`ChatModel`](alloquy_core::ChatModel): a backend or the client of a server |
//! | [`laws::context_policy`] | [`Middleware`](alloquy_core::middleware::Middleware) that shortens a prompt |
//! | [`laws::decoder`] | [`Decoder`](alloquy_engine::decoder::Decoder): generation of tokens |
//! | [`laws::media_processor`] | [`MediaProcessor`](alloquy_engine::media_processor::MediaProcessor) |
//! | [`laws::middleware`] | [`Middleware`](alloquy_core::middleware::Middleware) |
//! | [`laws::processor`] | [`DataProcessor`](alloquy_core::processor::DataProcessor) of a model family |
//! | [`laws::session`] | [`Session`](alloquy_engine::Session) and its [`Engine`](alloquy_engine::Engine) |
//! | [`laws::store`] | [`ConversationStore`](alloquy_core::store::ConversationStore) |
//! | [`laws::tokenizer`] | [`Tokenizer`](alloquy_core::tokenizer::Tokenizer) |
//! | [`laws::tool`] | [`Tool`](alloquy_core::Tool) |
//!
//! Each suite has a function `all`, and a public function for each law. A suite needs no async runtime: run its futures with
//! the one of your tests.
//!
//! # Test doubles
//!
//! * Models: [`ScriptedModel`] answers by a script, [`EchoModel`] repeats the last message.
//! * Engines: [`ScriptedEngine`] continues a text by a script, [`NoiseEngine`] generates noise for tests of grammars, and
//!   [`GuessingEngine`] guesses the tokens of another as a draft model does. Their
//!   tokens come from a [`ByteTokenizer`], their media from [`ScriptedMedia`].
//! * Prompts: [`TaggedTemplate`] and [`TaggedProcessor`] are the simplest template and processor.
//! * Replies: [`ReadReply`] and [`join_deltas`] collect what a parser returns.
//! * Stores: [`FaultStore`] fails chosen calls of the store that it wraps.
//! * Tools of tests: [`Draws`] draws the same numbers in every run, [`CountingAllocator`] measures memory.
//!
//! The laws check behavior, not speed. The test doubles are not for production: they protect no control tokens and keep no
//! secrets.

mod doubles;
pub mod laws;

pub use doubles::{
    ByteTokenizer, CountingAllocator, Draws, EchoModel, FaultStore, GuessingEngine, HubFaults, HubRequest,
    HubServer, NoiseEngine, ReadReply, ScriptedEngine, ScriptedMedia, ScriptedModel, ScriptedReply,
    StoreCall, TaggedProcessor, TaggedTemplate, join_deltas,
};
