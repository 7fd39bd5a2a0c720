//! The beginning of a text, on one line.

use alloquy::core::Message;

/// Returns the beginning of `text` on one line of at most `width` characters; `…` stands for what is left out.
pub(crate) fn shortened(text: &str, width: usize) -> String {
    Message::user(text).preview(width)
}
