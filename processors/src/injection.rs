//! Keeps text from becoming control tokens, and lets through what a policy allows.

mod edges;
mod literal;
mod look_alikes;
pub(crate) mod loosened;
mod mark;
pub(crate) mod quotes;
mod quoting;
mod rewrites;
mod specials;
mod texts;

pub(crate) use literal::Literals;
