//! The files of a folder of cases, and how a case becomes a template and its input.

use std::path::Path;

use alloquy_core::Result;
use alloquy_core::template::{PromptEnd, TemplateInput};
use alloquy_templates::{JinjaTemplate, JinjaTemplateBuilder, NowSource, Polyfill};
use serde_json::{Map, Value};

/// Reads a file of the folder, or says that it is not there.
pub(crate) fn json(folder: &Path, file: &str) -> Option<Value> {
    let path = folder.join(file);
    if !path.exists() {
        println!("there is no {file} in {}", folder.display());
        return None;
    }
    Some(serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap())
}

/// A template of `index.json`, with its special tokens.
pub(crate) fn template(folder: &Path, entry: &Value) -> JinjaTemplateBuilder {
    let source = std::fs::read_to_string(folder.join(entry["file"].as_str().unwrap())).unwrap();
    let mut variables = Map::new();
    for (name, default) in [("bos_token", "<s>"), ("eos_token", "</s>")] {
        variables.insert(name.to_owned(), Value::from(entry[name].as_str().unwrap_or(default)));
    }
    builder(&source).variables(variables)
}

/// A template at the moment at which the cases were made, silent where Hugging Face is.
pub(crate) fn builder(source: &str) -> JinjaTemplateBuilder {
    let now = jiff::civil::date(2026, 3, 4).at(15, 6, 7, 0);
    JinjaTemplate::builder(source).clock(NowSource::Fixed(now)).polyfill(Polyfill::LeaveOut)
}

/// A conversation of `golden.json`.
pub(crate) fn input(conversation: &Value) -> TemplateInput {
    TemplateInput {
        messages: conversation["messages"].as_array().unwrap().clone(),
        tools: conversation["tools"].as_array().cloned(),
        documents: conversation["documents"].as_array().cloned(),
        ending: match (&conversation["continue_final_message"], &conversation["add_generation_prompt"]) {
            (Value::Bool(true), _) => PromptEnd::Continuation,
            (_, Value::Bool(true)) => PromptEnd::Generation,
            _ => PromptEnd::Closed,
        },
        extra: conversation["kwargs"].as_object().cloned().unwrap_or_default(),
    }
}

/// What a case says should come out.
#[derive(Debug)]
pub(crate) enum Expected<'a> {
    Text(&'a str),
    /// The SHA-256 of the text, in hexadecimal digits.
    Digest(&'a str),
    /// A refusal by `raise_exception`, in these words.
    Refusal(&'a str),
    /// Any other error.
    Error(&'a str),
}

impl<'a> Expected<'a> {
    pub(crate) fn read(case: &'a Value) -> Option<Self> {
        let text = |name: &str| case.get(name).and_then(Value::as_str);
        match (text("ok"), text("ok_sha256"), text("err")) {
            (Some(ok), _, _) => Some(Self::Text(ok)),
            (None, Some(digest), _) => Some(Self::Digest(digest)),
            (None, None, Some("TemplateError")) => Some(Self::Refusal(text("msg").unwrap_or_default())),
            (None, None, Some(error)) => Some(Self::Error(error)),
            (None, None, None) => None,
        }
    }

    /// Compares; the error says what differs.
    pub(crate) fn compare(&self, found: &Result<String>) -> std::result::Result<(), String> {
        match (self, found) {
            (Self::Text(expected), Ok(found)) if expected == found => Ok(()),
            (Self::Text(expected), Ok(found)) => Err(difference(expected, found)),
            (Self::Digest(expected), Ok(found)) if digest(found) == expected.to_lowercase() => Ok(()),
            (Self::Digest(expected), Ok(found)) => {
                Err(format!("digest {} and not {expected} of {found:?}", digest(found)))
            }
            (Self::Text(_) | Self::Digest(_), Err(error)) => Err(format!("hard error: {error}")),
            (Self::Refusal(words), Err(error)) if error.to_string() == *words => Ok(()),
            (Self::Error(_), Err(_)) => Ok(()),
            (Self::Refusal(words), found) => Err(format!("{found:?} and not the refusal {words:?}")),
            (Self::Error(error), Ok(found)) => Err(format!("{found:?} and not {error}")),
        }
    }
}

fn digest(text: &str) -> String {
    use sha2::{Digest, Sha256};
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The first difference of two texts, with what stands around it.
fn difference(expected: &str, found: &str) -> String {
    let mut pairs = expected.char_indices().zip(found.chars());
    let start =
        pairs.find(|((_, a), b)| a != b).map_or(expected.len().min(found.len()), |((start, _), _)| start);
    let around = |text: &str| {
        let before: String = text[..start].chars().rev().take(30).collect();
        let before: String = before.chars().rev().collect();
        let after: String = text[start..].chars().take(60).collect();
        format!("{:?}", before + "⟨here⟩" + &after)
    };
    format!("at byte {start}\n      expected {}\n      found    {}", around(expected), around(found))
}
