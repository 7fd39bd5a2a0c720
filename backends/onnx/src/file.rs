//! Files that a model's folder names, read whole and within bounds. Knows no format.
//!
//! A folder comes from strangers. What it calls a file may be a pipe that nobody writes to, a device that never ends, or a file
//! whose length is made up; so each file is read here, and nowhere else.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::path::Path;

use alloquy_core::Result;

use crate::error::{model, unreadable};

/// How long a tokenizer may be; the largest that are published have 40 MB.
pub(crate) const TOKENIZER: u64 = 256 << 20;

/// How long all other description files of a model may be together; some that are published have 5 MB. Parsed, a file takes
/// sixteen times its length at most.
pub(crate) const DESCRIPTIONS: u64 = 32 << 20;

/// How long an adapter may be: its format has no places beyond.
pub(crate) const ADAPTER: u64 = 2 << 30;

/// How long the name of a revision may be, and what the graph cache says of an entry.
pub(crate) const NOTE: u64 = 64 << 10;

/// Opens a regular file, or a link that ends at one.
pub(crate) fn open(path: &Path) -> Result<(File, u64)> {
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
pub(crate) fn bytes(path: &Path, most: u64) -> Result<Vec<u8>> {
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
pub(crate) fn text(path: &Path, most: u64) -> Result<String> {
    let not_text = |source| model(format!("{path:?} is no text in UTF-8")).with_source(source);
    String::from_utf8(bytes(path, most)?).map_err(not_text)
}
