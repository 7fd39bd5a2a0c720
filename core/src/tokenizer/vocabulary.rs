//! The vocabulary of a model: the bytes of each token.

use std::collections::HashMap;

use crate::tokenizer::{TokenId, Tokenizer};

/// The meaning of an id of a vocabulary.
///
/// A [`Vocabulary`] has one for each id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VocabularyToken {
    /// A text token with these bytes, which need not be whole characters.
    Text(Vec<u8>),
    /// A control token, which no text contains, with its name.
    Control(String),
    /// No token: models have more logits than tokens, for alignment.
    Unused,
}

/// Every token of a model as bytes, and the tokens that end a reply.
///
/// An added token such as `<|im_end|>` or `<tool_call>` is a control token: a grammar that allows its text allows the
/// ordinary tokens that spell it, and never the token itself. Added tokens that consist only of white space are text.
///
/// ```
/// use alloquy_core::tokenizer::{Vocabulary, VocabularyToken};
/// use alloquy_testing::ByteTokenizer;
///
/// let vocabulary = Vocabulary::new(&ByteTokenizer::new(["<end>"]), 257, &[256]);
/// assert_eq!(vocabulary.tokens()[0x41], VocabularyToken::Text(b"A".to_vec()));
/// assert_eq!(vocabulary.tokens()[256], VocabularyToken::Control("<end>".to_owned()));
/// assert_eq!(vocabulary.stop_tokens(), [256]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vocabulary {
    tokens: Vec<VocabularyToken>,
    stop_tokens: Vec<TokenId>,
}

impl Vocabulary {
    /// Decodes the tokens below `size`; `stop_tokens` end a reply.
    pub fn new(tokenizer: &dyn Tokenizer, size: usize, stop_tokens: &[TokenId]) -> Self {
        let mut controls: HashMap<TokenId, &str> =
            tokenizer.specials().iter().map(|special| (special.id, special.text.as_str())).collect();
        controls.retain(|id, text| stop_tokens.contains(id) || !text.trim().is_empty());
        let mut tokens = Vec::with_capacity(size);
        for id in (0..).take(size) {
            tokens.push(match (controls.get(&id), tokenizer.bytes(id)) {
                (Some(text), _) => VocabularyToken::Control((*text).to_owned()),
                // A stop token that is not an added one is a control token too.
                (None, Some(bytes)) if stop_tokens.contains(&id) => {
                    VocabularyToken::Control(String::from_utf8_lossy(&bytes).into_owned())
                }
                (None, Some(bytes)) => VocabularyToken::Text(bytes),
                (None, None) => VocabularyToken::Unused,
            });
        }
        let stop_tokens = stop_tokens.iter().copied().filter(|&id| (id as usize) < size).collect();
        Self { tokens, stop_tokens }
    }

    /// Returns the tokens by id.
    pub fn tokens(&self) -> &[VocabularyToken] {
        &self.tokens
    }

    /// Returns the tokens that end a reply.
    pub fn stop_tokens(&self) -> &[TokenId] {
        &self.stop_tokens
    }
}
