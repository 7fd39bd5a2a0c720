//! One held-out dialogue: what is asked, and what must hold of the reply. Runs no model.

use std::path::Path;

use alloquy_core::output::{OutputConstraints, ToolChoice};
use alloquy_core::tokenizer::TokenId;
use alloquy_core::{Preface, Request};
use alloquy_formats::messages::{self, Dialect, MediaRules};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::verdict::Check;

/// Reads a file of JSON lines.
pub(crate) fn lines<T: DeserializeOwned>(path: &Path) -> Vec<T> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What the trained model says to a dialogue, in 32-bit floats: a line of `goldens.jsonl`.
#[derive(Debug, Deserialize)]
pub(crate) struct Golden {
    pub(crate) id: String,
    pub(crate) tokens: Vec<TokenId>,
}

/// A line of `evaluation.jsonl`.
#[derive(Debug, Deserialize)]
pub(crate) struct Dialogue {
    pub(crate) id: String,
    pub(crate) skill: String,
    thinking: bool,
    request: Value,
    /// The prompt as Hugging Face's rendering makes it, of those that are compared.
    pub(crate) prompt: Option<String>,
    pub(crate) check: Check,
}

impl Dialogue {
    /// What the model is asked, its calls held to the tools that are offered, as the command line asks it.
    pub(crate) fn request(&self) -> Request {
        self.free_request().output(OutputConstraints::default().tool_choice(ToolChoice::Auto))
    }

    /// Whether it has to do with calls.
    pub(crate) fn calls(&self) -> bool {
        self.request.get("tools").is_some()
    }

    /// What the model is asked, and nothing checks what it calls.
    pub(crate) fn free_request(&self) -> Request {
        let transcript = messages::read(Dialect::OpenAi, &self.request, &MediaRules::default()).unwrap();
        let (preface, path) = transcript.into_preface();
        let preface: Preface = preface.extra("enable_thinking", self.thinking);
        Request::new(preface, path)
    }

    /// The last thing that was said.
    pub(crate) fn question(&self) -> &str {
        let messages = self.request["messages"].as_array().unwrap();
        messages.last().unwrap()["content"].as_str().unwrap()
    }
}
