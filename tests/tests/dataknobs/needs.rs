//! What a case needs that the runner does not have yet: retrieval.

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

fn is_set(setting: &Value) -> bool {
    match setting {
        Value::Null | Value::Bool(false) => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    }
}
