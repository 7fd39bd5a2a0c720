//! Conversations with language models: messages, the conversation tree, the manager, and the turn.
//!
//! This crate has the types and traits that the other crates of Alloquy implement. It loads no model: a program combines it with
//! the model of the crate `alloquy`, or with its own implementation of [`ChatModel`].
//!
//! # Example
//!
//! ```
//! use alloquy_core::store::MemoryStore;
//! use alloquy_core::tree::NodeStatus;
//! use alloquy_core::{ConversationManager, Delta, ErrorKind, Manager, Message, Preface, Role, TurnEvent};
//! use alloquy_testing::EchoModel; // repeats the last message
//! use futures::StreamExt;
//! use std::sync::Arc;
//!
//! # pollster::block_on(async {
//! // The manager creates and opens the conversations in a store.
//! let manager = Manager::builder(EchoModel).store(Arc::new(MemoryStore::default())).build()?;
//! let conversation = manager.create(Preface::system("Be brief.")).await?;
//!
//! // A turn sends a message and generates the reply. It is a stream of events.
//! let mut turn = conversation.send("Good morning");
//! let mut text = String::new();
//! while let Some(event) = turn.next().await {
//!     if let TurnEvent::Delta(Delta::Text(piece)) = event? {
//!         text.push_str(&piece);
//!     }
//! }
//! assert_eq!(text, "Good morning");
//!
//! // It is also a future of the whole reply.
//! let evening = conversation.send(Message::user("Good evening")).await?;
//! assert_eq!(evening.text(), "Good evening");
//!
//! // An edited message begins a branch. The old branch stays, and `goto` returns to it.
//! let question = conversation.history().await?[2].id;
//! conversation.edit(question, "Good night").await?;
//! assert_eq!(conversation.branches().await?.len(), 2);
//! conversation.goto(evening.node).await?;
//!
//! // Every message is a node of the tree, with its parent and its status.
//! let history = conversation.history().await?;
//! assert_eq!((history.len(), history[3].message.role), (4, Role::Assistant));
//! assert_eq!((history[3].parent, history[3].status), (Some(question), NodeStatus::Complete));
//!
//! // An error has a kind, for programs, and a sentence, for people.
//! let error = manager.open(&"unknown".parse()?).await.unwrap_err();
//! assert_eq!(error.kind(), ErrorKind::NotFound);
//! # Ok::<(), alloquy_core::Error>(())
//! # })?;
//! # Ok::<(), alloquy_core::Error>(())
//! ```
//!
//! # Messages
//!
//! A [`Message`] has a [`Role`] and parts: text, thinking, images, audio, video, tool calls and tool results ([`Content`]). A
//! [`Preface`] has the instructions, the tools and the first messages of a conversation.
//!
//! # The conversation tree
//!
//! A [`Conversation`] is a tree of [nodes](Node). A node has one message and never changes, and the head is the node where the
//! next turn continues. [`regenerate`](Conversation::regenerate) adds a second reply to a message,
//! [`edit`](Conversation::edit) adds another version of a message, and [`goto`](Conversation::goto) moves the head. Only
//! [`prune`](Conversation::prune) hides nodes. Labels, bookmarks and metadata are [annotations] beside the nodes.
//!
//! # The manager
//!
//! A [`Manager`] combines a model, a [store](store::ConversationStore), [tools](Tool) and [middleware]. It creates, opens,
//! lists, searches and deletes the conversations of one [`Owner`]. A [`Query`] selects conversations. The crate
//! `alloquy-storage` has stores in files and databases; [`MemoryStore`](store::MemoryStore) is in this crate.
//!
//! # The turn
//!
//! A [`Turn`] stores the messages of a [`TurnRequest`], calls the model, runs the tools that the reply calls, and calls the model
//! again until it answers. The steps of one model call are:
//!
//! ```text
//! messages ─▶ TemplateInput ─▶ rendered prompt ─▶ parts ─▶ units ─▶ tokens ─▶ text ─▶ deltas ─▶ message
//!    processor           template       processor  tokenizer  session  detokenizer parser  parser
//! ```
//!
//! A turn runs only while it is polled. [`Turn::cancel`] ends it and keeps the text so far. Dropping it stores the text so far as
//! an interrupted reply, unless the manager [discards](turn::PartialReplyPolicy) partial replies. The method
//! [`ask`](Conversation::ask) runs a turn and blocks the thread.
//!
//! # Errors
//!
//! Every fallible function returns an [`Error`]. A program acts on its [`ErrorKind`]: it tries again after
//! [`Conflict`](ErrorKind::Conflict) and [`Busy`](ErrorKind::Busy), and shortens the prompt after
//! [`ContextOverflow`](ErrorKind::ContextOverflow). A setting that has no effect is not an error: the reply has a
//! [warning](report::Warning).
//!
//! # Modules
//!
//! | module | contents |
//! |---|---|
//! | [`message`], [`media`], [`preface`] | messages and their parts, media, instructions and tools |
//! | [`conversation`], [`manager`], [`turn`], [`stop`] | conversations, the manager, turns, and their cancellation |
//! | [`tree`], [`annotations`], [`store`], [`query`], [`search`] | nodes, annotations, stores, and finding conversations |
//! | [`chat_model`], [`middleware`], [`tool`] | traits of models, middleware and tools |
//! | [`arguments`], [`sampling`], [`grammar`], [`output`] | options of a request |
//! | [`model_info`], [`processor`], [`template`], [`tokenizer`], [`prompt`] | descriptions of models, and prompts |
//! | [`prompt_library`] | prompts by name, and the values that they are filled in with |
//! | [`report`], [`json`] | facts about replies, and JSON |
//! | [`error`], [`stream`] | errors, and streams of events |
//!
//! # Limits
//!
//! The crate does no network or file I/O, starts no thread, and needs no async runtime. Tokens, weights and caches belong to
//! `alloquy-engine` and `alloquy-inference`.
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod annotations;
pub mod arguments;
pub mod chat_model;
mod clock;
pub mod conversation;
pub mod error;
pub mod grammar;
mod invisible;
pub mod json;
pub mod manager;
pub mod media;
pub mod message;
pub mod middleware;
pub mod model_info;
pub mod output;
mod panics;
pub mod preface;
pub mod processor;
pub mod prompt;
pub mod prompt_library;
pub mod query;
pub mod report;
pub mod sampling;
#[cfg(feature = "schemars")]
mod schema;
pub mod search;
pub mod short_ids;
pub mod stop;
pub mod store;
pub mod stream;
pub mod template;
pub mod tokenizer;
pub mod tool;
pub mod tree;
pub mod turn;

pub use chat_model::{ChatModel, Reply, ReplyStream, Request};
pub use conversation::Conversation;
pub use error::{Error, ErrorKind, Result};
pub use manager::{ConversationManager, Manager};
pub use media::Media;
pub use message::{Content, Message, Part, Role, Source};
pub use preface::{Preface, ToolSpec};
pub use processor::Delta;
pub use query::Query;
pub use sampling::SamplingOptions;
pub use store::{ConversationId, Owner};
pub use tool::Tool;
pub use tree::{Node, NodeId};
pub use turn::{Turn, TurnEvent, TurnReply, TurnRequest};
