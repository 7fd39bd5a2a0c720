//! The template of models without one: the texts of the messages, one after the other.

use std::collections::BTreeMap;

use alloquy_core::media::Digest;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::template::{PromptTemplate, TemplateInput};
use alloquy_core::{Error, ErrorKind, Result};
use serde_json::Value;

use crate::files::TOKENIZER_CONFIG;

/// Tokenizer classes that begin a text with BOS unless told otherwise.
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

/// Prints BOS where the model wants one, then the messages' texts, and nothing else.
///
/// For models that continue text and were never taught to converse. Roles and endings print nothing; tools,
/// documents, tool calls and media are errors, because such a prompt has no place for them; [`CompletionTemplate::place`]
/// gives media one.
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
    /// What is printed for parts of a type.
    places: BTreeMap<String, String>,
}

impl CompletionTemplate {
    /// Creates a template that begins every prompt with `prefix`: the text of BOS, or nothing.
    pub fn new(prefix: impl Into<String>) -> Self {
        Self { prefix: prefix.into(), places: BTreeMap::new() }
    }

    /// Sets what is printed where a part of a type stands, such as `<image>` for `image`.
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
        let place = |part: &Value| self.places.get(part.get("type")?.as_str()?).cloned();
        parts.iter().map(|part| place(part).map_or_else(|| part_text(part).map(str::to_owned), Ok)).collect()
    }

    /// Creates the template for a model: with its BOS if it has one and begins texts with it.
    ///
    /// It does so when `add_bos_token` of `tokenizer_config.json` says so, or, where that is silent, when
    /// `tokenizer_class` is one of Llama's or Gemma's.
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
        let has_any = |list: &Option<Vec<Value>>| list.as_ref().is_some_and(|list| !list.is_empty());
        if has_any(&input.tools) {
            return Err(unsupported("tools"));
        }
        if has_any(&input.documents) {
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

/// The text of a message: its content, or its content's text parts one after the other.
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
