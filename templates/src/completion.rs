//! The template for models without a chat template: the texts of the messages, one after the other.

use std::collections::BTreeMap;

use alloquy_core::media::Digest;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::template::{PromptTemplate, TemplateInput};
use alloquy_core::{Error, ErrorKind, Result};
use serde_json::Value;

use crate::files::TOKENIZER_CONFIG;

/// Tokenizer classes that begin a text with BOS unless `add_bos_token` is false.
///
/// Reference: the defaults of `add_bos_token` in transformers' tokenizers of these names.
const BEGIN_WITH_BOS: [&str; 6] = [
    "CodeLlamaTokenizer",
    "CodeLlamaTokenizerFast",
    "GemmaTokenizer",
    "GemmaTokenizerFast",
    "LlamaTokenizer",
    "LlamaTokenizerFast",
];

/// Prints BOS if the model uses one, then the texts of the messages.
///
/// It is for base models, which continue text. Roles and endings print nothing. Tools, documents, tool calls and media are
/// errors, because such a prompt has no place for them; [`CompletionTemplate::place`] sets one for media.
///
/// ```
/// use alloquy_core::template::{PromptTemplate, TemplateInput};
/// use alloquy_templates::CompletionTemplate;
/// use serde_json::json;
///
/// let template = CompletionTemplate::new("<s>");
/// let mut input = TemplateInput::default();
/// input.messages.push(json!({"role": "user", "content": "Once upon a time"}));
/// assert_eq!(template.render(&input)?, "<s>Once upon a time");
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompletionTemplate {
    prefix: String,
    /// The text that is printed for parts of each type.
    places: BTreeMap<String, String>,
}

impl CompletionTemplate {
    /// Creates a template that begins every prompt with `prefix`: the text of BOS, or nothing.
    pub fn new(prefix: impl Into<String>) -> Self {
        Self { prefix: prefix.into(), places: BTreeMap::new() }
    }

    /// Sets the text that is printed for parts of a type, such as `<image>` for `image`.
    ///
    /// ```
    /// use alloquy_core::template::{PromptTemplate, TemplateInput};
    /// use alloquy_templates::CompletionTemplate;
    /// use serde_json::json;
    ///
    /// let template = CompletionTemplate::new("<s>").place("image", "<image>");
    /// let content = json!([{"type": "image"}, {"type": "text", "text": " shows"}]);
    /// let mut input = TemplateInput::default();
    /// input.messages.push(json!({"role": "user", "content": content}));
    /// assert_eq!(template.render(&input)?, "<s><image> shows");
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    #[must_use]
    pub fn place(mut self, kind: impl Into<String>, text: impl Into<String>) -> Self {
        self.places.insert(kind.into(), text.into());
        self
    }

    fn printed(&self, message: &Value) -> Result<String> {
        let Some(Value::Array(parts)) = message.get("content").filter(|_| !self.places.is_empty()) else {
            return text_of(message);
        };
        let mut printed = String::new();
        for part in parts {
            match self.place_of(part) {
                Some(place) => printed.push_str(place),
                None => printed.push_str(part_text(part)?),
            }
        }
        Ok(printed)
    }

    fn place_of(&self, part: &Value) -> Option<&String> {
        self.places.get(part.get("type")?.as_str()?)
    }

    /// Creates the template for a model, with its BOS if texts begin with it.
    ///
    /// They do when `add_bos_token` of `tokenizer_config.json` is true, or, if that is not set, when `tokenizer_class` is one
    /// of Llama's or Gemma's.
    ///
    /// # Errors
    /// [`ErrorKind::Model`] when `tokenizer_config.json` is not JSON.
    pub fn of(model: &ModelInfo) -> Result<Self> {
        let config = model.json(TOKENIZER_CONFIG)?.unwrap_or_default();
        let prefix = model.bos.as_ref().filter(|_| begins_with_bos(&config));
        Ok(Self::new(prefix.map_or("", |bos| bos.text.as_str())))
    }
}

fn begins_with_bos(config: &Value) -> bool {
    let class = config.get("tokenizer_class").and_then(Value::as_str);
    match config.get("add_bos_token") {
        Some(Value::Bool(wanted)) => *wanted,
        _ => class.is_some_and(|class| BEGIN_WITH_BOS.contains(&class)),
    }
}

impl PromptTemplate for CompletionTemplate {
    fn render(&self, input: &TemplateInput) -> Result<String> {
        if has_any(input.tools.as_deref()) {
            return Err(unsupported("tools"));
        }
        if has_any(input.documents.as_deref()) {
            return Err(unsupported("documents"));
        }
        let mut prompt = self.prefix.clone();
        for message in &input.messages {
            prompt.push_str(&self.printed(message)?);
        }
        Ok(prompt)
    }

    fn digest(&self) -> Digest {
        let places: String = self.places.iter().map(|(kind, text)| format!("\0{kind}\0{text}")).collect();
        Digest::of(format!("completion\0{}{places}", self.prefix).as_bytes())
    }

    fn reads(&self, _: &TemplateInput, _: &str) -> bool {
        false
    }
}

/// Returns whether a list is set and not empty.
pub(crate) fn has_any(list: Option<&[Value]>) -> bool {
    list.is_some_and(|list| !list.is_empty())
}

/// Returns the text of a message: its content, or the text parts of its content one after the other.
pub(crate) fn text_of(message: &Value) -> Result<String> {
    if message.get("tool_calls").and_then(Value::as_array).is_some_and(|calls| !calls.is_empty()) {
        return Err(unsupported("tool calls"));
    }
    match message.get("content") {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Array(parts)) => parts.iter().map(part_text).collect(),
        Some(other) => Err(Error::new(
            ErrorKind::Invalid,
            format!("content {other} is neither a text nor a list of parts"),
        )),
    }
}

fn part_text(part: &Value) -> Result<&str> {
    match (part.get("text").and_then(Value::as_str), part.get("type").and_then(Value::as_str)) {
        (Some(text), None | Some("text")) => Ok(text),
        (_, kind) => Err(unsupported(&format!("parts of type {:?}", kind.unwrap_or("unknown")))),
    }
}

fn unsupported(what: &str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("a plain text prompt has no place for {what}"))
}
