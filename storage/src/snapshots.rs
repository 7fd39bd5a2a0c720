//! Files of what sessions have computed: one a conversation, within a quota. What is in them core knows.
//!
//! A snapshot saves time and nothing else, so a file that is lost or damaged is no loss: nothing is forced to the disk, and
//! whoever reads one finds out whether it is whole.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use alloquy_core::media::Digest;
use alloquy_core::{ConversationId, Error, ErrorKind, Owner, Result};
use alloquy_engine::decoder::{Snapshot, SnapshotSource};

use crate::open::{Place, place};
use crate::private;

/// How many bytes the files of a folder may take unless told otherwise: 4 GiB.
const QUOTA: u64 = 4 << 30;

/// How names of snapshots end.
const WHOLE: &str = "snapshot";

/// How names of those end that are being written, or whose writer was stopped.
const PART: &str = "part";

/// A folder of snapshots: one file for each conversation, replaced as a whole by the next. Any number of processes may
/// share it; its files are for their owner alone.
///
/// ```
/// use alloquy_testing::ScriptedEngine;
/// use alloquy_core::Owner;
/// use alloquy_engine::decoder::{Snapshot, SnapshotOrigin};
/// use alloquy_engine::Engine;
/// use alloquy_core::media::Digest;
/// use alloquy_storage::SnapshotFolder;
///
/// let folder = SnapshotFolder::new(std::env::temp_dir().join("alloquy-snapshots")).quota(1 << 20);
/// let engine = ScriptedEngine::new([]);
/// let origin = SnapshotOrigin::new(Digest::of(b"model"), Digest::of(b"template"));
/// let snapshot = Snapshot::take(origin, &[], &*engine.open()?)?;
/// folder.write(&Owner::local(), &"tea".parse()?, &snapshot)?;
/// let kept = folder.open(&Owner::local(), &"tea".parse()?)?;
/// assert_eq!(kept.map(|kept| kept.length()), Some(snapshot.bytes().len() as u64));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SnapshotFolder {
    path: PathBuf,
    quota: u64,
}

/// What became of a snapshot that was to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotWritten {
    /// It is there.
    Kept {
        /// How many others had to leave, those that were not used for the longest time.
        evicted: usize,
    },
    /// It alone would take more than the quota. The one before it has left, because it is not what the conversation is now.
    TooLarge {
        /// How many bytes it has.
        bytes: u64,
        /// How many bytes all may have together.
        quota: u64,
    },
}

impl SnapshotFolder {
    /// A folder at `path`, which is made when the first snapshot is written.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), quota: QUOTA }
    }

    /// The folder beside a store that is a file or a folder: its name with `.snapshots` behind it. `None` beside others.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a URL of no known form, as [`open`](crate::open()).
    pub fn beside(store: &str) -> Result<Option<Self>> {
        Ok(match place(store)? {
            Place::Folder(path, _) | Place::Database(path, _) => {
                // Without the separators that may stand at its end.
                let mut name = OsString::from(path.components().as_path());
                name.push(".snapshots");
                Some(Self::new(name))
            }
            Place::Memory | Place::DatabaseInMemory | Place::Server(_) | Place::Bucket(_) => None,
        })
    }

    /// Sets how many bytes the files may take together; 4 GiB unless set.
    #[must_use]
    pub fn quota(mut self, bytes: u64) -> Self {
        self.quota = bytes;
        self
    }

    /// Returns where the files are.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the snapshot of a conversation, which counts as using it; `None` when there is none. One that takes its place
    /// meanwhile is another file.
    ///
    /// # Errors
    /// [`ErrorKind::Store`] when there is one that cannot be opened.
    pub fn open(&self, owner: &Owner, conversation: &ConversationId) -> Result<Option<SnapshotSource>> {
        let path = self.file(owner, conversation);
        let source = found(source(&path)).map_err(failed("open", &path))?;
        if source.is_some() {
            touch(&path);
        }
        Ok(source)
    }

    /// Writes the snapshot of a conversation in place of the one before, and removes those that were not used for the
    /// longest time until all fit into the quota.
    ///
    /// # Errors
    /// [`ErrorKind::Store`]; the one before is still there then.
    pub fn write(
        &self,
        owner: &Owner,
        conversation: &ConversationId,
        snapshot: &Snapshot,
    ) -> Result<SnapshotWritten> {
        let bytes = snapshot.bytes();
        if bytes.len() as u64 > self.quota {
            self.remove(owner, conversation)?;
            return Ok(SnapshotWritten::TooLarge { bytes: bytes.len() as u64, quota: self.quota });
        }
        private::make_folder(&self.path).map_err(failed("make", &self.path))?;
        let path = self.file(owner, conversation);
        let part = unfinished(&path);
        write_new(&part, bytes).map_err(|source| {
            // What is left of it goes when room is needed, at the latest.
            let _ = fs::remove_file(&part);
            failed("write", &part)(source)
        })?;
        fs::rename(&part, &path).map_err(failed("write", &path))?;
        Ok(SnapshotWritten::Kept { evicted: self.evict(&path)? })
    }

    /// Removes the snapshot of a conversation, and says whether there was one.
    ///
    /// # Errors
    /// [`ErrorKind::Store`].
    pub fn remove(&self, owner: &Owner, conversation: &ConversationId) -> Result<bool> {
        let path = self.file(owner, conversation);
        Ok(found(fs::remove_file(&path)).map_err(failed("remove", &path))?.is_some())
    }

    /// Named by a digest, because owners and conversations have names that are no names of files.
    fn file(&self, owner: &Owner, conversation: &ConversationId) -> PathBuf {
        let name = Digest::of(format!("{owner}\n{conversation}").as_bytes());
        self.path.join(format!("{name}.{WHOLE}"))
    }

    /// Removes what was not used for the longest time until the rest fits, but never `newest`.
    fn evict(&self, newest: &Path) -> Result<usize> {
        let mut files = self.files()?;
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

    /// The files of this folder that are snapshots, whole or not; others are somebody else's.
    fn files(&self) -> Result<Vec<Found>> {
        let unreadable = || failed("list", &self.path);
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(unreadable())? {
            let path = entry.map_err(unreadable())?.path();
            let is_ours = path.extension().is_some_and(|end| end == WHOLE || end == PART);
            // Another process may have removed it in between.
            if let Some(known) = found(fs::metadata(&path)).map_err(unreadable())?.filter(|_| is_ours) {
                let used = known.modified().map_err(unreadable())?;
                files.push(Found { path, bytes: known.len(), used });
            }
        }
        Ok(files)
    }
}

/// A file of a snapshot.
struct Found {
    path: PathBuf,
    bytes: u64,
    /// When it was written or read last.
    used: SystemTime,
}

/// A name that no other process and no other thread writes to.
fn unfinished(path: &Path) -> PathBuf {
    static WRITES: AtomicU64 = AtomicU64::new(0);
    let write = WRITES.fetch_add(1, Ordering::Relaxed);
    path.with_extension(format!("{}-{write}.{PART}", std::process::id()))
}

/// Conversations are nobody else's business.
fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    private::create(path)?.write_all(bytes)
}

fn source(path: &Path) -> io::Result<SnapshotSource> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    Ok(SnapshotSource::new(file, length))
}

/// Remembers that a file was used. Where that cannot be written it leaves earlier, which costs time and nothing else.
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
