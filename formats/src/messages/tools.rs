//! Tools as documents declare them: bare, or wrapped as `{type: "function", function: {…}}`.

use alloquy_core::{Result, ToolSpec};
use serde_json::{Map, Value, json};

use super::fields::{Fields, append, list};
use super::place::Place;

const KNOWN: [&str; 3] = ["name", "description", "parameters"];

/// Reads a list of tools, wrapped or bare.
pub(super) fn read(value: &Value, place: &Place<'_>) -> Result<Vec<ToolSpec>> {
    list(value, place)?.iter().enumerate().map(|(index, tool)| read_one(tool, &place.index(index))).collect()
}

fn read_one(value: &Value, place: &Place<'_>) -> Result<ToolSpec> {
    let mut fields = Fields::of(value, place)?;
    if !fields.has("function") {
        return read_bare(value, place);
    }
    match fields.take_str("type")? {
        None | Some("function") => {}
        Some(other) => return Err(place.field("type").unknown("type of tool", other, &["function"])),
    }
    let function = fields.need("function")?;
    fields.finish()?;
    read_bare(function, &place.field("function"))
}

/// Reads `{name, description, parameters}` and the fields beside them.
pub(super) fn read_bare(value: &Value, place: &Place<'_>) -> Result<ToolSpec> {
    let mut fields = Fields::of(value, place)?;
    Ok(ToolSpec {
        name: fields.need_str("name")?.to_owned(),
        description: fields.take_str("description")?.unwrap_or_default().to_owned(),
        parameters: fields.take("parameters").cloned().unwrap_or_default(),
        extra: fields.rest(),
    })
}

/// Writes a list of wrapped tools.
pub(super) fn write(tools: &[ToolSpec], place: &Place<'_>) -> Result<Value> {
    let mut wrapped = Vec::with_capacity(tools.len());
    for (index, tool) in tools.iter().enumerate() {
        let bare = write_bare(tool, &place.index(index))?;
        wrapped.push(json!({"type": "function", "function": bare}));
    }
    Ok(wrapped.into())
}

/// Writes a bare tool; an empty description and parameters that are `null` are left out.
pub(super) fn write_bare(tool: &ToolSpec, place: &Place<'_>) -> Result<Value> {
    let mut object = Map::new();
    object.insert("name".into(), tool.name.clone().into());
    if !tool.description.is_empty() {
        object.insert("description".into(), tool.description.clone().into());
    }
    if !tool.parameters.is_null() {
        object.insert("parameters".into(), tool.parameters.clone());
    }
    append(&mut object, &tool.extra, &KNOWN, place)?;
    Ok(Value::Object(object))
}
