//! What a reply reports of the notes in its prompt.

use alloquy_core::{Node, NodeId, Reply};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The name of the fact in [`Reply::facts`] that lists the notes in a prompt. Its value is a list with an object for each
/// [`Reminder`](crate::Reminder).
///
/// [`memory_of`] reads it.
pub const MEMORY_KEY: &str = "memory";

/// The notes that the prompt of a reply had, and how many more there were.
///
/// It has ids and no texts, so that a forgotten note is gone. [`Notes::get`](crate::Notes::get) reads the text of an id.
/// [`memory_of`] has an example.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MemoryUse {
    /// What recalled the notes.
    pub from: String,
    /// The ids of the notes in the prompt, the best first.
    pub shown: Vec<NodeId>,
    /// How many notes were found that the prompt omits.
    pub left_out: usize,
    /// By how many tokens the notes made the prompt longer; `None` for notes in the message of a prompt, which are not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<usize>,
}

/// Returns the notes that the prompt of a stored reply had: an entry for each [`Reminder`](crate::Reminder) that found some. Of the
/// message of a prompt, it returns the notes that [`MemoryValues`](crate::MemoryValues) put into it.
///
/// ```
/// use std::sync::Arc;
///
/// use alloquy_core::store::MemoryStore;
/// use alloquy_core::{Manager, Owner, Preface};
/// use alloquy_memory::{Note, Notes, Remember, Reminder, memory_of};
/// use alloquy_testing::ScriptedModel;
///
/// # pollster::block_on(async {
/// let notes = Notes::new(Arc::new(MemoryStore::default()));
/// let id = notes.remember(&Owner::local(), Note::new("Ann lives in Oslo.")).await?;
/// let model = ScriptedModel::new([("<assistant>", "In Oslo.")]);
/// let manager = Manager::builder(model.clone()).middleware(Reminder::new(notes, model)).build()?;
/// let conversation = manager.create(Preface::default()).await?;
/// conversation.send("Where do I live?").await?;
/// let history = conversation.history().await?;
/// assert_eq!(memory_of(&history[1])[0].shown, [id]);
/// # Ok::<(), alloquy_core::Error>(())
/// # }).unwrap();
/// ```
pub fn memory_of(node: &Node) -> Vec<MemoryUse> {
    let fact = node.reply.as_ref().and_then(|facts| facts.facts.get(MEMORY_KEY));
    fact.or_else(|| node.metadata.get(MEMORY_KEY)).map(read).unwrap_or_default()
}

impl MemoryUse {
    /// Returns the notes that the prompt of a reply had, as [`memory_of`] does of a stored one.
    pub fn of(reply: &Reply) -> Vec<Self> {
        reply.facts.get(MEMORY_KEY).map(read).unwrap_or_default()
    }

    /// Adds it to the facts of a reply, before those of reminders nearer to the model.
    pub(crate) fn add_to(&self, reply: &mut Reply) {
        let mut all = vec![self.clone()];
        all.extend(Self::of(reply));
        // Text and numbers can always be written as JSON.
        let value = serde_json::to_value(all).unwrap_or_default();
        reply.facts.insert(MEMORY_KEY.to_owned(), value);
    }
}

fn read(fact: &Value) -> Vec<MemoryUse> {
    Vec::deserialize(fact).unwrap_or_default()
}
