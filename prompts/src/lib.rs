//! Prompt libraries: prompts from files, configuration and versions, for conversations with language models.
//!
//! A library finds a prompt by name ([`PromptLibrary`](alloquy_core::prompt_library::PromptLibrary)). Filled in with values
//! ([`Values`](alloquy_core::prompt_library::Values)) it is messages, which a turn sends or a conversation begins with.
//!
//! | library | its prompts are in |
//! |---|---|
//! | [`FolderLibrary`] | a folder with `system/`, `user/`, `messages/`, `rag/`: YAML, JSON, or `.prompt` with a front matter |
//! | [`ConfigLibrary`] | a value of a configuration |
//! | [`VersionedLibrary`] | versions that never change, and labels that move |
//! | [`CompositeLibrary`] | several libraries, of which the first one that has a prompt gives it |
//!
//! An [`Experiment`] chooses the version of each user. A [`GapPrompt`] is a text with gaps that the model fills.
//!
//! A value is never read as a template, whatever it contains: a prompt is rendered once, to spans that know their source.
//!
//! ```
//! use std::sync::Arc;
//!
//! use alloquy_core::manager::NewConversation;
//! use alloquy_core::prompt_library::{PromptFacts, PromptName, Values};
//! use alloquy_core::{Manager, TurnRequest};
//! use alloquy_prompts::ConfigLibrary;
//! use alloquy_testing::EchoModel;
//! use serde_json::json;
//!
//! # pollster::block_on(async {
//! let library = ConfigLibrary::from_json(&json!({
//!     "system": {"guide": {"template": "You are a guide to {{city}}.", "defaults": {"city": "Lisbon"}}},
//!     "user": {"ask": "Where is {{place}}?((  I come from {{home}}.))"},
//! }))?;
//! let manager = Manager::builder(EchoModel).prompts(Arc::new(library)).build()?;
//!
//! let new = NewConversation::default().system_prompt_name(PromptName::system("guide"), Values::new());
//! let conversation = manager.create(new).await?;
//! let values = Values::new().set("place", "{{city}}");
//! let question = TurnRequest::default().prompt_name(PromptName::user("ask"), values);
//! conversation.complete(question).await?;
//!
//! let history = conversation.history().await?;
//! assert_eq!(history[0].message.text(), "Where is {{city}}?");
//! assert_eq!(PromptFacts::of(&history[0].metadata).unwrap().name, "ask");
//! # Ok::<(), alloquy_core::Error>(())
//! # })?;
//! # Ok::<(), alloquy_core::Error>(())
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing))]

mod compiled;
mod composite;
mod config;
mod experiment;
mod files;
mod folder;
mod gaps;
mod history;
mod input;
mod record;
mod retrieval;
mod table;
mod version_files;
mod versioned;
mod yaml;

/// The examples of `docs/prompts.md`.
#[cfg(doctest)]
#[doc = include_str!("../../docs/prompts.md")]
struct PromptsPage;

pub use composite::CompositeLibrary;
pub use config::ConfigLibrary;
pub use experiment::{Arm, Experiment, Split};
pub use folder::FolderLibrary;
pub use gaps::{FilledGaps, GapPrompt};
pub use history::{PromptHistory, VersionedPrompt};
pub use input::InputSchema;
pub use record::{
    MessageRecord, PromptRecord, RetrievalRecord, TemplateMode, TemplateSyntax, ValidationLevel,
    ValidationRecord, VersionRecord, VersionStatus,
};
pub use versioned::VersionedLibrary;
