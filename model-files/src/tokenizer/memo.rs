//! How the last long texts were encoded: one that begins like such a text is encoded from there on. Changes no id.
//!
//! Each prompt of a chat begins like the one before, and is encoded whole. Text that starts with an added token is encoded as it
//! is behind whatever stands before that token, so what was encoded up to one need not be encoded again.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use alloquy_core::Result;
use alloquy_core::tokenizer::TokenId;
use tokenizers::Encoding;

/// Shorter texts are encoded as fast as they are looked up.
const SHORTEST: usize = 1024;

/// How many bytes of text are remembered, with some five times as many of ids and places.
const REMEMBERED: usize = 4 << 20;

/// Bytes behind an added token that it may depend on besides its own: whether a word goes on there.
const ONE_CHARACTER: usize = 4;

pub(super) struct Memo {
    /// The added tokens that part a text before anything else is done to it.
    parting: HashMap<TokenId, String>,
    /// How far beyond its start an added token may depend on what follows.
    reach: usize,
    /// The last used one stands last.
    texts: Mutex<VecDeque<Encoded>>,
}

/// A text with its ids.
struct Encoded {
    text: String,
    ids: Vec<TokenId>,
    borders: Vec<Border>,
}

/// Where a parting token stands.
#[derive(Clone, Copy)]
struct Border {
    byte: usize,
    index: usize,
}

impl Memo {
    pub(super) fn of(tokenizer: &tokenizers::Tokenizer) -> Self {
        let added = tokenizer.get_added_tokens_decoder();
        let longest = added.values().map(|token| token.content.len()).max().unwrap_or(0);
        let is_parting = |token: &tokenizers::AddedToken| {
            !token.normalized && !token.single_word && !token.content.is_empty()
        };
        let parting = added.into_iter().filter(|(_, token)| is_parting(token));
        let parting = parting.map(|(id, token)| (id, token.content)).collect();
        Self { parting, reach: longest + ONE_CHARACTER, texts: Mutex::default() }
    }

    /// Whether it is worth looking up.
    pub(super) fn is_long(&self, text: &str) -> bool {
        text.len() >= SHORTEST && !self.parting.is_empty()
    }

    /// Encodes a text by `encode`, which is given what follows a beginning that is known.
    pub(super) fn encode(
        &self,
        text: &str,
        encode: impl FnOnce(&str) -> Result<Encoding>,
    ) -> Result<Vec<TokenId>> {
        let (mut ids, mut borders, from) = self.begun(text);
        let rest = text.get(from..).unwrap_or_default();
        let encoding = encode(rest)?;
        let before = ids.len();
        let places = encoding.get_ids().iter().zip(encoding.get_offsets()).enumerate();
        let places = places.filter(|(_, (id, (start, _)))| self.parts(**id, rest.get(*start..)));
        borders.extend(
            places.map(|(index, (_, (start, _)))| Border { byte: from + start, index: before + index }),
        );
        ids.extend(encoding.get_ids());
        self.remember(Encoded { text: text.to_owned(), ids: ids.clone(), borders });
        Ok(ids)
    }

    /// Whether a token is one that parts, and was found in the text as such.
    fn parts(&self, id: TokenId, text: Option<&str>) -> bool {
        self.parting.get(&id).zip(text).is_some_and(|(content, text)| text.starts_with(content))
    }

    fn texts(&self) -> MutexGuard<'_, VecDeque<Encoded>> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The ids and borders of the longest beginning that is known, and where it ends.
    fn begun(&self, text: &str) -> (Vec<TokenId>, Vec<Border>, usize) {
        let texts = self.texts();
        let last = |known: &Encoded| {
            let shared = shared(&known.text, text);
            known.borders.iter().rposition(|border| border.byte + self.reach <= shared)
        };
        let known = texts.iter().filter_map(|known| Some((known, last(known)?)));
        let byte =
            |(known, last): &(&Encoded, usize)| known.borders.get(*last).map_or(0, |border| border.byte);
        let Some((known, last)) = known.max_by_key(byte) else { return Default::default() };
        let Some(border) = known.borders.get(last) else { return Default::default() };
        let ids = known.ids.get(..border.index).unwrap_or_default().to_vec();
        (ids, known.borders.get(..last).unwrap_or_default().to_vec(), border.byte)
    }

    /// Keeps a text in the place of one that it goes on from, and drops the oldest where there are too many.
    fn remember(&self, encoded: Encoded) {
        let mut texts = self.texts();
        texts.retain(|known| shared(&known.text, &encoded.text) <= known.text.len() / 2);
        texts.push_back(encoded);
        while texts.iter().map(|known| known.text.len()).sum::<usize>() > REMEMBERED {
            texts.pop_front();
        }
    }
}

/// How many bytes two texts begin alike.
fn shared(left: &str, right: &str) -> usize {
    left.bytes().zip(right.bytes()).take_while(|(left, right)| left == right).count()
}

impl fmt::Debug for Memo {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Memo({} texts)", self.texts().len())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    fn tokenizer() -> tokenizers::Tokenizer {
        let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/tokenizers/byte_level.json");
        let mut tokenizer = tokenizers::Tokenizer::from_file(fixtures).unwrap();
        tokenizer.with_truncation(None).unwrap();
        tokenizer
    }

    #[test]
    fn each_prompt_of_a_chat_is_encoded_from_where_it_is_new() {
        let tokenizer = tokenizer();
        let memo = Memo::of(&tokenizer);
        let (mut prompt, mut given, mut encoded) = ("<s>hello world ".repeat(100), 0, 0);
        for turn in 0..50 {
            prompt += &format!(
                "<s>hello on day {turn}, and what of the tide?<|end|>It comes in twice a day.<|end|>"
            );
            let ids = memo.encode(&prompt, |rest| {
                given += prompt.len();
                encoded += rest.len();
                Ok(tokenizer.encode(rest, false).unwrap())
            });
            assert_eq!(ids.unwrap(), tokenizer.encode(prompt.as_str(), false).unwrap().get_ids());
        }
        assert!(encoded < given / 20, "{encoded} of {given} bytes were encoded");
        assert_eq!(memo.texts().len(), 1);
    }

    #[test]
    fn no_more_is_remembered_than_there_is_room_for() {
        let tokenizer = tokenizer();
        let memo = Memo::of(&tokenizer);
        let remember = |text: String| memo.remember(Encoded { text, ids: Vec::new(), borders: Vec::new() });
        for letter in ["a", "b", "c", "d", "e"] {
            remember(letter.repeat(REMEMBERED / 4));
        }
        assert_eq!(memo.texts().len(), 4);
        remember("f".repeat(REMEMBERED + 1));
        assert_eq!(memo.texts().len(), 0);
    }
}
