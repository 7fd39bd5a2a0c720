//! Ignores unknown fields of an object, with a warning for each.

use serde_json::{Map, Value};

use super::warning::Warning;

/// Removes the fields of `object` that are not `known`, which MLC ignores, and returns a warning for each.
pub(super) fn remove_unknown(
    object: &'static str,
    fields: &mut Map<String, Value>,
    known: &[&str],
) -> Vec<Warning> {
    let unknown: Vec<_> = fields.keys().filter(|field| !known.contains(&field.as_str())).cloned().collect();
    for field in &unknown {
        fields.shift_remove(field);
    }
    unknown.into_iter().map(|field| Warning::UnknownField { object, field }).collect()
}
