//! A prompt as tokens and media, in order.

mod length;
mod prepared;

use crate::Result;
use crate::media::Media;
use crate::processor::PromptPart;
use crate::tokenizer::{SpecialToken, TokenId, Tokenizer, TokenizerInput};

pub use length::PromptCounter;
pub use prepared::{PlacedMedia, PlacedReply, PreparedPrompt};

/// One unit of a prompt.
///
/// A whole image is one unit, and two are equal if their digests are. The session knows how many positions it takes.
///
/// [`common_prefix`] compares units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptUnit {
    /// A token.
    Token(TokenId),
    /// An image, an audio clip or a frame.
    Media(Media),
}

/// A whole prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prompt {
    /// The units, in order.
    pub units: Vec<PromptUnit>,
}

impl Prompt {
    /// Encodes parts as units. Consecutive texts are encoded together; tokens and media stay as they are.
    ///
    /// # Errors
    /// [`ErrorKind::Tokenize`](crate::ErrorKind::Tokenize).
    ///
    /// ```
    /// use alloquy_core::processor::PromptPart;
    /// use alloquy_core::prompt::Prompt;
    /// use alloquy_testing::ByteTokenizer;
    ///
    /// let tokenizer = ByteTokenizer::new(["<end>"]);
    /// let parts = [PromptPart::Text("a<end>".into()), PromptPart::Literal("<end>".into())];
    /// let prompt = Prompt::lower(&parts, &tokenizer)?;
    /// assert_eq!(prompt.units.len(), 2 + 5);
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub fn lower(parts: &[PromptPart], tokenizer: &dyn Tokenizer) -> Result<Self> {
        Self::lower_among(parts, tokenizer, &|_| None)
    }

    /// Encodes parts like [`Prompt::lower`], but texts next to media as if they were next to the control token of the
    /// media, which `token` returns. Some tokenizers encode the start of a text differently from a text that follows a
    /// token.
    ///
    /// # Errors
    /// As [`Prompt::lower`].
    pub fn lower_among(
        parts: &[PromptPart],
        tokenizer: &dyn Tokenizer,
        token: &dyn Fn(&Media) -> Option<SpecialToken>,
    ) -> Result<Self> {
        let mut segment = Segment { pieces: Vec::new(), left: None };
        let mut units = Vec::new();
        for part in parts {
            match part {
                PromptPart::Text(text) => segment.pieces.push(TokenizerInput::Text(text)),
                PromptPart::Literal(text) => segment.pieces.push(TokenizerInput::Literal(text)),
                PromptPart::Tokens(tokens) => {
                    segment.encode_into(&mut units, tokenizer, None)?;
                    units.extend(tokens.iter().copied().map(PromptUnit::Token));
                }
                PromptPart::Media(media) => {
                    let token = token(media);
                    segment.encode_into(&mut units, tokenizer, token.as_ref())?;
                    units.push(PromptUnit::Media(media.clone()));
                    segment.left = token;
                }
            }
        }
        segment.encode_into(&mut units, tokenizer, None)?;
        Ok(Self { units })
    }

    /// Returns the token ids; media are `None`.
    pub fn tokens(&self) -> impl Iterator<Item = Option<TokenId>> {
        self.units.iter().map(|unit| match unit {
            PromptUnit::Token(token) => Some(*token),
            PromptUnit::Media(_) => None,
        })
    }
}

/// Texts that are encoded together.
struct Segment<'a> {
    pieces: Vec<TokenizerInput<'a>>,
    /// The token of the media before them.
    left: Option<SpecialToken>,
}

impl Segment<'_> {
    /// Encodes the texts. `right` is the token of the media after them, if there are any.
    fn encode_into(
        &mut self,
        units: &mut Vec<PromptUnit>,
        tokenizer: &dyn Tokenizer,
        right: Option<&SpecialToken>,
    ) -> Result<()> {
        let pieces = std::mem::take(&mut self.pieces);
        let left = self.left.take();
        if pieces.is_empty() {
            return Ok(());
        }
        // The texts with the tokens of the media around them, such as `<image>`, " What is this?".
        let mut around = Vec::with_capacity(pieces.len() + 2);
        if let Some(token) = &left {
            around.push(TokenizerInput::Text(&token.text));
        }
        around.extend(&pieces);
        if let Some(token) = right {
            around.push(TokenizerInput::Text(&token.text));
        }
        let mut ids = tokenizer.encode(&around)?;
        // The tokens of media are not part of the result. Where a tokenizer has merged one with a text, or has added
        // tokens around all of it, the texts are encoded alone.
        let is_left = left.as_ref().is_none_or(|token| ids.first() == Some(&token.id));
        let is_right = right.is_none_or(|token| ids.last() == Some(&token.id));
        if is_left && is_right && ids.len() >= around.len() - pieces.len() {
            ids.truncate(ids.len() - usize::from(right.is_some()));
            ids.drain(..usize::from(left.is_some()));
        } else {
            ids = tokenizer.encode(&pieces)?;
        }
        units.extend(ids.into_iter().map(PromptUnit::Token));
        Ok(())
    }
}

/// Returns how many leading units `left` and `right` share.
///
/// ```
/// use alloquy_core::prompt::PromptUnit::Token;
/// use alloquy_core::prompt::common_prefix;
///
/// assert_eq!(common_prefix(&[Token(1), Token(2)], &[Token(1), Token(3)]), 1);
/// ```
pub fn common_prefix(left: &[PromptUnit], right: &[PromptUnit]) -> usize {
    left.iter().zip(right).take_while(|(left, right)| left == right).count()
}
