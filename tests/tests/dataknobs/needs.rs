//! What a case needs that the runner does not have yet: flows.

use serde_json::Value;

use crate::stack;

/// Why a case cannot be run.
pub(crate) fn needs(case: &Value) -> Option<String> {
    let setup = &case["setup"];
    stack::unknown(setup).map(|unknown| format!("needs middleware: {unknown}"))
}

/// Why the operations cannot be run from here on; those before it are.
pub(crate) fn op_needs(op: &Value) -> Option<String> {
    (op["op"] == "execute_flow").then(|| "flows come later".to_owned())
}
