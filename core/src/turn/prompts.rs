//! Fills in the prompt that a request names, before the messages of the request.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::parts::Parts;
use super::request::TurnRequest;
use crate::Result;
use crate::message::{Message, Role, Source};
use crate::prompt_library::{OUTPUT_KEY, Values};
use crate::store::ConversationRecord;
use crate::tree::Node;

/// The reserved name for notes from memory, which only a host or a default gives a value.
const MEMORY: &str = "memory";

/// Returns the request with the messages of the prompt that it names. `path` are the nodes before its messages.
pub(super) fn filled<'a>(
    parts: &Parts,
    record: &ConversationRecord,
    path: &[Node],
    ask: &'a TurnRequest,
) -> Result<Cow<'a, TurnRequest>> {
    let Some((name, values)) = &ask.named else { return Ok(Cow::Borrowed(ask)) };
    let prompt = parts.prompt(name)?;
    let variables = &prompt.info().variables;
    let mut values = values.clone();
    for name in variables {
        // A prompt without memory of its own prints nothing there.
        let has_own_memory = name == MEMORY && prompt.info().defaults.contains_key(name);
        if values.get(name).is_none() && !has_own_memory {
            values = with_conversation_value(values, name, record, path);
        }
    }
    let mut request = TurnRequest::from(prompt.fill(&values)?);
    let mut filled = ask.clone();
    filled.named = None;
    filled.prompt = request.prompt.take();
    // The host's own entries count.
    for (key, value) in request.message_metadata {
        filled.message_metadata.entry(key).or_insert(value);
    }
    request.messages.append(&mut filled.messages);
    filled.messages = request.messages;
    Ok(Cow::Owned(filled))
}

/// Adds the value that the conversation has under a name: a named output, or a reserved one.
fn with_conversation_value(values: Values, name: &str, record: &ConversationRecord, path: &[Node]) -> Values {
    let output =
        path.iter().rev().find(|node| node.metadata.get(OUTPUT_KEY).and_then(Value::as_str) == Some(name));
    if let Some(node) = output {
        return values.set_from(name, node.message.text(), output_of(name, node));
    }
    match name {
        "system" => values.set(name, system_prompt(record)),
        "history" => values.set(name, history(path)),
        MEMORY => values.set(name, ""),
        "last_response" => match path.iter().rev().find(|node| node.message.role == Role::Assistant) {
            Some(node) => values.set_from(name, node.message.text(), output_of(name, node)),
            None => values.set(name, ""),
        },
        _ => values,
    }
}

fn output_of(name: &str, node: &Node) -> Source {
    Source::Output { name: name.to_owned(), node: node.id }
}

fn system_prompt(record: &ConversationRecord) -> String {
    let messages = record.preface.messages.iter();
    let texts: Vec<_> = messages.filter(|message| message.role == Role::System).map(Message::text).collect();
    texts.join("\n\n")
}

fn history(path: &[Node]) -> Value {
    let mut messages = Vec::with_capacity(path.len());
    for node in path {
        messages.push(json!({"role": node.message.role, "content": node.message.text()}));
    }
    Value::Array(messages)
}
