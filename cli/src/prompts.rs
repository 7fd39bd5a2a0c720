//! A question that is asked with a prompt of a library.

use std::sync::Arc;

use alloquy::core::prompt_library::{
    FilledPrompt, PromptFacts, PromptKind, PromptLibrary, PromptName, Values,
};
use alloquy::core::{Message, Preface, Result, TurnRequest};

use crate::current::Current;
use crate::notes::Notes;

/// A prompt of a library, and its values.
#[derive(Clone, Debug)]
pub(crate) struct NamedPrompt {
    pub(crate) library: Arc<dyn PromptLibrary>,
    pub(crate) name: PromptName,
    pub(crate) values: Values,
}

impl NamedPrompt {
    /// Returns the beginning of a conversation, if this is a system prompt.
    ///
    /// # Errors
    /// Those of a prompt that does not exist or cannot be filled in.
    pub(crate) fn preface(&self, notes: Notes) -> Result<Option<Preface>> {
        if self.name.kind != PromptKind::System {
            return Ok(None);
        }
        let filled = self.library.prompt(&self.name)?.fill(&self.values)?;
        note_lacks(&filled, notes);
        Ok(Some(Preface::from(filled)))
    }

    /// Fills the prompt in as a turn of a conversation does, and says what it lacks.
    ///
    /// # Errors
    /// Those of a prompt that does not exist or cannot be filled in, and those of the store.
    pub(crate) async fn filled(&self, current: &Current, notes: Notes) -> Result<FilledPrompt> {
        let prompt = self.library.prompt(&self.name)?;
        let path = match current.chat() {
            Ok(chat) => chat.history().await?,
            Err(_) => Vec::new(),
        };
        let values = self.values.clone().or_conversation(prompt.info(), &current.preface().await?, &path);
        let filled = prompt.fill(&values)?;
        note_lacks(&filled, notes);
        Ok(filled)
    }

    /// Returns the request of a turn that sends the prompt, and then messages.
    pub(crate) fn request(&self, messages: Vec<Message>) -> TurnRequest {
        TurnRequest::from(messages).prompt_name(self.name.clone(), self.values.clone())
    }
}

/// Says what a prompt lacked.
pub(crate) fn note_lacks(filled: &FilledPrompt, notes: Notes) {
    for note in lacks(&filled.facts) {
        notes.say(note);
    }
}

fn lacks(facts: &PromptFacts) -> Vec<String> {
    let mut notes = Vec::new();
    if !facts.missing.is_empty() {
        notes.push(format!("prompt {} has no value for {}", facts.name, facts.missing.join(", ")));
    }
    if !facts.unknown.is_empty() {
        notes.push(format!("prompt {} does not read {}", facts.name, facts.unknown.join(", ")));
    }
    if !facts.missing_prompts.is_empty() {
        let missing = facts.missing_prompts.join(", ");
        notes.push(format!("prompt {} refers to {missing}, which does not exist", facts.name));
    }
    notes
}
