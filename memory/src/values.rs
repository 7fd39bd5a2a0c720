//! Notes as the value `memory` of prompts.

use alloquy_core::prompt_library::{Prompt, PromptPlace, SourcedValues, ValueSource, Values};
use alloquy_core::{Message, Result, Source};
use async_trait::async_trait;
use serde_json::json;

use crate::lines::one_line;
use crate::recall::{Recall, RecallRequest};
use crate::used::{MEMORY_KEY, MemoryUse};

/// The name of the value.
const NAME: &str = "memory";

/// Recalls notes for prompts of a library that read the value `memory`, and stores with the message which ones it shows.
///
/// A manager has one ([`ManagerBuilder::value_source`](alloquy_core::manager::ManagerBuilder::value_source)). The notes are recalled
/// for the text of the values that the prompt is filled in with, so that a prompt `{{memory}} {{question}}` shows what is known about the
/// question. They are part of the message: the tree has them, unlike the notes of a [`Reminder`](crate::Reminder).
///
/// ```
/// use std::sync::Arc;
///
/// use alloquy_core::prompt_library::{PromptLibrary, PromptName, Values};
/// use alloquy_core::store::MemoryStore;
/// use alloquy_core::{Manager, TurnRequest};
/// use alloquy_memory::{Cue, MemoryValues, Notes};
/// use alloquy_testing::EchoModel;
///
/// # fn build(library: Arc<dyn PromptLibrary>) -> alloquy_core::Result<Manager> {
/// let notes = Notes::new(Arc::new(MemoryStore::default()));
/// Manager::builder(EchoModel).prompts(library).value_source(MemoryValues::new(Cue::new(notes))).build()
/// # }
/// ```
#[derive(Debug)]
pub struct MemoryValues<R> {
    recall: R,
    max_notes: usize,
}

impl<R: Recall> MemoryValues<R> {
    /// Creates a source of at most [`RecallRequest::LIMIT`] notes.
    pub fn new(recall: R) -> Self {
        Self { recall, max_notes: RecallRequest::LIMIT }
    }

    /// Sets the largest number of notes.
    #[must_use]
    pub fn max_notes(mut self, notes: usize) -> Self {
        self.max_notes = notes;
        self
    }
}

#[async_trait]
impl<R: Recall> ValueSource for MemoryValues<R> {
    async fn values(
        &self,
        prompt: &dyn Prompt,
        given: &Values,
        place: &PromptPlace<'_>,
    ) -> Result<SourcedValues> {
        let mut found = SourcedValues::default();
        if !prompt.info().variables.contains(NAME) || given.get(NAME).is_some() {
            return Ok(found);
        }
        let path = [Message::user(text(given))];
        let request = RecallRequest::new(place.owner, &path).conversation(&place.record.id);
        let recalled = self.recall.recall(request.limit(self.max_notes)).await?;
        let mut notes = String::new();
        for note in &recalled.notes {
            // One line a note, so that a note cannot look like several.
            notes.push_str("- ");
            notes.push_str(&one_line(&note.note.text));
            notes.push('\n');
        }
        let source = Source::Memory { id: self.recall.name().to_owned() };
        found.values = Values::new().set_from(NAME, notes, source);
        let shown: Vec<_> = recalled.notes.iter().map(|note| note.id).collect();
        let used = MemoryUse {
            from: self.recall.name().to_owned(),
            left_out: recalled.of.saturating_sub(shown.len()),
            shown,
            tokens: 0,
        };
        found.metadata.insert(MEMORY_KEY.to_owned(), json!([used]));
        Ok(found)
    }
}

/// The texts among the values, which say what the prompt is about.
fn text(values: &Values) -> String {
    let texts = values.iter().filter_map(|(_, value)| value.value.as_str());
    texts.collect::<Vec<_>>().join("\n")
}
