//! A prompt as a model takes it: tokens and media, in order.

mod length;
mod prepared;

use crate::Result;
use crate::media::Media;
use crate::processor::PromptPart;
use crate::tokenizer::{Piece, SpecialToken, TokenId, Tokenizer};

pub use length::PromptLength;
pub use prepared::{PlacedMedia, PreparedPrompt};

/// One unit of a prompt.
///
/// A whole picture is one unit, equal by digest: how many positions it takes is the session's business.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A token.
    Token(TokenId),
    /// A picture, a sound or a frame.
    Media(Media),
}

/// A whole prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prompt {
    /// The units, in order.
    pub units: Vec<Unit>,
}

impl Prompt {
    /// Lowers parts to units: consecutive texts are encoded together, tokens and media stand as they are.
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

    /// As [`Prompt::lower`], where texts beside media are encoded as beside the control token that stands for these, which
    /// `token` returns: a tokenizer may begin a text otherwise than it continues one after a token.
    ///
    /// # Errors
    /// As [`Prompt::lower`].
    pub fn lower_among(
        parts: &[PromptPart],
        tokenizer: &dyn Tokenizer,
        token: &dyn Fn(&Media) -> Option<SpecialToken>,
    ) -> Result<Self> {
        let mut stretch = Stretch { pieces: Vec::new(), behind: None };
        let mut units = Vec::new();
        for part in parts {
            match part {
                PromptPart::Text(text) => stretch.pieces.push(Piece::Text(text)),
                PromptPart::Literal(text) => stretch.pieces.push(Piece::Literal(text)),
                PromptPart::Tokens(tokens) => {
                    stretch.encode_into(&mut units, tokenizer, None)?;
                    units.extend(tokens.iter().copied().map(Unit::Token));
                }
                PromptPart::Media(media) => {
                    let token = token(media);
                    stretch.encode_into(&mut units, tokenizer, token.as_ref())?;
                    units.push(Unit::Media(media.clone()));
                    stretch.behind = token;
                }
            }
        }
        stretch.encode_into(&mut units, tokenizer, None)?;
        Ok(Self { units })
    }

    /// Returns the token ids; media stand as `None`.
    pub fn tokens(&self) -> impl Iterator<Item = Option<TokenId>> {
        self.units.iter().map(|unit| match unit {
            Unit::Token(token) => Some(*token),
            Unit::Media(_) => None,
        })
    }
}

/// Texts that are encoded together.
struct Stretch<'a> {
    pieces: Vec<Piece<'a>>,
    /// The token of the media that they stand behind.
    behind: Option<SpecialToken>,
}

impl Stretch<'_> {
    /// Encodes the texts, which stand before the token of media or at an end.
    fn encode_into(
        &mut self,
        units: &mut Vec<Unit>,
        tokenizer: &dyn Tokenizer,
        before: Option<&SpecialToken>,
    ) -> Result<()> {
        let (pieces, behind) = (std::mem::take(&mut self.pieces), self.behind.take());
        if pieces.is_empty() {
            return Ok(());
        }
        let beside = |token| Option::map(token, |token: &SpecialToken| Piece::Text(&token.text));
        let texts = pieces.iter().copied();
        let around: Vec<_> = beside(behind.as_ref()).into_iter().chain(texts).chain(beside(before)).collect();
        let mut ids = tokenizer.encode(&around)?;
        let is_left = behind.as_ref().is_none_or(|token| ids.first() == Some(&token.id));
        let is_right = before.is_none_or(|token| ids.last() == Some(&token.id));
        if is_left && is_right && ids.len() >= around.len() - pieces.len() {
            ids.truncate(ids.len() - usize::from(before.is_some()));
            ids.drain(..usize::from(behind.is_some()));
        } else {
            ids = tokenizer.encode(&pieces)?;
        }
        units.extend(ids.into_iter().map(Unit::Token));
        Ok(())
    }
}

/// Returns how many leading units `left` and `right` share.
///
/// ```
/// use alloquy_core::prompt::Unit::Token;
/// use alloquy_core::prompt::common_prefix;
///
/// assert_eq!(common_prefix(&[Token(1), Token(2)], &[Token(1), Token(3)]), 1);
/// ```
pub fn common_prefix(left: &[Unit], right: &[Unit]) -> usize {
    left.iter().zip(right).take_while(|(left, right)| left == right).count()
}
