//! Puts notes into a request.

use alloquy_core::message::Source;
use alloquy_core::{Content, Message, Part, Request, Role};

use crate::note::StoredNote;

/// Where notes are in a prompt.
///
/// [`Reminder::placement`](crate::Reminder::placement) sets it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Placement {
    /// In the last message of the user, in front of its text. What is before that message is reused, even if each turn has other
    /// notes. A request without a message of the user has no notes.
    #[default]
    BeforeQuestion,
    /// At the end of the system message, for notes that hardly change. If they change, the whole prompt is computed again.
    AfterInstructions,
}

impl Placement {
    /// Returns whether a request has a place for notes.
    pub(crate) fn is_in(self, request: &Request) -> bool {
        match self {
            Self::BeforeQuestion => request.path.iter().any(|message| message.role == Role::User),
            Self::AfterInstructions => true,
        }
    }

    /// Adds a text that shows notes to a request.
    pub(crate) fn put(self, request: &mut Request, text: String, notes: &[StoredNote]) {
        let ids: Vec<String> = notes.iter().map(|note| note.id.to_string()).collect();
        let source = Source::Memory { id: ids.join(",") };
        match self {
            Self::BeforeQuestion => {
                request.insert_before_question(Part::from(Content::Text(text)).from_source(source));
            }
            Self::AfterInstructions => {
                let text = format!("\n\n{}", text.trim_end());
                after_instructions(request, Part::from(Content::Text(text)).from_source(source));
            }
        }
    }
}

/// Adds a part to the first system message, which is in the preface or is the first message of the path.
fn after_instructions(request: &mut Request, mut part: Part) {
    let instructions = request.preface.messages.iter_mut().find(|message| message.role == Role::System);
    if let Some(instructions) = instructions {
        instructions.parts.push(part);
        return;
    }
    let first = request.path.first().filter(|first| first.role == Role::System).cloned();
    if let Some(mut instructions) = first.filter(|_| request.preface.messages.is_empty()) {
        instructions.parts.push(part);
        request.path.replace(0, instructions);
        return;
    }
    if let Content::Text(text) = &mut part.content {
        // There are no instructions that the empty line would separate from the notes.
        *text = text.trim_start().to_owned();
    }
    request.preface.messages.insert(0, Message::new(Role::System, vec![part]));
}
