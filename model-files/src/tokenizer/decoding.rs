//! Reads what a tokenizer's decoder does to one token. Decoders of language models are few, so no list of tokens is decoded
//! anywhere.

use std::collections::HashMap;
use std::sync::LazyLock;

use alloquy_core::{Error, ErrorKind, Result};
use serde_json::Value;

/// What a decoder does to each token.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Decoding {
    /// Characters stand for bytes, as in GPT-2.
    byte_level: bool,
    /// `<0x0A>` stands for a byte.
    byte_fallback: bool,
    /// Texts to replace in a token.
    replacements: Vec<(String, String)>,
    pub(super) start: Start,
}

/// What a decoder takes off the start of a text.
#[derive(Debug, Default, PartialEq)]
pub(super) enum Start {
    #[default]
    Nothing,
    /// This text, wherever it stands in the first token.
    InFirstToken(String),
    /// So many of this character.
    Characters(char, usize),
}

impl Decoding {
    /// Reads the `decoder` of a `tokenizer.json`.
    pub(super) fn read(decoder: &Value) -> Result<Self> {
        let mut decoding = Self::default();
        let unsupported = |step: &Value| {
            let message = format!(
                "the tokenizer's decoder {step} is not supported, only ByteLevel, Metaspace, and sequences of \
                 Replace, ByteFallback, Fuse and Strip"
            );
            Error::new(ErrorKind::Unsupported, message)
        };
        let steps = match kind(decoder) {
            "Sequence" => decoder.get("decoders").and_then(Value::as_array).cloned().unwrap_or_default(),
            _ => vec![decoder.clone()],
        };
        let mut fused = false;
        for step in &steps {
            decoding.add(step, &mut fused).ok_or_else(|| unsupported(step))?;
        }
        Ok(decoding)
    }

    fn add(&mut self, step: &Value, fused: &mut bool) -> Option<()> {
        let text = |pointer: &str| step.pointer(pointer).and_then(Value::as_str);
        match (kind(step), *fused) {
            ("ByteLevel", false) => self.byte_level = true,
            ("ByteFallback", false) => self.byte_fallback = true,
            ("Fuse", _) => *fused = true,
            ("Replace", false) if !self.byte_fallback => {
                let pair = (text("/pattern/String")?.to_owned(), text("/content")?.to_owned());
                self.replacements.push(pair);
            }
            ("Strip", true) if step.get("stop").and_then(Value::as_u64) == Some(0) => {
                let count = step.get("start").and_then(Value::as_u64)?;
                self.start =
                    Start::Characters(text("/content")?.chars().next()?, usize::try_from(count).ok()?);
            }
            ("Metaspace", false) => self.add_metaspace(step, text("/replacement")?),
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

    /// Returns the bytes that a token stands for.
    pub(super) fn bytes(&self, spelling: &str, position: Position) -> Vec<u8> {
        let mut text = spelling.to_owned();
        if let (Start::InFirstToken(taken), Position::First) = (&self.start, position) {
            text = text.replace(taken, "");
        }
        for (from, to) in &self.replacements {
            text = text.replace(from, to);
        }
        let fallback = self.byte_fallback.then(|| fallback_byte(&text)).flatten();
        let level = || self.byte_level.then(|| byte_level_bytes(&text)).flatten();
        fallback.map(|byte| vec![byte]).or_else(level).unwrap_or_else(|| text.into_bytes())
    }
}

fn kind(step: &Value) -> &str {
    step.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// Reads `<0x0A>`.
fn fallback_byte(token: &str) -> Option<u8> {
    let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
    (digits.len() == 2).then(|| u8::from_str_radix(digits, 16).ok()).flatten()
}

/// Returns the bytes for which a token's characters stand, or `None` when one of them stands for none.
fn byte_level_bytes(token: &str) -> Option<Vec<u8>> {
    token.chars().map(|character| ALPHABET.get(&character).copied()).collect()
}

/// GPT-2's alphabet (`encoder.py`, `bytes_to_unicode`): printable bytes stand for themselves, the others for the
/// characters from U+0100 on, in order.
static ALPHABET: LazyLock<HashMap<char, u8>> = LazyLock::new(|| {
    let printable = |byte: &u8| matches!(byte, 0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF);
    let themselves = (0..=u8::MAX).filter(printable).map(|byte| (char::from(byte), byte));
    let others = (0..=u8::MAX).filter(|byte| !printable(byte));
    themselves.chain(('\u{100}'..).zip(others)).collect()
});

/// Where in a text a token stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    First,
    Within,
}
