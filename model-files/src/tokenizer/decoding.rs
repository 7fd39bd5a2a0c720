//! Decodes single tokens to bytes, as a tokenizer's decoder describes it.
//!
//! Language models have only a few kinds of decoders. Each of them works on one token at a time, apart from the start of a
//! text.

use std::collections::HashMap;
use std::sync::LazyLock;

use alloquy_core::{Error, ErrorKind, Result};
use serde_json::Value;

/// What a decoder does to each token.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Decoding {
    /// Each character represents a byte, as in GPT-2.
    byte_level: bool,
    /// A token such as `<0x0A>` represents a byte.
    byte_fallback: bool,
    /// Texts to replace in a token.
    replacements: Vec<(String, String)>,
    pub(super) start: Start,
}

/// What a decoder removes at the start of a text.
#[derive(Debug, Default, PartialEq)]
pub(super) enum Start {
    #[default]
    Nothing,
    /// This text, anywhere in the first token.
    InFirstToken(String),
    /// Up to this many of this character.
    Characters(char, usize),
}

impl Decoding {
    /// Reads the `decoder` of a `tokenizer.json`.
    pub(super) fn read(decoder: &Value) -> Result<Self> {
        let mut decoding = Self::default();
        let steps = match kind(decoder) {
            "Sequence" => decoder.get("decoders").and_then(Value::as_array).cloned().unwrap_or_default(),
            _ => vec![decoder.clone()],
        };
        let mut fused = false;
        for step in &steps {
            if decoding.add(step, &mut fused).is_none() {
                return Err(unsupported(step));
            }
        }
        Ok(decoding)
    }

    /// Adds a step; `None` if it is unsupported. After `Fuse`, all tokens are one text to the steps that follow.
    fn add(&mut self, step: &Value, fused: &mut bool) -> Option<()> {
        match (kind(step), *fused) {
            ("ByteLevel", false) => self.byte_level = true,
            ("ByteFallback", false) => self.byte_fallback = true,
            ("Fuse", _) => *fused = true,
            ("Replace", false) if !self.byte_fallback => {
                let from = text(step, "/pattern/String")?.to_owned();
                let to = text(step, "/content")?.to_owned();
                self.replacements.push((from, to));
            }
            ("Strip", true) if step.get("stop").and_then(Value::as_u64) == Some(0) => {
                let count = step.get("start").and_then(Value::as_u64)?;
                let character = text(step, "/content")?.chars().next()?;
                self.start = Start::Characters(character, usize::try_from(count).ok()?);
            }
            ("Metaspace", false) => self.add_metaspace(step, text(step, "/replacement")?),
            _ => return None,
        }
        Some(())
    }

    fn add_metaspace(&mut self, step: &Value, replacement: &str) {
        let never = step.get("prepend_scheme").and_then(Value::as_str) == Some("never");
        if !never && step.get("add_prefix_space") != Some(&Value::Bool(false)) {
            self.start = Start::InFirstToken(replacement.to_owned());
        }
        self.replacements.push((replacement.to_owned(), " ".to_owned()));
    }

    /// Returns the bytes of a token.
    pub(super) fn bytes(&self, spelling: &str, position: Position) -> Vec<u8> {
        let mut text = spelling.to_owned();
        if let (Start::InFirstToken(taken), Position::First) = (&self.start, position) {
            text = text.replace(taken, "");
        }
        for (from, to) in &self.replacements {
            text = text.replace(from, to);
        }
        if self.byte_fallback
            && let Some(byte) = fallback_byte(&text)
        {
            return vec![byte];
        }
        if self.byte_level
            && let Some(bytes) = byte_level_bytes(&text)
        {
            return bytes;
        }
        text.into_bytes()
    }
}

fn unsupported(step: &Value) -> Error {
    let message = format!(
        "the tokenizer's decoder {step} is not supported, only ByteLevel, Metaspace, and sequences of \
         Replace, ByteFallback, Fuse and Strip"
    );
    Error::new(ErrorKind::Unsupported, message)
}

fn text<'v>(step: &'v Value, pointer: &str) -> Option<&'v str> {
    step.pointer(pointer)?.as_str()
}

fn kind(step: &Value) -> &str {
    step.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// Reads a byte as SentencePiece writes it, such as `<0x0A>`.
fn fallback_byte(token: &str) -> Option<u8> {
    let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
    (digits.len() == 2).then(|| u8::from_str_radix(digits, 16).ok()).flatten()
}

/// Returns the bytes that a token's characters represent, or `None` when one of them represents none.
fn byte_level_bytes(token: &str) -> Option<Vec<u8>> {
    token.chars().map(|character| ALPHABET.get(&character).copied()).collect()
}

/// GPT-2's alphabet (`encoder.py`, `bytes_to_unicode`): a printable byte is written as its own character, the others as
/// the characters from U+0100 on, in order. So a space (0x20) is `Ġ`, U+0120.
static ALPHABET: LazyLock<HashMap<char, u8>> = LazyLock::new(|| {
    let (printable, others): (Vec<u8>, Vec<u8>) =
        (0..=u8::MAX).partition(|byte| matches!(byte, 0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF));
    let printable = printable.into_iter().map(|byte| (char::from(byte), byte));
    printable.chain(('\u{100}'..).zip(others)).collect()
});

/// Where a token is in its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    First,
    Within,
}
