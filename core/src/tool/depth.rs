//! The limit of the nesting depth of tool results. The depth is counted in a loop, because recursion could overflow the
//! stack.

use serde_json::Value;

use crate::message::{ToolCall, ToolResult};
use crate::{Error, ErrorKind, Result};

/// How deep arrays and objects may nest in the result of a tool. Readers of JSON allow 128 levels, some of which the
/// stores and the documents of conversations need.
///
/// ```
/// use alloquy_core::tool::RESULT_DEPTH;
/// use serde_json::{Value, json};
///
/// let mut nested = Value::Null;
/// for _ in 0..RESULT_DEPTH {
///     nested = json!([nested]);
/// }
/// assert_eq!(serde_json::from_str::<Value>(&nested.to_string())?, nested);
/// # Ok::<(), serde_json::Error>(())
/// ```
pub const RESULT_DEPTH: usize = 100;

/// Returns the answer of a tool as a result, or an error if it nests too deep.
pub(super) fn shallow(call: &ToolCall, content: Value) -> ToolResult {
    let deep = depth(&content);
    if deep <= RESULT_DEPTH {
        return ToolResult::ok(call, content);
    }
    take_apart(content);
    ToolResult::error(call, too_deep(&call.id, &call.name, deep))
}

/// Checks the nesting depth of a result of the host.
///
/// # Errors
/// [`ErrorKind::Invalid`].
pub(crate) fn must_be_shallow(result: &ToolResult) -> Result<()> {
    let deep = depth(&result.content);
    if deep <= RESULT_DEPTH {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Invalid, too_deep(&result.id, &result.name, deep)))
}

fn too_deep(id: &str, name: &str, deep: usize) -> String {
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

/// Drops a value level by level, without recursion.
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
