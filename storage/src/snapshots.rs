//! Files with snapshots of sessions: one for each conversation, within a quota. The engine defines what they contain.
//!
//! A snapshot only saves time, so a file may be lost or damaged: nothing is synced to the disk. The reader of a snapshot
//! checks that it is whole.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use alloquy_core::media::Digest;
use alloquy_core::{ConversationId, Error, ErrorKind, Owner, Result};
use alloquy_engine::decoder::{SavedSnapshot, Snapshot, SnapshotSource, SnapshotStore, SnapshotSummary};

use crate::open::{Place, place};
use crate::private;

/// How many bytes the files of a folder may take by default: 4 GiB.
const QUOTA: u64 = 4 << 30;

/// The extension of a snapshot.
const WHOLE: &str = "snapshot";

/// The extension of a snapshot that is being written, or whose writer was stopped.
const PART: &str = "part";

/// A folder of snapshots: one file for each conversation, which the next snapshot replaces as a whole.
///
/// Any number of processes may share the folder. Only the user who created a file may read it.
///
/// ```
/// use alloquy_testing::ScriptedEngine;
/// use alloquy_core::Owner;
/// use alloquy_engine::decoder::{Snapshot, SnapshotIdentity};
/// use alloquy_engine::Engine;
/// use alloquy_core::media::Digest;
/// use alloquy_storage::{SavedSnapshot, SnapshotFolder};
///
/// let folder = SnapshotFolder::new(std::env::temp_dir().join("alloquy-snapshots")).quota(1 << 20);
/// let engine = ScriptedEngine::new([]);
/// let origin = SnapshotIdentity::new(Digest::of(b"model"), Digest::of(b"template"));
/// let snapshot = Snapshot::take(origin, &[], &*engine.open()?)?;
/// let saved = folder.write(&Owner::local(), &"tea".parse()?, &snapshot)?;
/// assert!(matches!(saved, SavedSnapshot::Kept { .. }));
/// let kept = folder.open(&Owner::local(), &"tea".parse()?)?;
/// assert_eq!(kept.map(|kept| kept.length()), Some(snapshot.bytes().len() as u64));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SnapshotFolder {
    path: PathBuf,
    quota: u64,
}

impl SnapshotFolder {
    /// Uses the folder at `path`, which is created when the first snapshot is written.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), quota: QUOTA }
    }

    /// Uses the folder beside a store: `chats.db.snapshots` for `chats.db`. `None` for a store that is neither a file nor a
    /// folder.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a URL of no known form, as [`open`](crate::open()).
    pub fn beside(store: &str) -> Result<Option<Self>> {
        Ok(match place(store)? {
            Place::Folder(path, _) | Place::Database(path, _) => {
                // Drops the separators that the path may end with: `chats/` becomes `chats.snapshots`.
                let mut name = OsString::from(path.components().as_path());
                name.push(".snapshots");
                Some(Self::new(name))
            }
            Place::Memory | Place::DatabaseInMemory | Place::Server(_) | Place::Bucket(_) => None,
        })
    }

    /// Sets how many bytes the files may take together. The default is 4 GiB.
    #[must_use]
    pub fn quota(mut self, bytes: u64) -> Self {
        self.quota = bytes;
        self
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the snapshot of a conversation, which counts as using it; `None` when there is none.
    ///
    /// The opened file stays the same when another snapshot replaces it meanwhile.
    ///
    /// # Errors
    /// [`ErrorKind::Store`] when the snapshot exists but cannot be opened.
    pub fn open(&self, owner: &Owner, conversation: &ConversationId) -> Result<Option<SnapshotSource>> {
        let path = self.file(owner, conversation);
        let source = found(source(&path)).map_err(failed("open", &path))?;
        if source.is_some() {
            touch(&path);
        }
        Ok(source)
    }

    /// Writes the snapshot of a conversation in place of the previous one, and removes the least recently used snapshots
    /// until all fit into the quota.
    ///
    /// # Errors
    /// [`ErrorKind::Store`]; the previous snapshot is then unchanged.
    pub fn write(
        &self,
        owner: &Owner,
        conversation: &ConversationId,
        snapshot: &Snapshot,
    ) -> Result<SavedSnapshot> {
        let bytes = snapshot.bytes();
        if bytes.len() as u64 > self.quota {
            self.remove(owner, conversation)?;
            return Ok(SavedSnapshot::TooLarge { bytes: bytes.len() as u64, quota: self.quota });
        }
        private::make_folder(&self.path).map_err(failed("make", &self.path))?;
        let path = self.file(owner, conversation);
        let part = unfinished(&path);
        write_new(&part, bytes).map_err(|source| {
            // A part that cannot be removed now is evicted when the quota is full.
            let _ = fs::remove_file(&part);
            failed("write", &part)(source)
        })?;
        fs::rename(&part, &path).map_err(failed("write", &path))?;
        Ok(SavedSnapshot::Kept { evicted: self.evict(&path)? })
    }

    /// Removes the snapshot of a conversation, and returns whether there was one.
    ///
    /// # Errors
    /// [`ErrorKind::Store`].
    pub fn remove(&self, owner: &Owner, conversation: &ConversationId) -> Result<bool> {
        let path = self.file(owner, conversation);
        Ok(found(fs::remove_file(&path)).map_err(failed("remove", &path))?.is_some())
    }

    /// The path of a snapshot.
    fn file(&self, owner: &Owner, conversation: &ConversationId) -> PathBuf {
        self.path.join(name(owner, conversation))
    }

    /// Removes the least recently used files until the rest fits into the quota, but never `newest`.
    fn evict(&self, newest: &Path) -> Result<usize> {
        let mut files = self.files()?;
        // `newest` first, then from the most to the least recently used: files are kept while the sum fits.
        files.sort_by_key(|file| (file.path != newest, std::cmp::Reverse(file.used)));
        let mut taken = 0;
        let mut evicted = 0;
        for file in files {
            taken += file.bytes;
            if taken > self.quota {
                let removed = found(fs::remove_file(&file.path)).map_err(failed("remove", &file.path))?;
                evicted += usize::from(removed.is_some());
            }
        }
        Ok(evicted)
    }

    /// Returns the files of this folder that are snapshots, whole or not. Other files are left alone.
    fn files(&self) -> Result<Vec<Found>> {
        snapshots_in(&self.path).map_err(failed("list", &self.path))
    }
}

impl SnapshotStore for SnapshotFolder {
    fn open(&self, owner: &Owner, conversation: &ConversationId) -> Result<Option<SnapshotSource>> {
        Self::open(self, owner, conversation)
    }

    fn summary(&self, owner: &Owner, conversation: &ConversationId) -> Result<Option<SnapshotSummary>> {
        let path = self.file(owner, conversation);
        found(summary(&path)).map_err(failed("open", &path))
    }

    fn write(
        &self,
        owner: &Owner,
        conversation: &ConversationId,
        snapshot: &Snapshot,
    ) -> Result<SavedSnapshot> {
        Self::write(self, owner, conversation, snapshot)
    }

    fn remove(&self, owner: &Owner, conversation: &ConversationId) -> Result<bool> {
        Self::remove(self, owner, conversation)
    }
}

/// The name of the file or the object of a snapshot. It is a digest, because owners and conversations may have names that no file can
/// have.
pub(crate) fn name(owner: &Owner, conversation: &ConversationId) -> String {
    let name = Digest::of(format!("{owner}\n{conversation}").as_bytes());
    format!("{name}.{WHOLE}")
}

fn snapshots_in(folder: &Path) -> io::Result<Vec<Found>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_none_or(|end| end != WHOLE && end != PART) {
            continue;
        }
        // Another process may have removed the file after it was listed.
        if let Some(known) = found(fs::metadata(&path))? {
            files.push(Found { path, bytes: known.len(), used: known.modified()? });
        }
    }
    Ok(files)
}

/// A file of a snapshot.
struct Found {
    path: PathBuf,
    bytes: u64,
    /// When the file was written or read last.
    used: SystemTime,
}

/// Returns a path that no other process and no other thread writes to.
fn unfinished(path: &Path) -> PathBuf {
    static WRITES: AtomicU64 = AtomicU64::new(0);
    let write = WRITES.fetch_add(1, Ordering::Relaxed);
    path.with_extension(format!("{}-{write}.{PART}", std::process::id()))
}

/// Writes a file that only its owner may read.
fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    private::create(path)?.write_all(bytes)
}

fn source(path: &Path) -> io::Result<SnapshotSource> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    Ok(SnapshotSource::new(file, length))
}

/// Reads the head of a snapshot. The time of the last change is that of the last use, so the time of creation counts, where the file
/// system knows it.
fn summary(path: &Path) -> io::Result<SnapshotSummary> {
    let file = File::open(path)?;
    let known = file.metadata()?;
    let saved = known.created().or_else(|_| known.modified())?;
    Ok(SnapshotSummary::read(SnapshotSource::new(file, known.len()), saved))
}

/// Records that a file was used. Where that fails, the file is evicted earlier, which only costs time.
fn touch(path: &Path) {
    let touched = File::options().append(true).open(path);
    let _ = touched.and_then(|file| file.set_modified(SystemTime::now()));
}

fn found<T>(outcome: io::Result<T>) -> io::Result<Option<T>> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        outcome => outcome.map(Some),
    }
}

fn failed<'a>(action: &'a str, path: &'a Path) -> impl FnOnce(io::Error) -> Error + 'a {
    move |source| Error::new(ErrorKind::Store, format!("could not {action} {path:?}")).with_source(source)
}
