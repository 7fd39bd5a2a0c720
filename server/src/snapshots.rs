//! What models have computed of stored conversations, saved where other servers find it.
//!
//! A snapshot is restored before a turn whose prompt it has more of than this server holds. It is saved where a request asks for it,
//! and when the server ends. Nothing that goes wrong here fails a turn: what is not restored is computed.

mod recent;
mod report;
mod restoring;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use alloquy_core::store::ConversationStore;
use alloquy_core::{ConversationId, Error, ErrorKind, Owner, Result};
use alloquy_engine::decoder::{
    SavedSnapshot, Snapshot, SnapshotModel, SnapshotSource, SnapshotStore, SnapshotSummary,
};

use crate::metrics::Metrics;
use crate::models::{BeforeUnload, OpenedModel, ServedModels};
use recent::RecentTurns;

pub(crate) use recent::RecentTurn;
pub(crate) use report::refusal_word;
pub(crate) use restoring::RestoringCalls;

/// How long saving may take once the server ends, since service managers end a process that takes much longer; and before a model is
/// unloaded, since a request waits for its memory.
const SAVING: Duration = Duration::from_secs(10);

/// How long nothing is looked for at a place that has failed or was too slow, so that not every turn waits for it.
const PAUSE: Duration = Duration::from_secs(30);

/// The place of the snapshots, and the last turns of this server. Copies share them.
#[derive(Clone, Debug)]
pub(crate) struct Snapshots {
    store: Arc<dyn SnapshotStore>,
    recent: Arc<RecentTurns>,
    /// When the place failed last, where that is known.
    failed: Arc<Mutex<Option<Instant>>>,
    metrics: Metrics,
}

/// A snapshot that was saved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SavedTurn {
    pub(crate) tokens: usize,
    pub(crate) bytes: u64,
    pub(crate) saved: SavedSnapshot,
}

impl Snapshots {
    pub(crate) fn new(store: Arc<dyn SnapshotStore>, metrics: Metrics) -> Self {
        Self { store, recent: Arc::default(), failed: Arc::default(), metrics }
    }

    /// Notes that the place has failed, or was too slow.
    fn note_failure(&self) {
        *self.failed() = Some(Instant::now());
    }

    /// Returns whether the place has failed a moment ago.
    fn is_paused(&self) -> bool {
        self.failed().is_some_and(|failed| failed.elapsed() < PAUSE)
    }

    fn failed(&self) -> MutexGuard<'_, Option<Instant>> {
        // The time is valid even if a thread panicked while it held the lock.
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the last turn of a conversation that this server has answered.
    pub(crate) fn recent(&self, owner: &Owner, conversation: &ConversationId) -> Option<Arc<RecentTurn>> {
        self.recent.find(owner, conversation)
    }

    /// Reads what the snapshot of a conversation has.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn summary(
        &self,
        owner: &Owner,
        conversation: &ConversationId,
    ) -> Result<Option<SnapshotSummary>> {
        self.aside(owner, conversation, |store, owner, id| store.summary(owner, id)).await
    }

    async fn open(&self, owner: &Owner, conversation: &ConversationId) -> Result<Option<SnapshotSource>> {
        self.aside(owner, conversation, |store, owner, id| store.open(owner, id)).await
    }

    /// Removes the snapshot of a conversation, and returns whether there was one.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn remove(&self, owner: &Owner, conversation: &ConversationId) -> Result<bool> {
        self.aside(owner, conversation, |store, owner, id| store.remove(owner, id)).await
    }

    /// Removes what is known of a conversation of which something was deleted: a snapshot has its text. A failure is in the log, since
    /// the deletion has happened.
    pub(crate) async fn forget(&self, owner: &Owner, conversation: &ConversationId) {
        self.recent.forget(owner, conversation);
        if let Err(error) = self.remove(owner, conversation).await {
            tracing::error!(error = format!("{error:#}"), "the snapshot of a deleted conversation stays");
        }
    }

    /// Saves what a model has computed of a turn. The model is used no longer than copying its state takes.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] where the model holds nothing of it, or where the messages were deleted meanwhile; those of the model and of
    /// both stores.
    pub(crate) async fn save(
        &self,
        turn: &RecentTurn,
        model: &dyn SnapshotModel,
        conversations: &dyn ConversationStore,
    ) -> Result<SavedTurn> {
        let snapshot = model.snapshot(&turn.with_reply()).await?;
        let outcome = self.write(turn, snapshot, conversations).await;
        match &outcome {
            Ok(SavedTurn { saved: SavedSnapshot::Kept { .. }, .. }) => {
                self.metrics.snapshot_saved(&turn.model, None);
            }
            Ok(_) => self.metrics.snapshot_saved(&turn.model, Some("too_large")),
            Err(error) => self.metrics.snapshot_saved(&turn.model, Some(error.kind().as_str())),
        }
        outcome
    }

    async fn write(
        &self,
        turn: &RecentTurn,
        snapshot: Snapshot,
        conversations: &dyn ConversationStore,
    ) -> Result<SavedTurn> {
        let (tokens, bytes) = (snapshot.units().len(), snapshot.bytes().len() as u64);
        turn.must_exist(conversations).await?;
        let (owner, id) = (&turn.owner, &turn.conversation);
        let saved = self.aside(owner, id, move |store, owner, id| store.write(owner, id, &snapshot)).await?;
        // What was deleted while it was written would stay otherwise.
        if let Err(error) = turn.must_exist(conversations).await {
            self.forget(owner, id).await;
            return Err(error);
        }
        Ok(SavedTurn { tokens, bytes, saved })
    }

    /// Saves the last turns, the newest first, for as long as the end of a server may take.
    pub(crate) async fn save_all(&self, models: &ServedModels, conversations: &dyn ConversationStore) {
        let mut turns = Vec::new();
        for turn in self.recent.all() {
            let opened = models.loaded(&turn.model);
            turns.extend(opened.and_then(|opened| opened.snapshots).map(|model| (turn, model)));
        }
        self.save_each(turns, conversations).await;
    }

    /// Returns what saves the snapshots of each model that is unloaded.
    pub(crate) fn before_unload(&self, conversations: Arc<dyn ConversationStore>) -> BeforeUnload {
        let snapshots = self.clone();
        Arc::new(move |name, opened| {
            let (snapshots, conversations) = (snapshots.clone(), Arc::clone(&conversations));
            Box::pin(async move { snapshots.save_of(&name, opened, &*conversations).await })
        })
    }

    /// Saves the last turns of a model that is unloaded, the newest first, for at most ten seconds. A place that has failed a moment ago is
    /// not waited for.
    async fn save_of(&self, name: &str, opened: OpenedModel, conversations: &dyn ConversationStore) {
        let Some(model) = opened.snapshots.filter(|_| !self.is_paused()) else { return };
        let turns = self.recent.all().into_iter().filter(|turn| turn.model == name);
        let turns = turns.map(|turn| (turn, Arc::clone(&model))).collect();
        if !self.save_each(turns, conversations).await {
            self.note_failure();
        }
    }

    /// Saves turns in their order, and returns whether the time was enough.
    async fn save_each(
        &self,
        turns: Vec<(Arc<RecentTurn>, Arc<dyn SnapshotModel>)>,
        conversations: &dyn ConversationStore,
    ) -> bool {
        let mut left = turns.len();
        let saving = async {
            for (turn, model) in turns {
                if let Err(error) = self.save_longer(&turn, &*model, conversations).await
                    && error.kind() != ErrorKind::NotFound
                {
                    let model = turn.model.as_str();
                    tracing::warn!(model, error = format!("{error:#}"), "a snapshot is not saved");
                }
                left -= 1;
            }
        };
        let is_in_time = tokio::time::timeout(SAVING, saving).await.is_ok();
        if !is_in_time {
            tracing::warn!(left, "snapshots are not saved: it took more than {} seconds", SAVING.as_secs());
        }
        is_in_time
    }

    /// Saves a turn, unless the stored snapshot has as much: another server may have continued the conversation.
    async fn save_longer(
        &self,
        turn: &RecentTurn,
        model: &dyn SnapshotModel,
        conversations: &dyn ConversationStore,
    ) -> Result<()> {
        let held = model.held(&turn.with_reply()).await?;
        if held.held == 0 {
            return Ok(());
        }
        let stored = self.summary(&turn.owner, &turn.conversation).await?;
        let ours = held.units.get(..held.held).unwrap_or_default();
        let has_as_much = stored.and_then(|stored| stored.contents.ok()).is_some_and(|contents| {
            Some(contents.origin) == model.origin() && contents.units.starts_with(ours)
        });
        if has_as_much {
            return Ok(());
        }
        self.save(turn, model, conversations).await.map(drop)
    }

    /// Calls the store in a thread that may block.
    async fn aside<T: Send + 'static>(
        &self,
        owner: &Owner,
        conversation: &ConversationId,
        call: impl FnOnce(&dyn SnapshotStore, &Owner, &ConversationId) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let store = Arc::clone(&self.store);
        let (owner, conversation) = (owner.clone(), conversation.clone());
        let done = tokio::task::spawn_blocking(move || call(&*store, &owner, &conversation)).await;
        // Clients learn that it fails. Why, which names files and servers, is a cause, for the log.
        let failed = || Error::new(ErrorKind::Store, "the place of the snapshots failed");
        match done {
            Ok(outcome) => outcome.map_err(|source| failed().with_source(source)),
            Err(source) => Err(failed().with_source(source)),
        }
    }
}
