//! Decodes token ids to text one at a time, and holds bytes back until they form characters.
//!
//! Most programs decode a growing list of tokens for each new token, and keep what is new. That costs the length of the
//! list each time, and cannot tell a character that is still incomplete from one that never will be complete.

use std::fmt::Debug;
use std::sync::Arc;

use alloquy_core::tokenizer::{Detokenizer, TokenId};
use alloquy_core::{Error, ErrorKind, Result};

use super::decoding::{Position, Start};

/// What decodes single tokens.
pub(super) trait Decodes: Send + Sync + Debug {
    /// Returns the bytes of a token; `None` for an id without a token.
    fn bytes(&self, token: TokenId, position: Position) -> Option<Vec<u8>>;

    /// Returns what is removed at the start of a text.
    fn start(&self) -> &Start;
}

/// Decodes a stream.
#[derive(Debug)]
pub(super) struct StreamDetokenizer {
    tables: Arc<dyn Decodes>,
    /// Bytes of a character that has begun and may still be completed.
    held: Vec<u8>,
    position: Position,
    /// How many characters may still be removed at the start.
    taking: usize,
}

impl StreamDetokenizer {
    pub(super) fn new(tables: Arc<dyn Decodes>) -> Self {
        let taking = match tables.start() {
            Start::Characters(_, count) => *count,
            Start::Nothing | Start::InFirstToken(_) => 0,
        };
        Self { tables, held: Vec::new(), position: Position::First, taking }
    }

    /// Takes everything that is held, apart from a character that may still be completed.
    fn settled(&mut self) -> String {
        let incomplete = match self.held.utf8_chunks().last() {
            Some(last) if is_incomplete(last.invalid()) => last.invalid().len(),
            _ => 0,
        };
        let rest = self.held.split_off(self.held.len() - incomplete);
        let settled = std::mem::replace(&mut self.held, rest);
        self.without_start(&String::from_utf8_lossy(&settled))
    }

    /// Removes what the decoder removes at the start of a stream.
    fn without_start(&mut self, text: &str) -> String {
        let mut rest = text;
        while let (Start::Characters(taken, _), true) = (self.tables.start(), self.taking > 0) {
            if rest.is_empty() {
                return String::new();
            }
            match rest.strip_prefix(*taken) {
                Some(shorter) => {
                    rest = shorter;
                    self.taking -= 1;
                }
                None => self.taking = 0,
            }
        }
        rest.to_owned()
    }
}

/// Returns whether these bytes begin a character that more bytes could complete.
fn is_incomplete(bytes: &[u8]) -> bool {
    matches!(std::str::from_utf8(bytes), Err(error) if error.error_len().is_none())
}

impl Detokenizer for StreamDetokenizer {
    fn push(&mut self, token: TokenId) -> Result<String> {
        let Some(bytes) = self.tables.bytes(token, self.position) else {
            return Err(Error::new(ErrorKind::Tokenize, format!("token {token} is not in the vocabulary")));
        };
        self.held.extend(bytes);
        self.position = Position::Within;
        Ok(self.settled())
    }

    fn finish(&mut self) -> String {
        let left = std::mem::take(&mut self.held);
        self.without_start(&String::from_utf8_lossy(&left))
    }
}
