//! Recalls the last exchanges of other conversations.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::SystemTime;

use alloquy_core::query::Filter;
use alloquy_core::store::ConversationStore;
use alloquy_core::{ConversationId, Node, NodeId, Owner, Query, Result, Role};
use async_trait::async_trait;

use crate::lines::{one_line, shortened};
use crate::note::{Note, NoteSource, StoredNote};
use crate::notes::without_notes;
use crate::recall::{Recall, RecallRequest, Recalled};

/// How many conversations are listed at once.
const PAGE: usize = 20;

/// Recalls the last exchanges of the owner's other conversations, the newest first, whatever is asked.
///
/// An exchange is a message of the user and the reply to it, on the path to the head of its conversation. Its note has the id and
/// the source of the reply. Nothing needs to be written for it.
///
/// ```
/// use std::sync::Arc;
///
/// use alloquy_core::store::MemoryStore;
/// use alloquy_core::{Manager, Owner, Preface};
/// use alloquy_memory::{LookBack, Recall, RecallRequest};
/// use alloquy_testing::EchoModel;
///
/// # pollster::block_on(async {
/// let store = Arc::new(MemoryStore::default());
/// let manager = Manager::builder(EchoModel).store(store.clone()).build()?;
/// manager.create(Preface::default()).await?.send("I moved to Oslo.").await?;
/// let recalled = LookBack::new(store).exchanges(3).recall(RecallRequest::new(&Owner::local(), &[])).await?;
/// assert_eq!(recalled.notes[0].note.text, "The user said: I moved to Oslo. The reply was: I moved to Oslo.");
/// # Ok::<(), alloquy_core::Error>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct LookBack {
    store: Arc<dyn ConversationStore>,
    exchanges: usize,
    longest: usize,
    filters: Vec<Filter>,
}

impl LookBack {
    /// Creates a recall of the last 5 exchanges in a store. A message of more than 300 characters is shortened.
    pub fn new(store: Arc<dyn ConversationStore>) -> Self {
        Self { store, exchanges: 5, longest: 300, filters: Vec::new() }
    }

    /// Sets how many exchanges there are to choose from.
    #[must_use]
    pub fn exchanges(mut self, exchanges: usize) -> Self {
        self.exchanges = exchanges;
        self
    }

    /// Sets how many characters of a message are shown.
    #[must_use]
    pub fn longest(mut self, characters: usize) -> Self {
        self.longest = characters;
        self
    }

    /// Looks only at conversations whose metadata matches.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use alloquy_core::query::Filter;
    /// use alloquy_core::store::MemoryStore;
    /// use alloquy_memory::LookBack;
    ///
    /// let garden = LookBack::new(Arc::new(MemoryStore::default())).filter(Filter::equals("project", "garden"));
    /// ```
    #[must_use]
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filters.push(filter);
        self
    }

    /// Returns the last exchanges on the path to the head of a conversation, the newest first.
    async fn of(&self, owner: &Owner, id: &ConversationId, head: NodeId) -> Result<Vec<StoredNote>> {
        let path = match self.store.load_path(owner, id, head).await {
            // It was deleted meanwhile.
            Err(error) if error.is_not_found() => return Ok(Vec::new()),
            path => path?,
        };
        let mut exchanges = Vec::new();
        let mut reply: Option<&Node> = None;
        for node in path.iter().rev() {
            let has_text = !node.message.text().trim().is_empty();
            match node.message.role {
                Role::Assistant if has_text && reply.is_none() => reply = Some(node),
                Role::User => {
                    if let Some(reply) = reply.take().filter(|_| has_text) {
                        exchanges.push(self.note(id, node, reply));
                    }
                }
                _ => {}
            }
            if exchanges.len() >= self.exchanges {
                break;
            }
        }
        Ok(exchanges)
    }

    fn note(&self, id: &ConversationId, question: &Node, reply: &Node) -> StoredNote {
        let said = shortened(&one_line(&question.message.text()), self.longest);
        let answered = shortened(&one_line(&reply.message.text()), self.longest);
        let note = Note::new(format!("The user said: {said} The reply was: {answered}"));
        StoredNote::new(reply.id, note.source(NoteSource::new(id.clone(), reply.id)))
    }
}

#[async_trait]
impl Recall for LookBack {
    fn name(&self) -> &str {
        "look_back"
    }

    async fn recall(&self, request: RecallRequest<'_>) -> Result<Recalled> {
        let mut newest: Vec<StoredNote> = Vec::new();
        let mut query = Query::default().filter(without_notes()).limit(PAGE);
        for filter in &self.filters {
            query = query.filter(filter.clone());
        }
        loop {
            let page = self.store.list(request.owner, &query).await?;
            for summary in page.conversations {
                // The list begins with the last updated one: a conversation that is older than all exchanges has no newer ones.
                let is_full = newest.len() >= self.exchanges;
                if is_full && newest.last().is_none_or(|last| is_newer(last.id, summary.updated)) {
                    return Ok(Recalled::first(newest, request.limit));
                }
                let Some(head) = summary.record.head else { continue };
                if request.conversation == Some(&summary.record.id) {
                    continue;
                }
                newest.extend(self.of(request.owner, &summary.record.id, head).await?);
                newest.sort_by_key(|note| Reverse(note.id));
                newest.dedup_by_key(|note| note.id);
                newest.truncate(self.exchanges);
            }
            match page.next {
                Some(cursor) => query = query.after(cursor),
                None => return Ok(Recalled::first(newest, request.limit)),
            }
        }
    }
}

/// Returns whether a node was created after a time.
fn is_newer(node: NodeId, time: SystemTime) -> bool {
    node.created() > time
}
