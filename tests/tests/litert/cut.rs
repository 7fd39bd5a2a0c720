//! A rendered prompt, cut into text and media.

use alloquy_core::processor::PromptPart;
use alloquy_core::template::PromptEnd;
use alloquy_core::{ErrorKind, Message, Preface};
use serde_json::{Value, json};

use crate::families::{self, Family, source};
use crate::outcome::{self, Outcome};
use crate::row::Row;
use crate::{messages, templates};

/// Why rows with placeholders of their own are not compared.
const CONFIGURED: &str = "configures placeholders; a family's are its own, and user text is never one";

/// The prompt of a row, printed by a template or given.
pub(crate) fn input_data(row: &Row) -> Outcome {
    input_data_of(row).unwrap_or_else(Outcome::Skipped)
}

fn input_data_of(row: &Row) -> Result<Outcome, String> {
    if row.input["processor"]["config"].pointer("/multimodal/processing_config").is_some() {
        return Err(CONFIGURED.to_owned());
    }
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
        return Outcome::skipped(CONFIGURED);
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
    match family.prompt_parts(rendered, source(&Preface::default(), &media, PromptEnd::Closed)) {
        Ok(parts) if media.is_empty() => Outcome::compared(row.expected.clone(), written(&parts)),
        Ok(parts) => Outcome::compared(places(&row.expected), written(&parts)),
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

/// Where media stand in an expected prompt, and nothing of what stands around each: here that comes with the media's tensors,
/// which `cargo xtask conformance media` compares with Hugging Face's.
fn places(expected: &Value) -> Value {
    const BEFORE: [&str; 4] = ["\n\n<start_of_image>", "\n\n<start_of_audio>", "<|image>", "<|audio>"];
    let mut places: Vec<Value> = Vec::new();
    for part in expected.as_array().into_iter().flatten() {
        let behind_media = places.last().is_some_and(|last| last["type"] != "text");
        match (part["type"].as_str().unwrap_or_default(), part["text"].as_str()) {
            ("text", Some("\n\n")) if behind_media => {}
            ("text", Some(text)) => {
                let text = BEFORE.iter().find_map(|before| text.strip_suffix(before)).unwrap_or(text);
                places.push(json!({"type": "text", "text": text}));
            }
            ("image_end" | "audio_end", _) => {}
            (kind, _) => places.push(json!({"type": kind})),
        }
    }
    places.into()
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
