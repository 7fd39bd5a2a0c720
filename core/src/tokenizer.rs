//! From text to token ids and back.

mod vocabulary;

use std::fmt::Debug;

use crate::Result;

pub use vocabulary::{Vocabulary, VocabularyToken};

/// The number of a token in a model's vocabulary.
pub type TokenId = u32;

/// A piece of text to encode.
///
/// ```
/// use alloquy_core::tokenizer::{Piece, Tokenizer};
/// use alloquy_testing::ByteTokenizer;
///
/// let tokenizer = ByteTokenizer::new(["<end>"]);
/// let end = tokenizer.specials()[0].id;
/// assert_eq!(tokenizer.encode(&[Piece::Text("a<end>")])?, [97, end]);
/// assert_eq!(tokenizer.encode(&[Piece::Literal("<end>")])?.len(), 5);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Text in which the texts of special and other added tokens become those tokens.
    Text(&'a str),
    /// Text in which nothing but ordinary tokens comes out, whatever it spells.
    Literal(&'a str),
}

impl<'a> Piece<'a> {
    /// Returns the text.
    pub fn text(self) -> &'a str {
        match self {
            Piece::Text(text) | Piece::Literal(text) => text,
        }
    }
}

/// A token with a text of its own that ordinary text must not become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecialToken {
    /// Its text, such as `<|im_end|>`.
    pub text: String,
    /// Its number.
    pub id: TokenId,
}

/// Rewrites text as a tokenizer does before it looks for tokens.
///
/// Because of it a text can become a token that it does not spell: `＜think＞` under NFKC, `<THINK>` in lower case.
/// Whoever keeps text from becoming a control token looks at it as the tokenizer does.
pub trait Normalizer: Send + Sync + Debug {
    /// Returns the added tokens that normalized text becomes, each with its text as normalization leaves it.
    fn tokens(&self) -> &[SpecialToken];

    /// Normalizes a text that stands in the middle of another. A text that cannot be normalized comes back as it is:
    /// encoding it is the error.
    fn normalize(&self, text: &str) -> Normalized;
}

/// What a [`Normalizer`] makes of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Normalized {
    /// The rewritten text.
    pub text: String,
    /// For each byte of it, the byte at which the character that it comes from begins; they never descend.
    pub places: Vec<usize>,
}

/// Encodes text, and starts decoders.
///
/// # Contract
/// No token is added on its own: BOS is the template's business. One single [`Piece::Text`] gives the ids that
/// Hugging Face gives for that text with `add_special_tokens=False`. A piece knows what stands before it, so a
/// later piece gets no start-of-text treatment such as SentencePiece's prefix space. Behind any text, a detokenizer
/// gives for tokens what their bytes joined spell. `laws::tokenizer` checks it.
pub trait Tokenizer: Send + Sync + Debug {
    /// Returns every added token whose text ordinary text could spell.
    fn specials(&self) -> &[SpecialToken];

    /// Encodes consecutive pieces of one text.
    ///
    /// # Errors
    /// [`ErrorKind::Tokenize`](crate::ErrorKind::Tokenize).
    fn encode(&self, pieces: &[Piece<'_>]) -> Result<Vec<TokenId>>;

    /// Returns the bytes that a token adds within a text, or `None` for a number without a token.
    ///
    /// They need not be whole characters. What stands at the start of a text, where some decoders drop a space, is
    /// the detokenizer's business. An added token gives its text.
    fn bytes(&self, token: TokenId) -> Option<Vec<u8>>;

    /// Starts decoding a stream of tokens; the decoder shares the tokenizer's tables.
    fn detokenizer(&self) -> Box<dyn Detokenizer>;
}

/// Decodes a stream of tokens.
///
/// # Contract
/// Never splits a character: bytes that do not yet form one are held back, and `finish` gives what is left,
/// with U+FFFD for bytes that never became a character. Special tokens come out as their texts.
pub trait Detokenizer: Send {
    /// Takes a token and returns the text that it settles, possibly empty.
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
