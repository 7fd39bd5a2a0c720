//! Encodes text as tiktoken does, from a file that has a token in base64 and its rank on each line.

mod pattern;

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use alloquy_core::tokenizer::{SpecialToken, TokenId};
use alloquy_core::{Error, ErrorKind, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokenizers::normalizers::NFC;
use tokenizers::{NormalizedString, Normalizer as _};

use self::pattern::Compiled;
use super::merging::{Symbol, merge};
use crate::error::model;

pub(super) use self::pattern::{Pattern, PatternHints};

/// A vocabulary of tiktoken.
#[derive(Debug)]
pub(super) struct Tiktoken {
    ranks: HashMap<Box<[u8]>, TokenId>,
    tokens: HashMap<TokenId, Box<[u8]>>,
    longest: usize,
    size: usize,
    pattern: &'static Pattern,
    compiled: Compiled,
}

impl Tiktoken {
    pub(super) fn read(bytes: &[u8], pattern: &'static Pattern) -> Result<Self> {
        let text = str::from_utf8(bytes).map_err(|_| damaged(1, "is not UTF-8"))?;
        let mut ranks = HashMap::new();
        let mut tokens = HashMap::new();
        for (number, line) in (1..).zip(text.lines()) {
            if line.is_empty() {
                continue;
            }
            let (token, rank) = line.split_once(' ').ok_or_else(|| damaged(number, "has no space"))?;
            let token =
                STANDARD.decode(token).map_err(|_| damaged(number, "has a token that is not base64"))?;
            let rank: TokenId =
                rank.trim_end().parse().map_err(|_| damaged(number, "has a rank that is no number"))?;
            let token = token.into_boxed_slice();
            if token.is_empty()
                || tokens.insert(rank, token.clone()).is_some()
                || ranks.insert(token, rank).is_some()
            {
                return Err(damaged(number, "has an empty token, or one or a rank that another line has"));
            }
        }
        if let Some(byte) = (0..=u8::MAX).find(|byte| !ranks.contains_key([*byte].as_slice())) {
            return Err(model(format!(
                "the tiktoken file has no token for the byte 0x{byte:02X}, and must have all 256"
            )));
        }
        Ok(Self {
            longest: ranks.keys().map(|token| token.len()).max().unwrap_or(0),
            size: tokens.keys().max().map_or(0, |last| *last as usize + 1),
            compiled: Compiled::of(pattern)?,
            pattern,
            ranks,
            tokens,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.size
    }

    pub(super) fn token(&self, text: &str) -> Option<TokenId> {
        self.ranks.get(text.as_bytes()).copied()
    }

    pub(super) fn bytes(&self, token: TokenId) -> Option<Vec<u8>> {
        Some(self.tokens.get(&token)?.to_vec())
    }

    /// Returns the control tokens that the model's code defines, for a model whose files do not list them.
    pub(super) fn controls(&self) -> Vec<SpecialToken> {
        self.pattern.controls(self.ranks.len())
    }

    /// Returns whether texts are normalized to NFC before anything else.
    pub(super) fn is_composed(&self) -> bool {
        self.pattern.is_composed
    }

    /// Normalizes a text before control tokens are looked for.
    pub(super) fn composed(&self, text: &str) -> Result<String> {
        let mut normalized = NormalizedString::from(text);
        if self.is_composed() {
            NFC.normalize(&mut normalized).map_err(|source| {
                Error::new(ErrorKind::Tokenize, "the text cannot be normalized").with_source(source)
            })?;
        }
        Ok(normalized.get().to_owned())
    }

    /// Appends the tokens of a text, without the tokens `excluded`.
    pub(super) fn encode(
        &self,
        text: &str,
        excluded: Option<&HashSet<TokenId>>,
        tokens: &mut Vec<TokenId>,
    ) -> Result<()> {
        for word in self.compiled.words(text)? {
            let word = text.as_bytes().get(word).unwrap_or_default();
            if let Some(token) = self.rank(word, excluded) {
                tokens.push(token);
                continue;
            }
            let symbols =
                (0..word.len()).map(|byte| Symbol { bytes: byte..byte + 1, frozen: false }).collect();
            let pieces = merge(symbols, &mut |left: Range<usize>, right: Range<usize>| {
                if right.end - left.start > self.longest {
                    return None;
                }
                let rank = self.rank(word.get(left.start..right.end)?, excluded)?;
                Some(-f64::from(rank))
            });
            tokens.extend(pieces.into_iter().filter_map(|piece| self.ranks.get(word.get(piece)?)));
        }
        Ok(())
    }

    fn rank(&self, bytes: &[u8], excluded: Option<&HashSet<TokenId>>) -> Option<TokenId> {
        let rank = *self.ranks.get(bytes)?;
        if excluded.is_some_and(|excluded| excluded.contains(&rank)) { None } else { Some(rank) }
    }
}

/// Returns whether a file has tokens in base64 and ranks, as far as its first line shows.
pub(super) fn is_tiktoken(bytes: &[u8]) -> bool {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let Some((token, rank)) = str::from_utf8(line).ok().and_then(|line| line.split_once(' ')) else {
        return false;
    };
    STANDARD.decode(token).is_ok() && rank.trim_end().parse::<TokenId>().is_ok()
}

fn damaged(line: usize, what: &str) -> Error {
    model(format!("line {line} of the tiktoken file {what}; expected a token in base64, a space, and a rank"))
}
