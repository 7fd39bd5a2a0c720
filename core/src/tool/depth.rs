//! How deep the results of tools may nest. Counts in a loop: a value may nest deeper than a stack goes.

use serde_json::Value;

use crate::message::{ToolCall, ToolResult};
use crate::{Error, ErrorKind, Result};

/// How many arrays and objects may stand within each other in the result of a tool. Readers of JSON go to 128, of which the
/// stores and the documents of conversations need some for themselves.
pub const RESULT_DEPTH: usize = 100;

/// The answer of a tool as a result; one that nests too deep is an error that says so.
pub(super) fn shallow(call: &ToolCall, content: Value) -> ToolResult {
    let deep = depth(&content);
    if deep <= RESULT_DEPTH {
        return ToolResult::ok(call, content);
    }
    take_apart(content);
    ToolResult::error(call, sentence(&call.id, &call.name, deep))
}

/// Refuses a result of the host that nests too deep.
///
/// # Errors
/// [`ErrorKind::Invalid`].
pub(crate) fn must_be_shallow(result: &ToolResult) -> Result<()> {
    let deep = depth(&result.content);
    if deep <= RESULT_DEPTH {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Invalid, sentence(&result.id, &result.name, deep)))
}

fn sentence(id: &str, name: &str, deep: usize) -> String {
    format!(
        "the result of the call {id:?} of {name:?} nests {deep} levels deep, and at most {RESULT_DEPTH} are kept"
    )
}

fn depth(value: &Value) -> usize {
    let mut deepest = 0;
    let mut open = vec![(value, 0)];
    while let Some((value, depth)) = open.pop() {
        deepest = deepest.max(depth);
        match value {
            Value::Array(items) => {
                deepest = deepest.max(depth + 1);
                open.extend(items.iter().map(|item| (item, depth + 1)));
            }
            Value::Object(fields) => {
                deepest = deepest.max(depth + 1);
                open.extend(fields.values().map(|field| (field, depth + 1)));
            }
            _ => {}
        }
    }
    deepest
}

/// Drops a value level by level.
fn take_apart(value: Value) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => open.extend(fields.into_values()),
            _ => {}
        }
    }
}
