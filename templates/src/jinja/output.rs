//! The output of a render, with a limit.

use std::io;

/// The bytes that most prompts need at most.
const USUAL_BYTES: usize = 4096;

/// The rendered text, up to a limit.
pub(super) struct Output {
    text: Vec<u8>,
    pub(super) limit: usize,
    /// Whether more was written than the limit allows.
    pub(super) full: bool,
}

impl Output {
    pub(super) fn new(limit: usize) -> Self {
        Self { text: Vec::with_capacity(USUAL_BYTES), limit, full: false }
    }

    /// Returns the text. The engine writes whole texts, so the bytes are always valid.
    pub(super) fn into_text(self) -> String {
        String::from_utf8(self.text)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }
}

impl io::Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.text.len() + bytes.len() > self.limit {
            self.full = true;
            return Err(io::Error::from(io::ErrorKind::FileTooLarge));
        }
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
