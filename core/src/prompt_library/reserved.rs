//! The values that a conversation gives to prompts: named outputs, and reserved names.

use serde_json::{Value, json};

use super::{OUTPUT_KEY, PromptInfo, Values};
use crate::message::{Message, Role, Source};
use crate::preface::Preface;
use crate::tree::Node;

/// The reserved name for notes from memory, which only a host or a default gives a value.
const MEMORY: &str = "memory";

impl Values {
    /// Adds what a conversation gives to a prompt, for the names that it reads and that have no value: named outputs, and the reserved
    /// names of [`TurnRequest::prompt_name`](crate::TurnRequest::prompt_name). `path` are the nodes before the prompt.
    ///
    /// ```
    /// use alloquy_core::media::Digest;
    /// use alloquy_core::prompt_library::{PromptInfo, PromptName, Values};
    /// use alloquy_core::{Message, Node, Preface};
    ///
    /// let mut info = PromptInfo::new(PromptName::user("review"), Digest::of(b""));
    /// info.variables.extend(["system".to_owned(), "last_response".to_owned()]);
    /// let path = [Node::new(None, Message::assistant("A storm."))];
    /// let values = Values::new().or_conversation(&info, &Preface::system("Be kind."), &path);
    /// assert_eq!(values.get("system").unwrap().value, "Be kind.");
    /// assert_eq!(values.get("last_response").unwrap().value, "A storm.");
    /// assert!(values.get("history").is_none());
    /// ```
    #[must_use]
    pub fn or_conversation(mut self, prompt: &PromptInfo, preface: &Preface, path: &[Node]) -> Self {
        for name in &prompt.variables {
            // A prompt without memory of its own prints nothing there.
            let has_own_memory = name == MEMORY && prompt.defaults.contains_key(name);
            if self.get(name).is_none() && !has_own_memory {
                self = with_value(self, name, preface, path);
            }
        }
        self
    }
}

/// Adds the value that a conversation has under a name.
fn with_value(values: Values, name: &str, preface: &Preface, path: &[Node]) -> Values {
    let output =
        path.iter().rev().find(|node| node.metadata.get(OUTPUT_KEY).and_then(Value::as_str) == Some(name));
    if let Some(node) = output {
        return values.set_from(name, node.message.text(), output_of(name, node));
    }
    match name {
        "system" => values.set(name, system_prompt(preface)),
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

fn system_prompt(preface: &Preface) -> String {
    let messages = preface.messages.iter();
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
