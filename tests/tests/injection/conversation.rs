//! Conversations of one to six messages in which every text may be hostile. Knows roles; not what is hostile.

use alloquy_core::message::{ToolCall, ToolResult};
use alloquy_core::processor::ProcessorInput;
use alloquy_core::template::PromptEnd;
use alloquy_core::{Content, Message, Preface, Role, ToolSpec};
use serde_json::{Value, json};

use crate::writer::Writer;

#[derive(Debug)]
pub(crate) struct Conversation {
    preface: Preface,
    path: Vec<Message>,
    ending: PromptEnd,
}

impl Conversation {
    /// Returns a conversation that ends with the start of a reply.
    pub(crate) fn new(preface: Preface, path: Vec<Message>) -> Self {
        Self { preface, path, ending: PromptEnd::Generation }
    }

    pub(crate) fn write(writer: &mut Writer<'_>) -> Self {
        let preface = preface(writer);
        let mut path = Vec::new();
        let length = 1 + writer.draws.below(6);
        while preface.messages.len() + path.len() < length.max(preface.messages.len() + 1) {
            let message = next(path.last(), writer);
            path.push(message);
        }
        let replied = path.last().is_some_and(|message: &Message| message.role == Role::Assistant);
        let ending = match writer.draws.below(4) {
            0 if replied => PromptEnd::Continuation,
            0 => PromptEnd::Closed,
            _ => PromptEnd::Generation,
        };
        Self { preface, path, ending }
    }

    pub(crate) fn source(&self) -> ProcessorInput<'_> {
        ProcessorInput::new(&self.preface, &self.path, self.ending)
    }

    /// Returns all that is said, as JSON, and the text of each message, whose parts may join to a word that none of them has.
    pub(crate) fn said(&self) -> String {
        let mut said = json!([self.preface, self.path]).to_string();
        for message in self.preface.messages.iter().chain(&self.path) {
            said.push('\n');
            said.push_str(&message.text());
        }
        said
    }

    /// Returns how many messages there are.
    pub(crate) fn messages(&self) -> usize {
        self.preface.messages.len() + self.path.len()
    }
}

fn preface(writer: &mut Writer<'_>) -> Preface {
    let mut preface = Preface::default();
    if writer.draws.chance(40) {
        preface.messages.push(Message::system(writer.text()));
    }
    for _ in 0..writer.draws.below(5).saturating_sub(2) {
        preface.tools.push(tool(writer));
    }
    if writer.draws.chance(20) {
        let documents: Vec<_> = (0..=writer.draws.below(2)).map(|_| document(writer)).collect();
        preface = preface.extra("documents", documents);
    }
    if writer.draws.chance(15) {
        preface = preface.extra("date_string", writer.text());
    }
    if writer.draws.chance(30) {
        let thinks = writer.draws.chance(50);
        preface = preface.extra("enable_thinking", thinks).extra("thinking", thinks);
    }
    preface
}

fn tool(writer: &mut Writer<'_>) -> ToolSpec {
    let key = writer.name("city");
    let property = json!({
        "type": "string",
        "description": writer.text(),
        "enum": [writer.text(), "Oslo"],
        "default": writer.name("Oslo"),
    });
    let mut parameters = json!({"type": "object", "properties": {}, "required": [key]});
    parameters["properties"][key] = property;
    if writer.draws.chance(30) {
        parameters[writer.field("note")] = writer.text().into();
        parameters["properties"]["city"][writer.field("note")] = writer.text().into();
    }
    let mut tool = ToolSpec::new(writer.name("weather"), writer.text(), parameters);
    if writer.draws.chance(20) {
        tool.extra.insert("return".to_owned(), json!({"type": "string", "description": writer.text()}));
    }
    tool
}

fn document(writer: &mut Writer<'_>) -> Value {
    json!({"doc_id": 1, "title": writer.text(), "text": writer.text(), "content": writer.text()})
}

/// What follows `last`: mostly what templates expect, at times anything.
fn next(last: Option<&Message>, writer: &mut Writer<'_>) -> Message {
    let answered = last.is_some_and(|message| message.tool_calls().next().is_some());
    let mut message = match last.map(|message| message.role) {
        _ if writer.draws.chance(5) => Message::system(writer.text()),
        Some(Role::Assistant) if answered => results(last, writer),
        None | Some(Role::Assistant) => Message::user(writer.text()),
        Some(Role::User | Role::Tool | Role::System) if writer.draws.chance(90) => reply(writer),
        Some(_) => Message::user(writer.text()),
    };
    if writer.draws.chance(10) {
        message.name = Some(writer.name("mia")).filter(|_| message.tool_results().next().is_none());
    }
    if writer.draws.chance(5) {
        let key = format!("x{}", writer.text());
        message.extra.insert(key, writer.text().into());
    }
    message
}

fn reply(writer: &mut Writer<'_>) -> Message {
    let mut parts = vec![Content::Text(writer.reply())];
    if writer.draws.chance(20) {
        parts.insert(0, Content::Thinking(writer.text()));
    }
    if writer.draws.chance(35) {
        for number in 0..=writer.draws.below(2) {
            parts.push(Content::ToolCall(call(number, writer)));
        }
    }
    Message::new(Role::Assistant, parts)
}

fn call(number: usize, writer: &mut Writer<'_>) -> ToolCall {
    let id = writer.name(&format!("call1234{number}"));
    let mut arguments = json!({"days": 2});
    arguments[writer.name("city")] = writer.text().into();
    if writer.draws.chance(10) {
        arguments = escaped(&arguments).into();
    }
    ToolCall::new(id, writer.name("weather"), arguments)
}

/// The text of a JSON value that writes the angle brackets as escapes.
fn escaped(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c").replace('>', "\\u003e")
}

fn results(last: Option<&Message>, writer: &mut Writer<'_>) -> Message {
    let calls = last.into_iter().flat_map(Message::tool_calls);
    let result = |call: &ToolCall, writer: &mut Writer<'_>| {
        if writer.draws.chance(70) {
            ToolResult::ok(call, writer.text())
        } else {
            ToolResult::ok(call, json!({"found": writer.text()}))
        }
    };
    Message::tool(calls.map(|call| result(call, writer)).collect())
}
