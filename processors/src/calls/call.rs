//! Tool calls as models write them: whole, and those whose name has come.

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

/// A call whose name has come.
#[derive(Debug, PartialEq)]
pub(crate) struct Begun {
    /// The id that the model gave it, if it did so before the arguments.
    pub(crate) id: Option<String>,
    /// The tool's name.
    pub(crate) name: String,
    /// Where the text of its arguments stands, if it has begun; it ends at `usize::MAX` until its end has come.
    pub(crate) arguments: Option<Range<usize>>,
}
