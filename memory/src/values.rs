//! Notes as the value `memory` of prompts.

use alloquy_core::prompt_library::{Prompt, PromptPlace, SourcedValues, ValueSource, Values};
use alloquy_core::report::Warning;
use alloquy_core::{Message, Result, Source};
use alloquy_retrieval::OnFailure;
use async_trait::async_trait;
use serde_json::json;

use crate::asked::recalled;
use crate::lines::listed;
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
    on_failure: OnFailure,
}

impl<R: Recall> MemoryValues<R> {
    /// Creates a source of at most [`RecallRequest::LIMIT`] notes.
    pub fn new(recall: R) -> Self {
        Self { recall, max_notes: RecallRequest::LIMIT, on_failure: OnFailure::default() }
    }

    /// Sets the largest number of notes.
    #[must_use]
    pub fn max_notes(mut self, notes: usize) -> Self {
        self.max_notes = notes;
        self
    }

    /// Sets what happens when the recall fails. The warning of [`OnFailure::Without`] is [`Warning::MemoryUnavailable`].
    #[must_use]
    pub fn on_failure(mut self, on_failure: OnFailure) -> Self {
        self.on_failure = on_failure;
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
        let path = [Message::user(said(given))];
        let request = RecallRequest::new(place.owner, &path).conversation(&place.record.id);
        let recalled = recalled(&self.recall, request.limit(self.max_notes), self.on_failure).await?;
        found.warnings = recalled.warnings;
        let shown = recalled.notes;
        let left_out = recalled.of.saturating_sub(shown.len());
        if left_out > 0 {
            found.warnings.push(Warning::NotesLeftOut { notes: left_out });
        }
        // Without notes, a prompt's own default counts.
        if shown.is_empty() {
            return Ok(found);
        }
        let from = self.recall.name().to_owned();
        let text = listed("", &shown, false);
        found.values = Values::new().set_from(NAME, text.trim_end(), Source::Memory { id: from.clone() });
        let used =
            MemoryUse { from, shown: shown.iter().map(|note| note.id).collect(), left_out, tokens: None };
        found.metadata.insert(MEMORY_KEY.to_owned(), json!([used]));
        Ok(found)
    }
}

/// The texts that the caller gave, which say what the prompt is about.
fn said(given: &Values) -> String {
    let own = given
        .iter()
        .filter(|(_, value)| !matches!(value.source, Some(Source::Retrieved { .. } | Source::Memory { .. })));
    let texts = own.filter_map(|(_, value)| value.value.as_str());
    texts.collect::<Vec<_>>().join("\n")
}
