//! A tokenizer whose ordinary tokens are the 256 bytes.

use alloquy_core::tokenizer::{Detokenizer, SpecialToken, TokenId, Tokenizer, TokenizerInput};
use alloquy_core::{Error, ErrorKind, Result};

/// Encodes text as its bytes; special tokens follow from 256 on.
///
/// ```
/// use alloquy_core::tokenizer::{TokenizerInput, Tokenizer};
/// use alloquy_testing::ByteTokenizer;
///
/// let tokenizer = ByteTokenizer::new(["<end>"]);
/// assert_eq!(tokenizer.encode(&[TokenizerInput::Text("é<end>")])?, [0xC3, 0xA9, 256]);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ByteTokenizer {
    specials: Vec<SpecialToken>,
}

const BYTES: TokenId = 256;

impl ByteTokenizer {
    /// Creates a tokenizer with `specials`, numbered from 256.
    pub fn new<'a>(specials: impl IntoIterator<Item = &'a str>) -> Self {
        let mut tokens = Vec::new();
        for (id, text) in (BYTES..).zip(specials) {
            tokens.push(SpecialToken { text: text.to_owned(), id });
        }
        Self { specials: tokens }
    }

    /// Returns how many tokens there are.
    pub fn vocabulary(&self) -> usize {
        BYTES as usize + self.specials.len()
    }

    fn encode_specials(&self, text: &str, tokens: &mut Vec<TokenId>) {
        let mut rest = text;
        while let Some(byte) = rest.bytes().next() {
            let special = self.specials.iter().find(|special| rest.starts_with(&special.text));
            let (token, length) = match special {
                Some(special) => (special.id, special.text.len()),
                None => (TokenId::from(byte), 1),
            };
            tokens.push(token);
            // The text of a special token ends at a character boundary. A single byte may not: `é` has two.
            match rest.get(length..) {
                Some(next) => rest = next,
                None => {
                    let whole = rest.chars().next().map_or(1, char::len_utf8);
                    tokens.extend(rest.bytes().skip(1).take(whole - 1).map(TokenId::from));
                    rest = rest.get(whole..).unwrap_or_default();
                }
            }
        }
    }
}

impl Tokenizer for ByteTokenizer {
    fn specials(&self) -> &[SpecialToken] {
        &self.specials
    }

    fn encode(&self, pieces: &[TokenizerInput<'_>]) -> Result<Vec<TokenId>> {
        let mut tokens = Vec::new();
        for piece in pieces {
            match piece {
                TokenizerInput::Text(text) => self.encode_specials(text, &mut tokens),
                TokenizerInput::Literal(text) => tokens.extend(text.bytes().map(TokenId::from)),
            }
        }
        Ok(tokens)
    }

    fn bytes(&self, token: TokenId) -> Option<Vec<u8>> {
        if let Ok(byte) = u8::try_from(token) {
            return Some(vec![byte]);
        }
        let special = self.specials.iter().find(|special| special.id == token)?;
        Some(special.text.clone().into_bytes())
    }

    fn detokenizer(&self) -> Box<dyn Detokenizer> {
        Box::new(ByteDetokenizer { specials: self.specials.clone(), held: Vec::new() })
    }
}

#[derive(Debug)]
struct ByteDetokenizer {
    specials: Vec<SpecialToken>,
    held: Vec<u8>,
}

impl Detokenizer for ByteDetokenizer {
    fn push(&mut self, token: TokenId) -> Result<String> {
        if let Ok(byte) = u8::try_from(token) {
            self.held.push(byte);
            return Ok(self.settled());
        }
        let special = self.specials.iter().find(|special| special.id == token).ok_or_else(|| {
            Error::new(ErrorKind::Tokenize, format!("token {token} is not in the vocabulary"))
        })?;
        let text = special.text.clone();
        Ok(self.finish() + &text)
    }

    fn finish(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.held)).into_owned()
    }
}

impl ByteDetokenizer {
    /// Returns the bytes so far as text, except for the first bytes of a character that the next token may complete.
    fn settled(&mut self) -> String {
        let incomplete = match std::str::from_utf8(&self.held) {
            Err(error) if error.error_len().is_none() => self.held.len() - error.valid_up_to(),
            _ => 0,
        };
        let rest = self.held.split_off(self.held.len() - incomplete);
        let settled = std::mem::replace(&mut self.held, rest);
        String::from_utf8_lossy(&settled).into_owned()
    }
}
