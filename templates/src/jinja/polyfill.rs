//! What happens to the parts of a conversation that a template has no place for.

use alloquy_core::template::TemplateInput;
use serde_json::{Value, json};

use super::capabilities::{Capabilities, SystemRole};
use super::fault::Fault;

/// What to do with what a template would leave out of the prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Polyfill {
    /// Refuse the conversation: an error of kind [`Unsupported`](alloquy_core::ErrorKind::Unsupported).
    #[default]
    Refuse,
    /// Put the text of system and developer messages before that of the first user message, with an empty line
    /// between, where the template drops or refuses such messages; refuse everything else.
    MergeIntoUser,
    /// Leave it out, as Hugging Face does.
    LeaveOut,
}

/// A change that was made to a conversation before it was rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AppliedPolyfill {
    /// The text of so many system and developer messages stands in the first user message.
    MergedIntoUser(usize),
}

/// A part of a conversation that a template may leave out.
pub(super) struct Part {
    pub(super) name: &'static str,
    /// The conversation without it.
    pub(super) without: TemplateInput,
}

/// Says whether a conversation has anything that a template may leave out.
pub(super) fn has_more_than_text(input: &TemplateInput) -> bool {
    let is_plain = |message: &Value| {
        let role = message.get("role").and_then(Value::as_str);
        matches!(role, Some("user" | "assistant")) && message.get("tool_calls").is_none()
    };
    input.tools.is_some() || input.documents.is_some() || !input.messages.iter().all(is_plain)
}

/// The parts of `input` for which the template has no place, as far as small conversations show.
pub(super) fn doubtful(input: &TemplateInput, capabilities: &Capabilities) -> Vec<Part> {
    let has_any = |list: &Option<Vec<Value>>| list.as_ref().is_some_and(|list| !list.is_empty());
    let mut parts = Vec::new();
    let mut add = |name, is_missing: bool, without: &dyn Fn(&mut TemplateInput)| {
        if is_missing {
            let mut rest = input.clone();
            without(&mut rest);
            parts.push(Part { name, without: rest });
        }
    };
    let has_role = |role: &str| input.messages.iter().any(|message| is_of(message, role));
    let drops_system = capabilities.system == SystemRole::Dropped;
    add("system messages", drops_system && has_role("system"), &|rest| leave_out(rest, "system"));
    let drops_developer = !capabilities.developer_role;
    add("developer messages", drops_developer && has_role("developer"), &|rest| leave_out(rest, "developer"));
    add("tools", !capabilities.tools && has_any(&input.tools), &|rest| rest.tools = None);
    add("documents", !capabilities.documents && has_any(&input.documents), &|rest| rest.documents = None);
    let calls = input.messages.iter().any(|message| message.get("tool_calls").is_some_and(has_items));
    add("tool calls", !capabilities.tool_calls && calls, &without_calls);
    add("tool results", !capabilities.tool_results && has_role("tool"), &|rest| leave_out(rest, "tool"));
    parts
}

fn is_of(message: &Value, role: &str) -> bool {
    message.get("role").and_then(Value::as_str) == Some(role)
}

fn has_items(list: &Value) -> bool {
    list.as_array().is_some_and(|list| !list.is_empty())
}

fn leave_out(input: &mut TemplateInput, role: &str) {
    input.messages.retain(|message| !is_of(message, role));
}

fn without_calls(input: &mut TemplateInput) {
    for message in input.messages.iter_mut().filter_map(Value::as_object_mut) {
        message.shift_remove("tool_calls");
    }
}

/// Puts system and developer messages that the template does not print into the first user message.
pub(super) fn merged(
    input: &TemplateInput,
    capabilities: &Capabilities,
) -> Result<(TemplateInput, Vec<AppliedPolyfill>), Fault> {
    let is_lost = |message: &Value| {
        (is_of(message, "system") && capabilities.system != SystemRole::Printed)
            || (is_of(message, "developer") && !capabilities.developer_role)
    };
    let (lost, kept): (Vec<_>, Vec<_>) = input.messages.iter().cloned().partition(is_lost);
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
    crate::completion::text_of(message).map_err(|error| Fault::Unmerged(error.to_string()))
}

fn prepend(content: &mut Value, text: &str) {
    match content {
        Value::Array(parts) => parts.insert(0, json!({"type": "text", "text": text})),
        Value::String(own) => own.insert_str(0, text),
        other => *other = Value::from(text),
    }
}
