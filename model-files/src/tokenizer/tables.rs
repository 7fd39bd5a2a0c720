//! Encodes texts by the tables of a tokenizer: at the start of a text or in the middle, with added tokens or without.

use std::sync::Arc;

use alloquy_core::tokenizer::{SpecialToken, TokenId};
use alloquy_core::{Error, ErrorKind, Result};
use serde::Deserialize;
use tokenizers::{
    Encoding, Model as _, NormalizedString, Normalizer as _, NormalizerWrapper, OffsetReferential,
    OffsetType, PreTokenizedString, PreTokenizer as _, PreTokenizerWrapper,
};

use super::decoding::{Decoding, Position, Start};
use super::detokenizer::Decodes;
use super::growth::Growth;
use super::memo::Memo;
use super::normalizer::Respelling;

/// Everything that is read from a `tokenizer.json`.
#[derive(Debug)]
pub(super) struct Tables {
    pub(super) tokenizer: tokenizers::Tokenizer,
    /// The normalizer and the pre-tokenizer without what they do at the start of a text.
    pub(super) middle: Steps,
    /// Normalizes texts whose spelling can become an added token; `None` if no text can.
    pub(super) respelling: Option<Arc<Respelling>>,
    pub(super) specials: Vec<SpecialToken>,
    /// The token that the model has for unknown characters.
    pub(super) unknown: Option<TokenId>,
    pub(super) decoding: Decoding,
    pub(super) growth: Growth,
    pub(super) memo: Memo,
}

/// The steps before the model.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Steps {
    pub(super) normalizer: Option<NormalizerWrapper>,
    pub(super) pre_tokenizer: Option<PreTokenizerWrapper>,
}

/// Where a piece is in its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Start,
    Middle,
}

impl Tables {
    /// Encodes text at the start, exactly as `tokenizers` does.
    pub(super) fn encode_start(&self, text: &str) -> Result<Vec<TokenId>> {
        if self.memo.is_long(text) {
            return self.memo.encode(text, |rest| {
                let encoding =
                    self.tokenizer.encode(rest, false).map_err(|source| unencodable(text, source))?;
                let starts = encoding.get_offsets().iter().map(|(start, _)| *start);
                Ok(encoding.get_ids().iter().copied().zip(starts).collect())
            });
        }
        let encoding = self.tokenizer.encode_fast(text, false).map_err(|source| unencodable(text, source))?;
        Ok(encoding.get_ids().to_vec())
    }

    /// Encodes text in the middle of a prompt.
    ///
    /// Up to its first added token, it must not be encoded as a start: `tokenizers` would put a space before the first word.
    /// The rest starts with an added token, and has the same ids anywhere.
    pub(super) fn encode_middle(&self, text: &str, tokens: &mut Vec<TokenId>) -> Result<()> {
        let (before, from) = text.split_at(self.first_added(text));
        if !before.is_empty() {
            tokens.extend(self.plain(before, Place::Middle)?.get_ids());
        }
        if !from.is_empty() {
            tokens.extend(self.encode_start(from)?);
        }
        Ok(())
    }

    /// Returns the byte at which the first added token of `text` starts, or its length.
    fn first_added(&self, text: &str) -> usize {
        let added = self.tokenizer.get_added_vocabulary();
        let split = added.extract_and_normalize(self.tokenizer.get_normalizer(), text);
        let splits = split.get_splits(OffsetReferential::Original, OffsetType::Byte);
        let mut starts =
            splits.into_iter().filter(|(.., tokens)| tokens.is_some()).map(|(_, (start, _), _)| start);
        starts.next().filter(|&start| text.is_char_boundary(start)).unwrap_or(text.len())
    }

    /// Encodes text so that no added token results from it.
    pub(super) fn encode_literal(&self, text: &str, place: Place, tokens: &mut Vec<TokenId>) -> Result<()> {
        let normalized = self.normalized(text, place)?;
        self.encode_normalized(normalized.get(), place, tokens)
    }

    /// Encodes normalized text so that no added token results from it.
    ///
    /// A model may find an added token by itself, because its vocabulary has it or because its merges lead there. The text
    /// is then cut inside the token, until none is left: `a<end>` becomes `a<` and `end>`.
    fn encode_normalized(&self, text: &str, place: Place, tokens: &mut Vec<TokenId>) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        let encoding = self.modelled(text.into(), place)?;
        match self.cut_inside_added(text, &encoding)? {
            None => tokens.extend(encoding.get_ids()),
            Some(cut) => {
                let (left, right) = text.split_at(cut);
                self.encode_normalized(left, place, tokens)?;
                self.encode_normalized(right, Place::Middle, tokens)?;
            }
        }
        Ok(())
    }

    /// Returns where to cut `text` so that the first added token in its encoding is split; `None` if there is none.
    fn cut_inside_added(&self, text: &str, encoding: &Encoding) -> Result<Option<usize>> {
        for (&token, &(start, end)) in encoding.get_ids().iter().zip(encoding.get_offsets()) {
            let Some(special) = self.special(token) else {
                continue;
            };
            let spelled = text.get(start..end).unwrap_or_default();
            // The unknown token may be an added one, `<unk>`: it is one of these only if the text contains `<unk>`.
            if Some(token) == self.unknown && !spelled.contains(&special.text) {
                continue;
            }
            let second = spelled.char_indices().nth(1).map(|(index, _)| start + index);
            if second.is_some() {
                return Ok(second);
            }
            if self.tokenizer.get_added_vocabulary().is_special_token(&special.text) {
                let message =
                    format!("{spelled:?} cannot be written without the special token {:?}", special.text);
                return Err(Error::new(ErrorKind::Tokenize, message));
            }
            // A single character that the vocabulary has only as an added token that is not special. It stays.
        }
        Ok(None)
    }

    /// Encodes text by the normalizer, the pre-tokenizer and the model, without looking for added tokens.
    fn plain(&self, text: &str, place: Place) -> Result<Encoding> {
        self.modelled(self.normalized(text, place)?, place)
    }

    fn normalized(&self, text: &str, place: Place) -> Result<NormalizedString> {
        let normalizer = match place {
            Place::Start => self.tokenizer.get_normalizer(),
            Place::Middle => self.middle.normalizer.as_ref(),
        };
        let mut normalized = NormalizedString::from(text);
        if let Some(normalizer) = normalizer {
            normalizer.normalize(&mut normalized).map_err(|source| unencodable(text, source))?;
        }
        Ok(normalized)
    }

    /// Encodes normalized text by the pre-tokenizer and the model.
    fn modelled(&self, normalized: NormalizedString, place: Place) -> Result<Encoding> {
        let pre_tokenizer = match place {
            Place::Start => self.tokenizer.get_pre_tokenizer(),
            Place::Middle => self.middle.pre_tokenizer.as_ref(),
        };
        let start: String = normalized.get().chars().take(40).collect();
        let words = PreTokenizedString::from(normalized);
        self.tokenized(words, pre_tokenizer).map_err(|source| unencodable(&start, source))
    }

    fn tokenized(
        &self,
        mut words: PreTokenizedString,
        pre_tokenizer: Option<&PreTokenizerWrapper>,
    ) -> tokenizers::Result<Encoding> {
        if let Some(pre_tokenizer) = pre_tokenizer {
            pre_tokenizer.pre_tokenize(&mut words)?;
        }
        self.tokenizer.get_model().tokenize_in_pretokenized(&mut words, None)?;
        words.into_encoding(None, 0, OffsetType::Byte)
    }

    fn special(&self, token: TokenId) -> Option<&SpecialToken> {
        let index = self.specials.binary_search_by_key(&token, |special| special.id).ok()?;
        self.specials.get(index)
    }
}

impl Decodes for Tables {
    /// Returns the bytes of a token. Special tokens are their text; other added tokens are decoded like ordinary text.
    fn bytes(&self, token: TokenId, position: Position) -> Option<Vec<u8>> {
        let spelling = self.tokenizer.id_to_token(token)?;
        let added = self.tokenizer.get_added_vocabulary();
        let special = self.special(token).is_some() && added.is_special_token(&spelling);
        if special {
            return Some(spelling.into_bytes());
        }
        Some(self.decoding.bytes(&spelling, position))
    }

    fn start(&self) -> &Start {
        &self.decoding.start
    }
}

/// The tokenizer fails at a text.
pub(super) fn unencodable(text: &str, source: tokenizers::Error) -> Error {
    let start: String = text.chars().take(40).collect();
    Error::new(ErrorKind::Tokenize, format!("the text that starts {start:?} cannot be encoded"))
        .with_source(source)
}
