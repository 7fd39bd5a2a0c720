//! The laws of every open set: one public suite each, run by every member.
//!
//! A law panics with a sentence when it is broken, so a member's test is a list of calls.

pub mod chat_model;
pub mod context_policy;
pub mod decoder;
pub mod media_processor;
pub mod processor;
pub mod session;
pub mod store;
pub mod tokenizer;
pub mod tool;
