//! Memory across conversations with language models: notes, and what a model is reminded of.

#![cfg_attr(docsrs, feature(doc_cfg))]

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
mod placement;
mod recall;
mod reminder;
mod tools;
mod used;
mod words;
mod writer;

pub use composite::Composite;
pub use cue::Cue;
pub use look_back::LookBack;
pub use note::{Note, NoteSource, StoredNote};
pub use note_vectors::NoteVectors;
pub use note_words::NoteWords;
pub use notes::{NOTE_KEY, NOTES_KEY, Notes, without_notes};
pub use placement::Placement;
pub use recall::{FailedRecall, Recall, RecallRequest, Recalled, Remember};
pub use reminder::{OnFailure, RemindedRequest, Reminder};
pub use tools::NoteTools;
pub use used::{MEMORY_KEY, MemoryUse, memory_of};
pub use writer::{NoteProposal, NoteWriter, Proposals, RefusedProposal};
