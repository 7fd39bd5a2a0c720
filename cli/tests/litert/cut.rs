//! A rendered prompt, cut into text and media.

use alloquy_core::{Ending, ErrorKind, Message, Preface, PromptPart};
use serde_json::{Value, json};

use crate::families::{self, Family, source};
use crate::outcome::{self, Outcome};
use crate::row::Row;
use crate::{messages, templates};

/// The prompt of a row, printed by a template or given.
pub(crate) fn input_data(row: &Row) -> Outcome {
    input_data_of(row).unwrap_or_else(Outcome::Skipped)
}

fn input_data_of(row: &Row) -> Result<Outcome, String> {
    let kind = row.input["processor"]["type"].as_str().unwrap_or_default();
    let Some(render) = row.input.get("render") else {
        let rendered = row.input["rendered_prompt"].as_str().unwrap_or_default();
        return Ok(cut(row, &families::named(kind)?, rendered));
    };
    let template = templates::source(row, &render["template"])?;
    let family = families::with_template(kind, &template)?;
    Ok(match templates::render_with(&family, template, render) {
        Ok(rendered) => cut(row, &family, &rendered),
        Err(error) => refusal(row, &error),
    })
}

/// A prompt with placeholders of the row's own making: no family has these.
pub(crate) fn multimodal(row: &Row) -> Outcome {
    let config = row.input["config"].as_object();
    if config.is_some_and(|config| !config.is_empty()) {
        return Outcome::skipped(
            "configures placeholders; a family's are its own, and user text is never one",
        );
    }
    let family = families::named("generic").unwrap();
    cut(row, &family, row.input["rendered_prompt"].as_str().unwrap_or_default())
}

fn cut(row: &Row, family: &Family, rendered: &str) -> Outcome {
    let path = match messages::read(&row.input["messages"]) {
        Ok(path) => path,
        Err(error) => return refusal(row, &error),
    };
    // Rows say what is prefilled; the path that a prompt stands for holds nothing that it would have to print.
    let media: Vec<Message> = path.into_iter().filter(|message| message.media().next().is_some()).collect();
    match family.prompt_parts(rendered, source(&Preface::default(), &media, Ending::Closed)) {
        Ok(parts) => Outcome::compared(row.expected.clone(), written(&parts)),
        Err(error) if error.kind() == ErrorKind::Unsupported => Outcome::skipped(error.to_string()),
        Err(error) => refusal(row, &error),
    }
}

fn refusal(row: &Row, error: &alloquy_core::Error) -> Outcome {
    match error.kind() {
        ErrorKind::Unsupported => Outcome::skipped(error.to_string()),
        _ => Outcome::compared(row.expected.clone(), outcome::error(error)),
    }
}

fn written(parts: &[PromptPart]) -> Value {
    let mut written: Vec<Value> = Vec::new();
    for part in parts {
        match (part, written.last_mut().and_then(|last| last.get_mut("text"))) {
            (PromptPart::Text(text) | PromptPart::Literal(text), Some(Value::String(before))) => {
                before.push_str(text);
            }
            (PromptPart::Text(text) | PromptPart::Literal(text), _) => {
                written.push(json!({"type": "text", "text": text}));
            }
            (PromptPart::Media(media), _) => {
                let kind = media.media_type().split('/').next().unwrap_or_default();
                written.push(json!({"type": kind}));
            }
            (other, _) => written.push(json!({"type": format!("{other:?}")})),
        }
    }
    written.into()
}
