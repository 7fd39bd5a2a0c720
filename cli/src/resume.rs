//! Saves the model's cache of a conversation from one run to the next. Notes what was restored, or why not.
//!
//! Nothing that goes wrong here is an error: what is not restored is computed.

use alloquy::core::{Conversation, ConversationId, Owner, Result};
use alloquy::inference::LanguageModel;
use alloquy::storage::{SavedSnapshot, SnapshotFolder, open_snapshots};

use crate::arguments::{ResumeArguments, StoreArguments};
use crate::guards::Guards;
use crate::kept::default_store;
use crate::notes::Notes;
use crate::open_model::OpenModel;
use crate::settings::data_folder;

/// How many megabytes the files may take together by default.
pub(crate) const QUOTA: u64 = 4000;

/// A million bytes, the unit in which file sizes are shown.
const MEGABYTE: u64 = 1_000_000;

/// What is said of a chat endpoint.
const NO_CACHE: &str = "--resume has no effect: the cache of a chat endpoint is its server's";

/// The folder for stores that are no files of this machine, in the user's data folder.
const ELSEWHERE: &str = "conversations.snapshots";

impl ResumeArguments {
    /// Returns the place of the saved caches; `None` when none is saved.
    pub(crate) fn open(&self, store: &StoreArguments, notes: Notes) -> Result<Option<Resume>> {
        if !self.resume {
            return Ok(None);
        }
        let quota = self.resume_quota.unwrap_or(QUOTA).saturating_mul(MEGABYTE);
        let folder = snapshots(store)?.quota(quota);
        Ok(Some(Resume { folder, owner: store.owner(), notes }))
    }
}

/// Returns the folder of the saved caches of a store's conversations.
pub(crate) fn snapshots(store: &StoreArguments) -> Result<SnapshotFolder> {
    let beside = match &store.store {
        Some(url) => SnapshotFolder::beside(url)?,
        None => SnapshotFolder::beside(&default_store(&data_folder()?))?,
    };
    match beside {
        Some(folder) => Ok(folder),
        None => Ok(SnapshotFolder::new(data_folder()?.join(ELSEWHERE))),
    }
}

/// Removes what was computed of a conversation of which something was deleted, since it has the text: beside the store, and at the place
/// of the server's snapshots, where one is set.
pub(crate) fn forget(
    store: &StoreArguments,
    served: Option<&str>,
    conversation: &ConversationId,
) -> Result<()> {
    let owner = store.owner();
    snapshots(store)?.remove(&owner, conversation)?;
    let Some(place) = served else { return Ok(()) };
    let removed =
        pollster::block_on(open_snapshots(place, None)).and_then(|place| place.remove(&owner, conversation));
    removed.map(drop).map_err(|error| error.context(format_args!("the server's snapshots are in {place}")))
}

/// Saves the caches of one owner's conversations.
pub(crate) struct Resume {
    folder: SnapshotFolder,
    owner: Owner,
    notes: Notes,
}

impl Resume {
    /// Restores the saved cache of a conversation.
    pub(crate) async fn restore(&self, model: Option<&LanguageModel>, conversation: &ConversationId) {
        let Some(model) = model else {
            self.notes.say(NO_CACHE);
            return;
        };
        let restored = match self.folder.open(&self.owner, conversation) {
            Ok(Some(source)) => model.restore(source).await.map_err(|refusal| refusal.to_string()),
            Ok(None) => Err("nothing was kept of this conversation".to_owned()),
            Err(error) => Err(format!("{error:#}")),
        };
        match restored {
            Ok(units) => self.notes.say(format_args!("restored {units} tokens that were computed before")),
            Err(reason) => self.notes.say(format_args!("computing the prompt again: {reason}")),
        }
    }

    /// Saves the cache of a conversation in place of an earlier one.
    pub(crate) async fn keep(&self, model: &OpenModel, chat: &Conversation, guards: &Guards) {
        let Some(model) = model.tokens() else {
            self.notes.say(NO_CACHE);
            return;
        };
        match self.written(model, chat, guards).await {
            Ok(note) => self.notes.say(note),
            Err(error) => self.notes.say(format_args!("not kept for the next time: {error:#}")),
        }
    }

    async fn written(&self, model: &alloquy::Model, chat: &Conversation, guards: &Guards) -> Result<String> {
        // What the model has computed is of the redacted messages.
        let request = guards.prepared(chat.request().await?).await?;
        let (request, _) = model.fitted(request).await?;
        let snapshot = model.language_model().snapshot(&request).await?;
        let written = self.folder.write(&self.owner, chat.id(), &snapshot)?;
        let units = snapshot.units().len();
        let bytes = snapshot.bytes().len() as u64;
        Ok(match written {
            SavedSnapshot::Kept { evicted: 0 } => {
                format!("kept {units} tokens for the next time, {}", megabytes(bytes))
            }
            SavedSnapshot::Kept { evicted } => {
                format!(
                    "kept {units} tokens for the next time, {}; {evicted} older files were removed",
                    megabytes(bytes)
                )
            }
            SavedSnapshot::TooLarge { bytes, quota } => format!(
                "not kept for the next time: {} are more than --resume-quota allows, {}",
                megabytes(bytes),
                megabytes(quota)
            ),
        })
    }
}

fn megabytes(bytes: u64) -> String {
    let tenths = bytes.saturating_mul(10).div_ceil(MEGABYTE);
    format!("{}.{} MB", tenths / 10, tenths % 10)
}
