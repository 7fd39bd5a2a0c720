//! Writes the grammar of calls in Gemma's own notation: `call:name{key:value,…}`.

use alloquy_core::{Result, ToolSpec};
use serde_json::{Map, Value};

use super::lark::{Rules, quoted};
use super::values::{Notation, Strings, Values, object};
use crate::calls::GemmaCalls;

/// Returns the rule of a call. If `sorted`, the keys of all objects are in alphabetic order.
pub(crate) fn call(
    syntax: &GemmaCalls,
    sorted: bool,
    tool: &ToolSpec,
    rules: &mut Rules<'_>,
) -> Result<String> {
    let quote = syntax.notation().quotes.first().copied().unwrap_or("\"");
    let notation = Notation {
        words: ["true", "false", "null"],
        comma: ",",
        colon: ":",
        strings: Strings::Between(quote),
    };
    let mut parameters = object(&tool.parameters);
    if sorted {
        sort(&mut parameters);
    }
    let arguments =
        Values::new(&notation, &parameters, rules).fields(&parameters, &|name| format!("{name}:"))?;
    Ok(rules.add_new(&format!("{} {arguments} \"}}\"", quoted(&format!("call:{}{{", tool.name)))))
}

/// Sorts properties at every depth as Jinja's `dictsort` does: without regard to capitals.
fn sort(schema: &mut Value) {
    match schema {
        Value::Array(schemas) => schemas.iter_mut().for_each(sort),
        Value::Object(fields) => {
            fields.values_mut().for_each(sort);
            if let Some(Value::Object(properties)) = fields.get_mut("properties") {
                let mut sorted: Vec<_> = std::mem::take(properties).into_iter().collect();
                sorted.sort_by_key(|(name, _)| name.to_lowercase());
                *properties = Map::from_iter(sorted);
            }
        }
        _ => {}
    }
}
