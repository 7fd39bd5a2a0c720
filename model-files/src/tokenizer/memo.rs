//! Remembers the ids of the last long texts, and encodes only what is new of a text that begins like one of them.
//!
//! Each prompt of a chat begins like the prompt before it. An added token splits a text: the text from the token on has the
//! same ids whatever precedes it. So the ids up to an added token can be taken from an earlier text:
//!
//! ```text
//! remembered: <s>user: Hi<end><s>model: Hello<end>
//! new:        <s>user: Hi<end><s>model: Hello<end><s>user: And now?<end>
//!                                            ^ encoded from here on
//! ```

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use alloquy_core::Result;
use alloquy_core::tokenizer::TokenId;
/// Shorter texts are encoded as fast as they are looked up.
const SHORTEST: usize = 1024;

/// How many bytes of text are remembered. Their ids and borders take about five times as much memory.
const REMEMBERED: usize = 4 << 20;

/// How many bytes after an added token it may depend on: one character, which may or may not continue a word.
const ONE_CHARACTER: usize = 4;

pub(super) struct Memo {
    /// The added tokens at which a text is split before anything else is done to it.
    parting: HashMap<TokenId, String>,
    /// How far beyond its start an added token may depend on what follows.
    reach: usize,
    /// The most recent text is last.
    texts: Mutex<VecDeque<Encoded>>,
}

/// A text with its ids.
struct Encoded {
    text: String,
    ids: Vec<TokenId>,
    borders: Vec<Border>,
}

/// The place of a parting token: its byte in the text, and its index among the ids.
#[derive(Clone, Copy)]
struct Border {
    byte: usize,
    index: usize,
}

/// The beginning of a text whose ids are known.
#[derive(Default)]
struct Prefix {
    ids: Vec<TokenId>,
    borders: Vec<Border>,
    bytes: usize,
}

impl Memo {
    pub(super) fn of(tokenizer: &tokenizers::Tokenizer) -> Self {
        let mut longest = 0;
        let mut parting = HashMap::new();
        for (id, token) in tokenizer.get_added_tokens_decoder() {
            longest = longest.max(token.content.len());
            if !token.normalized && !token.single_word && !token.content.is_empty() {
                parting.insert(id, token.content);
            }
        }
        Self::with(parting, longest)
    }

    /// Creates a memo for a tokenizer whose texts are split at the tokens `parting`, and whose longest added token has so many
    /// bytes.
    pub(super) fn with(parting: HashMap<TokenId, String>, longest: usize) -> Self {
        Self { parting, reach: longest + ONE_CHARACTER, texts: Mutex::default() }
    }

    /// Returns whether a text is worth looking up.
    pub(super) fn is_long(&self, text: &str) -> bool {
        text.len() >= SHORTEST && !self.parting.is_empty()
    }

    /// Encodes a text. `encode` is given what follows the longest known beginning, and returns its ids, each with the byte at which
    /// it starts.
    pub(super) fn encode(
        &self,
        text: &str,
        encode: impl FnOnce(&str) -> Result<Vec<(TokenId, usize)>>,
    ) -> Result<Vec<TokenId>> {
        let Prefix { mut ids, mut borders, bytes } = self.longest_prefix(text);
        let rest = text.get(bytes..).unwrap_or_default();
        for (id, start) in encode(rest)? {
            if self.parts(id, rest.get(start..)) {
                borders.push(Border { byte: bytes + start, index: ids.len() });
            }
            ids.push(id);
        }
        self.remember(Encoded { text: text.to_owned(), ids: ids.clone(), borders });
        Ok(ids)
    }

    /// Returns whether a token is a parting one, and `text` begins with it.
    fn parts(&self, id: TokenId, text: Option<&str>) -> bool {
        self.parting.get(&id).zip(text).is_some_and(|(content, text)| text.starts_with(content))
    }

    fn texts(&self) -> MutexGuard<'_, VecDeque<Encoded>> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the longest beginning of a text that ends at a border of a known text.
    fn longest_prefix(&self, text: &str) -> Prefix {
        let texts = self.texts();
        let mut longest: Option<(&Encoded, usize, Border)> = None;
        for known in texts.iter() {
            let shared = shared(&known.text, text);
            // A border near the end of what both texts share may be another token in the new text: `<end` of `<end>`.
            let border =
                known.borders.iter().enumerate().rfind(|(_, border)| border.byte + self.reach <= shared);
            if let Some((number, border)) = border
                && longest.is_none_or(|(.., longest)| border.byte >= longest.byte)
            {
                longest = Some((known, number, *border));
            }
        }
        let Some((known, number, border)) = longest else { return Prefix::default() };
        Prefix {
            ids: known.ids.get(..border.index).unwrap_or_default().to_vec(),
            borders: known.borders.get(..number).unwrap_or_default().to_vec(),
            bytes: border.byte,
        }
    }

    /// Keeps a text, instead of those whose first half it shares, and drops the oldest texts beyond the limit.
    fn remember(&self, encoded: Encoded) {
        let mut texts = self.texts();
        texts.retain(|known| shared(&known.text, &encoded.text) <= known.text.len() / 2);
        texts.push_back(encoded);
        while texts.iter().map(|known| known.text.len()).sum::<usize>() > REMEMBERED {
            texts.pop_front();
        }
    }
}

/// Returns how many bytes two texts share at their beginnings.
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
    fn only_the_new_end_of_each_prompt_of_a_chat_is_encoded() {
        let tokenizer = tokenizer();
        let memo = Memo::of(&tokenizer);
        let mut prompt = "<s>hello world ".repeat(100);
        let mut given = 0;
        let mut encoded = 0;
        for turn in 0..50 {
            prompt += &format!(
                "<s>hello on day {turn}, and what of the tide?<|end|>It comes in twice a day.<|end|>"
            );
            let ids = memo.encode(&prompt, |rest| {
                given += prompt.len();
                encoded += rest.len();
                Ok(placed(&tokenizer.encode(rest, false).unwrap()))
            });
            assert_eq!(ids.unwrap(), tokenizer.encode(prompt.as_str(), false).unwrap().get_ids());
        }
        assert!(encoded < given / 20, "{encoded} of {given} bytes were encoded");
        assert_eq!(memo.texts().len(), 1);
    }

    #[test]
    fn texts_beyond_the_limit_are_forgotten() {
        let tokenizer = tokenizer();
        let memo = Memo::of(&tokenizer);
        for letter in ["a", "b", "c", "d", "e"] {
            memo.remember(without_ids(letter.repeat(REMEMBERED / 4)));
        }
        assert_eq!(memo.texts().len(), 4);
        memo.remember(without_ids("f".repeat(REMEMBERED + 1)));
        assert_eq!(memo.texts().len(), 0);
    }

    fn placed(encoding: &tokenizers::Encoding) -> Vec<(TokenId, usize)> {
        let starts = encoding.get_offsets().iter().map(|(start, _)| *start);
        encoding.get_ids().iter().copied().zip(starts).collect()
    }

    fn without_ids(text: String) -> Encoded {
        Encoded { text, ids: Vec::new(), borders: Vec::new() }
    }
}
