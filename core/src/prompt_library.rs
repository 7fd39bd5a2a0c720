//! Prompt libraries: prompts that are found by name, filled in with values, and rendered to messages.
//!
//! A [`PromptLibrary`] finds a [`Prompt`] by its [`PromptName`]. Filled in with [`Values`] it is a [`FilledPrompt`], which can be sent,
//! or with which a conversation begins.
//!
//! A [`ValueSource`] finds values that no caller gave, such as the passages that a prompt [asks for](PromptRetrieval).
//!
//! A value is never read as a template. A [`RenderedPrompt`] consists of spans, and each span knows whether the author of
//! the prompt wrote it or where its text comes from, so an
//! [`InjectionPolicy`](crate::arguments::InjectionPolicy) that trusts the author does not trust the values.

mod filled;
mod info;
mod library;
mod name;
mod rendered;
mod reserved;
mod retrieval;
mod source;
mod text_template;
mod values;

pub use filled::{FilledMessage, FilledPrompt, PROMPT_KEY, PromptFacts};
pub use info::PromptInfo;
pub use library::{Prompt, PromptLibrary, PromptProblem};
pub use name::{PromptKind, PromptLabel, PromptName, PromptVersion, VersionNumber};
pub use rendered::{PromptSpan, RenderedPrompt};
pub use retrieval::PromptRetrieval;
pub use source::{PromptPlace, SourcedValues, ValueSource};
pub use text_template::TextTemplate;
pub use values::{OUTPUT_KEY, PromptValue, Values};
