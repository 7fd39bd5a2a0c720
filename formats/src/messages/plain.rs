//! What dialects leave out that have messages and nothing else, or no developer beside the system.

use alloquy_core::{Message, Result, Role};
use serde_json::{Map, Value};

use super::place::Place;
use super::transcript::Transcript;

/// Marks a system message that OpenAI's dialect spells with the role `developer`.
pub(super) const OPENAI_ROLE: &str = "openai_role";

/// The extra fields, for dialects to which a developer is the system and nothing more.
pub(super) fn extra(message: &Message) -> Map<String, Value> {
    let mut extra = message.extra.clone();
    if message.role == Role::System && extra.get(OPENAI_ROLE).is_some_and(|role| role == "developer") {
        extra.shift_remove(OPENAI_ROLE);
    }
    extra
}

/// Refuses what stands beside the messages, for dialects that have nothing but messages.
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
