//! The arguments of a call, as protocols have them whose arguments are an object.

use alloquy_core::message::ToolCall;
use serde_json::{Map, Value};

/// Returns the arguments of a call. A call without any has an empty object.
pub(crate) fn object_of(call: &ToolCall) -> Value {
    match &call.arguments {
        Value::Null => Value::Object(Map::new()),
        arguments => arguments.clone(),
    }
}
