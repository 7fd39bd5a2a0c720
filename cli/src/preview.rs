//! Shortens a text to one line.

use alloquy::core::Message;

/// Returns the start of `text` on one line of at most `width` characters; `…` replaces the rest.
pub(crate) fn shortened(text: &str, width: usize) -> String {
    Message::user(text).preview(width)
}
