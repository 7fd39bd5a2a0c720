//! What a case needs that the runner does not have yet: prompts, retrieval, flows.

use serde_json::Value;

use crate::{library, stack};

/// Why a case cannot be run.
pub(crate) fn needs(case: &Value) -> Option<String> {
    let setup = &case["setup"];
    if let Some(unknown) = stack::unknown(setup) {
        return Some(format!("needs middleware: {unknown}"));
    }
    if is_set(&setup["adapters"]) || is_set(&setup["cache_rag_results"]) {
        return Some("needs rag".to_owned());
    }
    let name = setup["system_prompt_name"].as_str()?;
    if library::system_prompt(setup, name).is_some() {
        return None;
    }
    Some("needs prompts: a template with more than placeholders".to_owned())
}

/// Why the operations cannot be run from here on; those before it are.
pub(crate) fn op_needs(op: &Value) -> Option<String> {
    let args = &op["args"];
    if op.get("error").is_none() && (args["prompt_name"].is_string() || args["params"].is_object()) {
        return Some("needs prompts: a message is made from a template".to_owned());
    }
    (op["op"] == "execute_flow").then(|| "needs flows".to_owned())
}

fn is_set(setting: &Value) -> bool {
    match setting {
        Value::Null | Value::Bool(false) => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    }
}
