//! Cuts a prompt inside its last message, so that the model goes on writing it.
//!
//! Reference: `continue_final_message` of transformers 5.23.0. The message gets a tag at its end; what the
//! template prints from the tag on (the end of the turn) is cut off.

use serde_json::Value;

use super::fault::Fault;
use super::input::Message;
use super::python::is_space;

/// Stands at the end of the text to continue. Its own last character is a space, so that a template that
/// trims its messages shows itself.
const TAG: &str = "CONTINUE_FINAL_MESSAGE_TAG ";

/// A message marked for continuation.
#[derive(Debug)]
pub(super) struct Continuation {
    text: String,
}

impl Continuation {
    /// Marks the last text of the last of `messages`.
    pub(super) fn mark(messages: &mut [Message<'_>]) -> Result<Self, Fault> {
        let content = messages.last_mut().and_then(|message| message.to_mut().get_mut("content"));
        let Some(Value::String(text)) = content.and_then(last_text) else {
            return Err(Fault::NothingToContinue);
        };
        let continuation = Self { text: text.clone() };
        text.push_str(TAG);
        Ok(continuation)
    }

    /// Cuts what `rendered` has from the tag on.
    pub(super) fn cut(&self, mut rendered: String) -> Result<String, Fault> {
        let text = self.text.trim_matches(is_space);
        let tag = rendered.rfind(TAG.trim_end()).filter(|_| rendered.contains(text));
        let Some(start) = tag else {
            return Err(Fault::NotContinued(text.to_owned()));
        };
        let untrimmed = rendered.get(start..).is_some_and(|tail| tail.starts_with(TAG));
        rendered.truncate(start);
        if !untrimmed {
            rendered.truncate(rendered.trim_end_matches(is_space).len());
        }
        Ok(rendered)
    }
}

/// The content itself, or the text of its last part that has one.
fn last_text(content: &mut Value) -> Option<&mut Value> {
    match content {
        Value::Array(parts) => parts.iter_mut().rev().find_map(|part| part.get_mut("text")),
        content => Some(content),
    }
}
