//! Writes the rules of values in a notation that is not JSON, from the schema of a tool's arguments.
//!
//! Numbers are those of JSON, which all notations share. A keyword that cannot be enforced is an error.

use std::collections::BTreeMap;

use alloquy_core::Result;
use serde_json::{Map, Value, json};

use super::lark::{Rules, Text, quoted};
use super::refusal::unsupported;
use super::strings::{self, times};

/// How values are written.
#[derive(Debug)]
pub(crate) struct Notation<'a> {
    /// The words for true, false and null.
    pub(crate) words: [&'static str; 3],
    /// The text between two values.
    pub(crate) comma: &'static str,
    /// The text between a key and its value.
    pub(crate) colon: &'static str,
    /// How strings are written.
    pub(crate) strings: Strings<'a>,
}

/// How strings are written.
#[derive(Debug)]
pub(crate) enum Strings<'a> {
    /// As JSON. So are the keys of objects.
    Json,
    /// As JSON that contains none of these texts. So are the keys of objects.
    JsonWithout(Vec<&'a str>),
    /// As text between two of these marks, without escapes. Keys have no marks.
    Between(&'static str),
}

/// Keywords that do not restrict a value.
const NOTES: [&str; 10] = [
    "$comment",
    "$defs",
    "$schema",
    "default",
    "definitions",
    "deprecated",
    "description",
    "examples",
    "nullable",
    "title",
];

/// Keywords that restrict only values of some types.
const OF_TYPES: [(&[&str], &[&str]); 4] = [
    (&["string"], &["minLength", "maxLength", "pattern", "format"]),
    (&["integer", "number"], &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]),
    (&["array"], &["items", "minItems", "maxItems"]),
    (&["object"], &["properties", "required", "additionalProperties"]),
];

/// A character of a JSON string, or an escape that all readers understand.
const JSON_CHARACTER: &str = "[^\"\\\\\\x00-\\x1f\\x7f]|\\\\[\"\\\\bfnrt]|\\\\u00[01][0-9a-f]";

/// How many references may lead to each other.
const REFERENCES: usize = 32;

/// Writes the values of one tool's arguments.
#[derive(Debug)]
pub(crate) struct Values<'n, 's, 'r, 'a> {
    notation: &'n Notation<'n>,
    /// The schema that references point into.
    root: &'s Value,
    pub(crate) rules: &'r mut Rules<'a>,
    /// The rules of the schemas that references name.
    known: BTreeMap<String, String>,
}

impl<'n, 's, 'r, 'a> Values<'n, 's, 'r, 'a> {
    pub(crate) fn new(notation: &'n Notation<'n>, root: &'s Value, rules: &'r mut Rules<'a>) -> Self {
        Self { notation, root, rules, known: BTreeMap::new() }
    }

    /// Writes the properties of an object in order. Those that are not required may be missing.
    pub(crate) fn fields(&mut self, schema: &Value, key: &dyn Fn(&str) -> String) -> Result<String> {
        only(schema, &["type", "properties", "required", "additionalProperties"])?;
        if schema.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false)) {
            return Err(unsupported("additionalProperties"));
        }
        let comma = quoted(self.notation.comma);
        // Two rules for each property, from the last to the first: the rest of the object when nothing precedes it, and when
        // other properties do. With a required `a` and an optional `b`, `first` of `a` is `"a" value more_b`, and `more_b` is
        // `"," "b" value | ""`.
        let mut first = self.rules.add_new("\"\"");
        let mut more = self.rules.add_new("\"\"");
        for (name, schema, required) in properties(schema).into_iter().rev() {
            let item = format!("{} {}", quoted(&key(name)), self.value(schema)?);
            let mut begun = format!("{item} {more}");
            let mut followed = format!("{comma} {item} {more}");
            if !required {
                begun += &format!(" | {first}");
                followed += &format!(" | {more}");
            }
            first = self.rules.add_new(&begun);
            more = self.rules.add_new(&followed);
        }
        Ok(first)
    }

    /// Writes any value that a schema accepts.
    pub(crate) fn value(&mut self, schema: &Value) -> Result<String> {
        if let Some(reference) = schema.get("$ref") {
            only(schema, &["$ref"])?;
            return self.referred(reference);
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            only(schema, &["enum", "type"])?;
            let alternatives: Result<Vec<_>> = values.iter().map(|value| self.literal(value)).collect();
            return Ok(self.rules.any(&alternatives?));
        }
        if let Some(value) = schema.get("const") {
            only(schema, &["const", "type"])?;
            return self.literal(value);
        }
        if let Some(schemas) = schema.get("anyOf").and_then(Value::as_array) {
            only(schema, &["anyOf"])?;
            let written: Result<Vec<_>> = schemas.iter().map(|schema| self.value(schema)).collect();
            return Ok(self.rules.any(&written?));
        }
        match schema.get("type") {
            Some(Value::String(name)) => self.typed(name, schema),
            Some(Value::Array(names)) => {
                let schemas = names.iter().map(|name| with_type(schema, name));
                let written: Result<Vec<_>> = schemas.map(|schema| self.value(&schema)).collect();
                Ok(self.rules.any(&written?))
            }
            _ => {
                only(schema, &["type"])?;
                Err(unsupported("a value without a type"))
            }
        }
    }

    /// Writes the schema that a reference names, once. It may contain the same reference.
    fn referred(&mut self, reference: &Value) -> Result<String> {
        let name = reference.as_str().unwrap_or_default();
        if let Some(rule) = self.known.get(name) {
            return Ok(rule.clone());
        }
        let schema = pointed_at(self.root, name)?;
        let rule = self.rules.new_name();
        self.known.insert(name.to_owned(), rule.clone());
        let value = self.value(schema)?;
        self.rules.add(&rule, &value);
        Ok(rule)
    }

    fn typed(&mut self, name: &str, schema: &Value) -> Result<String> {
        let schema = &concerning(name, schema);
        let [yes, no, nothing] = self.notation.words.map(quoted);
        match name {
            "string" => self.string(schema),
            "integer" | "number" => Ok(self.rules.json(schema.clone())),
            "boolean" => {
                only(schema, &["type"])?;
                Ok(self.rules.any(&[yes, no]))
            }
            "null" => {
                only(schema, &["type"])?;
                Ok(nothing)
            }
            "array" => self.list(schema),
            "object" => self.object(&object(schema)),
            other => Err(unsupported(&format!("the type {other:?}"))),
        }
    }

    fn object(&mut self, schema: &Value) -> Result<String> {
        for (name, ..) in properties(schema) {
            self.check_key(name)?;
        }
        let colon = self.notation.colon;
        let fields = if matches!(self.notation.strings, Strings::Between(_)) {
            self.fields(schema, &|name| format!("{name}{colon}"))?
        } else {
            self.fields(schema, &|name| format!("{}{colon}", Value::from(name)))?
        };
        Ok(self.rules.add_new(&format!("\"{{\" {fields} \"}}\"")))
    }

    /// Checks that a key can be written.
    fn check_key(&self, name: &str) -> Result<()> {
        match &self.notation.strings {
            Strings::Json => Ok(()),
            Strings::JsonWithout(marks) => without(name, marks),
            Strings::Between(_) if name.chars().all(crate::calls::is_name) && !name.is_empty() => Ok(()),
            Strings::Between(_) => Err(unsupported(&format!("the key {name:?}"))),
        }
    }

    fn string(&mut self, schema: &Value) -> Result<String> {
        match &self.notation.strings {
            Strings::Json => Ok(self.rules.json(schema.clone())),
            Strings::JsonWithout(marks) => {
                only(schema, &["type", "minLength", "maxLength", "pattern", "format"])?;
                let conditions = quoted_conditions(schema)?;
                let text = Text { conditions, may_be_empty: false, never: marks.clone() };
                // The conditions contain the quotation marks of the string.
                Ok(self.rules.text(&text, ""))
            }
            Strings::Between(mark) => {
                let begin = self.rules.marker(mark);
                let rest = raw(schema, mark, Vec::new(), self.rules)?;
                Ok(self.rules.add_new(&format!("{begin} {rest}")))
            }
        }
    }

    /// Writes one known value.
    fn literal(&mut self, value: &Value) -> Result<String> {
        let comma = format!(" {} ", quoted(self.notation.comma));
        let [yes, no, nothing] = self.notation.words.map(quoted);
        Ok(match value {
            Value::Null => nothing,
            Value::Bool(true) => yes,
            Value::Bool(false) => no,
            Value::Number(number) => quoted(&number.to_string()),
            Value::String(text) => match &self.notation.strings {
                Strings::Json => quoted(&value.to_string()),
                Strings::JsonWithout(marks) => {
                    without(text, marks)?;
                    quoted(&value.to_string())
                }
                Strings::Between(mark) => {
                    without(text, &[mark])?;
                    let end = self.rules.marker(mark);
                    format!("{end} {} {end}", quoted(text))
                }
            },
            Value::Array(values) => {
                let items: Result<Vec<_>> = values.iter().map(|value| self.literal(value)).collect();
                format!("\"[\" {} \"]\"", items?.join(&comma))
            }
            Value::Object(_) => return Err(unsupported("an object as one of several values")),
        })
    }

    fn list(&mut self, schema: &Value) -> Result<String> {
        only(schema, &["type", "items", "minItems", "maxItems"])?;
        let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(0);
        let most = schema.get("maxItems").and_then(Value::as_u64);
        if most == Some(0) {
            return Ok("\"[]\"".to_owned());
        }
        let item = self.value(schema.get("items").unwrap_or(&Value::Null))?;
        let more = times(least.saturating_sub(1), most.map(|most| most.saturating_sub(1)));
        let comma = quoted(self.notation.comma);
        let items = format!("{item} ({comma} {item}){more}");
        let items = if least == 0 { format!("({items})?") } else { items };
        Ok(self.rules.add_new(&format!("\"[\" {items} \"]\"")))
    }
}

/// Writes a string without escapes, and the mark that ends it.
pub(crate) fn raw(schema: &Value, end: &str, never: Vec<&str>, rules: &mut Rules<'_>) -> Result<String> {
    only(schema, &["type", "minLength", "maxLength", "pattern", "format"])?;
    let (conditions, may_be_empty) = strings::conditions(schema)?;
    Ok(rules.text(&Text { conditions, may_be_empty, never }, end))
}

/// Returns the conditions of a string of JSON with its quotation marks.
///
/// A pattern or format is matched without escapes. A pattern that demands a character that JSON escapes matches no string.
fn quoted_conditions(schema: &Value) -> Result<Vec<String>> {
    let ruled = schema.get("pattern").or(schema.get("format")).is_some();
    let (conditions, _) = strings::conditions(schema)?;
    if ruled {
        let plain = "[^\"\\\\\\x00-\\x1f\\x7f]*".to_owned();
        let all = conditions.into_iter().chain([plain]);
        return Ok(all.map(|condition| format!("\"(?:{condition})\"")).collect());
    }
    let least = schema.get("minLength").and_then(Value::as_u64).unwrap_or(0);
    let most = schema.get("maxLength").and_then(Value::as_u64);
    Ok(vec![format!("\"(?:{JSON_CHARACTER}){}\"", times(least, most))])
}

/// Refuses a text that contains one of `marks`.
pub(crate) fn without(text: &str, marks: &[&str]) -> Result<()> {
    match marks.iter().find(|mark| text.contains(**mark)) {
        Some(mark) => Err(unsupported(&format!("{mark:?} in the value {text:?}"))),
        None => Ok(()),
    }
}

/// Splits a schema into its alternatives: single values and single types. References are followed.
pub(crate) fn alternatives(root: &Value, schema: &Value) -> Result<Vec<Value>> {
    let mut found = Vec::new();
    collect(root, schema, REFERENCES, &mut found)?;
    Ok(found)
}

fn collect(root: &Value, schema: &Value, depth: usize, found: &mut Vec<Value>) -> Result<()> {
    if depth == 0 {
        return Err(unsupported("a reference to itself"));
    }
    if let Some(name) = schema.get("$ref") {
        only(schema, &["$ref"])?;
        return collect(root, pointed_at(root, name.as_str().unwrap_or_default())?, depth - 1, found);
    }
    if let Some(schemas) = list(schema, "anyOf") {
        only(schema, &["anyOf"])?;
        for schema in schemas {
            collect(root, schema, depth - 1, found)?;
        }
        return Ok(());
    }
    if let Some(values) = list(schema, "enum") {
        only(schema, &["enum", "type"])?;
        found.extend(values.iter().map(|value| json!({"const": value})));
    } else if let Some(value) = schema.get("const") {
        only(schema, &["const", "type"])?;
        found.push(json!({"const": value}));
    } else if let Some(names) = list(schema, "type") {
        found.extend(names.iter().map(|name| with_type(schema, name)));
    } else {
        found.push(schema.clone());
    }
    Ok(())
}

fn list<'s>(schema: &'s Value, keyword: &str) -> Option<&'s Vec<Value>> {
    schema.get(keyword)?.as_array()
}

/// Returns the schema that a reference names.
fn pointed_at<'s>(root: &'s Value, reference: &str) -> Result<&'s Value> {
    let found = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
    found.ok_or_else(|| {
        unsupported(&format!("the reference {reference:?}, which points at nothing in the schema,"))
    })
}

/// Returns the properties of an object: name, schema, and whether it is required.
pub(crate) fn properties(schema: &Value) -> Vec<(&str, &Value, bool)> {
    let required: Vec<_> = schema.get("required").and_then(Value::as_array).into_iter().flatten().collect();
    let all = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    all.map(|(name, schema)| (name.as_str(), schema, required.iter().any(|known| *known == name))).collect()
}

/// Returns the schema of arguments: an object, with no properties other than those of `parameters` unless it allows them.
pub(crate) fn object(parameters: &Value) -> Value {
    let mut schema = match parameters {
        Value::Object(_) => parameters.clone(),
        _ => json!({}),
    };
    if let Some(fields) = schema.as_object_mut() {
        fields.entry("type").or_insert_with(|| "object".into());
        fields.entry("properties").or_insert_with(|| json!({}));
        fields.entry("additionalProperties").or_insert(Value::Bool(false));
    }
    schema
}

fn with_type(schema: &Value, name: &Value) -> Value {
    let mut fields = schema.as_object().cloned().unwrap_or_default();
    fields.insert("type".to_owned(), name.clone());
    fields.into()
}

/// Returns the schema without the keywords for values of other types.
pub(crate) fn concerning(name: &str, schema: &Value) -> Value {
    let mut fields = schema.as_object().cloned().unwrap_or_default();
    let others = OF_TYPES.iter().filter(|(types, _)| !types.contains(&name));
    for keyword in others.flat_map(|(_, keywords)| *keywords) {
        fields.shift_remove(*keyword);
    }
    fields.into()
}

/// Refuses keywords that would not be enforced.
pub(crate) fn only(schema: &Value, enforced: &[&str]) -> Result<()> {
    for keyword in schema.as_object().into_iter().flat_map(Map::keys) {
        if !enforced.contains(&keyword.as_str()) && !NOTES.contains(&keyword.as_str()) {
            return Err(unsupported(&format!("the keyword {keyword:?}")));
        }
    }
    Ok(())
}
