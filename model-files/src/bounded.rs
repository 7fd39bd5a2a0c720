//! Reads the files of a model's folder whole, up to a limit.
//!
//! A folder may come from strangers. What it calls a file may be a pipe that is never written to, a device that never ends,
//! or a file with a false length. So every file of the folder is read by these functions, a backend's own files included.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::path::{Component, Path};

use alloquy_core::{Error, Result};

use crate::error::{model, unreadable};

/// Opens a regular file, or a link to one, and returns it with its length in bytes.
///
/// # Errors
/// [`ErrorKind::Model`](alloquy_core::ErrorKind::Model) for a path that does not exist or is no regular file.
///
/// ```
/// use alloquy_model_files::bounded;
///
/// let (_, bytes) = bounded::open("Cargo.toml".as_ref())?;
/// assert!(bytes > 0);
/// assert!(bounded::open("/".as_ref()).is_err());
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub fn open(path: &Path) -> Result<(File, u64)> {
    // The kind is checked before the file is opened: opening a pipe waits for its writer, and opening a device may have
    // effects. It is checked again afterwards, because the path may lead to another file by then.
    check(path, &fs::metadata(path).map_err(|source| unreadable(path, source))?)?;
    let file = File::open(path).map_err(|source| unreadable(path, source))?;
    let metadata = file.metadata().map_err(|source| unreadable(path, source))?;
    check(path, &metadata)?;
    Ok((file, metadata.len()))
}

/// Returns an error unless the file is a regular one.
fn check(path: &Path, metadata: &Metadata) -> Result<()> {
    if metadata.is_file() {
        return Ok(());
    }
    let found = if metadata.is_dir() { "a folder" } else { "a pipe, a socket or a device" };
    Err(model(format!("{path:?} is {found}, not a file")))
}

/// Reads a regular file of at most `most` bytes.
///
/// # Errors
/// As [`open`], and [`ErrorKind::Model`](alloquy_core::ErrorKind::Model) for a longer file.
///
/// ```
/// use alloquy_model_files::bounded;
///
/// let error = bounded::bytes("/".as_ref(), 100).unwrap_err();
/// assert_eq!(error.to_string(), r#""/" is a folder, not a file"#);
/// ```
pub fn bytes(path: &Path, most: u64) -> Result<Vec<u8>> {
    let (file, length) = open(path)?;
    if length > most {
        return Err(too_long(path, length, most));
    }
    let bytes = read(file, length, most).map_err(|source| unreadable(path, source))?;
    // The file may have grown since its length was read.
    if bytes.len() as u64 > most {
        return Err(too_long(path, bytes.len() as u64, most));
    }
    Ok(bytes)
}

/// Reads a file that should have `length` bytes, and stops one byte after `most`.
fn read(file: File, length: u64, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length as usize).map_err(io::Error::other)?;
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn too_long(path: &Path, length: u64, most: u64) -> Error {
    model(format!("{path:?} has {length} bytes, and the limit is {most}"))
}

/// Reads a regular file of at most `most` bytes as text.
///
/// # Errors
/// As [`bytes`], and for a file that is not UTF-8.
pub fn text(path: &Path, most: u64) -> Result<String> {
    String::from_utf8(bytes(path, most)?)
        .map_err(|source| model(format!("{path:?} is no text in UTF-8")).with_source(source))
}

/// Returns whether a relative path goes only downwards, so that it cannot leave the folder that it is joined to.
///
/// ```
/// use std::path::Path;
///
/// use alloquy_model_files::bounded::goes_downwards;
///
/// assert!(goes_downwards(Path::new("onnx/model.onnx")));
/// assert!(!goes_downwards(Path::new("../model.onnx")));
/// ```
#[must_use]
pub fn goes_downwards(path: &Path) -> bool {
    !path.as_os_str().is_empty()
        && path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}
