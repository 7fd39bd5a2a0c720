//! Conversations with language models: the types, the traits, and the turn.
//!
//! This crate does no I/O, knows no async runtime and no other crate of Alloquy. Everything else plugs into it, the language
//! model of `alloquy-inference` among it:
//!
//! ```text
//! Message ─▶ node ─▶ TemplateInput ─▶ rendered ─▶ parts ─▶ units ─▶ tokens ─▶ text ─▶ deltas ─▶ Message ─▶ node
//!  turn      tree     processor        template    processor prompt   session   detok    parser    parser     tree
//!            └─────────────────────── language model: one model call ─────────────────────────┘
//! ```
//!
//! What most programs name is at the root; the rest is in modules by topic, here in the order in which a message meets them:
//!
//! | module | holds |
//! |---|---|
//! | [`message`], [`media`], [`preface`] | what is said: messages and their parts; images, audio and video; instructions and tools |
//! | [`conversation`], [`manager`], [`turn`], [`stop`] | a conversation and its branches, who opens them, one turn, and how it is ended early |
//! | [`tree`], [`annotations`], [`store`], [`query`], [`search`] | nodes and their places, what is noted on them, where they are kept, and how they are found |
//! | [`chat_model`], [`middleware`], [`tool`] | anything that answers, what is between a turn and a model, and what a model may ask for |
//! | [`arguments`], [`sampling`], [`grammar`], [`output`] | what a caller may ask of a reply |
//! | [`model_info`], [`processor`], [`template`], [`tokenizer`], [`prompt`] | what a model's files say; from messages to a prompt of tokens, and from text back to messages |
//! | [`report`], [`json`] | what a reply took and what was not done as asked, and the JSON of all this |
//! | [`error`], [`stream`] | the one error, and work that emits events |
//!
//! ```
//! use alloquy_core::Conversation;
//! use alloquy_testing::EchoModel;
//!
//! let conversation = Conversation::new(EchoModel);
//! assert_eq!(conversation.ask("Hello")?.text(), "Hello");
//! # Ok::<(), alloquy_core::Error>(())
//! ```
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
pub mod query;
pub mod report;
pub mod sampling;
#[cfg(feature = "schemars")]
mod schema;
pub mod search;
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
