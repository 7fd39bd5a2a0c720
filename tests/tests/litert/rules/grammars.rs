//! Why the grammar of calls takes other texts than LiteRT-LM's. What is found says of each such text how its calls are
//! spelled instead, or what is wrong with them.

use serde_json::Value;

use crate::row::Row;
use crate::spelling::NOTHING;

/// What is said of the texts on which the two differ, where that is all that differs.
fn instead<'a>(row: &Row, found: &'a Value) -> Vec<(&'a String, &'a Value)> {
    let constrains = row.kind.ends_with("_tool_call_constraint");
    let said = found["instead"].as_object().filter(|_| constrains);
    said.into_iter().flatten().collect()
}

fn is_expected(expected: &Value, name: &str, text: &str) -> bool {
    expected[name].as_array().is_some_and(|texts| texts.iter().any(|one| one == text))
}

/// The same call is accepted in another spelling, or is accepted in a spelling that is ours.
fn is_respelled(expected: &Value, text: &str, said: &Value) -> bool {
    if is_expected(expected, "accepts", text) {
        said.is_string()
    } else {
        said["valid"].as_u64().is_some_and(|calls| calls > 0)
    }
}

/// Calls are spelled in one way.
pub(super) fn spelled(row: &Row, expected: &Value, found: &Value) -> bool {
    let said = instead(row, found);
    !said.is_empty() && said.iter().all(|(text, said)| is_respelled(expected, text, said))
}

/// LiteRT-LM accepts an argument that comes twice, and nothing for one that may be left out.
pub(super) fn schema(row: &Row, expected: &Value, found: &Value) -> bool {
    let said = instead(row, found);
    let refused = |(text, said): &(&String, &Value)| {
        let reason = said["invalid"].as_str().unwrap_or_default();
        let known = reason.contains("comes twice") || reason.starts_with(NOTHING);
        is_expected(expected, "accepts", text) && known
    };
    said.iter().any(refused)
        && said.iter().all(|pair| refused(pair) || is_respelled(expected, pair.0, pair.1))
}

/// What cannot be enforced is refused by name.
pub(super) fn named(row: &Row, expected: &Value, found: &Value) -> bool {
    let words = found["error"].as_str().unwrap_or_default();
    row.kind.ends_with("_tool_call_constraint")
        && expected.get("error").is_none()
        && words.starts_with("Unsupported")
        && words.contains("cannot be enforced")
}
