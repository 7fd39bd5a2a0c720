//! Values in a notation that is not JSON, from the schema of a tool's arguments. Numbers are those of JSON, which all
//! notations share. Knows no marks and no calls.

use std::collections::BTreeMap;

use alloquy_core::Result;
use serde_json::{Map, Value, json};

use super::lark::{Rules, Text, quoted};
use super::refusal::unsupported;
use super::strings;

/// How values are written.
#[derive(Debug)]
pub(crate) struct Notation<'a> {
    /// True, false and nothing.
    pub(crate) words: [&'static str; 3],
    /// What stands between two values.
    pub(crate) comma: &'static str,
    /// What stands between a key and its value.
    pub(crate) colon: &'static str,
    /// What strings are.
    pub(crate) strings: Strings<'a>,
}

/// What strings are.
#[derive(Debug)]
pub(crate) enum Strings<'a> {
    /// JSON's, and the keys of objects too.
    Json,
    /// JSON's, in which none of these is spelled; and so the keys of objects.
    JsonWithout(Vec<&'a str>),
    /// Text between two of these, without escapes; keys stand as they are.
    Between(&'static str),
}

/// Keywords that say nothing of a value's form.
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

/// Keywords that say something of values of one type, and nothing of others.
const OF_TYPES: [(&[&str], &[&str]); 4] = [
    (&["string"], &["minLength", "maxLength", "pattern", "format"]),
    (&["integer", "number"], &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]),
    (&["array"], &["items", "minItems", "maxItems"]),
    (&["object"], &["properties", "required", "additionalProperties"]),
];

/// Any character of a string of JSON's, or an escape that all readers share.
const JSON_CHARACTER: &str = "[^\"\\\\\\x00-\\x1f\\x7f]|\\\\[\"\\\\bfnrt]|\\\\u00[01][0-9a-f]";

/// References that lead to references, at the most.
const REFERENCES: usize = 32;

/// Writes the values of one tool's arguments.
#[derive(Debug)]
pub(crate) struct Values<'n, 's, 'r, 'a> {
    notation: &'n Notation<'n>,
    /// What references point into.
    root: &'s Value,
    pub(crate) rules: &'r mut Rules<'a>,
    /// The rules of what was referred to.
    known: BTreeMap<String, String>,
}

impl<'n, 's, 'r, 'a> Values<'n, 's, 'r, 'a> {
    pub(crate) fn new(notation: &'n Notation<'n>, root: &'s Value, rules: &'r mut Rules<'a>) -> Self {
        Self { notation, root, rules, known: BTreeMap::new() }
    }

    /// Writes the properties of an object in their order, those that are not required or not.
    pub(crate) fn fields(&mut self, schema: &Value, key: &dyn Fn(&str) -> String) -> Result<String> {
        only(schema, &["type", "properties", "required", "additionalProperties"])?;
        if schema.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false)) {
            return Err(unsupported("additionalProperties"));
        }
        let comma = quoted(self.notation.comma);
        // From the last to the first: what follows when nothing was written yet, and when something was.
        let (mut first, mut more) = (self.rules.add_new("\"\""), self.rules.add_new("\"\""));
        for (name, schema, required) in properties(schema).into_iter().rev() {
            let item = format!("{} {}", quoted(&key(name)), self.value(schema)?);
            let or = |other: &str| if required { String::new() } else { format!(" | {other}") };
            let (begun, followed) =
                (format!("{item} {more}{}", or(&first)), format!("{comma} {item} {more}{}", or(&more)));
            (first, more) = (self.rules.add_new(&begun), self.rules.add_new(&followed));
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
            _ => only(schema, &["type"]).and(Err(unsupported("a value without a type"))),
        }
    }

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
            "boolean" => only(schema, &["type"]).map(|()| self.rules.any(&[yes, no])),
            "null" => only(schema, &["type"]).map(|()| nothing),
            "array" => self.list(schema),
            "object" => self.object(&object(schema)),
            other => Err(unsupported(&format!("the type {other:?}"))),
        }
    }

    fn object(&mut self, schema: &Value) -> Result<String> {
        for (name, ..) in properties(schema) {
            self.key(name)?;
        }
        let colon = self.notation.colon;
        let json = !matches!(self.notation.strings, Strings::Between(_));
        let key = |name: &str| {
            if json { format!("{}{colon}", Value::from(name)) } else { format!("{name}{colon}") }
        };
        let fields = self.fields(schema, &key)?;
        Ok(self.rules.add_new(&format!("\"{{\" {fields} \"}}\"")))
    }

    fn key(&self, name: &str) -> Result<()> {
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
                // The string's own end is in the conditions.
                Ok(self.rules.text(&text, ""))
            }
            Strings::Between(mark) => {
                let (begin, rest) = (self.rules.marker(mark), raw(schema, mark, Vec::new(), self.rules)?);
                Ok(self.rules.add_new(&format!("{begin} {rest}")))
            }
        }
    }

    /// Writes one value, strings in it spelled.
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
                Strings::JsonWithout(marks) => without(text, marks).map(|()| quoted(&value.to_string()))?,
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
        let count = |keyword: &str| schema.get(keyword).and_then(Value::as_u64);
        let (least, most) = (count("minItems").unwrap_or(0), count("maxItems"));
        if most == Some(0) {
            return Ok("\"[]\"".to_owned());
        }
        let item = self.value(schema.get("items").unwrap_or(&Value::Null))?;
        let more = most.map(|most| most.saturating_sub(1).to_string()).unwrap_or_default();
        let comma = quoted(self.notation.comma);
        let items = format!("{item} ({comma} {item}){{{},{more}}}", least.saturating_sub(1));
        Ok(self.rules.add_new(&match least {
            0 => format!("\"[\" ({items})? \"]\""),
            _ => format!("\"[\" {items} \"]\""),
        }))
    }
}

/// Writes a string as it is, and the mark that ends it.
pub(crate) fn raw(schema: &Value, end: &str, never: Vec<&str>, rules: &mut Rules<'_>) -> Result<String> {
    only(schema, &["type", "minLength", "maxLength", "pattern", "format"])?;
    let (conditions, may_be_empty) = strings::conditions(schema)?;
    Ok(rules.text(&Text { conditions, may_be_empty, never }, end))
}

/// A pattern or format that wants a character which JSON escapes is matched by no string here.
fn quoted_conditions(schema: &Value) -> Result<Vec<String>> {
    let ruled = schema.get("pattern").or(schema.get("format")).is_some();
    let (conditions, _) = strings::conditions(schema)?;
    if ruled {
        let plain = "[^\"\\\\\\x00-\\x1f\\x7f]*".to_owned();
        let all = conditions.into_iter().chain([plain]);
        return Ok(all.map(|condition| format!("\"(?:{condition})\"")).collect());
    }
    let count = |keyword: &str| schema.get(keyword).and_then(Value::as_u64);
    let most = count("maxLength").map(|most| most.to_string()).unwrap_or_default();
    Ok(vec![format!("\"(?:{JSON_CHARACTER}){{{},{most}}}\"", count("minLength").unwrap_or(0))])
}

/// Refuses a text in which a mark is spelled.
pub(crate) fn without(text: &str, marks: &[&str]) -> Result<()> {
    match marks.iter().find(|mark| text.contains(**mark)) {
        Some(mark) => Err(unsupported(&format!("{mark:?} in the value {text:?}"))),
        None => Ok(()),
    }
}

/// Splits a schema into those that it is any of: values by themselves, types by themselves, and what is referred to.
pub(crate) fn alternatives(root: &Value, schema: &Value) -> Result<Vec<Value>> {
    let mut found = Vec::new();
    collect(root, schema, REFERENCES, &mut found).map(|()| found)
}

fn collect(root: &Value, schema: &Value, depth: usize, found: &mut Vec<Value>) -> Result<()> {
    let listed = |keyword: &str| schema.get(keyword).and_then(Value::as_array);
    if depth == 0 {
        return Err(unsupported("a reference to itself"));
    }
    if let Some(name) = schema.get("$ref") {
        only(schema, &["$ref"])?;
        return collect(root, pointed_at(root, name.as_str().unwrap_or_default())?, depth - 1, found);
    }
    if let Some(schemas) = listed("anyOf") {
        only(schema, &["anyOf"])?;
        return schemas.iter().try_for_each(|schema| collect(root, schema, depth - 1, found));
    }
    if let Some(values) = listed("enum") {
        only(schema, &["enum", "type"])?;
        found.extend(values.iter().map(|value| json!({"const": value})));
    } else if let Some(value) = schema.get("const") {
        only(schema, &["const", "type"])?;
        found.push(json!({"const": value}));
    } else if let Some(names) = listed("type") {
        found.extend(names.iter().map(|name| with_type(schema, name)));
    } else {
        found.push(schema.clone());
    }
    Ok(())
}

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

/// Arguments are an object whatever a schema leaves open, and have no names that it does not know.
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

/// Leaves out what a schema says of values of other types.
pub(crate) fn concerning(name: &str, schema: &Value) -> Value {
    let mut fields = schema.as_object().cloned().unwrap_or_default();
    let others = OF_TYPES.iter().filter(|(types, _)| !types.contains(&name));
    for keyword in others.flat_map(|(_, keywords)| *keywords) {
        fields.shift_remove(*keyword);
    }
    fields.into()
}

/// Looks for keywords that would go unheeded.
pub(crate) fn only(schema: &Value, heeded: &[&str]) -> Result<()> {
    let keywords = schema.as_object().into_iter().flat_map(Map::keys);
    let mut unheeded =
        keywords.filter(|keyword| !heeded.contains(&keyword.as_str()) && !NOTES.contains(&keyword.as_str()));
    unheeded.next().map_or(Ok(()), |keyword| Err(unsupported(&format!("the keyword {keyword:?}"))))
}
