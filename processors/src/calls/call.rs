//! Tool calls as they are read from a reply: complete ones, and those that have only begun.

use std::ops::Range;

use serde_json::{Map, Value};

/// A tool call without the id that pairs it with its result.
#[derive(Debug, PartialEq)]
pub(crate) struct Call {
    /// The tool's name.
    pub(crate) name: String,
    /// The arguments.
    pub(crate) arguments: Map<String, Value>,
}

/// A call that has begun, and whose name is known.
#[derive(Debug, PartialEq)]
pub(crate) struct Begun {
    /// The id that the model gave it, if it did so before the arguments.
    pub(crate) id: Option<String>,
    /// The tool's name.
    pub(crate) name: String,
    /// The range of the arguments' text, if it has begun. Its end is `usize::MAX` until the arguments are complete.
    pub(crate) arguments: Option<Range<usize>>,
}
