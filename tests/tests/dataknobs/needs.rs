//! What a case needs that the runner does not have.

use serde_json::Value;

use crate::stack;

/// Why a case cannot be run.
pub(crate) fn needs(case: &Value) -> Option<String> {
    let setup = &case["setup"];
    stack::unknown(setup).map(|unknown| format!("needs middleware: {unknown}"))
}
