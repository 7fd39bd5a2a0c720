//! Files that are whole or absent, whenever a program is killed.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind as IoKind, Write as _};
use std::path::Path;

use alloquy_core::media::Digest;
use alloquy_core::{Error, ErrorKind, Result};

/// The ending of a file that is being written.
pub(super) const UNFINISHED: &str = "part";

/// Returns the error of a file that could not be read or written.
pub(super) fn failed(verb: &str, path: &Path, error: std::io::Error) -> Error {
    let message =
        format!("{} cannot be {verb}: check that its folder exists and that you may use it", path.display());
    Error::new(ErrorKind::Store, message).with_source(error)
}

/// Reads a file. `None` if there is none.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == IoKind::NotFound => Ok(None),
        Err(error) => Err(failed("read", path, error)),
    }
}

/// Writes a file beside its place, waits until it is on the disk, and moves it to its place: a reader sees the old file or the new one.
pub(super) fn replace(path: &Path, write: impl FnOnce(&mut dyn std::io::Write) -> Result<()>) -> Result<()> {
    let unfinished = path.with_added_extension(UNFINISHED);
    let file = create(&unfinished).map_err(|error| failed("written", &unfinished, error))?;
    let mut writer = std::io::BufWriter::new(file);
    write(&mut writer)?;
    let written = writer.flush().and_then(|()| writer.get_ref().sync_all());
    written.and_then(|()| fs::rename(&unfinished, path)).map_err(|error| failed("written", path, error))
}

/// Creates a file that only the user can read, or empties one.
pub(super) fn create(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Makes a folder that only the user can read, with those above it. One that exists keeps its permissions.
pub(super) fn create_folder(folder: &Path) -> Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|error| failed("made", folder, error))
}

/// Writes bytes by [`replace`].
pub(super) fn replace_bytes(path: &Path, bytes: &[u8]) -> Result<()> {
    replace(path, |writer| writer.write_all(bytes).map_err(|error| failed("written", path, error)))
}

/// Waits until the names of new files are on the disk.
pub(super) fn sync_folder(folder: &Path) -> Result<()> {
    // Windows has no way to do so, and needs none.
    if cfg!(unix) {
        let synced = File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(|error| failed("written", folder, error))?;
    }
    Ok(())
}

/// Returns the first half of a digest as a name of a file.
pub(super) fn short(digest: Digest) -> String {
    let mut name = digest.to_string();
    name.truncate(32);
    name
}
