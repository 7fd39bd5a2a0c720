//! The laws of each trait: one public suite each, which every implementation runs.
//!
//! A broken law panics with a sentence, so the test of an implementation is a list of calls.

pub mod chat_model;
pub mod context_policy;
pub mod decoder;
pub mod media_processor;
pub mod middleware;
pub mod processor;
pub mod prompt_library;
pub mod session;
pub mod store;
pub mod tokenizer;
pub mod tool;
