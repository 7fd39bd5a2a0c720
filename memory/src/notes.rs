//! Notes as a conversation: one node a note, in any store of conversations.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use alloquy_core::media::Digest;
use alloquy_core::query::{Filter, MetadataKey};
use alloquy_core::store::{ConversationRecord, ConversationStore};
use alloquy_core::tree::Tree;
use alloquy_core::{ConversationId, Error, ErrorKind, Message, Node, NodeId, Owner, Preface, Result};
use alloquy_retrieval::Lookup;
use async_trait::async_trait;
use serde_json::{Map, Value};

use crate::note::{Note, NoteSource, StoredNote};
use crate::passages::by_words;
use crate::recall::{Recall, RecallRequest, Recalled, Remember};

/// The key in the metadata of a conversation of notes.
///
/// [`without_notes`] leaves these conversations out of a list.
pub const NOTES_KEY: &str = "alloquy.notes";

/// The key in the metadata of a node that is a note; its value has the note's source.
///
/// [`Notes`] reads it.
pub const NOTE_KEY: &str = "note";

/// The fewest characters of a part of an id.
const FEWEST: usize = 4;

/// How many ids an error lists.
const CANDIDATES: usize = 4;

/// Returns the filter that leaves conversations of notes out of a list.
///
/// ```
/// use std::sync::Arc;
///
/// use alloquy_core::store::{ConversationStore, MemoryStore};
/// use alloquy_core::{Owner, Query};
/// use alloquy_memory::{Note, Notes, Remember, without_notes};
///
/// # pollster::block_on(async {
/// let (store, owner) = (Arc::new(MemoryStore::default()), Owner::local());
/// Notes::new(store.clone()).remember(&owner, Note::new("Ann lives in Oslo.")).await?;
/// assert_eq!(store.count(&owner, &Query::default()).await?, 1);
/// assert_eq!(store.count(&owner, &Query::default().filter(without_notes())).await?, 0);
/// # Ok::<(), alloquy_core::Error>(())
/// # }).unwrap();
/// ```
pub fn without_notes() -> Filter {
    Filter::missing(MetadataKey::of([NOTES_KEY]))
}

/// The notes of each owner, stored as a conversation.
///
/// A note is a first message of the conversation [`Notes::ID`], and a note that replaces another is its child. Forgetting prunes.
/// So every store keeps notes, an export contains them with their former versions, and owners have their own.
/// [`without_notes`] leaves the conversation out of lists.
///
/// As a [`Recall`], it recalls the newest notes, whatever is asked. [`Cue`](crate::Cue) searches them.
///
/// ```
/// use std::sync::Arc;
///
/// use alloquy_core::Owner;
/// use alloquy_core::store::MemoryStore;
/// use alloquy_memory::{Note, Notes, Remember};
///
/// # pollster::block_on(async {
/// let notes = Notes::new(Arc::new(MemoryStore::default()));
/// let owner = Owner::local();
/// let oslo = notes.remember(&owner, Note::new("Ann lives in Oslo.")).await?;
/// let rome = notes.replace(&owner, oslo, Note::new("Ann lives in Rome.")).await?;
/// assert_eq!(notes.list(&owner).await?.len(), 1);
/// assert_eq!(notes.history(&owner, rome).await?[0].note.text, "Ann lives in Oslo.");
/// notes.forget(&owner, rome).await?;
/// assert!(notes.list(&owner).await?.is_empty());
/// # Ok::<(), alloquy_core::Error>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct Notes {
    store: Arc<dyn ConversationStore>,
    id: Option<ConversationId>,
}

impl Notes {
    /// The name of the conversation of notes.
    pub const ID: &str = "alloquy.notes";

    /// Creates a handle to the notes in a store. The conversation is created with the first note.
    pub fn new(store: Arc<dyn ConversationStore>) -> Self {
        Self { store, id: None }
    }

    /// Sets another name for the conversation, such as one for each project.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use alloquy_core::store::MemoryStore;
    /// use alloquy_memory::Notes;
    ///
    /// let notes = Notes::new(Arc::new(MemoryStore::default())).with_id("garden.notes".parse()?);
    /// assert_eq!(notes.id(), "garden.notes");
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    #[must_use]
    pub fn with_id(mut self, id: ConversationId) -> Self {
        self.id = Some(id);
        self
    }

    /// Returns the name of the conversation.
    pub fn id(&self) -> &str {
        self.id.as_ref().map_or(Self::ID, ConversationId::as_str)
    }

    /// Replaces a note and returns the id of the new one. The former one stays in its [history](Notes::history).
    ///
    /// # Errors
    /// As [`Remember::remember`].
    pub async fn replace(&self, owner: &Owner, former: NodeId, note: Note) -> Result<NodeId> {
        self.remember(owner, note.replacing(former)).await
    }

    /// Undoes the replacement of a note: the former one is recalled again. A note that replaces nothing is forgotten.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use alloquy_core::Owner;
    /// use alloquy_core::store::MemoryStore;
    /// use alloquy_memory::{Note, Notes, Remember};
    ///
    /// # pollster::block_on(async {
    /// let notes = Notes::new(Arc::new(MemoryStore::default()));
    /// let owner = Owner::local();
    /// let oslo = notes.remember(&owner, Note::new("Ann lives in Oslo.")).await?;
    /// let rome = notes.replace(&owner, oslo, Note::new("Ann lives in Rome.")).await?;
    /// notes.undo(&owner, rome).await?;
    /// assert_eq!(notes.list(&owner).await?[0].id, oslo);
    /// # Ok::<(), alloquy_core::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if it does not exist, [`ErrorKind::Conflict`] if it is replaced itself, and those of the store.
    pub async fn undo(&self, owner: &Owner, note: NodeId) -> Result<()> {
        let tree = self.tree(owner).await?;
        note_of(&tree, note)?;
        if let Some(later) = replacements(&tree, note).first() {
            let message = format!("note {note} is replaced by {later}: undo that one first");
            return Err(Error::new(ErrorKind::Conflict, message));
        }
        self.prune(owner, note).await
    }

    /// Returns the notes that are not replaced, the newest first.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn list(&self, owner: &Owner) -> Result<Vec<StoredNote>> {
        Ok(current(&self.tree(owner).await?))
    }

    /// Returns a note, also one that was replaced.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if it does not exist, and those of the store.
    pub async fn get(&self, owner: &Owner, note: NodeId) -> Result<StoredNote> {
        note_of(&self.tree(owner).await?, note)
    }

    /// Finds a note by its id, or by at least 4 characters of the beginning or the end of its id. It may be a note that was replaced.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use alloquy_core::Owner;
    /// use alloquy_core::store::MemoryStore;
    /// use alloquy_memory::{Note, Notes, Remember};
    ///
    /// # pollster::block_on(async {
    /// let notes = Notes::new(Arc::new(MemoryStore::default()));
    /// let owner = Owner::local();
    /// let id = notes.remember(&owner, Note::new("Ann lives in Oslo.")).await?;
    /// assert_eq!(notes.find(&owner, &id.to_string()[28..]).await?.id, id);
    /// # Ok::<(), alloquy_core::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if there is none, [`ErrorKind::Invalid`] if several ids begin or end so, and those of the store.
    pub async fn find(&self, owner: &Owner, id: &str) -> Result<StoredNote> {
        let tree = self.tree(owner).await?;
        let found: Vec<&Node> = tree.nodes().filter(|node| is_part(id, node.id)).collect();
        match found.as_slice() {
            [node] => note_of(&tree, node.id),
            [] => {
                let message = format!(
                    "there is no note {id:?}: give its id, or at least {FEWEST} characters of its end"
                );
                Err(Error::new(ErrorKind::NotFound, message))
            }
            several => {
                let mut ids: Vec<String> =
                    several.iter().take(CANDIDATES).map(|node| node.id.to_string()).collect();
                ids.sort_unstable();
                let message = format!(
                    "{id:?} is a part of {} ids, such as {}: give more of it",
                    several.len(),
                    ids.join(", ")
                );
                Err(Error::new(ErrorKind::Invalid, message))
            }
        }
    }

    /// Returns a note after the notes that it replaced, the oldest first.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if it does not exist, and those of the store.
    pub async fn history(&self, owner: &Owner, note: NodeId) -> Result<Vec<StoredNote>> {
        let tree = self.tree(owner).await?;
        note_of(&tree, note)?;
        Ok(tree.path(Some(note))?.into_iter().filter_map(read).collect())
    }

    /// Returns the notes that share words with a text, the best first, at most `limit`.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use alloquy_core::Owner;
    /// use alloquy_core::store::MemoryStore;
    /// use alloquy_memory::{Note, Notes, Remember};
    ///
    /// # pollster::block_on(async {
    /// let notes = Notes::new(Arc::new(MemoryStore::default()));
    /// let owner = Owner::local();
    /// for text in ["Ann lives in Oslo.", "Ann drinks tea."] {
    ///     notes.remember(&owner, Note::new(text)).await?;
    /// }
    /// let found = notes.search(&owner, "Where does she live? In Oslo?", 1).await?;
    /// assert_eq!(found[0].note.text, "Ann lives in Oslo.");
    /// # Ok::<(), alloquy_core::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Those of the store.
    pub async fn search(&self, owner: &Owner, text: &str, limit: usize) -> Result<Vec<StoredNote>> {
        let notes = self.list(owner).await?;
        let mut found = by_words(owner, &notes, &Lookup::new(text).limit(notes.len())).await?;
        // Of equal ones, the newer is first: ids sort by time.
        found.sort_by(|left, right| right.score.total_cmp(&left.score).then(right.id.cmp(&left.id)));
        let mut by_id: HashMap<String, StoredNote> =
            notes.into_iter().map(|note| (note.id.to_string(), note)).collect();
        Ok(found.iter().take(limit).filter_map(|passage| by_id.remove(&passage.id)).collect())
    }

    /// Returns a digest that changes with the notes of an owner.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn version(&self, owner: &Owner) -> Result<Digest> {
        Ok(version_of(&self.list(owner).await?))
    }

    fn conversation(&self) -> Result<ConversationId> {
        self.id().parse()
    }

    /// Prunes a note and what is below it.
    async fn prune(&self, owner: &Owner, note: NodeId) -> Result<()> {
        let id = self.conversation()?;
        loop {
            match self.store.prune(owner, &id, note).await {
                // A host that opened the conversation has moved its head there: it is moved back, unless somebody did so meanwhile.
                Err(error) if error.is_conflict() => {
                    let head = self.store.record(owner, &id).await?.head;
                    match self.store.set_head(owner, &id, head, None).await {
                        Err(error) if !error.is_conflict() => return Err(error),
                        _ => {}
                    }
                }
                pruned => return pruned,
            }
        }
    }

    /// Reads the tree of notes; it is empty if there are none.
    async fn tree(&self, owner: &Owner) -> Result<Tree> {
        let id = self.conversation()?;
        let (record, tree) = match self.store.load(owner, &id).await {
            Err(error) if error.is_not_found() => return Ok(Tree::default()),
            loaded => loaded?,
        };
        must_be_of_notes(&record)?;
        Ok(tree)
    }

    /// Creates the conversation, unless it exists.
    async fn must_exist(&self, owner: &Owner) -> Result<()> {
        let id = self.conversation()?;
        let error = match self.store.record(owner, &id).await {
            Ok(record) => return must_be_of_notes(&record),
            Err(error) => error,
        };
        if !error.is_not_found() {
            return Err(error);
        }
        let mut record = ConversationRecord::new(id, Preface::default());
        record.metadata.insert(NOTES_KEY.to_owned(), true.into());
        match self.store.create(owner, &record).await {
            // Another writer has created it meanwhile.
            Err(error) if error.is_conflict() => {
                must_be_of_notes(&self.store.record(owner, &record.id).await?)
            }
            created => created,
        }
    }
}

#[async_trait]
impl Recall for Notes {
    fn name(&self) -> &str {
        "notes"
    }

    async fn recall(&self, request: RecallRequest<'_>) -> Result<Recalled> {
        Ok(Recalled::first(self.list(request.owner).await?, request.limit))
    }
}

#[async_trait]
impl Remember for Notes {
    async fn remember(&self, owner: &Owner, note: Note) -> Result<NodeId> {
        note.must_be_valid()?;
        if let Some(former) = note.replaces {
            note_of(&self.tree(owner).await?, former)?;
        }
        self.must_exist(owner).await?;
        let node = written(&note);
        // The head is before the first message and never moves. So writers need not agree on it: each appends its own node.
        self.store.append(owner, &self.conversation()?, std::slice::from_ref(&node)).await?;
        Ok(node.id)
    }

    async fn forget(&self, owner: &Owner, note: NodeId) -> Result<()> {
        let tree = self.tree(owner).await?;
        note_of(&tree, note)?;
        // From a to b to c, where only b has another replacement d: forgetting c prunes c, and forgetting a prunes all.
        let mut top = note;
        while let Some(parent) = tree.node(top)?.parent {
            if replacements(&tree, parent).len() > 1 {
                break;
            }
            top = parent;
        }
        self.prune(owner, top).await
    }
}

/// Checks that a conversation of this name has notes, and not messages of a host.
fn must_be_of_notes(record: &ConversationRecord) -> Result<()> {
    if record.metadata.contains_key(NOTES_KEY) {
        return Ok(());
    }
    let message = format!(
        "conversation {:?} has no notes: rename it, or choose another name by `Notes::with_id`",
        record.id.as_str()
    );
    Err(Error::new(ErrorKind::Conflict, message))
}

/// Returns whether a text is an id, or its beginning or its end.
fn is_part(text: &str, id: NodeId) -> bool {
    let id = id.to_string();
    text.len() >= FEWEST && (id.starts_with(text) || id.ends_with(text))
}

/// Returns the node of a note.
fn written(note: &Note) -> Node {
    let mut node = Node::new(note.replaces, Message::user(&note.text));
    let mut facts = Map::new();
    if let Some(source) = &note.source {
        let conversation = Value::from(source.conversation.as_str());
        let message = Value::from(source.node.to_string());
        let fields = [("conversation".to_owned(), conversation), ("node".to_owned(), message)];
        facts.insert("source".to_owned(), Value::Object(fields.into_iter().collect()));
    }
    node.metadata.insert(NOTE_KEY.to_owned(), Value::Object(facts));
    node
}

/// Reads the note of a node; `None` for a node that is no note.
fn read(node: &Node) -> Option<StoredNote> {
    let facts = node.metadata.get(NOTE_KEY)?;
    let source =
        facts.get("source").and_then(|source| serde_json::from_value::<NoteSource>(source.clone()).ok());
    let note = Note { text: node.message.text(), source, replaces: node.parent };
    Some(StoredNote::new(node.id, note))
}

/// Finds a note in a tree.
fn note_of(tree: &Tree, id: NodeId) -> Result<StoredNote> {
    let found = tree.node(id).ok().and_then(read);
    found
        .ok_or_else(|| Error::new(ErrorKind::NotFound, format!("there is no note {id}: it may be forgotten")))
}

/// Returns the notes that no other one replaces, the newest first.
fn current(tree: &Tree) -> Vec<StoredNote> {
    let mut notes = Vec::new();
    for node in tree.nodes() {
        if replacements(tree, node.id).is_empty() {
            notes.extend(read(node));
        }
    }
    notes.sort_unstable_by_key(|note| Reverse(note.id));
    notes
}

/// Returns the notes that replace a note. A host may have added messages below a note, which replace nothing.
fn replacements(tree: &Tree, note: NodeId) -> Vec<NodeId> {
    let children = tree.children(Some(note)).iter().copied();
    children
        .filter(|child| tree.node(*child).is_ok_and(|node| node.metadata.contains_key(NOTE_KEY)))
        .collect()
}

/// Returns a digest of the ids of notes. A note never changes, so its id is enough.
pub(crate) fn version_of(notes: &[StoredNote]) -> Digest {
    let mut ids = String::new();
    for note in notes {
        ids.push_str(&note.id.to_string());
    }
    Digest::of(ids.as_bytes())
}
