//! What a case needs that the runner does not have yet: retrieval, flows.

use serde_json::Value;

use crate::stack;

/// Why a case cannot be run.
pub(crate) fn needs(case: &Value) -> Option<String> {
    let setup = &case["setup"];
    if let Some(unknown) = stack::unknown(setup) {
        return Some(format!("needs middleware: {unknown}"));
    }
    let needs_rag = is_set(&setup["adapters"]) || is_set(&setup["cache_rag_results"]);
    needs_rag.then(|| "retrieval comes later".to_owned())
}

/// Why the operations cannot be run from here on; those before it are.
pub(crate) fn op_needs(op: &Value) -> Option<String> {
    (op["op"] == "execute_flow").then(|| "flows come later".to_owned())
}

fn is_set(setting: &Value) -> bool {
    match setting {
        Value::Null | Value::Bool(false) => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    }
}
