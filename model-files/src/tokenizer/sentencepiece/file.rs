//! Reads a file of SentencePiece: `tokenizer.model`, `spiece.model`.
//!
//! The file is the message `ModelProto` of `sentencepiece_model.proto`. Fields that only training needs are skipped.

use std::collections::HashSet;

use alloquy_core::{Error, ErrorKind, Result};

use super::super::protobuf::{Fields, Value};
use super::charsmap::CharsMap;
use crate::error::model;

/// A token of the vocabulary. Its id is its index in the file.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) score: f32,
    pub(super) kind: Kind,
}

/// What a piece is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Normal,
    Unknown,
    /// Such as `<s>`. No text becomes it.
    Control,
    /// Written whole wherever a text has it.
    UserDefined,
    /// An id without a use.
    Unused,
    Byte(u8),
}

impl Kind {
    /// Returns whether a text can be written with it.
    pub(super) fn is_written(self) -> bool {
        matches!(self, Self::Normal | Self::UserDefined | Self::Unused)
    }
}

/// How pieces are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    Unigram,
    Bpe,
}

/// The parts of a file that encoding needs.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools)] // the settings of the file
pub(super) struct File {
    pub(super) pieces: Vec<Piece>,
    pub(super) algorithm: Algorithm,
    pub(super) byte_fallback: bool,
    pub(super) charsmap: CharsMap,
    /// The table that `charsmap` was read from.
    pub(super) rules: Vec<u8>,
    pub(super) add_dummy_prefix: bool,
    pub(super) remove_extra_whitespaces: bool,
    pub(super) escape_whitespaces: bool,
}

impl File {
    /// Reads a file and checks it as SentencePiece does.
    ///
    /// # Errors
    /// [`ErrorKind::Model`] for a damaged file, [`ErrorKind::Unsupported`] for one that language models do not have.
    pub(super) fn read(bytes: &[u8]) -> Result<Self> {
        let mut file = Self {
            pieces: Vec::new(),
            algorithm: Algorithm::Unigram,
            byte_fallback: false,
            charsmap: CharsMap::default(),
            rules: Vec::new(),
            add_dummy_prefix: true,
            remove_extra_whitespaces: true,
            escape_whitespaces: true,
        };
        let mut fields = Fields::of(bytes);
        while let Some((number, value)) = fields.next()? {
            match number {
                1 => file.pieces.push(piece(value.bytes()?)?),
                2 => file.read_trainer(value.bytes()?)?,
                3 => file.read_normalizer(value.bytes()?)?,
                5 => check_denormalizer(value.bytes()?)?,
                _ => {}
            }
        }
        file.charsmap = CharsMap::read(&file.rules)?;
        file.check()?;
        Ok(file)
    }

    fn read_trainer(&mut self, spec: &[u8]) -> Result<()> {
        let mut fields = Fields::of(spec);
        while let Some((number, value)) = fields.next()? {
            match number {
                3 => self.algorithm = algorithm(value)?,
                24 if value.flag()? => {
                    return Err(unsupported(
                        "writes spaces at the ends of words (treat_whitespace_as_suffix)",
                    ));
                }
                35 => self.byte_fallback = value.flag()?,
                _ => {}
            }
        }
        Ok(())
    }

    fn read_normalizer(&mut self, spec: &[u8]) -> Result<()> {
        let mut fields = Fields::of(spec);
        while let Some((number, value)) = fields.next()? {
            match number {
                2 => self.rules = value.bytes()?.to_vec(),
                3 => self.add_dummy_prefix = value.flag()?,
                4 => self.remove_extra_whitespaces = value.flag()?,
                5 => self.escape_whitespaces = value.flag()?,
                _ => {}
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<()> {
        if self.pieces.is_empty() {
            return Err(model("the SentencePiece file has no pieces; is it another kind of file?"));
        }
        let mut seen = HashSet::new();
        let mut unknown = 0;
        let mut bytes = HashSet::new();
        for piece in &self.pieces {
            // A control token may be written like an ordinary piece.
            if piece.text.is_empty() || !seen.insert((piece.kind.is_written(), piece.text.as_str())) {
                return Err(model(format!(
                    "the SentencePiece file is damaged: piece {:?} is empty or there twice",
                    piece.text
                )));
            }
            match piece.kind {
                Kind::Unknown => unknown += 1,
                Kind::Byte(byte) => {
                    bytes.insert(byte);
                }
                _ => {}
            }
        }
        if unknown != 1 {
            return Err(model(format!(
                "the SentencePiece file has {unknown} unknown tokens, and must have one"
            )));
        }
        let expected = if self.byte_fallback { 256 } else { 0 };
        if bytes.len() != expected {
            return Err(model(format!(
                "the SentencePiece file has tokens for {} bytes, and must have {expected}",
                bytes.len()
            )));
        }
        Ok(())
    }
}

fn piece(message: &[u8]) -> Result<Piece> {
    let mut piece = Piece { text: String::new(), score: 0.0, kind: Kind::Normal };
    let mut kind = 1;
    let mut fields = Fields::of(message);
    while let Some((number, value)) = fields.next()? {
        match number {
            1 => value.text()?.clone_into(&mut piece.text),
            2 => piece.score = value.float()?,
            3 => kind = value.number()?,
            _ => {}
        }
    }
    if !piece.score.is_finite() {
        return Err(model(format!(
            "the score of piece {:?} is {}, which is no number",
            piece.text, piece.score
        )));
    }
    piece.kind = match kind {
        1 => Kind::Normal,
        2 => Kind::Unknown,
        3 => Kind::Control,
        4 => Kind::UserDefined,
        5 => Kind::Unused,
        6 => Kind::Byte(
            byte(&piece.text)
                .ok_or_else(|| model(format!("piece {:?} should be a byte, such as <0x0A>", piece.text)))?,
        ),
        kind => return Err(model(format!("piece {:?} has the unknown type {kind}", piece.text))),
    };
    Ok(piece)
}

/// Reads a byte such as `<0x0A>`, with digits in upper case as SentencePiece writes them.
fn byte(text: &str) -> Option<u8> {
    (0..=u8::MAX).find(|byte| text == format!("<0x{byte:02X}>"))
}

fn algorithm(value: Value<'_>) -> Result<Algorithm> {
    match value.number()? {
        1 => Ok(Algorithm::Unigram),
        2 => Ok(Algorithm::Bpe),
        3 => Err(unsupported("is a model of words")),
        4 => Err(unsupported("is a model of characters")),
        other => Err(unsupported(&format!("has the unknown type {other}"))),
    }
}

fn check_denormalizer(spec: &[u8]) -> Result<()> {
    let mut fields = Fields::of(spec);
    while let Some((number, value)) = fields.next()? {
        if number == 2 && !value.bytes()?.is_empty() {
            return Err(unsupported("rewrites decoded text (denormalizer_spec)"));
        }
    }
    Ok(())
}

fn unsupported(what: &str) -> Error {
    let message =
        format!("the SentencePiece file {what}, which is not supported; unigram and BPE models are");
    Error::new(ErrorKind::Unsupported, message)
}
