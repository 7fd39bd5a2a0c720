//! The traits of tokenizers: text to token ids and back.

mod vocabulary;

use std::fmt::Debug;

use crate::Result;

pub use vocabulary::{Vocabulary, VocabularyToken};

/// The id of a token in a model's vocabulary.
///
/// A [`Tokenizer`] encodes text as ids.
pub type TokenId = u32;

/// A piece of text to encode.
///
/// ```
/// use alloquy_core::tokenizer::{TokenizerInput, Tokenizer};
/// use alloquy_testing::ByteTokenizer;
///
/// let tokenizer = ByteTokenizer::new(["<end>"]);
/// let end = tokenizer.specials()[0].id;
/// assert_eq!(tokenizer.encode(&[TokenizerInput::Text("a<end>")])?, [97, end]);
/// assert_eq!(tokenizer.encode(&[TokenizerInput::Literal("<end>")])?.len(), 5);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenizerInput<'a> {
    /// Text in which the texts of special and other added tokens become those tokens.
    Text(&'a str),
    /// Text that becomes only ordinary tokens, whatever it spells.
    Literal(&'a str),
}

impl<'a> TokenizerInput<'a> {
    /// Returns the text.
    pub fn text(self) -> &'a str {
        match self {
            TokenizerInput::Text(text) | TokenizerInput::Literal(text) => text,
        }
    }
}

/// A token with a text of its own that ordinary text must not become.
///
/// A [`Tokenizer`] lists its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecialToken {
    /// Its text, such as `<|im_end|>`.
    pub text: String,
    /// Its number.
    pub id: TokenId,
}

/// Rewrites text like a tokenizer before it looks for tokens.
///
/// After normalization a text can become a token that it does not spell: `＜think＞` under NFKC, `<THINK>` in lower case.
/// So the protection against control tokens in texts looks at the normalized text.
///
/// ```
/// use alloquy_core::tokenizer::{NormalizedText, Normalizer, SpecialToken};
///
/// /// Writes lower case.
/// #[derive(Debug)]
/// struct Lowercase(Vec<SpecialToken>);
///
/// impl Normalizer for Lowercase {
///     fn tokens(&self) -> &[SpecialToken] {
///         &self.0
///     }
///
///     fn normalize(&self, text: &str) -> NormalizedText {
///         let mut normalized = NormalizedText::default();
///         for (place, character) in text.char_indices() {
///             normalized.text.extend(character.to_lowercase());
///             normalized.places.resize(normalized.text.len(), place);
///         }
///         normalized
///     }
/// }
///
/// let normalized = Lowercase(Vec::new()).normalize("É<THINK>");
/// assert_eq!(normalized.text, "é<think>");
/// assert_eq!(normalized.places[..4], [0, 0, 2, 3]);
/// ```
pub trait Normalizer: Send + Sync + Debug {
    /// Returns the added tokens that match normalized text, each with its normalized text.
    fn tokens(&self) -> &[SpecialToken];

    /// Normalizes a text in the middle of another one. A text that cannot be normalized is returned as it is, and
    /// encoding it fails.
    fn normalize(&self, text: &str) -> NormalizedText;
}

/// The result of a [`Normalizer`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NormalizedText {
    /// The rewritten text.
    pub text: String,
    /// For each of its bytes, the byte of the original text at which the character it comes from begins. They never
    /// decrease.
    pub places: Vec<usize>,
}

/// Encodes text and creates detokenizers.
///
/// ```
/// use alloquy_core::tokenizer::{Detokenizer, SpecialToken, TokenId, Tokenizer, TokenizerInput, decode};
/// use alloquy_core::{Error, ErrorKind, Result};
///
/// /// The token of a character is its number in Unicode.
/// #[derive(Debug)]
/// struct Characters;
///
/// impl Tokenizer for Characters {
///     fn specials(&self) -> &[SpecialToken] {
///         &[]
///     }
///
///     fn encode(&self, pieces: &[TokenizerInput<'_>]) -> Result<Vec<TokenId>> {
///         let characters = pieces.iter().flat_map(|piece| piece.text().chars());
///         Ok(characters.map(TokenId::from).collect())
///     }
///
///     fn bytes(&self, token: TokenId) -> Option<Vec<u8>> {
///         Some(char::from_u32(token)?.to_string().into_bytes())
///     }
///
///     fn detokenizer(&self) -> Box<dyn Detokenizer> {
///         Box::new(Characters)
///     }
/// }
///
/// impl Detokenizer for Characters {
///     fn push(&mut self, token: TokenId) -> Result<String> {
///         match char::from_u32(token) {
///             Some(character) => Ok(character.to_string()),
///             None => Err(Error::new(ErrorKind::Tokenize, format!("token {token} is not a character"))),
///         }
///     }
///
///     fn finish(&mut self) -> String {
///         String::new()
///     }
/// }
///
/// let tokens = Characters.encode(&[TokenizerInput::Text("né")])?;
/// assert_eq!(tokens, [110, 233]);
/// assert_eq!(decode(&Characters, &tokens)?, "né");
/// # Ok::<(), alloquy_core::Error>(())
/// ```
///
/// # Contract
/// No token is added: the template writes BOS itself. A single [`TokenizerInput::Text`] gives the ids that Hugging Face gives
/// for that text with `add_special_tokens=False`. A piece is encoded after the pieces before it, so a later piece has
/// no start-of-text treatment such as SentencePiece's prefix space. After any text, a detokenizer returns the joined
/// bytes of the tokens as text. `laws::tokenizer` checks this contract.
pub trait Tokenizer: Send + Sync + Debug {
    /// Returns every added token whose text could occur in ordinary text.
    fn specials(&self) -> &[SpecialToken];

    /// Encodes consecutive pieces of one text.
    ///
    /// # Errors
    /// [`ErrorKind::Tokenize`](crate::ErrorKind::Tokenize).
    fn encode(&self, pieces: &[TokenizerInput<'_>]) -> Result<Vec<TokenId>>;

    /// Returns the bytes that a token adds within a text, or `None` for an id without a token.
    ///
    /// They need not be whole characters. The detokenizer handles the start of a text, where some decoders drop a
    /// space. An added token returns its text.
    fn bytes(&self, token: TokenId) -> Option<Vec<u8>>;

    /// Creates a decoder for a stream of tokens; it shares the tokenizer's tables.
    fn detokenizer(&self) -> Box<dyn Detokenizer>;
}

/// Decodes a stream of tokens.
///
/// ```
/// use alloquy_core::tokenizer::Tokenizer;
/// use alloquy_testing::ByteTokenizer;
///
/// let mut detokenizer = ByteTokenizer::new(["<end>"]).detokenizer();
/// // The first byte of `é` is held back.
/// assert_eq!(detokenizer.push(0xC3)?, "");
/// assert_eq!(detokenizer.push(0xA9)?, "é");
/// assert_eq!(detokenizer.push(0xC3)?, "");
/// assert_eq!(detokenizer.finish(), "\u{FFFD}");
/// # Ok::<(), alloquy_core::Error>(())
/// ```
///
/// # Contract
/// It never splits a character: bytes that do not form one yet are held back. `finish` returns the rest, with U+FFFD
/// for bytes that never became a character. Special tokens become their texts.
pub trait Detokenizer: Send {
    /// Decodes a token and returns the text that is certain now, possibly empty.
    ///
    /// # Errors
    /// [`ErrorKind::Tokenize`](crate::ErrorKind::Tokenize) for an id outside the vocabulary.
    fn push(&mut self, token: TokenId) -> Result<String>;

    /// Returns what was held back, possibly empty.
    fn finish(&mut self) -> String;
}

/// Decodes `tokens` as one text.
///
/// # Errors
/// As [`Detokenizer::push`].
///
/// ```
/// use alloquy_core::tokenizer::decode;
/// use alloquy_testing::ByteTokenizer;
///
/// let tokenizer = ByteTokenizer::new(["<end>"]);
/// assert_eq!(decode(&tokenizer, &[72, 105])?, "Hi");
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub fn decode(tokenizer: &dyn Tokenizer, tokens: &[TokenId]) -> Result<String> {
    let mut detokenizer = tokenizer.detokenizer();
    let mut text = String::new();
    for &token in tokens {
        text += &detokenizer.push(token)?;
    }
    text += &detokenizer.finish();
    Ok(text)
}
