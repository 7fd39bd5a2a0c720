//! Reads the saved state of a session.

use std::io::{ErrorKind as IoErrorKind, Read};

use alloquy_core::{Error, ErrorKind, Result};

/// Reads the saved state of a session, from its first byte to its last.
///
/// A session reads it piece by piece into its own memory, so that a state of half a gigabyte is not in memory twice.
///
/// ```
/// use alloquy_core::ErrorKind;
/// use alloquy_engine::decoder::StateReader;
///
/// let mut written: &[u8] = &[1, 2, 3];
/// let mut state = StateReader::new(&mut written);
/// let mut first = [0; 2];
/// state.fill(&mut first)?;
/// assert_eq!(first, [1, 2]);
/// assert_eq!(state.end().unwrap_err().kind(), ErrorKind::Corrupt, "3 is left");
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub struct StateReader<'a> {
    source: &'a mut dyn Read,
}

impl<'a> StateReader<'a> {
    /// Creates a reader of a state, which is all that `source` has.
    pub fn new(source: &'a mut dyn Read) -> Self {
        Self { source }
    }

    /// Reads the next bytes, as many as fit into `into`.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] when there are fewer, [`ErrorKind::Store`] when they cannot be read.
    pub fn fill(&mut self, into: &mut [u8]) -> Result<()> {
        self.source.read_exact(into).map_err(|error| match error.kind() {
            IoErrorKind::UnexpectedEof => Error::new(ErrorKind::Corrupt, "a state has too few bytes"),
            _ => unreadable(error),
        })
    }

    /// Checks that all bytes were read.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] when something is left, [`ErrorKind::Store`] when it cannot be read.
    pub fn end(&mut self) -> Result<()> {
        match self.source.read_exact(&mut [0]) {
            Ok(()) => Err(Error::new(ErrorKind::Corrupt, "a state has too many bytes")),
            Err(error) if error.kind() == IoErrorKind::UnexpectedEof => Ok(()),
            Err(error) => Err(unreadable(error)),
        }
    }
}

impl std::fmt::Debug for StateReader<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("StateReader").finish_non_exhaustive()
    }
}

fn unreadable(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Store, "could not read a state").with_source(error)
}
