//! Translates grammars to the notations that `llguidance` reads.

use alloquy_core::grammar::Grammar;
use alloquy_core::{Error, ErrorKind, Result};
use llguidance::api::{GrammarWithLexer, TopLevelGrammar};
use serde_json::{Value, json};

use crate::json_form::{JsonForm, JsonNumberRange, JsonSpacing};
use crate::{numbers, schema};

/// Translates a grammar.
pub(crate) fn of(grammar: &Grammar, json: JsonForm) -> Result<TopLevelGrammar> {
    let mut parts = Parts { json, grammars: Vec::new() };
    parts.add("start", grammar)?;
    Ok(TopLevelGrammar { grammars: parts.grammars, max_tokens: None })
}

fn invalid(message: &str) -> Error {
    Error::new(ErrorKind::Invalid, message)
}

/// Grammars that refer to each other by name. A reply starts in the first.
struct Parts {
    json: JsonForm,
    grammars: Vec<GrammarWithLexer>,
}

impl Parts {
    /// Adds a grammar and all that it refers to.
    fn add(&mut self, name: &str, grammar: &Grammar) -> Result<()> {
        // The place is taken before the grammar's parts are added, because the first grammar is the start.
        let place = self.grammars.len();
        self.grammars.push(GrammarWithLexer::default());
        let mut translated = match grammar {
            Grammar::JsonSchema(schema) => json_schema(schema, self.json)?,
            Grammar::Regex(pattern) => regex(pattern)?,
            Grammar::Lark(text) => GrammarWithLexer::from_lark(text.clone()),
            Grammar::Choice(texts) => choice(texts)?,
            Grammar::AnyOf(several) => self.any_of(name, several)?,
            Grammar::Composed { lark, parts } => {
                for (name, part) in parts {
                    self.add(name, part)?;
                }
                GrammarWithLexer::from_lark(lark.clone())
            }
            other => {
                let message = format!("the grammar {other:?} is of a kind that is not supported");
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
        };
        if self.grammars.iter().any(|known| known.name.as_deref() == Some(name)) {
            return Err(invalid(&format!("two parts of a grammar have the name {name:?}")));
        }
        translated.name = Some(name.to_owned());
        if let Some(slot) = self.grammars.get_mut(place) {
            *slot = translated;
        }
        Ok(())
    }

    fn any_of(&mut self, name: &str, several: &[Grammar]) -> Result<GrammarWithLexer> {
        if several.is_empty() {
            return Err(invalid("a choice among no grammars allows no reply"));
        }
        let mut names = Vec::new();
        for (number, part) in several.iter().enumerate() {
            let name = format!("{name}_{number}");
            self.add(&name, part)?;
            names.push(format!("@{name}"));
        }
        Ok(GrammarWithLexer::from_lark(format!("start: {}", names.join(" | "))))
    }
}

/// Checks a regular expression before it is part of a grammar, whose errors would name places in that grammar.
fn regex(pattern: &str) -> Result<GrammarWithLexer> {
    let Err(error) = regex_syntax::ParserBuilder::new().utf8(false).build().parse(pattern) else {
        return Ok(GrammarWithLexer::from_regex(pattern));
    };
    let (kind, what, place) = match &error {
        regex_syntax::Error::Parse(error) => {
            let is_look_around = matches!(error.kind(), regex_syntax::ast::ErrorKind::UnsupportedLookAround);
            let kind = if is_look_around { ErrorKind::Unsupported } else { ErrorKind::Invalid };
            (kind, error.kind().to_string(), error.span().start.offset)
        }
        regex_syntax::Error::Translate(error) => {
            (ErrorKind::Invalid, error.kind().to_string(), error.span().start.offset)
        }
        other => return Err(invalid(&format!("the regular expression {pattern:?} is not valid: {other}"))),
    };
    let before = pattern.get(..place).unwrap_or(pattern);
    let place = before.chars().count() + 1;
    Err(Error::new(
        kind,
        format!("the regular expression {pattern:?} is not valid at character {place}: {what}"),
    ))
}

fn json_schema(schema: &Value, form: JsonForm) -> Result<GrammarWithLexer> {
    schema::check(schema)?;
    let mut schema = match schema {
        Value::Bool(true) => json!({}),
        Value::Bool(false) => return Err(invalid("the schema `false` accepts no value")),
        schema => schema.clone(),
    };
    if form.numbers == JsonNumberRange::Short {
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
