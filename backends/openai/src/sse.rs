//! Server-sent events, read as their bytes come.

use alloquy_core::{Error, ErrorKind, Result};

/// How many bytes an event may have. Events of one token have a few hundred.
const EVENT: usize = 4 << 20;

/// A reader of server-sent events. However the bytes are cut, the events are the same.
#[derive(Debug, Default)]
pub(crate) struct EventReader {
    /// The line that has begun.
    line: Vec<u8>,
    /// The data of the event that has begun.
    data: Option<String>,
    /// Whether the last byte was a carriage return, so that a line feed ends no further line.
    after_return: bool,
}

impl EventReader {
    /// Takes bytes, and adds the data of the events that they complete to `events`.
    ///
    /// # Errors
    /// [`ErrorKind::Backend`] for an event that is too long or not UTF-8. Those before it are added.
    pub(crate) fn push(&mut self, mut bytes: &[u8], events: &mut Vec<String>) -> Result<()> {
        while let Some((first, after)) = bytes.split_first() {
            if std::mem::take(&mut self.after_return) && *first == b'\n' {
                bytes = after;
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (text, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
            self.grow(text)?;
            let Some((end, rest)) = rest.split_first() else { return Ok(()) };
            self.after_return = *end == b'\r';
            events.extend(self.end_line()?);
            bytes = rest;
        }
        Ok(())
    }

    /// Returns whether an event has begun that was not completed.
    pub(crate) fn is_within(&self) -> bool {
        self.data.is_some() || !self.line.is_empty()
    }

    fn grow(&mut self, text: &[u8]) -> Result<()> {
        let known = self.line.len() + self.data.as_ref().map_or(0, String::len);
        if known + text.len() > EVENT {
            let message = format!("the server sent an event of more than {EVENT} bytes");
            return Err(Error::new(ErrorKind::Backend, message));
        }
        self.line.extend_from_slice(text);
        Ok(())
    }

    /// Takes the line. An empty one ends an event.
    fn end_line(&mut self) -> Result<Option<String>> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            return Ok(self.data.take());
        }
        let line = String::from_utf8(line).map_err(|source| {
            Error::new(ErrorKind::Backend, "the server sent an event that is not UTF-8").with_source(source)
        })?;
        let line = line.strip_prefix('\u{FEFF}').unwrap_or(&line);
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        // Older servers of llama.cpp write `error: {…}` for an error within a stream.
        if field == "data" || field == "error" {
            let value = value.strip_prefix(' ').unwrap_or(value);
            let data = self.data.get_or_insert_default();
            if !data.is_empty() {
                data.push('\n');
            }
            data.push_str(value);
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
