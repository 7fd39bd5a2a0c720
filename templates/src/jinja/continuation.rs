//! Cuts a prompt at the end of its last message, so that the model continues that message.
//!
//! Reference: `continue_final_message` of transformers 5.23.0. A tag is added to the end of the message, and the prompt is cut
//! at the tag: what the template prints after it ends the turn.

use serde_json::Value;

use super::fault::Fault;
use super::input::Message;
use super::python::is_space;

/// The tag at the end of the text to continue. It ends with a space, which is missing in the prompt if the template trims its
/// messages.
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

    /// Cuts `rendered` at the tag.
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

/// Returns the content itself, or the text of its last part that has one.
fn last_text(content: &mut Value) -> Option<&mut Value> {
    match content {
        Value::Array(parts) => parts.iter_mut().rev().find_map(|part| part.get_mut("text")),
        content => Some(content),
    }
}
