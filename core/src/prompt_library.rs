//! Prompt libraries: prompts that are found by name, filled in with values, and rendered to messages.
//!
//! A value is never read as a template. A [`RenderedPrompt`] consists of spans, and each span knows whether the author of
//! the prompt wrote it or where its text comes from, so an
//! [`InjectionPolicy`](crate::arguments::InjectionPolicy) that trusts the author does not trust the values.

mod rendered;
mod values;

pub use rendered::{PromptSpan, RenderedPrompt};
pub use values::{PromptValue, Values};
