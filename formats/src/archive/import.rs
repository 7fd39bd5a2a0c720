//! Stores the conversations of a document or a database, some hundreds at a time.

use alloquy_core::Result;
use alloquy_core::store::{ConversationId, ConversationStore, Owner};

use super::converted::ReadArchive;
use super::documents::Archives;
use super::loss::Repair;

/// How many conversations, of how many bytes of their source, are stored together, so that the disk is waited for once.
const TOGETHER: usize = 500;
const BYTES: usize = 4 << 20;

/// Conversations from elsewhere, each read on demand: [`Archives`] of a document, or a database.
pub trait ArchiveSource: Iterator<Item = Result<ReadArchive>> {
    /// Returns how much there is to read: bytes of a document, conversations of a database.
    fn size(&self) -> usize;

    /// Returns how much of it was read.
    fn read_so_far(&self) -> usize;
}

impl ArchiveSource for Archives<'_> {
    fn size(&self) -> usize {
        self.bytes()
    }

    fn read_so_far(&self) -> usize {
        self.bytes_read()
    }
}

/// A conversation that was imported.
///
/// [`import_all`] has an example.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Imported {
    /// Its name in the store.
    pub id: ConversationId,
    /// How many nodes it has.
    pub nodes: usize,
    /// What is not as it was in the document.
    pub repairs: Vec<Repair>,
}

/// Imports all conversations of a source, and returns for each whether it is stored, in the order of the source. Each is
/// stored whole or not at all, and none replaces one that exists; the same call continues an import that was stopped.
///
/// ```
/// use alloquy_core::{Manager, Query, Owner};
/// use alloquy_core::store::{ConversationStore, MemoryStore};
/// use alloquy_formats::archive::{self, ArchiveFormat, ArchiveLimits, Archives};
/// use alloquy_formats::messages::MediaRules;
///
/// # pollster::block_on(async {
/// let notes = "# Tea\n\n## User\n\nGreen or black?\n\n## Assistant\n\nGreen.\n";
/// let rules = MediaRules::default();
/// let mut source = Archives::of(ArchiveFormat::recognized(notes)?, notes, ArchiveLimits::default(), &rules)?;
/// let (store, owner) = (MemoryStore::default(), Owner::local()); // or `manager.store()` and `manager.owner()`
/// let imported = archive::import_all(&store, &owner, &mut source).await;
/// assert_eq!(imported[0].as_ref().map_or(0, |tea| tea.nodes), 2);
/// assert_eq!(store.count(&owner, &Query::default()).await?, 1);
/// # Ok::<(), alloquy_core::Error>(())
/// # }).unwrap();
/// ```
pub async fn import_all<S: ArchiveSource + ?Sized>(
    store: &dyn ConversationStore,
    owner: &Owner,
    source: &mut S,
) -> Vec<Result<Imported>> {
    let mut outcomes = Vec::new();
    while let Some(more) = import_some(store, owner, source).await {
        outcomes.extend(more);
    }
    outcomes
}

/// Imports the next some hundred conversations of a source, those that are stored together; `None` is the end.
///
/// [`import_all`] calls it in a loop. [`ArchiveSource::read_so_far`] is the progress between two calls.
pub async fn import_some<S: ArchiveSource + ?Sized>(
    store: &dyn ConversationStore,
    owner: &Owner,
    source: &mut S,
) -> Option<Vec<Result<Imported>>> {
    let begin = source.read_so_far();
    let mut archives = Vec::new();
    let mut outcomes = Vec::new();
    while outcomes.len() < TOGETHER && source.read_so_far() - begin < BYTES {
        match source.next() {
            Some(Ok(ReadArchive { archive, repairs })) => {
                let id = archive.record.id.clone();
                let nodes = archive.nodes.len();
                outcomes.push(Ok(Imported { id, nodes, repairs }));
                archives.push(archive);
            }
            Some(Err(error)) => outcomes.push(Err(error)),
            None if outcomes.is_empty() => return None,
            None => break,
        }
    }
    let mut stored = store.import_all(owner, archives).await.into_iter();
    for outcome in &mut outcomes {
        if outcome.is_ok()
            && let Some(Err(error)) = stored.next()
        {
            *outcome = Err(error);
        }
    }
    Some(outcomes)
}
