//! The plainest template and processor: `<role>text<end>`.

use alloquy_core::media::Digest;
use alloquy_core::message::ToolCall;
use alloquy_core::processor::{DataProcessor, PromptPart, PromptSource, ReplyParser};
use alloquy_core::template::{Ending, PromptTemplate, TemplateInput};
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
        let field = |message: &Value, name: &str| {
            message.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let tagged =
            |message: &Value| format!("<{}>{}<end>", field(message, "role"), field(message, "content"));
        let mut text: String = input.messages.iter().map(tagged).collect();
        match input.ending {
            Ending::Answer => text += "<assistant>",
            Ending::Closed => {}
            Ending::Continue => text.truncate(text.len().saturating_sub("<end>".len())),
        }
        Ok(text)
    }

    fn digest(&self) -> Digest {
        Digest::of(b"<role>text<end>")
    }
}

/// Reads replies as text; a reply `call:NAME ARGUMENTS` is a tool call, and so is each line that follows it.
///
/// Media stand as `<media>` in what the template is given, before the text of their message. It does not protect control
/// tokens in users' texts: that is the business of the real processors.
#[derive(Clone, Copy, Debug, Default)]
pub struct TaggedProcessor;

impl DataProcessor for TaggedProcessor {
    fn name(&self) -> &str {
        "tagged"
    }

    fn template_input(&self, source: PromptSource<'_>) -> Result<TemplateInput> {
        let messages = source.preface.messages.iter().chain(source.path);
        Ok(TemplateInput {
            messages: messages.map(template_message).collect(),
            ending: source.ending,
            extra: source.arguments.variables(),
            ..TemplateInput::default()
        })
    }

    fn prompt_parts(&self, rendered: &str, source: PromptSource<'_>) -> Result<Vec<PromptPart>> {
        let messages = source.preface.messages.iter().chain(source.path);
        let mut media = messages.flat_map(|message| &message.parts).filter_map(|part| part.content.shown());
        let mut parts = Vec::new();
        for (index, text) in rendered.split(MEDIA).enumerate() {
            parts.extend((index > 0).then(|| media.next().map(PromptPart::Media)).flatten());
            parts.push(PromptPart::Text(text.to_owned()));
        }
        Ok(parts)
    }

    fn reply_parser(&self, _: &str, _: PromptSource<'_>) -> Box<dyn ReplyParser> {
        Box::<TaggedParser>::default()
    }

    fn stop_strings(&self) -> Vec<String> {
        Vec::new()
    }
}

fn template_message(message: &Message) -> Value {
    let results = message.tool_results().map(alloquy_core::message::ToolResult::text);
    let calls = message.tool_calls().map(|call| format!("call:{} {}", call.name, call.arguments));
    let media = message.parts.iter().filter(|part| part.content.media_kind().is_some()).map(|_| MEDIA);
    let content: String = media.collect::<String>()
        + &message.text()
        + &results.collect::<String>()
        + &calls.collect::<String>();
    json!({"role": message.role.as_str(), "content": content})
}

/// Stands for media.
const MEDIA: &str = "<media>";

#[derive(Debug, Default)]
struct TaggedParser {
    text: String,
}

impl ReplyParser for TaggedParser {
    fn push(&mut self, text: &str) -> Vec<Delta> {
        self.text += text;
        // A call is told from text by its first five characters: hold those back.
        match self.text.starts_with("call:") || "call:".starts_with(&self.text) {
            true => Vec::new(),
            false if self.text.len() == text.len() => vec![Delta::Text(self.text.clone())],
            false if "call:".starts_with(self.before(text)) => vec![Delta::Text(self.text.clone())],
            false => vec![Delta::Text(text.to_owned())],
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
        let held = !self.text.is_empty() && "call:".starts_with(&self.text);
        let rest = held.then(|| Delta::Text(self.text.clone()));
        (rest.into_iter().collect(), Message::assistant(self.text))
    }
}

fn call(index: usize, line: &str) -> ToolCall {
    let line = line.strip_prefix("call:").unwrap_or(line);
    let (name, arguments) = line.split_once(' ').unwrap_or((line, "{}"));
    let arguments = serde_json::from_str(arguments).unwrap_or(Value::String(arguments.to_owned()));
    ToolCall::new(format!("call_{index}"), name, arguments)
}

impl TaggedParser {
    fn before(&self, text: &str) -> &str {
        self.text.strip_suffix(text).unwrap_or_default()
    }
}
