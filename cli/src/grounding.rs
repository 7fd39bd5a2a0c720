//! What a model is shown beside the conversation: passages of documents, and notes.

mod sources;

use std::sync::Arc;

use alloquy::Model;
use alloquy::core::chat_model::Origin;
use alloquy::core::middleware::Middleware;
use alloquy::core::store::MemoryStore;
use alloquy::core::{ConversationId, Error, ErrorKind, Owner, Reply, Request, Result};
use alloquy::inference::LanguageModel;
use alloquy::memory::{Cue, Notes as StoredNotes, OnFailure, Reminder};
use alloquy::retrieval::{DocumentsUse, Lookup, RetrieveDocuments, Retriever};

use crate::arguments::{GroundingArguments, MemoryArguments, StoreArguments};
use crate::failure::Failure;
use crate::guards::Guards;
use crate::indexes;
use crate::kept::{self, Kept};
use crate::notes::Notes;
use crate::open_model::{OpenModel, PromptLength};
use crate::printer::Printer;
use crate::settings::{self, Settings};
use sources::Sources;

/// What a model is shown beside the conversation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grounding {
    documents: Option<Documents>,
    memory: Option<Memory>,
}

/// The documents that are searched for each question.
#[derive(Clone, Debug)]
struct Documents {
    retriever: Arc<dyn Retriever>,
    limit: usize,
}

/// The notes that are searched for each question.
#[derive(Clone, Debug)]
struct Memory {
    notes: StoredNotes,
    limits: MemoryArguments,
}

impl Grounding {
    /// Opens the index and the notes that the arguments name. Notes are read from the store of the conversations, or from that of
    /// the settings where conversations are not stored.
    ///
    /// # Errors
    /// Wrong arguments for a flag that has no effect, [`ErrorKind::NotFound`] for an index that does not exist, and those of index and store.
    pub(crate) async fn open(
        given: &GroundingArguments,
        settings: &Settings,
        store: &StoreArguments,
        kept: Option<&Kept>,
    ) -> Result<Self, Failure> {
        let GroundingArguments { documents, memory } = settings.settle(given)?;
        let mut grounding = Self::default();
        let has_documents = documents.documents || settings.origin("index") == settings::Origin::Flag;
        require(settings, has_documents, "--documents", &["passages", "embedder"])?;
        require(settings, memory.memory, "--memory", &["memory-notes", "memory-tokens"])?;
        if has_documents {
            let folder = indexes::folder(&documents.index, store)?;
            let index = indexes::existing(&folder, &documents.index)?;
            let limit = documents.passages.unwrap_or(Lookup::LIMIT.get());
            grounding.documents = Some(Documents { retriever: index.hybrid(), limit });
        }
        if memory.memory {
            let store = match kept {
                Some(kept) => Arc::clone(&kept.store),
                None => match kept::kept_for_reading(store).await {
                    // No conversation was stored yet, so there are no notes.
                    Err(error) if error.kind() == ErrorKind::NotFound => Arc::new(MemoryStore::default()),
                    kept => kept?.store,
                },
            };
            grounding.memory = Some(Memory { notes: StoredNotes::new(store), limits: memory });
        }
        Ok(grounding)
    }

    /// Returns the middleware that adds passages and notes to requests. A search that fails is a warning of the answer.
    pub(crate) fn middleware(&self, model: &OpenModel) -> Vec<Arc<dyn Middleware>> {
        self.adding(model.language_model(), OnFailure::Without)
    }

    /// Returns a request with the passages and notes of an owner.
    ///
    /// # Errors
    /// Those of a search.
    pub(crate) async fn prepared(
        &self,
        model: &Model,
        owner: Owner,
        mut request: Request,
    ) -> Result<Request> {
        let adding = self.adding(Some(model.language_model()), OnFailure::Fail);
        if request.origin.is_none() && !adding.is_empty() {
            request = request.origin(Origin::new(owner, ConversationId::new()));
        }
        for middleware in adding {
            request = middleware.prepare(request).await?;
        }
        Ok(request)
    }

    fn adding(&self, model: Option<&LanguageModel>, on_failure: OnFailure) -> Vec<Arc<dyn Middleware>> {
        let mut middleware: Vec<Arc<dyn Middleware>> = Vec::new();
        if let Some(Memory { notes, limits }) = &self.memory {
            let counter = PromptLength::from(model);
            let mut reminder = Reminder::new(Cue::new(notes.clone()), counter).on_failure(on_failure);
            if let Some(notes) = limits.memory_notes {
                reminder = reminder.max_notes(notes);
            }
            if let Some(tokens) = limits.memory_tokens {
                reminder = reminder.max_tokens(tokens);
            }
            middleware.push(Arc::new(reminder));
        }
        if let Some(Documents { retriever, limit }) = &self.documents {
            let documents = RetrieveDocuments::new(Arc::clone(retriever)).limit(*limit);
            middleware.push(Arc::new(documents.on_failure(on_failure)));
        }
        middleware
    }

    /// Returns whether the model is reminded of notes.
    pub(crate) fn has_memory(&self) -> bool {
        self.memory.is_some()
    }

    /// Prints which passages an answer cites, as notes and as an event.
    pub(crate) fn show_sources(
        &self,
        reply: &Reply,
        printer: &mut dyn Printer,
        guards: &Guards,
        notes: Notes,
    ) -> Result<(), Failure> {
        // Without it there was no question, or a warning says that the search failed.
        let Some(used) = DocumentsUse::of(reply) else { return Ok(()) };
        let sources = Sources::of(&used, &reply.text(), guards);
        for line in sources.lines() {
            notes.say(line);
        }
        printer.show("sources", "", sources.value())?;
        Ok(())
    }
}

/// Refuses flags that have no effect without another one.
fn require(settings: &Settings, is_there: bool, needed: &str, flags: &[&str]) -> Result<(), Failure> {
    for flag in flags {
        if !is_there && settings.origin(flag) == settings::Origin::Flag {
            let message = format!("--{flag} has no effect without {needed}: add {needed}, or leave it out");
            return Err(Failure::Arguments(Error::new(ErrorKind::Invalid, message)));
        }
    }
    Ok(())
}
