//! Standard input, which is read once: as a text where it is not a keyboard, or as what `-` names.

use std::io::{IsTerminal, Read, stdin};

use alloquy::core::{Error, ErrorKind, Result};

/// How many bytes of standard input are read.
const MOST: u64 = 64 << 20;

/// Standard input, and whether it has been read.
#[derive(Debug, Default)]
pub(crate) struct Input {
    is_read: bool,
}

impl Input {
    /// Reads what `-` names.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when it has been read already, or has too many bytes.
    pub(crate) fn bytes(&mut self) -> Result<Vec<u8>> {
        if self.is_read {
            let message = "standard input can be read once only, and here - names it several times";
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        self.is_read = true;
        let mut bytes = Vec::new();
        stdin().take(MOST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.len() as u64 > MOST {
            let message = format!("standard input has more than {MOST} bytes, which is the limit");
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        Ok(bytes)
    }

    /// Reads what `-` names, as a text.
    ///
    /// # Errors
    /// As [`Input::bytes`], and for what is not UTF-8.
    pub(crate) fn text(&mut self) -> Result<String> {
        String::from_utf8(self.bytes()?).map_err(|_| {
            let message = "standard input is not a text in UTF-8; --image - and --audio - send an image or an audio clip";
            Error::new(ErrorKind::Invalid, message)
        })
    }

    /// Reads what is piped in; `None` for nothing, for a terminal, and if it has been read already.
    ///
    /// # Errors
    /// As [`Input::text`].
    pub(crate) fn piped(&mut self) -> Result<Option<String>> {
        if self.is_read || stdin().is_terminal() {
            return Ok(None);
        }
        let text = self.text()?;
        Ok(if text.is_empty() { None } else { Some(text) })
    }
}

/// Reads what is piped in; `None` for nothing, and for a terminal.
pub(crate) fn piped() -> Result<Option<String>> {
    Input::default().piped()
}

fn unreadable(source: std::io::Error) -> Error {
    Error::new(ErrorKind::Invalid, "standard input cannot be read").with_source(source)
}
