//! The commands of a chat for notes, and what an answer cites.

use std::sync::Arc;

use alloquy::core::{Conversation, Error, ErrorKind, Owner, Reply, Result};
use alloquy::memory::{Note, NoteSource, Notes, Remember as _};
use serde_json::json;

use super::session::{Answerer, Repl};
use crate::commands::note;
use crate::failure::Failure;

impl Repl {
    /// Stores a note, with the place of this conversation as its source.
    pub(super) async fn remember(&mut self, text: &str) -> Result<(), Failure> {
        let (notes, owner) = self.stored_notes()?;
        let mut note = Note::new(text);
        if let Some(source) = source(self.current.chat().ok()).await? {
            note = note.source(source);
        }
        let id = notes.remember(&owner, note).await?;
        let has_memory =
            self.answerer.as_ref().is_some_and(|answerer| answerer.opener.grounding.has_memory());
        let hint = if has_memory { "" } else { "; a chat with --memory reminds the model of notes" };
        self.notes.say(format_args!("remembered as {id}{hint}"));
        Ok(self.printer.show("remembered", "", json!({"id": id, "text": text}))?)
    }

    /// Lists the notes.
    pub(super) async fn list_notes(&mut self) -> Result<(), Failure> {
        let (notes, owner) = self.stored_notes()?;
        let found = notes.list(&owner).await?;
        if found.is_empty() {
            self.notes.say("there is no note: /remember TEXT adds one");
        }
        Ok(self.printer.show("notes", &note::listed(&found), note::value(&found))?)
    }

    /// Forgets a note.
    pub(super) async fn forget(&mut self, id: &str) -> Result<(), Failure> {
        let (notes, owner) = self.stored_notes()?;
        let found = notes.find(&owner, id).await?;
        notes.forget(&owner, found.id).await?;
        self.notes.say(format_args!("forgot: {}", found.note.text));
        Ok(self.printer.show("forgotten", "", json!({"id": found.id}))?)
    }

    /// Prints which passages of documents an answer cites.
    pub(super) fn show_sources(&mut self, reply: &Reply) -> Result<(), Failure> {
        let Some(Answerer { opener, .. }) = &self.answerer else { return Ok(()) };
        opener.grounding.show_sources(reply, &mut *self.printer, &opener.guards, self.notes)
    }

    /// Returns the notes of the chat's store, and whose they are.
    fn stored_notes(&self) -> Result<(Notes, Owner)> {
        let Some(Answerer { opener, .. }) = &self.answerer else {
            return Err(Error::new(ErrorKind::Unsupported, "this chat has no store for notes"));
        };
        Ok((Notes::new(Arc::clone(&opener.store)), opener.owner.clone()))
    }
}

/// Returns the message after which a note was written; `None` before the first one.
async fn source(chat: Option<Conversation>) -> Result<Option<NoteSource>> {
    let Some(chat) = chat else { return Ok(None) };
    let head = chat.head().await?;
    Ok(head.map(|head| NoteSource::new(chat.id().clone(), head)))
}
