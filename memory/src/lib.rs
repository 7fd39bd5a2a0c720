//! Memory across conversations with language models: notes, and what a model is reminded of.
//!
//! A conversation remembers what was said in it. This crate remembers across conversations. A [`Note`] is a sentence about a user,
//! with the message that it comes from. A [`Recall`] finds the notes that fit a question, and a [`Reminder`] shows them to the model.
//!
//! ```
//! use std::sync::Arc;
//!
//! use alloquy_core::store::MemoryStore;
//! use alloquy_core::{Manager, Preface};
//! use alloquy_memory::{Cue, Note, Notes, Remember, Reminder, memory_of};
//! use alloquy_testing::ScriptedModel;
//!
//! # pollster::block_on(async {
//! // Notes are stored beside the conversations of their owner.
//! let store = Arc::new(MemoryStore::default());
//! let notes = Notes::new(store.clone());
//!
//! // A model that is reminded of at most 3 notes, in at most 150 tokens.
//! let model = ScriptedModel::new([("- The user is allergic to nuts.", "Then not the walnut cake.")]);
//! let reminder = Reminder::new(Cue::new(notes.clone()), model.clone()).max_notes(3).max_tokens(150);
//! let manager = Manager::builder(model).store(store).middleware(reminder).build()?;
//!
//! let id = notes.remember(manager.owner(), Note::new("The user is allergic to nuts.")).await?;
//! let conversation = manager.create(Preface::default()).await?;
//! let reply = conversation.send("May I eat a cake with nuts?").await?;
//! assert_eq!(reply.text(), "Then not the walnut cake.");
//!
//! // The question is stored as it was asked, and the reply with the notes in its prompt.
//! let history = conversation.history().await?;
//! assert_eq!(history[0].message.text(), "May I eat a cake with nuts?");
//! assert_eq!(memory_of(&history[1])[0].shown, [id]);
//!
//! // What is forgotten is gone.
//! notes.forget(manager.owner(), id).await?;
//! assert!(notes.list(manager.owner()).await?.is_empty());
//! # Ok::<(), alloquy_core::Error>(())
//! # }).unwrap();
//! ```
//!
//! # What is recalled
//!
//! | recall | what it finds |
//! |---|---|
//! | [`Cue`] | notes that fit the question: by their words, and by the vectors of an embedder ([`NoteVectors`]) |
//! | [`Notes`] | the newest notes, whatever is asked |
//! | [`LookBack`] | the last exchanges of the owner's other conversations |
//! | [`Composite`] | what several of these find, joined by rank |
//!
//! # Who writes
//!
//! Nothing is remembered as a side effect. A host calls [`Remember::remember`]. A model calls the tools of [`NoteTools`], each call
//! with an approval. Or a [`NoteWriter`] reads an exchange and proposes notes, which the host accepts. A model deletes nothing
//! without an approval.
//!
//! # Notes are a conversation
//!
//! [`Notes`] stores each note as a node of a conversation, so every store keeps notes, an export contains them, and former versions
//! stay. [`without_notes`] leaves that conversation out of lists.
//!
//! # Where to read on
//!
//! [`Reminder`] describes where notes are in a prompt and what it costs. The guide `docs/memory.md` has more examples.
//!
//! # Features
//!
//! * `testing`: `laws` has the laws of [`Recall`] and [`Remember`], for the tests of your own.
//!
//! # Limits
//!
//! * A model may follow what a note says. A note cannot become a control token, and each is one line of the prompt, but a host
//!   decides what is remembered.
//! * Notes are read with each question, so they are meant to be some thousands, not millions. For more, implement [`Recall`] over
//!   a database.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod asked;
mod composite;
mod cue;
mod fitting;
mod fusion;
#[cfg(feature = "testing")]
pub mod laws;
mod lines;
mod look_back;
mod note;
mod note_vectors;
mod note_words;
mod notes;
mod passages;
mod placement;
mod recall;
mod reminder;
mod tools;
mod used;
mod values;
mod writer;

/// The examples of `docs/memory.md`.
#[cfg(doctest)]
#[doc = include_str!("../../docs/memory.md")]
struct MemoryPage;

pub use alloquy_retrieval::OnFailure;
pub use composite::Composite;
pub use cue::Cue;
pub use look_back::LookBack;
pub use note::{Note, NoteSource, StoredNote};
pub use note_vectors::NoteVectors;
pub use note_words::NoteWords;
pub use notes::{NOTE_KEY, NOTES_KEY, Notes, without_notes};
pub use placement::Placement;
pub use recall::{FailedRecall, Recall, RecallRequest, Recalled, Remember};
pub use reminder::{RemindedRequest, Reminder};
pub use tools::NoteTools;
pub use used::{MEMORY_KEY, MemoryUse, memory_of};
pub use values::MemoryValues;
pub use writer::{NoteProposal, NoteWriter, Proposals, RefusedProposal};
