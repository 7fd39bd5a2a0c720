//! How the laws make a prompt: what a processor gives for it, and a template that prints each message on a line.

use alloquy_core::message::{ToolCall, ToolResult};
use alloquy_core::processor::{DataProcessor, PromptPart, PromptSource};
use alloquy_core::template::{Ending, TemplateInput};
use alloquy_core::{Message, Preface, Role};
use serde_json::{Value, json};

pub(super) fn input(processor: &dyn DataProcessor, source: PromptSource<'_>) -> TemplateInput {
    match processor.template_input(source) {
        Ok(input) => input,
        Err(error) => panic!("{:?} has no input for {source:?}: {error:#}", processor.name()),
    }
}

pub(super) fn parts(
    processor: &dyn DataProcessor,
    rendered: &str,
    source: PromptSource<'_>,
) -> Vec<PromptPart> {
    match processor.prompt_parts(rendered, source) {
        Ok(parts) => parts,
        Err(error) => panic!("{:?} has no parts for {rendered:?}: {error:#}", processor.name()),
    }
}

/// What a template does to a text before it prints it.
pub(super) type Strip = fn(&str) -> &str;

/// Renders each message as `[role]content` and a line break.
pub(super) fn render(input: &TemplateInput, strip: Strip) -> String {
    let field = |message: &Value, name: &str| match message.get(name).and_then(Value::as_str) {
        Some(text) => text.to_owned(),
        None => panic!("{message} has no text {name:?}"),
    };
    let line =
        |message: &Value| format!("[{}]{}\n", field(message, "role"), strip(&field(message, "content")));
    input.messages.iter().map(line).collect()
}

/// Calls `check` with a conversation of one message by each speaker that is not the model.
pub(super) fn each_speaker(text: &str, mut check: impl FnMut(PromptSource<'_>, Role)) {
    let result = ToolResult::ok(&ToolCall::new("call_0", "tool", json!({})), text);
    let preface = Preface::default();
    for message in [Message::system(text), Message::user(text), Message::tool(vec![result])] {
        let role = message.role;
        check(PromptSource::new(&preface, &[message], Ending::Closed), role);
    }
}

pub(super) fn text_of(parts: &[PromptPart]) -> String {
    let text = |part: &PromptPart| match part {
        PromptPart::Text(text) | PromptPart::Literal(text) => text.clone(),
        other => panic!("{other:?} stands in a prompt of texts"),
    };
    parts.iter().map(text).collect()
}
