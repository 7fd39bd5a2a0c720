//! Grammars as `llguidance` reads them. Knows notations, not vocabularies.

use alloquy_core::{Error, ErrorKind, Grammar, Result};
use llguidance::api::{GrammarWithLexer, TopLevelGrammar};
use serde_json::{Value, json};

use crate::llguidance::{JsonForm, JsonNumbers, JsonSpacing};
use crate::{numbers, schema};

/// Translates a grammar.
pub(crate) fn of(grammar: &Grammar, json: JsonForm) -> Result<TopLevelGrammar> {
    let mut parts = Vec::new();
    flatten(grammar, json, &mut parts)?;
    match parts.len() {
        0 => Err(invalid("a choice among no grammars allows no reply")),
        1 => Ok(TopLevelGrammar { grammars: parts, max_tokens: None }),
        _ => Ok(any_of(parts)),
    }
}

fn invalid(message: &str) -> Error {
    Error::new(ErrorKind::Invalid, message)
}

/// Puts a grammar in front that refers to each of the others by name.
fn any_of(mut parts: Vec<GrammarWithLexer>) -> TopLevelGrammar {
    let mut names = Vec::new();
    for (number, part) in parts.iter_mut().enumerate() {
        part.name = Some(format!("part{number}"));
        names.push(format!("@part{number}"));
    }
    let start = GrammarWithLexer::from_lark(format!("start: {}", names.join(" | ")));
    parts.insert(0, start);
    TopLevelGrammar { grammars: parts, max_tokens: None }
}

fn flatten(grammar: &Grammar, json: JsonForm, parts: &mut Vec<GrammarWithLexer>) -> Result<()> {
    parts.push(match grammar {
        Grammar::AnyOf(several) => {
            return several.iter().try_for_each(|grammar| flatten(grammar, json, parts));
        }
        Grammar::JsonSchema(schema) => json_schema(schema, json)?,
        Grammar::Regex(pattern) => GrammarWithLexer::from_regex(pattern),
        Grammar::Lark(text) => GrammarWithLexer::from_lark(text.clone()),
        Grammar::Choice(texts) => choice(texts)?,
        other => {
            let message = format!("the grammar {other:?} is of a kind that is not supported");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
    });
    Ok(())
}

fn json_schema(schema: &Value, form: JsonForm) -> Result<GrammarWithLexer> {
    schema::check(schema)?;
    let mut schema = match schema {
        Value::Bool(true) => json!({}),
        Value::Bool(false) => return Err(invalid("the schema `false` accepts no value")),
        schema => schema.clone(),
    };
    if form.numbers == JsonNumbers::Short {
        numbers::bound(&mut schema);
    }
    let options = match form.spacing {
        JsonSpacing::Tight => {
            json!({"whitespace_flexible": false, "item_separator": ",[ ]?", "key_separator": ":[ ]?"})
        }
        JsonSpacing::Free => json!({"whitespace_flexible": true}),
    };
    if let Some(fields) = schema.as_object_mut() {
        fields.insert(schema::OPTIONS.to_owned(), options);
    }
    Ok(GrammarWithLexer::from_json_schema(schema))
}

fn choice(texts: &[String]) -> Result<GrammarWithLexer> {
    if texts.is_empty() {
        return Err(invalid("a choice among no texts allows no reply"));
    }
    // Lark writes strings as JSON does.
    let texts: Vec<_> = texts.iter().map(|text| Value::from(text.as_str()).to_string()).collect();
    Ok(GrammarWithLexer::from_lark(format!("start: {}", texts.join(" | "))))
}
