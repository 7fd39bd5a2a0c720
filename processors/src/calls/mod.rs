//! How models write tool calls: a file for each way. Knows texts, not where in a reply they stand.

mod json;

use serde_json::Value;

pub(crate) use json::JSON;

/// A way to write tool calls.
#[derive(Debug)]
pub(crate) struct CallSyntax {
    /// Reads everything between two markers: the calls in order, or why they cannot be read.
    pub(crate) read: fn(&str) -> Result<Vec<Call>, String>,
    /// Says whether a text ends inside a quotation, where a closing marker is only quoted.
    pub(crate) quotes: fn(&str) -> bool,
}

/// A tool call without the id that pairs it with its result.
#[derive(Debug, PartialEq)]
pub(crate) struct Call {
    /// The tool's name.
    pub(crate) name: String,
    /// The arguments, an object.
    pub(crate) arguments: Value,
}
