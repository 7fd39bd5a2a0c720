//! Reads the JSON Schema of an answer: a file, JSON, or the short form `name, age int, tags list`.

use std::path::Path;

use alloquy::core::{Error, ErrorKind, Result};
use serde_json::{Map, Value, json};

use crate::file;

/// The types of the short form, and their names in JSON Schema.
const TYPES: [(&str, &str); 4] =
    [("str", "string"), ("int", "integer"), ("float", "number"), ("bool", "boolean")];

/// How the short form is written, for errors.
const SHORT: &str = "\"name, age int, tags list\"";

/// Reads a schema: JSON begins with a brace, an existing file comes first, and the short form has several words.
pub(crate) fn read(text: &str) -> Result<Value> {
    if text.trim_start().starts_with('{') {
        return parse(text, "the JSON Schema");
    }
    let path = Path::new(text);
    let is_short = text.contains(|character: char| character.is_whitespace() || character == ',');
    if path.exists() || !is_short {
        return of_file(path);
    }
    short(text)
}

fn parse(text: &str, what: &str) -> Result<Value> {
    serde_json::from_str(text).map_err(|source| {
        Error::new(ErrorKind::Invalid, format!("{what} is not valid JSON")).with_source(source)
    })
}

fn of_file(path: &Path) -> Result<Value> {
    let text = file::text(path).map_err(|source| {
        if source.kind() != std::io::ErrorKind::NotFound {
            return Error::new(ErrorKind::Invalid, format!("file {path:?} cannot be read"))
                .with_source(source);
        }
        let message = format!(
            "file {path:?} does not exist: --json-schema takes a file, JSON in braces, or a list of fields such as {SHORT}"
        );
        Error::new(ErrorKind::NotFound, message)
    })?;
    parse(&text, &format!("JSON Schema {path:?}"))
}

/// A word of the short form, and the place of its first character, counted from 1.
#[derive(Clone, Copy, Debug)]
struct Word<'a> {
    text: &'a str,
    place: usize,
}

/// Reads the short form: a field in each part between commas, or in each line. A colon begins its description.
fn short(text: &str) -> Result<Value> {
    let separator = if text.contains('\n') { '\n' } else { ',' };
    let mut properties = Map::new();
    let mut place = 1;
    for part in text.split(separator) {
        let (definition, description) = part.split_once(':').unwrap_or((part, ""));
        let words = words(definition, place);
        place += part.chars().count() + 1;
        let Some((name, rest)) = words.split_first() else {
            // An empty line, or a comma at the end.
            if separator == '\n' || (part.trim().is_empty() && place > text.chars().count() + 1) {
                continue;
            }
            return Err(wrong(text, &format!("a field is missing at character {}", place - 1)));
        };
        let mut schema = field(text, rest)?;
        if !description.trim().is_empty() {
            schema.insert("description".to_owned(), description.trim().into());
        }
        if properties.insert(checked(text, *name)?, Value::Object(schema)).is_some() {
            let Word { text: name, place } = *name;
            return Err(wrong(text, &format!("{name:?} at character {place} is there already")));
        }
    }
    if properties.is_empty() {
        return Err(wrong(text, "it has no field"));
    }
    let names: Vec<_> = properties.keys().cloned().collect();
    Ok(json!({"type": "object", "properties": properties, "required": names, "additionalProperties": false}))
}

/// Cuts a text that begins at a place into words.
fn words(text: &str, begin: usize) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut place = begin;
    for word in text.split(char::is_whitespace) {
        if !word.is_empty() {
            words.push(Word { text: word, place });
        }
        place += word.chars().count() + 1;
    }
    words
}

fn checked(text: &str, name: Word<'_>) -> Result<String> {
    let Word { text: name, place } = name;
    if name.chars().all(|character| character.is_alphanumeric() || ['_', '-'].contains(&character)) {
        return Ok(name.to_owned());
    }
    Err(wrong(text, &format!("{name:?} at character {place} is not a name of letters, digits, _ and -")))
}

/// Returns the schema of a field whose type is the words after its name; without any it is a text.
fn field(text: &str, words: &[Word<'_>]) -> Result<Map<String, Value>> {
    let Some((kind, rest)) = words.split_first() else { return Ok(simple("string")) };
    if let Some(Word { text: word, place }) = rest.first() {
        return Err(wrong(
            text,
            &format!(
                "{word:?} at character {place} follows a type: a comma separates fields, and a colon begins a description"
            ),
        ));
    }
    if let Some(name) = json_name(kind.text) {
        return Ok(simple(name));
    }
    let items = match kind.text.strip_prefix("list") {
        Some("") => Some("string"),
        Some(rest) => rest.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).and_then(json_name),
        None => None,
    };
    let Some(items) = items else {
        let Word { text: word, place } = kind;
        let known = TYPES.map(|(name, _)| name).join(", ");
        return Err(wrong(
            text,
            &format!("unknown type {word:?} at character {place}, one of: {known}, list, list[int]"),
        ));
    };
    let mut schema = simple("array");
    schema.insert("items".to_owned(), Value::Object(simple(items)));
    Ok(schema)
}

fn json_name(name: &str) -> Option<&'static str> {
    TYPES.iter().find(|(short, _)| *short == name).map(|(_, json)| *json)
}

fn simple(name: &str) -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), name.into())])
}

fn wrong(text: &str, what: &str) -> Error {
    Error::new(ErrorKind::Invalid, format!("--json-schema {text:?}: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_form_is_a_schema_of_required_fields() {
        let schema = read("name, age int, tags list, scores list[float]: from 0 to 1").unwrap();
        let fields = json!({
            "name": {"type": "string"},
            "age": {"type": "integer"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "scores": {"type": "array", "items": {"type": "number"}, "description": "from 0 to 1"},
        });
        assert_eq!(schema["properties"], fields);
        assert_eq!(schema["required"], json!(["name", "age", "tags", "scores"]));
        let lines = read("name: first, then last\nis_adult bool\n").unwrap();
        assert_eq!(lines["properties"]["name"]["description"], "first, then last");
        assert_eq!(lines["properties"]["is_adult"], json!({"type": "boolean"}));
        assert_eq!(read("age int,").unwrap()["required"], json!(["age"]));
    }

    #[test]
    fn json_is_read_as_it_is() {
        assert_eq!(read(" {\"type\": \"integer\"}").unwrap(), json!({"type": "integer"}));
    }

    #[test]
    fn an_error_has_the_place() {
        let errors = [
            "name, age itn",
            "name, é x, age int years",
            "name,, age",
            "na/me, age",
            "name, name int",
            ", ",
            "x list[list]",
            "person.json",
            "{\"type\": }",
        ]
        .map(|text| crate::failure::one_line(&read(text).unwrap_err()));
        insta::assert_snapshot!(errors.join("\n"));
    }
}
