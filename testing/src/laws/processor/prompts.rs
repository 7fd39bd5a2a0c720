//! Prompts of the laws: what a processor returns for a conversation, and a template that prints each message on a line.

use alloquy_core::message::{ToolCall, ToolResult};
use alloquy_core::processor::{DataProcessor, ProcessorInput, PromptPart};
use alloquy_core::template::{PromptEnd, TemplateInput};
use alloquy_core::{Message, Preface, Role};
use serde_json::{Value, json};

pub(super) fn input(processor: &dyn DataProcessor, source: ProcessorInput<'_>) -> TemplateInput {
    match processor.template_input(source) {
        Ok(input) => input,
        Err(error) => panic!("{:?} has no input for {source:?}: {error:#}", processor.name()),
    }
}

pub(super) fn parts(
    processor: &dyn DataProcessor,
    rendered: &str,
    source: ProcessorInput<'_>,
) -> Vec<PromptPart> {
    match processor.prompt_parts(rendered, source) {
        Ok(parts) => parts,
        Err(error) => panic!("{:?} has no parts for {rendered:?}: {error:#}", processor.name()),
    }
}

/// How a template strips a text before it prints it.
pub(super) type Strip = fn(&str) -> &str;

/// Renders each message as `[role]content` and a line break.
pub(super) fn render(input: &TemplateInput, strip: Strip) -> String {
    let mut rendered = String::new();
    for message in &input.messages {
        let role = field(message, "role");
        let content = strip(field(message, "content"));
        rendered.push_str(&format!("[{role}]{content}\n"));
    }
    rendered
}

fn field<'a>(message: &'a Value, name: &str) -> &'a str {
    match message.get(name).and_then(Value::as_str) {
        Some(text) => text,
        None => panic!("{message} has no text {name:?}"),
    }
}

/// Calls `check` with a conversation of one message, once for each role except the assistant.
pub(super) fn each_speaker(text: &str, mut check: impl FnMut(ProcessorInput<'_>, Role)) {
    let result = ToolResult::ok(&ToolCall::new("call_0", "tool", json!({})), text);
    let preface = Preface::default();
    for message in [Message::system(text), Message::user(text), Message::tool(vec![result])] {
        let role = message.role;
        check(ProcessorInput::new(&preface, &[message], PromptEnd::Closed), role);
    }
}

pub(super) fn text_of(parts: &[PromptPart]) -> String {
    let mut joined = String::new();
    for part in parts {
        match part {
            PromptPart::Text(text) | PromptPart::Literal(text) => joined.push_str(text),
            other => panic!("{other:?} is in a prompt of texts"),
        }
    }
    joined
}
