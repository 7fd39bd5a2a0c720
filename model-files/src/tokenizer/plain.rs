//! Encodes texts with a vocabulary that has a file of its own: SentencePiece's or tiktoken's.
//!
//! The tokens that a model adds are found first. They divide a text into parts, and each part is encoded by the vocabulary.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use alloquy_core::tokenizer::{Normalizer, SpecialToken, TokenId, TokenizerInput};
use alloquy_core::{ErrorKind, Result};
use tokenizers::NormalizerWrapper;
use tokenizers::normalizers::NFC;

use super::added::{self, Added, AddedTokens};
use super::decoding::{Position, Start};
use super::detokenizer::Decodes;
use super::growth::Growth;
use super::memo::Memo;
use super::normalizer::Respelling;
use super::sentencepiece::{Edges, SentencePiece, Symbols};
use super::tiktoken::{Pattern, PatternHints, Tiktoken, is_tiktoken};
use crate::description::Description;
use crate::tokenizer_file::TokenizerFile;

/// A vocabulary with the tokens that a model adds to it.
#[derive(Debug)]
pub(super) struct Plain {
    vocabulary: Vocabulary,
    added: AddedTokens,
    spellings: BTreeMap<TokenId, Added>,
    pub(super) specials: Vec<SpecialToken>,
    /// What literal text must not become.
    forbidden: HashSet<TokenId>,
    normalizer: Option<Arc<dyn Normalizer>>,
    start: Start,
    /// Whether a space is written before the first word after each added token, not only before the first word.
    spaces_after_added: bool,
    memo: Memo,
}

#[derive(Debug)]
enum Vocabulary {
    SentencePiece(Arc<SentencePiece>),
    Tiktoken(Box<Tiktoken>),
}

/// Pieces of a text that are all literal, or none of them is.
struct Run {
    text: String,
    is_literal: bool,
}

/// A part of a text.
enum Part<'t> {
    Added { id: TokenId, start: usize },
    Text { text: &'t str, is_literal: bool },
}

impl Plain {
    /// Reads the file of a vocabulary. The description files have the added tokens.
    pub(super) fn read(file: &TokenizerFile, description: &Description) -> Result<Self> {
        if file.name.ends_with(".tiktoken") || is_tiktoken(&file.bytes) {
            Self::of_tiktoken(file, description)
        } else {
            Self::of_sentencepiece(file, description)
        }
    }

    fn of_tiktoken(file: &TokenizerFile, description: &Description) -> Result<Self> {
        let pattern = Pattern::of(PatternHints {
            file: &file.name,
            class: description.text(&[("tokenizer_config.json", "/tokenizer_class")]),
            encoding: description.text(&[("tokenizer_config.json", "/encoding_name")]),
            model_type: description.text(&[("config.json", "/model_type")]),
        })?;
        let vocabulary = Tiktoken::read(&file.bytes, pattern)?;
        let mut spellings = added::read(description, |text| vocabulary.token(text))?;
        let listed: HashSet<_> = spellings.values().map(|added| added.text.clone()).collect();
        let controls = vocabulary.controls().into_iter().filter(|control| !listed.contains(&control.text));
        added::extend(&mut spellings, controls);
        let specials = specials(&spellings);
        let normalizer = if vocabulary.is_composed() { composing(&specials) } else { None };
        Ok(Self {
            memo: memo(&spellings),
            added: AddedTokens::of(spellings.clone()),
            forbidden: specials.iter().map(|special| special.id).collect(),
            vocabulary: Vocabulary::Tiktoken(Box::new(vocabulary)),
            start: Start::Nothing,
            spaces_after_added: false,
            normalizer,
            spellings,
            specials,
        })
    }

    fn of_sentencepiece(file: &TokenizerFile, description: &Description) -> Result<Self> {
        let mut vocabulary = SentencePiece::read(&file.bytes)?;
        let config =
            |name| description.at(("tokenizer_config.json", name)).and_then(serde_json::Value::as_bool);
        if config("/add_prefix_space") == Some(false) {
            vocabulary.drop_prefix();
        }
        let mut spellings = added::read(description, |text| vocabulary.token(text))?;
        let mut inner = Vec::new();
        for (special, is_found_before) in vocabulary.controls() {
            if is_found_before {
                added::extend(&mut spellings, std::iter::once(special));
            } else {
                inner.push(special);
            }
        }
        // The vocabulary itself finds its symbols, after a part is normalized.
        let mut before = spellings.clone();
        before.retain(|id, added| {
            let is_symbol =
                vocabulary.is_symbol(*id) && vocabulary.spelling(*id) == Some(added.text.as_str());
            !(is_symbol && added.is_plain())
        });
        added::extend(&mut spellings, inner.into_iter());
        let specials: Vec<_> = specials(&spellings);
        let vocabulary = Arc::new(vocabulary);
        Ok(Self {
            memo: memo(&before),
            added: AddedTokens::of(before),
            forbidden: specials.iter().map(|special| special.id).collect(),
            normalizer: vocabulary.normalizer(),
            start: vocabulary.start(),
            vocabulary: Vocabulary::SentencePiece(vocabulary),
            spaces_after_added: config("/legacy") != Some(false),
            spellings,
            specials,
        })
    }

    pub(super) fn normalizer(&self) -> Option<Arc<dyn Normalizer>> {
        self.normalizer.clone()
    }

    pub(super) fn len(&self) -> usize {
        let own = match &self.vocabulary {
            Vocabulary::SentencePiece(vocabulary) => vocabulary.len(),
            Vocabulary::Tiktoken(vocabulary) => vocabulary.len(),
        };
        let last = self.spellings.keys().next_back();
        own.max(last.map_or(0, |last| *last as usize + 1))
    }

    pub(super) fn token(&self, text: &str) -> Option<TokenId> {
        let added = self.spellings.iter().find(|(_, added)| added.text == text);
        added.map(|(id, _)| *id).or_else(|| match &self.vocabulary {
            Vocabulary::SentencePiece(vocabulary) => vocabulary.token(text),
            Vocabulary::Tiktoken(vocabulary) => vocabulary.token(text),
        })
    }

    pub(super) fn spelling(&self, token: TokenId) -> Option<String> {
        if let Some(added) = self.spellings.get(&token) {
            return Some(added.text.clone());
        }
        match &self.vocabulary {
            Vocabulary::SentencePiece(vocabulary) => vocabulary.spelling(token).map(str::to_owned),
            Vocabulary::Tiktoken(vocabulary) => {
                vocabulary.bytes(token).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            }
        }
    }

    pub(super) fn encode(&self, pieces: &[TokenizerInput<'_>]) -> Result<Vec<TokenId>> {
        let mut runs = joined(pieces);
        match &self.vocabulary {
            Vocabulary::SentencePiece(vocabulary) => {
                let length = runs.iter().map(|run| run.text.len()).sum();
                vocabulary.growth.check(length, ErrorKind::Tokenize)?;
            }
            Vocabulary::Tiktoken(vocabulary) => {
                for run in &mut runs {
                    run.text = vocabulary.composed(&run.text)?;
                }
            }
        }
        // The prompt of a chat begins like the one before it.
        if let [Run { text, is_literal: false }] = runs.as_slice()
            && self.memo.is_long(text)
        {
            return self
                .memo
                .encode(text, |rest| self.placed(&[Run { text: rest.to_owned(), is_literal: false }]));
        }
        Ok(self.placed(&runs)?.into_iter().map(|(id, _)| id).collect())
    }

    /// Encodes runs. Each added token has the byte of its run at which it starts, the others have none.
    fn placed(&self, runs: &[Run]) -> Result<Vec<(TokenId, usize)>> {
        let parts = self.parts(runs);
        let mut placed = Vec::new();
        let mut tokens = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            match part {
                Part::Added { id, start } => placed.push((*id, *start)),
                Part::Text { text, is_literal } => {
                    self.encode_text(text, *is_literal, self.edges(&parts, index), &mut tokens)?;
                    placed.extend(tokens.drain(..).map(|token| (token, usize::MAX)));
                }
            }
        }
        Ok(placed)
    }

    /// Splits texts at the added tokens. Literal ones have none.
    fn parts<'t>(&self, runs: &'t [Run]) -> Vec<Part<'t>> {
        let mut parts = Vec::new();
        for run in runs {
            if run.is_literal {
                parts.push(Part::Text { text: &run.text, is_literal: true });
            } else {
                self.split(&run.text, &mut parts);
            }
        }
        parts.retain(|part| !matches!(part, Part::Text { text: "", .. }));
        parts
    }

    fn split<'t>(&self, text: &'t str, parts: &mut Vec<Part<'t>>) {
        let mut end = 0;
        while let Some(found) = self.added.next(text, end) {
            parts
                .push(Part::Text { text: text.get(end..found.start).unwrap_or_default(), is_literal: false });
            parts.push(Part::Added { id: found.id, start: found.start });
            end = found.end;
        }
        parts.push(Part::Text { text: text.get(end..).unwrap_or_default(), is_literal: false });
    }

    /// Returns what SentencePiece does at the edges of a part. Between added tokens it is a text of its own; where a literal part
    /// adjoins another one, nothing starts or ends.
    fn edges(&self, parts: &[Part<'_>], index: usize) -> Edges {
        let before = index.checked_sub(1).and_then(|before| parts.get(before));
        let is_after_added = matches!(before, Some(Part::Added { .. }));
        Edges {
            prefix: before.is_none() || is_after_added && self.spaces_after_added,
            start: before.is_none() || is_after_added,
            end: !matches!(parts.get(index + 1), Some(Part::Text { .. })),
        }
    }

    fn encode_text(
        &self,
        text: &str,
        is_literal: bool,
        edges: Edges,
        tokens: &mut Vec<TokenId>,
    ) -> Result<()> {
        let excluded = if is_literal { Some(&self.forbidden) } else { None };
        match &self.vocabulary {
            Vocabulary::SentencePiece(vocabulary) => {
                vocabulary.encode(text, edges, excluded.map_or(Symbols::All, Symbols::Without), tokens);
                Ok(())
            }
            Vocabulary::Tiktoken(vocabulary) => vocabulary.encode(text, excluded, tokens),
        }
    }
}

/// Creates a memo for texts that are split at these tokens.
fn memo(added: &BTreeMap<TokenId, Added>) -> Memo {
    let longest = added.values().map(|added| added.text.len()).max().unwrap_or(0);
    let parting = added.iter().filter(|(_, added)| added.is_plain());
    Memo::with(parting.map(|(id, added)| (*id, added.text.clone())).collect(), longest)
}

impl Decodes for Plain {
    fn bytes(&self, token: TokenId, _: Position) -> Option<Vec<u8>> {
        let added = self.spellings.get(&token).map(|added| added.text.clone().into_bytes());
        match &self.vocabulary {
            // Symbols are decoded like ordinary text.
            Vocabulary::SentencePiece(vocabulary) if vocabulary.is_symbol(token) => vocabulary.bytes(token),
            _ if added.is_some() => added,
            Vocabulary::SentencePiece(vocabulary) => vocabulary.bytes(token),
            Vocabulary::Tiktoken(vocabulary) => vocabulary.bytes(token),
        }
    }

    fn start(&self) -> &Start {
        &self.start
    }
}

fn specials(spellings: &BTreeMap<TokenId, Added>) -> Vec<SpecialToken> {
    spellings.iter().map(|(id, added)| SpecialToken { text: added.text.clone(), id: *id }).collect()
}

/// Returns the normalizer of a vocabulary whose texts are composed before added tokens are found.
fn composing(specials: &[SpecialToken]) -> Option<Arc<dyn Normalizer>> {
    let normalizer = NormalizerWrapper::NFC(NFC);
    let respelling = Respelling::of_tokens(normalizer, specials.to_vec(), Growth::COMPOSED);
    Some(Arc::new(respelling))
}

/// Joins adjacent texts, because a border between two of them has no meaning.
fn joined(pieces: &[TokenizerInput<'_>]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for piece in pieces {
        let is_literal = matches!(piece, TokenizerInput::Literal(_));
        match runs.last_mut() {
            Some(run) if !run.is_literal && !is_literal => run.text.push_str(piece.text()),
            _ => runs.push(Run { text: piece.text().to_owned(), is_literal }),
        }
    }
    runs
}
