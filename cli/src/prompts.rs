//! A question that is asked with a prompt of a library.

use std::sync::Arc;

use alloquy::core::prompt_library::{
    FilledPrompt, PromptFacts, PromptKind, PromptLibrary, PromptName, Values,
};
use alloquy::core::{Message, Node, Preface, Result, TurnRequest};

use crate::notes::Notes;

/// What a conversation has under these names, if nothing else is set.
const OF_THE_CONVERSATION: [&str; 4] = ["system", "history", "memory", "last_response"];

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
        let filled = self.filled(&[], notes)?;
        Ok(Some(Preface::from(filled)))
    }

    /// Fills the prompt in, and says what it lacks. `path` are the messages before it, which may name outputs.
    ///
    /// # Errors
    /// Those of a prompt that does not exist or cannot be filled in.
    pub(crate) fn filled(&self, path: &[Node], notes: Notes) -> Result<FilledPrompt> {
        let prompt = self.library.prompt(&self.name)?;
        let mut values = self.values.clone();
        let outputs = Values::new().or_outputs(path);
        for variable in &prompt.info().variables {
            if let Some(output) = outputs.get(variable).filter(|_| values.get(variable).is_none()) {
                values = values.set(variable.clone(), output.value.clone());
            }
        }
        let filled = prompt.fill(&values)?;
        let mut facts = filled.facts.clone();
        facts.missing.retain(|name| !OF_THE_CONVERSATION.contains(&name.as_str()));
        for note in lacks(&facts) {
            notes.say(note);
        }
        Ok(filled)
    }

    /// Returns the request of a turn that sends the prompt, and then messages.
    pub(crate) fn request(&self, messages: Vec<Message>) -> TurnRequest {
        TurnRequest::from(messages).prompt_name(self.name.clone(), self.values.clone())
    }
}

/// Says what a prompt lacked.
pub(crate) fn lacks(facts: &PromptFacts) -> Vec<String> {
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
