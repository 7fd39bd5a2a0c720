//! Chat templates: Jinja as Hugging Face renders it, and MLC conversation templates.
//!
//! A model's prompts come from [`detect`]: its own [`JinjaTemplate`], the [`ConversationTemplate`] of its
//! `mlc-chat-config.json`, or plain [`CompletionTemplate`] where it has neither. Vicuna and its kin, which bring no
//! template, have a [`ConversationTemplate`] by name.
//!
//! Everything here is a [`PromptTemplate`](alloquy_core::template::PromptTemplate): from messages as JSON to text. Nothing
//! here knows tokens, tokenizers or engines.

mod completion;
mod detect;
mod files;
mod jinja;
pub mod mlc;
pub mod sources;
mod special_tokens;

pub use completion::CompletionTemplate;
pub use detect::{Detected, detect, detect_with};
pub use jinja::{
    AppliedPolyfill, ArgumentForms, Capabilities, Clock, DEFAULT_OUTPUT_BYTES, DEFAULT_SOURCE_BYTES,
    DEFAULT_STEPS, Dialect, JinjaTemplate, JinjaTemplateBuilder, Limits, Polyfill, Rendered, SystemRole,
};
pub use mlc::ConversationTemplate;
pub use sources::{TemplateOrigin, TemplateSource};
pub use special_tokens::of as special_tokens;
