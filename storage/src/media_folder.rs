//! Media that documents name: files inside of one folder, and no others. Knows no document and decodes nothing.

use std::fs::{self, File, Metadata};
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use alloquy_core::media::MediaKind;
use alloquy_core::{Error, ErrorKind, Media, Result};
use alloquy_formats::messages::{MediaReference, MediaSource};

/// How many bytes a file may have unless told otherwise: 64 MiB, what the loaders of media take.
const MOST: u64 = 64 << 20;

/// A folder whose files documents may name, and those below it.
///
/// A path that leads out is refused, whether by `..`, as an absolute path or through a link; so are files that are no
/// regular ones, such as pipes and devices, and files beyond a limit, before a byte is read. What a file is its first bytes
/// say. Addresses are never fetched: a host that wants that gives the reader a [`MediaSource`] of its own.
///
/// ```
/// use alloquy_formats::messages::{self, Dialect, MediaRules};
/// use alloquy_storage::MediaFolder;
/// use serde_json::json;
///
/// let folder = std::env::temp_dir().join("alloquy-media");
/// std::fs::create_dir_all(&folder)?;
/// std::fs::write(folder.join("cat.gif"), b"GIF89a and so on")?;
///
/// let source = MediaFolder::new(&folder)?;
/// let rules = MediaRules { source: &source, ..MediaRules::default() };
/// let read = |path: &str| {
///     let content = json!([{"type": "image", "path": path}]);
///     messages::read(Dialect::LiteRt, &json!([{"role": "user", "content": content}]), &rules)
/// };
/// assert_eq!(read("cat.gif")?.messages[0].media().count(), 1);
/// assert!(read("../cat.gif").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct MediaFolder {
    /// Without links.
    root: PathBuf,
    most: u64,
}

impl MediaFolder {
    /// Takes a folder that is there.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when it is not, [`ErrorKind::Invalid`] when it is no folder.
    pub fn new(root: impl AsRef<Path>) -> Result<Self> {
        let root = root.as_ref();
        let missing = |source| {
            Error::new(ErrorKind::NotFound, format!("the folder of media {root:?} cannot be opened"))
                .with_source(source)
        };
        let real = fs::canonicalize(root).map_err(missing)?;
        match real.is_dir() {
            true => Ok(Self { root: real, most: MOST }),
            false => Err(Error::new(ErrorKind::Invalid, format!("{root:?} is no folder of media"))),
        }
    }

    /// Sets how many bytes a file may have; 64 MiB unless set.
    #[must_use]
    pub fn max_bytes(self, most: u64) -> Self {
        Self { most, ..self }
    }

    /// Reads a file below the folder.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a path that leads out of the folder, a file that is no regular one, is too large, or does
    /// not begin as media of this kind; [`ErrorKind::NotFound`] for one that is not there or cannot be opened.
    pub fn read(&self, kind: MediaKind, path: &str) -> Result<Media> {
        let found = self.inside(path)?;
        let (file, bytes) = opened(&found, self.most)?;
        // Whoever may write into the folder could have put a link there since it was looked at.
        let again = fs::symlink_metadata(self.inside(path)?).map_err(|source| absent(&found, source))?;
        if !is_same(&file, &again) {
            let message = format!("the file {path:?} changed while it was opened");
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        kind.media(bytes).map_err(|error| error.context(format_args!("file {path:?}")))
    }

    /// Finds a file without links, or refuses a path that leads out.
    fn inside(&self, path: &str) -> Result<PathBuf> {
        let leads_out = || {
            let message =
                format!("the path {path:?} leads out of the folder {:?}, which alone is read", self.root);
            Error::new(ErrorKind::Invalid, message)
        };
        // Before the disk is asked: what is there outside is nobody's business.
        if !stays_inside(&self.root, Path::new(path)) {
            return Err(leads_out());
        }
        let whole = self.root.join(path);
        let real = fs::canonicalize(&whole).map_err(|source| absent(Path::new(path), source))?;
        if real.starts_with(&self.root) { Ok(real) } else { Err(leads_out()) }
    }
}

impl MediaSource for MediaFolder {
    fn fetch(&self, kind: MediaKind, reference: MediaReference<'_>) -> Result<Media> {
        match reference {
            MediaReference::Path(path) => self.read(kind, path),
            MediaReference::Url(_) => {
                let message = format!(
                    "the {kind} is {reference}, which is not fetched: put the file into the folder {:?} and name its path, \
                     or give the reader a `MediaSource` that may use the network",
                    self.root
                );
                Err(Error::new(ErrorKind::Unsupported, message))
            }
        }
    }
}

/// Reads a file that a person names, wherever it is; what it is its first bytes say.
///
/// ```
/// use alloquy_core::media::MediaKind;
///
/// let file = std::env::temp_dir().join("alloquy-sound.flac");
/// std::fs::write(&file, b"fLaC and so on")?;
/// let sound = alloquy_storage::read_media(MediaKind::Audio, &file)?;
/// assert_eq!(sound.media_type(), "audio/flac");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`ErrorKind::NotFound`] for a file that is not there or cannot be opened, [`ErrorKind::Invalid`] for one that is no
/// regular file, has more than 64 MiB or does not begin as media of this kind.
pub fn read_media(kind: MediaKind, path: impl AsRef<Path>) -> Result<Media> {
    let path = path.as_ref();
    let (_, bytes) = opened(path, MOST)?;
    kind.media(bytes).map_err(|error| error.context(format_args!("file {path:?}")))
}

/// Says whether the words of a path stay below `root`; where its links lead is another matter.
fn stays_inside(root: &Path, path: &Path) -> bool {
    let relative = match path.has_root() {
        true => path.strip_prefix(root),
        false => Ok(path),
    };
    let mut depth = 0_usize;
    relative.is_ok_and(|relative| {
        relative.components().all(|component| match component {
            Component::Normal(_) => {
                depth += 1;
                true
            }
            Component::CurDir => true,
            Component::ParentDir => depth.checked_sub(1).map(|above| depth = above).is_some(),
            Component::RootDir | Component::Prefix(_) => false,
        })
    })
}

/// Opens a regular file and reads it, if it has at most so many bytes.
fn opened(path: &Path, most: u64) -> Result<(Metadata, Vec<u8>)> {
    // Before it is opened, for opening a pipe waits for whoever writes to it.
    check(path, &fs::metadata(path).map_err(|source| absent(path, source))?, most)?;
    let file = File::open(path).map_err(|source| absent(path, source))?;
    let metadata = file.metadata().map_err(|source| absent(path, source))?;
    check(path, &metadata, most)?;
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(|source| absent(path, source))?;
    // It may have grown since.
    match bytes.len() as u64 > most {
        true => Err(too_large(path, bytes.len() as u64, most)),
        false => Ok((metadata, bytes)),
    }
}

fn check(path: &Path, metadata: &Metadata, most: u64) -> Result<()> {
    if !metadata.is_file() {
        return Err(Error::new(ErrorKind::Invalid, format!("{path:?} is no regular file")));
    }
    if metadata.len() > most {
        return Err(too_large(path, metadata.len(), most));
    }
    Ok(())
}

fn too_large(path: &Path, bytes: u64, most: u64) -> Error {
    let message = format!("the file {path:?} has {bytes} bytes, of which media may have {most}");
    Error::new(ErrorKind::Invalid, message)
}

fn absent(path: &Path, source: std::io::Error) -> Error {
    Error::new(ErrorKind::NotFound, format!("the file {path:?} cannot be read")).with_source(source)
}

#[cfg(unix)]
fn is_same(left: &Metadata, right: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    (left.dev(), left.ino()) == (right.dev(), right.ino())
}

/// The system does not tell files apart without opening them again.
#[cfg(not(unix))]
fn is_same(left: &Metadata, right: &Metadata) -> bool {
    left.len() == right.len() && left.modified().ok() == right.modified().ok()
}
