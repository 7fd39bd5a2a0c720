//! Model families: what goes into a chat template, and what a model's reply is made of.
//!
//! A processor turns messages and tools into what templates read, keeps people's text from becoming control
//! tokens, and reads replies piece by piece: thoughts, text, tool calls. It does no I/O and does not render,
//! encode or sample. [`detect`] finds the family of a model, [`named`] takes one by name.
//!
//! The modules are listed in the order in which a request meets them: choosing a family, what the template is
//! given, what the prompt is cut into, what the reply becomes.

mod detect;
mod families;
mod family;
mod processor;

mod input;
mod literal;
mod specials;

mod calls;
mod parser;

pub use detect::{Detected, detect, families, named};
