//! Prompt texts with variables, as the authors of prompts write them.
//!
//! * [`text`] has the compiled text and the prompts that it may refer to; [`render`] fills in values.
//! * [`items`], [`sections`], [`names`], [`blocks`] and [`flow`] read a text, [`writer`] writes it for the engine.
//! * [`printer`] and [`spans`] attach the sources of values to what a render prints.
//!
//! Reference: the template renderer of dataknobs-llm 0.10.0, except that values are not rendered again.

mod blocks;
mod filters;
mod flow;
mod format;
mod items;
mod known;
mod names;
mod printer;
mod problem;
mod program;
mod render;
mod sections;
mod spans;
mod syntax;
mod text;
mod writer;

pub use format::format_to_jinja;
pub use syntax::PromptSyntax;
pub use text::{NoReferences, PromptReference, PromptReferences, PromptText};
