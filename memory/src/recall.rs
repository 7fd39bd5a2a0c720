//! The traits of what recalls notes and what remembers them.

use std::fmt::Debug;
use std::sync::Arc;

use alloquy_core::{ConversationId, Message, NodeId, Owner, Result, Role};
use async_trait::async_trait;

use crate::note::{Note, StoredNote};

/// What notes are recalled for: a question, with the messages before it.
///
/// ```
/// use alloquy_core::{Message, Owner};
/// use alloquy_memory::RecallRequest;
///
/// let owner = Owner::local();
/// let path = [Message::user("Hi"), Message::assistant("Hello!"), Message::user("Where do I live?")];
/// let request = RecallRequest::new(&owner, &path).limit(3);
/// assert_eq!((request.text(), request.limit), ("Where do I live?".to_owned(), 3));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RecallRequest<'a> {
    /// Whose notes.
    pub owner: &'a Owner,
    /// The conversation of the question; `None` outside of one.
    pub conversation: Option<&'a ConversationId>,
    /// The messages up to the question.
    pub path: &'a [Message],
    /// The largest number of notes.
    pub limit: usize,
}

impl<'a> RecallRequest<'a> {
    /// How many notes are recalled if no limit is set.
    pub const LIMIT: usize = 5;

    /// Creates a request for at most [`RecallRequest::LIMIT`] notes of an owner.
    pub fn new(owner: &'a Owner, path: &'a [Message]) -> Self {
        Self { owner, conversation: None, path, limit: Self::LIMIT }
    }

    /// Sets the conversation of the question.
    #[must_use]
    pub fn conversation(mut self, conversation: &'a ConversationId) -> Self {
        self.conversation = Some(conversation);
        self
    }

    /// Sets the largest number of notes.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Returns the text of the last message of the user, without the notes and documents that it shows; empty if there is none.
    pub fn text(&self) -> String {
        let question = self.path.iter().rfind(|message| message.role == Role::User);
        question.map(Message::own_text).unwrap_or_default()
    }
}

/// What was recalled.
///
/// [`Recall`] has an example.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Recalled {
    /// The notes, the best first.
    pub notes: Vec<StoredNote>,
    /// How many notes there were to choose from, those of [`Recalled::notes`] included.
    pub of: usize,
    /// What failed while others answered.
    pub failed: Vec<FailedRecall>,
}

/// A part of a recall that failed while others answered.
///
/// [`Recalled::failed`] lists them, and [`Recall`] has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedRecall {
    /// Its name.
    pub name: String,
    /// Why it failed.
    pub reason: String,
}

impl Recalled {
    /// Keeps the first `limit` of the notes that were found.
    pub fn first(mut found: Vec<StoredNote>, limit: usize) -> Self {
        let of = found.len();
        found.truncate(limit);
        Self { notes: found, of, failed: Vec::new() }
    }
}

/// Recalls notes for a question.
///
/// # Contract
/// * The best note is the first one. There are at most [`RecallRequest::limit`] notes, each once.
/// * [`Recalled::of`] does not depend on the limit, and is at least the number of notes. So a caller knows how many it did not get.
/// * Notes of another owner are never recalled.
/// * Recalling changes nothing: the same request recalls the same notes until notes change.
/// * A failure is an error, never an empty result.
///
/// `laws::recall`, with the feature `testing`, checks an implementation.
///
/// ```
/// use alloquy_core::{Message, NodeId, Owner, Result};
/// use alloquy_memory::{Note, Recall, RecallRequest, Recalled, StoredNote};
///
/// /// Recalls one note, for whatever is asked.
/// #[derive(Debug)]
/// struct House(NodeId);
///
/// #[async_trait::async_trait]
/// impl Recall for House {
///     fn name(&self) -> &str {
///         "house"
///     }
///     async fn recall(&self, request: RecallRequest<'_>) -> Result<Recalled> {
///         let rule = StoredNote::new(self.0, Note::new("The house is quiet after ten."));
///         Ok(Recalled::first(vec![rule], request.limit))
///     }
/// }
///
/// # pollster::block_on(async {
/// let recalled = House(NodeId::new()).recall(RecallRequest::new(&Owner::local(), &[Message::user("Hi")])).await?;
/// assert_eq!((recalled.notes.len(), recalled.of), (1, 1));
/// # Ok::<(), alloquy_core::Error>(())
/// # }).unwrap();
/// ```
#[async_trait]
pub trait Recall: Send + Sync + Debug {
    /// Returns its name, which facts and warnings mention.
    fn name(&self) -> &str;

    /// Recalls notes.
    ///
    /// # Errors
    /// When the notes cannot be read or searched.
    async fn recall(&self, request: RecallRequest<'_>) -> Result<Recalled>;
}

#[async_trait]
impl<R: Recall + ?Sized> Recall for Arc<R> {
    fn name(&self) -> &str {
        (**self).name()
    }

    async fn recall(&self, request: RecallRequest<'_>) -> Result<Recalled> {
        (**self).recall(request).await
    }
}

/// Remembers notes and forgets them.
///
/// # Contract
/// * A note is recalled as soon as it is remembered, unless others are better or it does not fit the question.
/// * A note that is replaced is not recalled, and its replacement is.
/// * A note that is forgotten is not recalled, nor are the notes that it replaced.
/// * Nothing is lost when several writers work at once: if two replace the same note, both replacements are notes.
/// * A note of another owner is [`NotFound`](alloquy_core::ErrorKind::NotFound).
/// * A note that is not [valid](Note::must_be_valid) is refused.
///
/// Remembering is explicit: a call of the host, a tool, or proposals of a model that the host accepts. `laws::remember`, with the
/// feature `testing`, checks an implementation. [`Notes`](crate::Notes) is one, with an example.
#[async_trait]
pub trait Remember: Recall {
    /// Stores a note and returns its id. With [`Note::replaces`] it replaces that note.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](alloquy_core::ErrorKind::Invalid) for a note that is not valid,
    /// [`ErrorKind::NotFound`](alloquy_core::ErrorKind::NotFound) if the note to replace does not exist, and those of the store.
    async fn remember(&self, owner: &Owner, note: Note) -> Result<NodeId>;

    /// Forgets a note, together with the notes that it replaced.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](alloquy_core::ErrorKind::NotFound) if it does not exist, and those of the store.
    async fn forget(&self, owner: &Owner, note: NodeId) -> Result<()>;
}

#[async_trait]
impl<R: Remember + ?Sized> Remember for Arc<R> {
    async fn remember(&self, owner: &Owner, note: Note) -> Result<NodeId> {
        (**self).remember(owner, note).await
    }

    async fn forget(&self, owner: &Owner, note: NodeId) -> Result<()> {
        (**self).forget(owner, note).await
    }
}
