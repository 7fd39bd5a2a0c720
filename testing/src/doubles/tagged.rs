//! The simplest template and processor: `<role>text<end>`.

use alloquy_core::media::Digest;
use alloquy_core::message::ToolCall;
use alloquy_core::processor::{DataProcessor, ProcessorInput, PromptPart, ReplyParser};
use alloquy_core::template::{PromptEnd, PromptTemplate, TemplateInput};
use alloquy_core::{Content, Delta, Message, Result, Role};
use serde_json::{Value, json};

/// Renders each message as `<role>text<end>`, and the header of an answer as `<assistant>`.
///
/// ```
/// use alloquy_core::template::{PromptTemplate, TemplateInput};
/// use alloquy_testing::TaggedTemplate;
/// use serde_json::json;
///
/// let messages = vec![json!({"role": "user", "content": "Hi"})];
/// let input = TemplateInput { messages, ..TemplateInput::default() };
/// assert_eq!(TaggedTemplate.render(&input)?, "<user>Hi<end><assistant>");
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct TaggedTemplate;

impl PromptTemplate for TaggedTemplate {
    fn render(&self, input: &TemplateInput) -> Result<String> {
        let mut text = String::new();
        for message in &input.messages {
            text += &format!("<{}>{}<end>", field(message, "role"), field(message, "content"));
        }
        match input.ending {
            PromptEnd::Generation => text += "<assistant>",
            PromptEnd::Closed => {}
            PromptEnd::Continuation => text.truncate(text.len().saturating_sub("<end>".len())),
        }
        Ok(text)
    }

    fn digest(&self) -> Digest {
        Digest::of(b"<role>text<end>")
    }
}

fn field<'a>(message: &'a Value, name: &str) -> &'a str {
    message.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Parses replies as text. A reply `call:NAME ARGUMENTS` is a tool call, and each further line is another one.
///
/// The template gets media as `<media>`, before the text of their message. Control tokens in the texts of users are not
/// protected, unlike in the processors of real families.
#[derive(Clone, Copy, Debug, Default)]
pub struct TaggedProcessor;

impl DataProcessor for TaggedProcessor {
    fn name(&self) -> &str {
        "tagged"
    }

    fn template_input(&self, source: ProcessorInput<'_>) -> Result<TemplateInput> {
        let messages = source.preface.messages.iter().chain(source.path);
        Ok(TemplateInput {
            messages: messages.map(template_message).collect(),
            ending: source.ending,
            extra: source.arguments.variables(),
            ..TemplateInput::default()
        })
    }

    fn prompt_parts(&self, rendered: &str, source: ProcessorInput<'_>) -> Result<Vec<PromptPart>> {
        let messages = source.preface.messages.iter().chain(source.path);
        let mut media = messages.flat_map(|message| &message.parts).filter_map(|part| part.content.shown());
        let mut parts = Vec::new();
        for (index, text) in rendered.split(MEDIA).enumerate() {
            if index > 0 {
                parts.extend(media.next().map(PromptPart::Media));
            }
            parts.push(PromptPart::Text(text.to_owned()));
        }
        Ok(parts)
    }

    fn reply_parser(&self, _: &str, _: ProcessorInput<'_>) -> Box<dyn ReplyParser> {
        Box::<TaggedParser>::default()
    }

    fn stop_strings(&self) -> Vec<String> {
        Vec::new()
    }
}

fn template_message(message: &Message) -> Value {
    let mut content = String::new();
    for part in &message.parts {
        if part.content.media_kind().is_some() {
            content += MEDIA;
        }
    }
    content += &message.text();
    for result in message.tool_results() {
        content += &result.text();
    }
    for call in message.tool_calls() {
        content += &format!("call:{} {}", call.name, call.arguments);
    }
    json!({"role": message.role.as_str(), "content": content})
}

/// The placeholder of media.
const MEDIA: &str = "<media>";

#[derive(Debug, Default)]
struct TaggedParser {
    text: String,
}

impl ReplyParser for TaggedParser {
    fn push(&mut self, text: &str) -> Vec<Delta> {
        self.text += text;
        // The first five characters decide whether a reply is a call, so they are held back.
        if self.text.starts_with("call:") || "call:".starts_with(&self.text) {
            return Vec::new();
        }
        // After `cal` and `m` all of `calm` is a delta, because `cal` was held back.
        let before = self.text.strip_suffix(text).unwrap_or_default();
        if "call:".starts_with(before) {
            vec![Delta::Text(self.text.clone())]
        } else {
            vec![Delta::Text(text.to_owned())]
        }
    }

    fn finish(self: Box<Self>) -> (Vec<Delta>, Message) {
        if self.text.starts_with("call:") {
            let calls: Vec<_> =
                self.text.lines().enumerate().map(|(index, line)| call(index, line)).collect();
            let parts = calls.iter().cloned().map(Content::ToolCall).collect();
            let message = Message::new(Role::Assistant, parts);
            return (calls.into_iter().map(Delta::ToolCall).collect(), message);
        }
        let mut rest = Vec::new();
        if !self.text.is_empty() && "call:".starts_with(&self.text) {
            rest.push(Delta::Text(self.text.clone()));
        }
        (rest, Message::assistant(self.text))
    }
}

fn call(index: usize, line: &str) -> ToolCall {
    let line = line.strip_prefix("call:").unwrap_or(line);
    let (name, arguments) = line.split_once(' ').unwrap_or((line, "{}"));
    let arguments = serde_json::from_str(arguments).unwrap_or(Value::String(arguments.to_owned()));
    ToolCall::new(format!("call_{index}"), name, arguments)
}
