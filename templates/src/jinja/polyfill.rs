//! The parts of a conversation that a template does not print: finds them, and merges system messages into user messages.

use alloquy_core::template::TemplateInput;
use serde_json::{Value, json};

use super::capabilities::{Capabilities, SystemRole};
use super::fault::Fault;
use crate::completion::{has_any, text_of};

/// What happens to parts of a conversation that a template would leave out of the prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Polyfill {
    /// The conversation is refused: an error of kind [`Unsupported`](alloquy_core::ErrorKind::Unsupported).
    #[default]
    Refuse,
    /// System and developer messages that the template drops or refuses are merged into the first user message: their text
    /// precedes it, with an empty line between. Everything else is refused.
    MergeIntoUser,
    /// They are left out, as in Hugging Face.
    LeaveOut,
}

/// A change that was made to a conversation before it was rendered.
///
/// ```
/// use alloquy_core::template::TemplateInput;
/// use alloquy_templates::{AppliedPolyfill, JinjaTemplate, Polyfill};
/// use serde_json::json;
///
/// // This template leaves system messages out.
/// let source = "{% for m in messages if m.role != 'system' %}<{{ m.role }}>{{ m.content }}{% endfor %}";
/// let template = JinjaTemplate::builder(source).polyfill(Polyfill::MergeIntoUser).build()?;
/// let mut input = TemplateInput::default();
/// input.messages.push(json!({"role": "system", "content": "Be brief."}));
/// input.messages.push(json!({"role": "user", "content": "Tea?"}));
/// let rendered = template.render_spans(&input)?;
/// assert_eq!(rendered.text, "<user>Be brief.\n\nTea?");
/// assert_eq!(rendered.polyfills, [AppliedPolyfill::MergedIntoUser(1)]);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AppliedPolyfill {
    /// The text of this many system and developer messages was merged into the first user message.
    MergedIntoUser(usize),
}

/// A part of a conversation that a template may leave out.
pub(super) struct Part {
    pub(super) name: &'static str,
    /// The conversation without it.
    pub(super) without: TemplateInput,
}

/// Returns whether a conversation has any part that a template may leave out.
pub(super) fn has_more_than_text(input: &TemplateInput) -> bool {
    input.tools.is_some() || input.documents.is_some() || !input.messages.iter().all(is_plain)
}

fn is_plain(message: &Value) -> bool {
    let role = message.get("role").and_then(Value::as_str);
    matches!(role, Some("user" | "assistant")) && message.get("tool_calls").is_none()
}

/// Returns the parts of `input` that the template does not print, according to its capabilities.
pub(super) fn doubtful(input: &TemplateInput, capabilities: &Capabilities) -> Vec<Part> {
    let mut parts = Vec::new();
    if capabilities.system == SystemRole::Dropped && has_role(input, "system") {
        parts.push(Part { name: "system messages", without: without_role(input, "system") });
    }
    if !capabilities.developer_role && has_role(input, "developer") {
        parts.push(Part { name: "developer messages", without: without_role(input, "developer") });
    }
    if !capabilities.tools && has_any(input.tools.as_deref()) {
        parts.push(Part { name: "tools", without: TemplateInput { tools: None, ..input.clone() } });
    }
    if !capabilities.documents && has_any(input.documents.as_deref()) {
        parts.push(Part { name: "documents", without: TemplateInput { documents: None, ..input.clone() } });
    }
    if !capabilities.tool_calls && input.messages.iter().any(has_calls) {
        parts.push(Part { name: "tool calls", without: without_calls(input) });
    }
    if !capabilities.tool_results && has_role(input, "tool") {
        parts.push(Part { name: "tool results", without: without_role(input, "tool") });
    }
    parts
}

fn has_role(input: &TemplateInput, role: &str) -> bool {
    input.messages.iter().any(|message| is_of(message, role))
}

fn is_of(message: &Value, role: &str) -> bool {
    message.get("role").and_then(Value::as_str) == Some(role)
}

fn has_calls(message: &Value) -> bool {
    message.get("tool_calls").and_then(Value::as_array).is_some_and(|calls| !calls.is_empty())
}

fn without_role(input: &TemplateInput, role: &str) -> TemplateInput {
    let mut rest = input.clone();
    rest.messages.retain(|message| !is_of(message, role));
    rest
}

fn without_calls(input: &TemplateInput) -> TemplateInput {
    let mut rest = input.clone();
    for message in rest.messages.iter_mut().filter_map(Value::as_object_mut) {
        message.shift_remove("tool_calls");
    }
    rest
}

/// Puts system and developer messages that the template does not print into the first user message.
pub(super) fn merged(
    input: &TemplateInput,
    capabilities: &Capabilities,
) -> Result<(TemplateInput, Vec<AppliedPolyfill>), Fault> {
    let (lost, kept): (Vec<_>, Vec<_>) = input.messages.iter().cloned().partition(|message| {
        (is_of(message, "system") && capabilities.system != SystemRole::Printed)
            || (is_of(message, "developer") && !capabilities.developer_role)
    });
    if lost.is_empty() {
        return Ok((input.clone(), Vec::new()));
    }
    let texts = lost.iter().map(text).collect::<Result<Vec<_>, _>>()?;
    let mut merged = TemplateInput { messages: kept, ..input.clone() };
    let user = merged.messages.iter_mut().find(|message| is_of(message, "user"));
    let content = user.and_then(|user| user.get_mut("content")).ok_or(Fault::NoUser)?;
    prepend(content, &(texts.join("\n\n") + "\n\n"));
    Ok((merged, vec![AppliedPolyfill::MergedIntoUser(lost.len())]))
}

fn text(message: &Value) -> Result<String, Fault> {
    text_of(message).map_err(|error| Fault::Unmerged(error.to_string()))
}

fn prepend(content: &mut Value, text: &str) {
    match content {
        Value::Array(parts) => parts.insert(0, json!({"type": "text", "text": text})),
        Value::String(own) => own.insert_str(0, text),
        other => *other = Value::from(text),
    }
}
