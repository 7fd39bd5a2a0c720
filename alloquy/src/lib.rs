//! Conversations with language models: open a model in one statement, ask in the next.
//!
//! ```no_run
//! let conversation = alloquy::Model::open("models/qwen3")?.conversation();
//! println!("{}", conversation.ask("Hello!")?.text());
//! # Ok::<(), alloquy::Error>(())
//! ```
//!
//! [`Model::open`] opens any folder with an ONNX export and its `tokenizer.json`. It finds the chat template, the family, the
//! texts that end a reply, the sampling that the model's authors recommend, MLC's settings, and the policy for a full context.
//! The command line `alloquy` uses the same code. The examples below ask the built-in tiny model (`Model::pocket`), which
//! needs no folder.
//!
//! # Streaming
//!
//! [`ask`](Conversation::ask) blocks the thread, also in an async runtime. [`send`](Conversation::send) returns a
//! [`Turn`](core::Turn): await it for the whole reply, or read its events as they come. A turn borrows nothing, so it can move
//! into a task or a response. Dropping it ends the reply and keeps the text generated so far. The library needs no async
//! runtime; it has its own threads.
//!
//! ```
//! use alloquy::core::Delta;
//! use alloquy::prelude::*;
//!
//! # pollster::block_on(async {
//! let conversation = Model::pocket()?.conversation();
//! let mut turn = conversation.send("What is the capital of France?");
//! while let Some(event) = turn.next().await {
//!     if let TurnEvent::Delta(Delta::Text(text)) = event? {
//!         print!("{text}");
//!     }
//! }
//! let answer = turn.await?;
//! println!(" ({} tokens)", answer.reply.usage.generated);
//! # Ok::<(), alloquy::Error>(())
//! # })?;
//! # Ok::<(), alloquy::Error>(())
//! ```
//!
//! # A tree that is never lost
//!
//! A conversation is a tree. Another answer, an edited question and a move of the head add branches and delete nothing, and
//! branches share the cache of their common prefix. A [store](open_store) keeps conversations after the process ends. A
//! [`Manager`] creates, finds and lists conversations in a store, offers [tools](core::Tool) to the model and runs
//! [middleware](core::middleware::Middleware).
//!
//! ```
//! use alloquy::prelude::*;
//!
//! # pollster::block_on(async {
//! let store = alloquy::open_store("memory:").await?; // or sqlite:chats.db, file:chats, postgres://…, s3://…
//! let manager = Model::pocket()?.manager().store(store).build()?;
//! let conversation = manager.create(Preface::system("Be brief.")).await?;
//! let answer = conversation.send("What is the capital of Portugal?").await?;
//! let again = conversation.regenerate(TurnRequest::default()).await?;
//! assert_eq!(again.answers(), answer.answers(), "two answers to one question");
//! conversation.goto(answer.node).await?;
//!
//! let resumed = manager.open(conversation.id()).await?;
//! assert_eq!(resumed.history().await?.len(), 2);
//! # Ok::<(), alloquy::Error>(())
//! # })?;
//! # Ok::<(), alloquy::Error>(())
//! ```
//!
//! # Constrained replies
//!
//! With the feature `constraints` a [`Grammar`] constrains a reply token by token. It is a JSON Schema, a regular expression, a
//! Lark grammar or a choice.
//!
//! ```
//! use alloquy::prelude::*;
//!
//! let yes_or_no = OutputConstraints::default().grammar(Grammar::Choice(vec!["yes".into(), "no".into()]));
//! let answer = Model::pocket()?.ask(TurnRequest::from("Is 7 a prime number?").output(yes_or_no))?;
//! assert!(["yes", "no"].contains(&answer.text().as_str()));
//! # Ok::<(), alloquy::Error>(())
//! ```
//!
//! # Tools
//!
//! A tool is a function whose argument has a schema (feature `schemars`), or an implementation of [`Tool`]. With the feature
//! `mcp` a program offers the tools of servers of the Model Context Protocol. A program may [approve](core::tool::ToolApproval)
//! each call before it runs.
//!
//! ```
//! use alloquy::core::tool::TypedTool;
//! use alloquy::prelude::*;
//!
//! let clock = TypedTool::new("clock", "Returns the time of day", |(): ()| async { Ok("10:30") });
//! let manager = Model::pocket()?.manager().tool(clock).build()?;
//! # pollster::block_on(async {
//! let answer = manager.create(Preface::default()).await?.send("What time is it?").await?;
//! println!("{} after {} model calls", answer.text(), answer.model_calls);
//! # Ok::<(), alloquy::Error>(())
//! # })?;
//! # Ok::<(), alloquy::Error>(())
//! ```
//!
//! # Images and audio
//!
//! A message has parts: texts, images, audio and video (feature `media`), for models that accept them.
//!
//! ```no_run
//! use alloquy::prelude::*;
//!
//! let image = Media::new("image/jpeg", std::fs::read("cat.jpg")?);
//! let message = Message::new(Role::User, vec![Content::Image(image), Content::Text("What is this?".into())]);
//! println!("{}", Model::open("models/qwen2.5-vl-3b")?.ask(message)?.text());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Warnings
//!
//! [`Model::warnings`] lists what was missing, had no effect or was replaced when the model was opened. Each reply lists the
//! parts of its request that had no effect (`warnings`), the reason of its end (`finish`), and how much of its prompt was
//! cached (`cache`).
//!
//! ```
//! use alloquy::{ContextPolicy, Model};
//!
//! let model = Model::pocket_builder().stop("\n\n").context_policy(ContextPolicy::Drop).build()?;
//! assert!(model.warnings().is_empty());
//! assert_eq!(model.sampling().stop, ["\n\n"]);
//! println!("{}", model.full_context());
//! # Ok::<(), alloquy::Error>(())
//! ```
//!
//! # Features
//!
//! | feature | adds | default |
//! |---|---|---|
//! | `onnx` | [`Model::open`]: models in ONNX files | yes |
//! | `pocket` | `Model::pocket`: the tiny model, 4 MB | yes |
//! | `constraints` | replies that follow a [`Grammar`], and calls that follow the schemas of their tools | yes |
//! | `flows` | flows: conversations with states and conditions as data | yes |
//! | `guards` | guards: redaction, validation, limits, cached replies and fallback, as middleware | yes |
//! | `json-schema` | validation of replies by a JSON Schema, 20 more crates | no |
//! | `media` | images, audio and video, for models that accept them | yes |
//! | `memory` | memory across conversations: notes, and what a model is reminded of | yes |
//! | `prompts` | libraries of prompts: files, configuration, versions and experiments | yes |
//! | `retrieval` | word and vector indexes, documents in chunks, passages in prompts; with `onnx` also models of embeddings and rerankers | yes |
//! | `stems` | words of an index that compare by their stems | no |
//! | `schemars` | `core::tool::TypedTool`: tools from functions | yes |
//! | `sqlite` | conversations in `sqlite:FILE` | yes |
//! | `postgres`, `s3` | conversations in PostgreSQL, and in a bucket | no |
//! | `mcp` | tools of servers of the Model Context Protocol | no |
//! | `hub` | models of the Hugging Face Hub by their names, and fetching them | no |
//! | `remote` | `Model::remote`: models on servers that take token ids; with `retrieval` also embeddings and reranking by servers | no |
//! | `cuda`, `coreml`, `directml`, `webgpu` | execution providers besides the CPU | no |
//!
//! Without features there are conversations, stores in memory and in files, and a program's own models: [`Model::of`] an
//! engine, [`Model::over`] a decoder, or any implementation of [`ChatModel`].
//!
//! # Versions of dependencies
//!
//! Versions are ranges, so that a program may depend on the same crates. Two dependencies need care. A program links one build
//! of SQLite (feature `sqlite`: `rusqlite` 0.38 to 0.41). `ort` is pinned to one release candidate (feature `onnx`), because
//! candidates are incompatible with each other; a program that uses `ort` itself depends on the same one.
//!
//! # Crates
//!
//! Each module here is also a crate of its own:
//!
//! | module | contents |
//! |---|---|
//! | [`core`] | messages, the tree, the turn, and the traits |
//! | [`context`] | policies for a full context |
//! | [`cost`] | tokens and cost of replies |
//! | [`engine`] | the traits of engines and decoders |
//! | [`formats`] | messages and conversations in the formats of other programs |
//! | `guards` | redaction, validation, limits, cached replies and fallback |
//! | `prompts` | libraries of prompts |
//! | `retrieval` | indexes, documents, and passages in prompts |
//! | `memory` | notes across conversations |
//! | `flows` | flows of states and conditions |
//! | [`inference`] | a model call, and the local decoder |
//! | [`templates`], [`processors`] | chat templates, and the processors of model families |
//! | [`media`], [`constraints`] | inputs of media models, and matchers of grammars |
//! | [`model_files`], [`onnx`] | the files of a model, and ONNX Runtime |
//! | [`storage`] | stores of conversations |
//! | `mcp` | tools of the Model Context Protocol |
//! | `hub` | models of the Hugging Face Hub |
//! | `remote` | models on servers that take token ids |
//!
//! `docs/embedding.md` in the repository continues with tenants, servers, middleware and models of your own.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod model;
pub mod prelude;

/// The examples of `docs/remote.md`, which also embed texts.
#[cfg(all(doctest, feature = "remote", feature = "retrieval"))]
#[doc = include_str!("../../docs/remote.md")]
struct RemotePage;

/// The examples of `docs/guards.md`.
#[cfg(all(doctest, feature = "guards"))]
#[doc = include_str!("../../docs/guards.md")]
struct GuardsPage;

/// The examples of `docs/retrieval.md`, which also use models and a database.
#[cfg(all(doctest, feature = "retrieval", feature = "onnx", feature = "sqlite"))]
#[doc = include_str!("../../docs/retrieval.md")]
struct RetrievalPage;

#[cfg(feature = "constraints")]
pub use alloquy_constraints as constraints;
pub use alloquy_context as context;
pub use alloquy_core as core;
pub use alloquy_cost as cost;
pub use alloquy_engine as engine;
#[cfg(feature = "flows")]
pub use alloquy_flows as flows;
pub use alloquy_formats as formats;
#[cfg(feature = "guards")]
pub use alloquy_guards as guards;
#[cfg(feature = "hub")]
pub use alloquy_hub as hub;
pub use alloquy_inference as inference;
#[cfg(feature = "mcp")]
pub use alloquy_mcp as mcp;
#[cfg(feature = "media")]
pub use alloquy_media as media;
#[cfg(feature = "memory")]
pub use alloquy_memory as memory;
pub use alloquy_model_files as model_files;
#[cfg(feature = "onnx")]
pub use alloquy_onnx as onnx;
#[cfg(feature = "remote")]
pub use alloquy_openai as remote;
pub use alloquy_processors as processors;
#[cfg(feature = "prompts")]
pub use alloquy_prompts as prompts;
#[cfg(feature = "retrieval")]
pub use alloquy_retrieval as retrieval;
pub use alloquy_storage as storage;
pub use alloquy_templates as templates;

#[cfg(all(feature = "onnx", feature = "retrieval"))]
pub use alloquy_onnx::{open_embedder, open_reranker};
pub use alloquy_storage::open_for_reading as open_store_for_reading;
#[cfg(feature = "onnx")]
pub use model::graph_cache_folder;
#[cfg(feature = "remote")]
pub use model::remote_files;
pub use model::{ContextPolicy, FamilySource, FullContext, ModelDescription, ModelWarning};

pub use prelude::*;
