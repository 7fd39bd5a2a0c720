//! Reads the files that a model's folder names, whole and within bounds. Knows no format.
//!
//! A folder comes from strangers. What it calls a file may be a pipe that nobody writes to, a device that never ends, or a file
//! whose length is made up; so each file is read here, and nowhere else. A backend reads its own files of the folder by the same
//! functions.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::path::{Component, Path};

use alloquy_core::Result;

use crate::error::{model, unreadable};

/// Opens a regular file, or a link that ends at one, and returns it with its length in bytes.
///
/// # Errors
/// [`ErrorKind::Model`](alloquy_core::ErrorKind::Model) for a path that leads to nothing, or to something else than a file.
pub fn open(path: &Path) -> Result<(File, u64)> {
    // Before it is opened, for opening a pipe waits for whoever writes to it, and opening a device may do something.
    check(path, &fs::metadata(path).map_err(|source| unreadable(path, source))?)?;
    let file = File::open(path).map_err(|source| unreadable(path, source))?;
    let metadata = file.metadata().map_err(|source| unreadable(path, source))?;
    check(path, &metadata)?;
    Ok((file, metadata.len()))
}

/// Returns an error where a file is no regular one.
fn check(path: &Path, metadata: &Metadata) -> Result<()> {
    if metadata.is_file() {
        return Ok(());
    }
    let found = if metadata.is_dir() { "a folder" } else { "a pipe, a socket or a device" };
    Err(model(format!("{path:?} is {found}, not a file")))
}

/// Reads a regular file of at most so many bytes.
///
/// # Errors
/// As [`open`], and for a file that is longer.
///
/// ```
/// use alloquy_model_files::bounded;
///
/// let error = bounded::bytes("/".as_ref(), 100).unwrap_err();
/// assert_eq!(error.to_string(), r#""/" is a folder, not a file"#);
/// ```
pub fn bytes(path: &Path, most: u64) -> Result<Vec<u8>> {
    let (file, length) = open(path)?;
    let too_long = |length| model(format!("{path:?} has {length} bytes, and the limit is {most}"));
    if length > most {
        return Err(too_long(length));
    }
    let mut bytes = Vec::new();
    let read = || -> io::Result<()> {
        bytes.try_reserve_exact(length as usize).map_err(io::Error::other)?;
        // It may have grown since.
        file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        Ok(())
    };
    read().map_err(|source| unreadable(path, source))?;
    if bytes.len() as u64 > most {
        return Err(too_long(bytes.len() as u64));
    }
    Ok(bytes)
}

/// Reads a text, as [`bytes`] reads bytes.
///
/// # Errors
/// As [`bytes`], and for a file that is not UTF-8.
pub fn text(path: &Path, most: u64) -> Result<String> {
    let not_text = |source| model(format!("{path:?} is no text in UTF-8")).with_source(source);
    String::from_utf8(bytes(path, most)?).map_err(not_text)
}

/// Returns whether a relative path goes only downwards, so that it cannot leave the folder that it is joined to.
#[must_use]
pub fn goes_downwards(path: &Path) -> bool {
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    !path.as_os_str().is_empty() && path.components().all(plain)
}
