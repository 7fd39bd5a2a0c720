//! JSON Schemas of Rust types.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use serde_json::Value;

/// Returns the schema of a type for a model to read. Inner types are inlined unless they are recursive, and names of
/// Rust types are left out.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    RecursiveTransform(without_rust_names).transform(&mut schema);
    schema.to_value()
}

/// Removes the name of the type, and the width of numbers, which is not part of the standard.
fn without_rust_names(schema: &mut schemars::Schema) {
    schema.remove("title");
    if schema.get("type").is_some_and(is_number) {
        schema.remove("format");
    }
}

fn is_number(kind: &Value) -> bool {
    match kind {
        Value::String(name) => name == "integer" || name == "number",
        Value::Array(kinds) => kinds.iter().any(is_number),
        _ => false,
    }
}
