//! What simple dialects leave out: those that have nothing but messages, and those without the role `developer`.

use alloquy_core::{Message, Result, Role};
use serde_json::{Map, Value};

use super::place::Place;
use super::transcript::Transcript;

/// Marks a system message that has the role `developer` in OpenAI's dialect.
pub(super) const OPENAI_ROLE: &str = "openai_role";

/// Returns the extra fields of a message, without the mark of a developer, for dialects that have no such role.
pub(super) fn extra(message: &Message) -> Map<String, Value> {
    let mut extra = message.extra.clone();
    if message.role == Role::System && extra.get(OPENAI_ROLE).is_some_and(|role| role == "developer") {
        extra.shift_remove(OPENAI_ROLE);
    }
    extra
}

/// Refuses tools and fields beside the messages, for dialects that have nothing but messages.
pub(super) fn messages_only(transcript: &Transcript) -> Result<()> {
    if !transcript.tools.is_empty() {
        return Err(Place::root("tools").unsupported("the dialect has no tools"));
    }
    match transcript.extra.keys().next() {
        Some(name) => {
            let root = Place::root("extra");
            Err(root.field(name).unsupported("the dialect has nothing but messages"))
        }
        None => Ok(()),
    }
}
