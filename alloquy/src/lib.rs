//! Conversations with language models: open a model in one statement, ask in the next.
//!
//! ```no_run
//! let conversation = alloquy::Model::open("models/qwen3")?.conversation();
//! println!("{}", conversation.ask("Hello!")?.text());
//! # Ok::<(), alloquy::Error>(())
//! ```
//!
//! [`Model::open`] does all that the command line `alloquy` does, by the same code: it finds the chat template, the family, the
//! texts that end a reply, the sampling that the model's makers recommend, MLC's settings, and what happens when a conversation
//! outgrows the context. Any folder with an ONNX export and its `tokenizer.json` will do. The examples below ask the
//! [tiny model](Model::pocket) within this library, which needs no folder.
//!
//! # Streaming
//!
//! [`ask`](Conversation::ask) blocks, in an async runtime and outside of one. [`send`](Conversation::send) returns a
//! [`Turn`](core::Turn): await it for the whole answer, or take its pieces as they are written. It owns what it needs, so it goes
//! into a task or a response; dropping it ends the reply, and what was said until then is kept. No runtime is needed: the
//! library brings the threads that it works on.
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
//! A conversation is a tree. Another answer, an edited question and a way back add branches and delete nothing, and what the
//! model has computed of a beginning is not computed again. In a [store](open_store) it outlives the process: a [`Manager`]
//! makes, finds and lists conversations there, offers [tools](core::Tool) and puts [middleware](core::middleware::Middleware) before the model.
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
//! # Answers in a form
//!
//! With the feature `constraints` a reply is held to a [`Grammar`], token by token: a JSON Schema, a regular expression, a Lark
//! grammar or a choice.
//!
//! ```
//! use alloquy::prelude::*;
//!
//! let yes_or_no = Guidance::default().grammar(Grammar::Choice(vec!["yes".into(), "no".into()]));
//! let answer = Model::pocket()?.ask(TurnRequest::from("Is 7 a prime number?").guidance(yes_or_no))?;
//! assert!(["yes", "no"].contains(&answer.text().as_str()));
//! # Ok::<(), alloquy::Error>(())
//! ```
//!
//! # Tools
//!
//! A tool is a function of a type that has a schema (feature `schemars`), or an implementation of [`Tool`]; servers of the
//! Model Context Protocol bring theirs by the feature `mcp`. Whether a call runs a host may [decide](core::tool::Approval).
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
//! A message has parts: texts, images, audio and video (feature `media`), for models that take them.
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
//! # Never silent
//!
//! What is not as its files or its caller want it is a value: [`Model::warnings`] says what was not found, has no effect or was
//! replaced when the model was opened, and each reply lists what was not done as asked (`degradations`), what ended it
//! (`finish`), and how much of its prompt was cached (`cache`).
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
//! | `pocket` | [`Model::pocket`]: the tiny model, 4 MB | yes |
//! | `constraints` | replies that keep to a [`Grammar`], and calls to their tools | yes |
//! | `media` | images, audio and video, for models that take them | yes |
//! | `schemars` | [`TypedTool`](core::tool::TypedTool): tools from functions | yes |
//! | `sqlite` | conversations in `sqlite:FILE` | yes |
//! | `postgres`, `s3` | conversations in PostgreSQL, and in a bucket | no |
//! | `mcp` | tools of servers of the Model Context Protocol | no |
//! | `cuda`, `coreml`, `directml`, `webgpu` | what else computes | no |
//!
//! Without features there are conversations, stores in memory and in files, and models of a host's own: [`Model::of`] an engine,
//! or anything that is a [`ChatModel`].
//!
//! # Beside other crates
//!
//! Versions are ranges, so that a program may have the same crates for itself. Two need care: one build of SQLite is in a program
//! (feature `sqlite`: `rusqlite` 0.38 to 0.41), and `ort` is pinned to one release candidate (feature `onnx`), since they break each
//! other: a program that uses `ort` itself names the same one.
//!
//! # The crates within
//!
//! `docs/embedding.md` in the repository goes on from here: tenants, servers, middleware, models of one's own.
//!
//! Each is a module here, and a crate of its own: [`core`] (messages, the tree, the turn, the traits), [`context`] (policies for a
//! full context), [`cost`] (what replies took and cost), [`engine`] (the contracts of what generates tokens), [`formats`] (messages and conversations in the formats people have), [`inference`] (one model call, and the local decoder), [`templates`], [`processors`] (the families), [`media`], [`constraints`],
//! [`model_files`], [`onnx`], [`storage`] and `mcp`.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod model;
pub mod prelude;

#[cfg(feature = "constraints")]
pub use alloquy_constraints as constraints;
pub use alloquy_context as context;
pub use alloquy_core as core;
pub use alloquy_cost as cost;
pub use alloquy_engine as engine;
pub use alloquy_formats as formats;
pub use alloquy_inference as inference;
#[cfg(feature = "mcp")]
pub use alloquy_mcp as mcp;
#[cfg(feature = "media")]
pub use alloquy_media as media;
pub use alloquy_model_files as model_files;
#[cfg(feature = "onnx")]
pub use alloquy_onnx as onnx;
pub use alloquy_processors as processors;
pub use alloquy_storage as storage;
pub use alloquy_templates as templates;

pub use alloquy_storage::open_for_reading as open_store_for_reading;
#[cfg(feature = "onnx")]
pub use model::graph_cache_folder;
pub use model::{ContextPolicy, FamilySource, FullContext, ModelDescription, ModelWarning};

pub use prelude::*;
