//! Messages through a template, as LiteRT-LM's environment prints them.

use std::fs;

use alloquy_core::template::{PromptEnd, PromptTemplate, TemplateInput};
use alloquy_core::{Preface, Result};
use alloquy_templates::{Dialect, JinjaTemplate, NowSource, Polyfill};
use serde_json::{Value, json};

use crate::families::{self, Family};
use crate::messages;
use crate::outcome::{self, Outcome};
use crate::row::Row;

/// The source of a row's template: inline, or a file beside the rows.
pub(crate) fn source(row: &Row, template: &Value) -> std::result::Result<String, String> {
    if let Some(source) = template["source"].as_str() {
        return Ok(source.to_owned());
    }
    let file = template["file"].as_str().ok_or("has no template")?;
    fs::read_to_string(row.place.folder.join(file))
        .map_err(|_| format!("the template {file} is not among the cases"))
}

/// The template at the moment of the row, in LiteRT-LM's dialect.
pub(crate) fn template(source: String, given: &Value) -> Result<JinjaTemplate> {
    let seconds = given["now_unix"].as_i64().unwrap_or(0);
    let now = jiff::Timestamp::from_second(seconds).unwrap().to_zoned(jiff::tz::TimeZone::UTC).datetime();
    let variables = json!({"bos_token": "", "eos_token": ""}).as_object().unwrap().clone();
    let builder = JinjaTemplate::builder(source).variables(variables).clock(NowSource::Fixed(now));
    builder.dialect(Dialect::LiteRtLm).polyfill(Polyfill::LeaveOut).build()
}

pub(crate) fn render(row: &Row) -> Outcome {
    let source = match source(row, &row.input["template"]) {
        Ok(source) => source,
        Err(reason) => return Outcome::Skipped(reason),
    };
    let rendered = match row.input.get("processor") {
        None => template(source, &row.input).and_then(|template| template.render(&plain_input(&row.input))),
        Some(processor) => {
            match families::with_template(processor["type"].as_str().unwrap_or_default(), &source) {
                Ok(family) => render_with(&family, source, &row.input),
                Err(reason) => return Outcome::Skipped(reason),
            }
        }
    };
    compare(&row.expected, rendered)
}

fn compare(expected: &Value, rendered: Result<String>) -> Outcome {
    match (expected, rendered) {
        (Value::String(text), Ok(found)) => Outcome::compared(text.as_str(), found),
        (expected, Ok(found)) => Outcome::compared(expected.clone(), json!({"ok": found})),
        (expected, Err(error)) => match expected["error_contains"].as_str() {
            Some(words) => Outcome::compared(json!({"contains": words}), error.to_string()),
            None => Outcome::compared(expected.clone(), outcome::error(&error)),
        },
    }
}

/// The row's messages as they stand.
fn plain_input(given: &Value) -> TemplateInput {
    TemplateInput {
        messages: given["messages"].as_array().cloned().unwrap_or_default(),
        tools: given["tools"].as_array().cloned(),
        ending: ending(given),
        extra: given["extra_context"].as_object().cloned().unwrap_or_default(),
        ..TemplateInput::default()
    }
}

fn ending(given: &Value) -> PromptEnd {
    if given["add_generation_prompt"] == true { PromptEnd::Generation } else { PromptEnd::Closed }
}

/// The row's messages and tools as a family gives them to its templates, and back without the family's marks.
pub(crate) fn render_with(family: &Family, source: String, given: &Value) -> Result<String> {
    let path = messages::read(&given["messages"])?;
    let tools = if given["tools"].is_null() { Vec::new() } else { messages::tools(&given["tools"])? };
    let extra = given["extra_context"].as_object().cloned().unwrap_or_default();
    let preface = messages::with_extra(Preface { tools, ..Preface::default() }, extra);
    let input = family.template_input(families::source(&preface, &path, ending(given)))?;
    template(source, given)?.render(&input)
}

/// What one turn prints is what the next begins with.
pub(crate) fn prefix_stability(row: &Row) -> Outcome {
    let source = match source(row, &row.input["template"]) {
        Ok(source) => source,
        Err(reason) => return Outcome::Skipped(reason),
    };
    let turn = |name: &str| {
        let mut given = row.input.clone();
        given.as_object_mut().unwrap().extend(row.input[name].as_object().unwrap().clone());
        template(source.clone(), &given)?.render(&plain_input(&given))
    };
    let (old, new) = match (turn("old"), turn("new")) {
        (Ok(old), Ok(new)) => (old, new),
        (Err(error), _) | (_, Err(error)) => {
            return Outcome::compared(row.expected.clone(), outcome::error(&error));
        }
    };
    let found = json!({"new_starts_with_old": new.starts_with(&old)});
    Outcome::compared(row.expected.clone(), found)
}

pub(crate) fn capabilities(row: &Row) -> Outcome {
    let source = match source(row, &row.input["template"]) {
        Ok(source) => source,
        Err(reason) => return Outcome::Skipped(reason),
    };
    let template = match template(source, &row.input) {
        Ok(template) => template,
        Err(error) => return Outcome::compared(row.expected.clone(), outcome::error(&error)),
    };
    let known = template.capabilities();
    let found = json!({"requires_typed_content": known.list_content && !known.string_content});
    Outcome::compared(row.expected.clone(), found)
}
