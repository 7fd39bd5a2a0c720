//! The arguments of a call, as protocols have them: as an object, or as its text.

use alloquy_core::message::ToolCall;
use serde_json::{Map, Value};

/// Returns the arguments of a call. A call without any has an empty object.
pub(crate) fn object_of(call: &ToolCall) -> Value {
    match &call.arguments {
        Value::Null => Value::Object(Map::new()),
        arguments => arguments.clone(),
    }
}

/// Returns the text of the arguments of a call. That of a call without any is an empty object.
pub(crate) fn text_of(call: &ToolCall) -> String {
    object_of(call).to_string()
}
