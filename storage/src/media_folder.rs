//! Reads the media files that documents name, from inside one folder only.

use std::fs::{self, File, Metadata};
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use alloquy_core::media::MediaKind;
use alloquy_core::{Error, ErrorKind, Media, Result};
use alloquy_formats::messages::{MediaReference, MediaSource};

/// How many bytes a file may have by default: 64 MiB, the limit of the media loaders.
const MOST: u64 = 64 << 20;

/// A folder whose files documents may name, at any depth.
///
/// A path that leads out of the folder is refused: through `..`, as an absolute path, or through a link. Pipes, devices and
/// other files that are not regular are refused too, and files above a size limit, before a byte is read. The first bytes
/// of a file decide its media type. URLs are never fetched: a host that wants that passes a [`MediaSource`] of its own.
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
    /// The real path, with all links resolved.
    root: PathBuf,
    most: u64,
}

impl MediaFolder {
    /// Uses an existing folder.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when it cannot be opened, [`ErrorKind::Invalid`] when it is not a folder.
    pub fn new(root: impl AsRef<Path>) -> Result<Self> {
        let root = root.as_ref();
        let real = fs::canonicalize(root).map_err(|source| {
            let message = format!("the media folder {root:?} cannot be opened");
            Error::new(ErrorKind::NotFound, message).with_source(source)
        })?;
        if !real.is_dir() {
            return Err(Error::new(ErrorKind::Invalid, format!("{root:?} is not a folder")));
        }
        Ok(Self { root: real, most: MOST })
    }

    /// Sets how many bytes a file may have. The default is 64 MiB.
    #[must_use]
    pub fn max_bytes(self, most: u64) -> Self {
        Self { most, ..self }
    }

    /// Reads a file below the folder.
    ///
    /// # Errors
    /// * [`ErrorKind::Invalid`] for a path that leads out of the folder, and for a file that is not regular, is too large or
    ///   does not begin as media of this kind.
    /// * [`ErrorKind::NotFound`] for a file that does not exist or cannot be opened.
    pub fn read(&self, kind: MediaKind, path: &str) -> Result<Media> {
        let found = self.inside(path)?;
        let (file, bytes) = opened(&found, self.most)?;
        // A user who may write into the folder could have put a link there after the first check.
        let again = fs::symlink_metadata(self.inside(path)?).map_err(|source| absent(&found, source))?;
        if !is_same(&file, &again) {
            let message = format!("the file {path:?} changed while it was opened");
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        kind.media(bytes).map_err(|error| error.context(format_args!("file {path:?}")))
    }

    /// Returns the real path of a file, or refuses a path that leads out of the folder.
    fn inside(&self, path: &str) -> Result<PathBuf> {
        // Before the disk is asked, so that no error reveals which files exist outside.
        if !stays_inside(&self.root, Path::new(path)) {
            return Err(self.leads_out(path));
        }
        let whole = self.root.join(path);
        let real = fs::canonicalize(&whole).map_err(|source| absent(Path::new(path), source))?;
        if real.starts_with(&self.root) { Ok(real) } else { Err(self.leads_out(path)) }
    }

    fn leads_out(&self, path: &str) -> Error {
        let message =
            format!("the path {path:?} leads out of the folder {:?}, which alone is read", self.root);
        Error::new(ErrorKind::Invalid, message)
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

/// Reads a media file at any path, for a person who names it. Its first bytes decide its media type.
///
/// ```
/// use alloquy_core::media::MediaKind;
///
/// let file = std::env::temp_dir().join("alloquy-sound.flac");
/// std::fs::write(&file, b"fLaC and so on")?;
/// let audio = alloquy_storage::read_media(MediaKind::Audio, &file)?;
/// assert_eq!(audio.media_type(), "audio/flac");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// * [`ErrorKind::NotFound`] for a file that does not exist or cannot be opened.
/// * [`ErrorKind::Invalid`] for a file that is not regular, has more than 64 MiB or does not begin as media of this kind.
pub fn read_media(kind: MediaKind, path: impl AsRef<Path>) -> Result<Media> {
    let path = path.as_ref();
    let (_, bytes) = opened(path, MOST)?;
    kind.media(bytes).map_err(|error| error.context(format_args!("file {path:?}")))
}

/// Returns whether a path stays below `root` by its components alone: `a/../b` does, `a/../../b` does not. Links are not
/// followed.
fn stays_inside(root: &Path, path: &Path) -> bool {
    let mut relative = path;
    if path.has_root() {
        let Ok(rest) = path.strip_prefix(root) else { return false };
        relative = rest;
    }
    let mut depth = 0_usize;
    for component in relative.components() {
        match component {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir if depth > 0 => depth -= 1,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return false,
        }
    }
    true
}

/// Opens and reads a regular file of at most `most` bytes.
fn opened(path: &Path, most: u64) -> Result<(Metadata, Vec<u8>)> {
    // Checked before it is opened too, because opening a pipe waits for its writer.
    check(path, &fs::metadata(path).map_err(|source| absent(path, source))?, most)?;
    let file = File::open(path).map_err(|source| absent(path, source))?;
    let metadata = file.metadata().map_err(|source| absent(path, source))?;
    check(path, &metadata, most)?;
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(|source| absent(path, source))?;
    // The file may have grown since it was checked.
    if bytes.len() as u64 > most {
        return Err(too_large(path, bytes.len() as u64, most));
    }
    Ok((metadata, bytes))
}

fn check(path: &Path, metadata: &Metadata, most: u64) -> Result<()> {
    if !metadata.is_file() {
        return Err(Error::new(ErrorKind::Invalid, format!("{path:?} is not a regular file")));
    }
    if metadata.len() > most {
        return Err(too_large(path, metadata.len(), most));
    }
    Ok(())
}

fn too_large(path: &Path, bytes: u64, most: u64) -> Error {
    let message = format!("the file {path:?} has {bytes} bytes, but media may have at most {most}");
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

/// Elsewhere a file has no identity that can be read without opening it again.
#[cfg(not(unix))]
fn is_same(left: &Metadata, right: &Metadata) -> bool {
    left.len() == right.len() && left.modified().ok() == right.modified().ok()
}
