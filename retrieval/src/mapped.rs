//! Bytes in memory, or those of a file that the system reads as they are needed.

use std::fmt;
use std::fs::File;
use std::path::Path;

use alloquy_core::{Error, ErrorKind, Result};
use memmap2::Mmap;

/// Bytes that are owned, or mapped from a file.
pub(crate) enum Bytes {
    Owned(Vec<u8>),
    Mapped(Mmap),
}

impl Bytes {
    /// Maps a file.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let failed = |error| {
            let message =
                format!("{} cannot be read: is it a file of an index, and may you read it?", path.display());
            Error::new(ErrorKind::Store, message).with_source(error)
        };
        let file = File::open(path).map_err(failed)?;
        map(&file).map(Self::Mapped).map_err(failed)
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        match self {
            Self::Owned(bytes) => bytes,
            Self::Mapped(bytes) => bytes,
        }
    }

    /// Returns the bytes for a change; those of a file are copied first.
    pub(crate) fn to_mut(&mut self) -> &mut Vec<u8> {
        if let Self::Mapped(bytes) = self {
            *self = Self::Owned(bytes.to_vec());
        }
        match self {
            Self::Owned(bytes) => bytes,
            Self::Mapped(_) => unreachable!("the bytes were copied above"),
        }
    }
}

/// Files of indexes are written once, under a name that no other has, and never changed: no process changes the mapped bytes except
/// somebody who damages the index. Then numbers change between two reads, which is as harmless as other wrong numbers: each byte is
/// read by itself, and no length or place is kept in the mapped part.
#[allow(unsafe_code)] // a mapping of a file has no other way
fn map(file: &File) -> std::io::Result<Mmap> {
    unsafe { Mmap::map(file) }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Owned(_) => "Owned",
            Self::Mapped(_) => "Mapped",
        };
        write!(formatter, "{name}({} bytes)", self.as_slice().len())
    }
}
