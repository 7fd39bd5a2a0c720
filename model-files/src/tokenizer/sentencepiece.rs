//! Encodes text as SentencePiece does, from its own file.
//!
//! `tokenizers` can hold such a vocabulary too, but not exactly: it looks rules of normalization up by grapheme instead of by
//! the longest match, lists pairs to merge instead of scores, and sums scores of a unigram model in another precision.

mod charsmap;
mod file;
mod normalizing;
mod unigram;

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use alloquy_core::tokenizer::{NormalizedText, Normalizer, SpecialToken, TokenId};
use alloquy_core::{ErrorKind, Result};

use self::file::{Algorithm, File, Kind, Piece};
use self::normalizing::{Rules, SPACE};
use self::unigram::Unigram;
use super::decoding::Start;
use super::growth::Growth;
use super::merging::{Symbol, merge};
use super::prefixes::Prefixes;

pub(super) use self::normalizing::Edges;

/// A vocabulary of SentencePiece.
#[derive(Debug)]
pub(super) struct SentencePiece {
    pieces: Vec<Piece>,
    /// The pieces that texts are written with.
    written: HashMap<Box<str>, TokenId>,
    /// The other ones: control tokens, bytes, and the unknown token.
    reserved: HashMap<Box<str>, TokenId>,
    bytes: Option<Box<[TokenId]>>,
    unknown: TokenId,
    rules: Rules,
    /// The symbols that the model's authors defined, which are written whole.
    symbols: Arc<Prefixes>,
    /// Those of them that literal text may have, such as a run of spaces.
    plain_symbols: Arc<Prefixes>,
    unigram: Option<Unigram>,
    longest: usize,
    add_dummy_prefix: bool,
    pub(super) growth: Growth,
}

/// Whether a text may become any symbol, or is literal.
#[derive(Clone, Copy, Debug)]
pub(super) enum Symbols<'a> {
    All,
    /// It may become none of these.
    Without(&'a HashSet<TokenId>),
}

impl SentencePiece {
    pub(super) fn read(bytes: &[u8]) -> Result<Self> {
        let file = File::read(bytes)?;
        let growth = Growth::of_rules(&file.rules)?;
        let mut written = HashMap::new();
        let mut reserved = HashMap::new();
        let mut unknown = 0;
        let mut of_bytes = vec![0; 256];
        for (id, piece) in (0..).zip(&file.pieces) {
            let map = if piece.kind.is_written() { &mut written } else { &mut reserved };
            map.insert(Box::from(piece.text.as_str()), id);
            match piece.kind {
                Kind::Unknown => unknown = id,
                Kind::Byte(byte) => {
                    if let Some(place) = of_bytes.get_mut(usize::from(byte)) {
                        *place = id;
                    }
                }
                _ => {}
            }
        }
        let symbols = prefixes(&file.pieces, |_| true);
        let plain_symbols = prefixes(&file.pieces, |text| !is_control(text, file.byte_fallback));
        let unigram = match file.algorithm {
            Algorithm::Unigram => Some(Unigram::of(&file.pieces)),
            Algorithm::Bpe => None,
        };
        Ok(Self {
            longest: file.pieces.iter().map(|piece| piece.text.len()).max().unwrap_or(0),
            bytes: if file.byte_fallback { Some(of_bytes.into()) } else { None },
            rules: Rules {
                charsmap: file.charsmap,
                escape: file.escape_whitespaces,
                remove_extra: file.remove_extra_whitespaces,
            },
            pieces: file.pieces,
            add_dummy_prefix: file.add_dummy_prefix,
            symbols: Arc::new(symbols),
            plain_symbols: Arc::new(plain_symbols),
            written,
            reserved,
            unknown,
            unigram,
            growth,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.pieces.len()
    }

    pub(super) fn token(&self, text: &str) -> Option<TokenId> {
        self.reserved.get(text).or_else(|| self.written.get(text)).copied()
    }

    pub(super) fn spelling(&self, token: TokenId) -> Option<&str> {
        Some(self.piece(token)?.text.as_str())
    }

    fn piece(&self, token: TokenId) -> Option<&Piece> {
        self.pieces.get(token as usize)
    }

    /// Returns the tokens that literal text must not become, and whether a text becomes one outside of this vocabulary's
    /// own encoding.
    pub(super) fn controls(&self) -> impl Iterator<Item = (SpecialToken, bool)> {
        let pieces = (0..).zip(&self.pieces);
        pieces.filter_map(|(id, piece)| match piece.kind {
            Kind::Control => Some((SpecialToken { text: piece.text.clone(), id }, true)),
            Kind::UserDefined if is_control(&piece.text, self.bytes.is_some()) => {
                Some((SpecialToken { text: piece.text.clone(), id }, false))
            }
            _ => None,
        })
    }

    /// Returns whether the vocabulary writes this token whole wherever its text is.
    pub(super) fn is_symbol(&self, token: TokenId) -> bool {
        self.piece(token).is_some_and(|piece| piece.kind == Kind::UserDefined)
    }

    /// Returns the bytes of a token within a text.
    pub(super) fn bytes(&self, token: TokenId) -> Option<Vec<u8>> {
        let piece = self.piece(token)?;
        Some(match piece.kind {
            Kind::Byte(byte) => vec![byte],
            Kind::Control | Kind::Unknown => piece.text.clone().into_bytes(),
            Kind::Normal | Kind::UserDefined | Kind::Unused => piece.text.replace(SPACE, " ").into_bytes(),
        })
    }

    /// Returns what is removed at the start of a decoded text.
    pub(super) fn start(&self) -> Start {
        if self.rules.remove_extra {
            Start::Characters(' ', usize::MAX)
        } else if self.add_dummy_prefix {
            Start::Characters(' ', 1)
        } else {
            Start::Nothing
        }
    }

    /// Never writes a space before the first word.
    pub(super) fn drop_prefix(&mut self) {
        self.add_dummy_prefix = false;
    }

    /// Appends the tokens of a text.
    pub(super) fn encode(&self, text: &str, edges: Edges, symbols: Symbols<'_>, tokens: &mut Vec<TokenId>) {
        let edges = Edges { prefix: edges.prefix && self.add_dummy_prefix, ..edges };
        let normalized = self.rules.normalize(text, self.matched(symbols), edges).text;
        let mut after_unknown = false;
        for (place, id) in self.pieces_of(&normalized, symbols) {
            let unknown = id.is_none_or(|id| id == self.unknown);
            if let Some(id) = id
                && !unknown
            {
                tokens.push(id);
            } else if let Some(bytes) = &self.bytes {
                let written = normalized.as_bytes().get(place).unwrap_or_default();
                tokens.extend(written.iter().filter_map(|byte| bytes.get(usize::from(*byte))));
            } else if !after_unknown {
                tokens.push(self.unknown);
            }
            after_unknown = unknown;
        }
    }

    fn matched(&self, symbols: Symbols<'_>) -> &Prefixes {
        match symbols {
            Symbols::All => &self.symbols,
            Symbols::Without(_) => &self.plain_symbols,
        }
    }

    /// Returns the pieces of normalized text by their bytes, with `None` for what is unknown.
    fn pieces_of(&self, text: &str, symbols: Symbols<'_>) -> Vec<(Range<usize>, Option<TokenId>)> {
        if let Some(unigram) = &self.unigram {
            return unigram.encode(text, |id| {
                self.piece(id).filter(|piece| piece.kind != Kind::Unused && is_allowed(id, symbols))
            });
        }
        self.merged(text, symbols)
    }

    /// Encodes by merging pairs of pieces.
    fn merged(&self, text: &str, symbols: Symbols<'_>) -> Vec<(Range<usize>, Option<TokenId>)> {
        let mut parts = Vec::new();
        let mut start = 0;
        while let Some(rest) = text.get(start..).filter(|rest| !rest.is_empty()) {
            let symbol = self.matched(symbols).longest(rest.as_bytes());
            let length =
                symbol.map_or_else(|| rest.chars().next().map_or(1, char::len_utf8), |(length, _)| length);
            parts.push(Symbol { bytes: start..start + length, frozen: symbol.is_some() });
            start += length;
        }
        // An unused piece is split again at the end, where it was merged last: `unused` has the length of its first part.
        let mut unused: HashMap<&str, usize> = HashMap::new();
        let merged = merge(parts, &mut |left, right| {
            if right.end - left.start > self.longest {
                return None;
            }
            let both = text.get(left.start..right.end)?;
            let id = *self.written.get(both).filter(|id| is_allowed(**id, symbols))?;
            let piece = self.piece(id)?;
            if piece.kind == Kind::Unused {
                unused.insert(both, left.len());
            }
            Some(f64::from(piece.score))
        });
        let mut pieces = Vec::with_capacity(merged.len());
        for part in merged {
            self.split_unused(text, part, &unused, symbols, &mut pieces);
        }
        pieces
    }

    fn split_unused(
        &self,
        text: &str,
        part: Range<usize>,
        unused: &HashMap<&str, usize>,
        symbols: Symbols<'_>,
        pieces: &mut Vec<(Range<usize>, Option<TokenId>)>,
    ) {
        // The parts still to be split, the leftmost one last.
        let mut open = vec![part];
        while let Some(part) = open.pop() {
            let written = text.get(part.clone()).unwrap_or_default();
            let id = self.token(written).filter(|id| is_allowed(*id, symbols));
            let is_unused = id.and_then(|id| self.piece(id)).is_some_and(|piece| piece.kind == Kind::Unused);
            match unused.get(written) {
                Some(first) if is_unused => {
                    let border = part.start + first;
                    open.push(border..part.end);
                    open.push(part.start..border);
                }
                _ => pieces.push((part, id)),
            }
        }
    }

    /// Returns a normalizer if other spellings can become a symbol, such as `＜think＞`.
    pub(super) fn normalizer(self: &Arc<Self>) -> Option<Arc<dyn Normalizer>> {
        let mut tokens = Vec::new();
        for (token, found_before) in self.controls() {
            let has_other_spellings =
                !self.rules.charsmap.is_empty() || token.text.contains(SPACE) || token.text.contains(' ');
            if !found_before && has_other_spellings {
                let text = self.rules.normalize(&token.text, &self.symbols, Edges::NONE).text;
                tokens.push(SpecialToken { text, id: token.id });
            }
        }
        if tokens.is_empty() {
            return None;
        }
        Some(Arc::new(LookAlikes { vocabulary: Arc::clone(self), tokens }))
    }
}

/// The symbols that other spellings can become.
#[derive(Debug)]
struct LookAlikes {
    vocabulary: Arc<SentencePiece>,
    tokens: Vec<SpecialToken>,
}

impl Normalizer for LookAlikes {
    fn tokens(&self) -> &[SpecialToken] {
        &self.tokens
    }

    fn normalize(&self, text: &str) -> NormalizedText {
        let vocabulary = &self.vocabulary;
        // A text that is too long stays as it is: encoding it reports the error.
        if vocabulary.growth.check(text.len(), ErrorKind::Tokenize).is_err() {
            return NormalizedText { text: text.to_owned(), places: (0..text.len()).collect() };
        }
        let normalized = vocabulary.rules.normalize(text, &vocabulary.symbols, Edges::NONE);
        NormalizedText { text: normalized.text, places: normalized.places }
    }
}

/// Returns whether a symbol may control the model, unlike a run of spaces. A single character can control nothing if literal
/// text could not be written without it.
fn is_control(text: &str, byte_fallback: bool) -> bool {
    let is_blank = text.chars().all(|character| character.is_whitespace() || character == '▁');
    !is_blank && (byte_fallback || text.chars().nth(1).is_some())
}

fn is_allowed(id: TokenId, symbols: Symbols<'_>) -> bool {
    match symbols {
        Symbols::All => true,
        Symbols::Without(tokens) => !tokens.contains(&id),
    }
}

fn prefixes(pieces: &[Piece], wanted: impl Fn(&str) -> bool) -> Prefixes {
    let symbols =
        (0..).zip(pieces).filter(|(_, piece)| piece.kind == Kind::UserDefined && wanted(&piece.text));
    Prefixes::of(symbols.map(|(id, piece)| (piece.text.as_str(), id)))
}
