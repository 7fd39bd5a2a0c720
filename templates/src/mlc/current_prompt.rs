//! Writes a conversation with today's `conv_template` as the parts of a prompt.
//!
//! Reference: `Conversation.as_prompt` of `python/mlc_llm/protocol/conversation_protocol.py`.

use alloquy_core::template::{PromptEnd, TemplateInput};
use alloquy_core::{Error, ErrorKind, Result};
use serde_json::Value;

use super::current::{Content, ConvTemplate, SYSTEM_PLACE, TextKind, TextPart};
use super::draft::Draft;
use super::function_string::function_string;
use super::part::{Part, PartKind};

/// Returns the parts of a conversation's prompt without the front, and whether the template has a place for tools.
pub(super) fn parts(template: &ConvTemplate, input: &TemplateInput) -> Result<(Vec<Part>, bool)> {
    let functions = function_string(input)?;
    let mut prompt = Prompt { template, draft: Draft::default(), has_system: false };
    let conversation = prompt.begin(&input.messages)?;
    prompt.add_messages(&conversation, input.ending);
    let has_place = prompt.draft.has_function_place();
    Ok((prompt.draft.finish(functions.as_deref().unwrap_or(&template.function_string)), has_place))
}

struct Prompt<'a> {
    template: &'a ConvTemplate,
    draft: Draft,
    has_system: bool,
}

/// A message of the template or of the conversation.
struct Message {
    author: Author,
    role: String,
    content: Content,
}

/// The author of a text: only the template's own texts have placeholders.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Author {
    Template,
    Conversation,
}

impl Prompt<'_> {
    /// Prints the system text, and returns all other messages.
    fn begin(&mut self, messages: &[Value]) -> Result<Vec<Message>> {
        let template = self.template;
        let own = template.messages.iter().map(|(role, content)| {
            Ok(Message { author: Author::Template, role: role.clone(), content: content.clone() })
        });
        let system = messages.first().filter(|message| role_of(message) == "system");
        match system {
            Some(message) => self.add_system(Author::Conversation, &system_text(message)?),
            None => self.add_system(Author::Template, &template.system_message),
        }
        let given = messages.iter().enumerate().skip(usize::from(system.is_some()));
        own.chain(given.map(|(position, message)| read(template, position, message))).collect()
    }

    fn add_system(&mut self, author: Author, text: &str) {
        self.draft.begin(PartKind::System);
        self.wrap(self.template.system_template.split(SYSTEM_PLACE), author, text);
        self.has_system = !self.draft.is_blank();
        if !self.has_system {
            self.draft.take_back();
        }
    }

    fn add_messages(&mut self, messages: &[Message], ending: PromptEnd) {
        let last_user = messages.iter().rposition(|message| message.role == "user").unwrap_or(0);
        for (position, message) in messages.iter().enumerate() {
            self.draft.begin(kind_of(&message.role));
            let texts: Vec<_> = match &message.content {
                Content::Absent(()) => {
                    self.add_header(&message.role);
                    continue;
                }
                Content::Text(text) if position < last_user => vec![self.without_reasoning(message, text)],
                Content::Text(text) => vec![text.as_str()],
                Content::Parts(parts) => parts.iter().map(|part| part.text.as_str()).collect(),
            };
            // The system text may have printed the first header already.
            if position > 0 || !self.has_system || self.template.add_role_after_system_message {
                self.draft.written(self.template.role_text(&message.role));
                self.draft.written(&self.template.role_content_sep);
            }
            if ending == PromptEnd::Continuation && position + 1 == messages.len() {
                self.add_open(message, &texts);
            } else {
                self.add_closed(message, &texts);
            }
        }
        if ending == PromptEnd::Generation {
            self.draft.begin(PartKind::Header);
            self.add_header("assistant");
        }
    }

    fn add_closed(&mut self, message: &Message, texts: &[&str]) {
        for text in texts {
            self.wrap(self.template.around(&message.role), message.author, text);
        }
        self.draft.written(self.template.separator(&message.role));
    }

    /// Prints a message that is continued: without the end of its template and without a separator.
    fn add_open(&mut self, message: &Message, texts: &[&str]) {
        let Some((last, whole)) = texts.split_last() else { return };
        for text in whole {
            self.wrap(self.template.around(&message.role), message.author, text);
        }
        let mut around = self.template.around(&message.role);
        self.draft.written(around.next().unwrap_or_default());
        if around.next().is_some() {
            self.say(message.author, last);
        }
    }

    fn add_header(&mut self, role: &str) {
        self.draft.written(self.template.role_text(role));
        self.draft.written(&self.template.role_empty_sep);
    }

    /// Prints the pieces of a template with the text between them.
    fn wrap<'a>(&mut self, around: impl Iterator<Item = &'a str>, author: Author, text: &str) {
        for (position, written) in around.enumerate() {
            if position > 0 {
                self.say(author, text);
            }
            self.draft.written(written);
        }
    }

    fn say(&mut self, author: Author, text: &str) {
        match author {
            Author::Template => self.draft.written(text),
            Author::Conversation => self.draft.said(text),
        }
    }

    fn without_reasoning<'a>(&self, message: &Message, text: &'a str) -> &'a str {
        let answer = text.rsplit_once("</think>").map(|(_, answer)| answer.trim_start_matches('\n'));
        let strip = self.template.strip_reasoning_in_history && message.role == "assistant";
        answer.filter(|_| strip).unwrap_or(text)
    }
}

fn read(template: &ConvTemplate, position: usize, message: &Value) -> Result<Message> {
    let role = role_of(message);
    if !template.can_say(role) {
        let known = template.role_names();
        return Err(unsupported(format!(
            "message {position} has role {role:?}, this conversation template knows: {known}"
        )));
    }
    let content = content_of(position, message)?;
    Ok(Message { author: Author::Conversation, role: role.to_owned(), content })
}

fn role_of(message: &Value) -> &str {
    message.get("role").and_then(Value::as_str).unwrap_or_default()
}

fn kind_of(role: &str) -> PartKind {
    match role {
        "user" => PartKind::User,
        "assistant" => PartKind::Assistant,
        _ => PartKind::Other,
    }
}

fn system_text(message: &Value) -> Result<String> {
    Ok(match content_of(0, message)? {
        Content::Absent(()) => String::new(),
        Content::Text(text) => text,
        Content::Parts(parts) => parts.into_iter().map(|part| part.text).collect(),
    })
}

fn content_of(position: usize, message: &Value) -> Result<Content> {
    if message.get("tool_calls").and_then(Value::as_array).is_some_and(|calls| !calls.is_empty()) {
        return Err(unsupported(format!(
            "message {position} calls tools, which conversation templates cannot print"
        )));
    }
    match message.get("content") {
        None | Some(Value::Null) => Ok(Content::Absent(())),
        Some(Value::String(text)) => Ok(Content::Text(text.clone())),
        Some(Value::Array(parts)) => {
            parts.iter().map(|part| text_part(position, part)).collect::<Result<_>>().map(Content::Parts)
        }
        Some(other) => Err(Error::new(
            ErrorKind::Invalid,
            format!("content {other} of message {position} is neither a text nor a list of parts"),
        )),
    }
}

fn text_part(position: usize, part: &Value) -> Result<TextPart> {
    match (part.get("text").and_then(Value::as_str), part.get("type").and_then(Value::as_str)) {
        (Some(text), None | Some("text")) => Ok(TextPart { kind: TextKind::Text, text: text.to_owned() }),
        (_, kind) => {
            let kind = kind.unwrap_or("unknown");
            let message = format!(
                "message {position} has a part of type {kind:?}, conversation templates print parts of type \"text\" here"
            );
            Err(unsupported(message))
        }
    }
}

fn unsupported(message: String) -> Error {
    Error::new(ErrorKind::Unsupported, message)
}
