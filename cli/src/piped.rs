//! Standard input as one text, where it is not a keyboard.

use std::io::{IsTerminal, Read, stdin};

use alloquy::core::{Error, ErrorKind, Result};

/// Reads what is piped in; `None` for nothing, and for a terminal.
pub(crate) fn piped() -> Result<Option<String>> {
    if stdin().is_terminal() {
        return Ok(None);
    }
    let mut text = String::new();
    stdin().read_to_string(&mut text).map_err(|source| {
        Error::new(ErrorKind::Invalid, "standard input cannot be read as text").with_source(source)
    })?;
    Ok((!text.is_empty()).then_some(text))
}
