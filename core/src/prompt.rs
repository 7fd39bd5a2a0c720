//! A prompt as a model takes it: tokens and media, in order.

use crate::Result;
use crate::media::Media;
use crate::processor::PromptPart;
use crate::tokenizer::{Piece, TokenId, Tokenizer};

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
    /// use alloquy_core::{testing::ByteTokenizer, Prompt, PromptPart};
    ///
    /// let tokenizer = ByteTokenizer::new(["<end>"]);
    /// let parts = [PromptPart::Text("a<end>".into()), PromptPart::Literal("<end>".into())];
    /// let prompt = Prompt::lower(&parts, &tokenizer)?;
    /// assert_eq!(prompt.units.len(), 2 + 5);
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub fn lower(parts: &[PromptPart], tokenizer: &dyn Tokenizer) -> Result<Self> {
        let mut units = Vec::new();
        let mut pieces = Vec::new();
        for part in parts {
            match part {
                PromptPart::Text(text) => pieces.push(Piece::Text(text)),
                PromptPart::Literal(text) => pieces.push(Piece::Literal(text)),
                PromptPart::Tokens(tokens) => {
                    encode_into(&mut units, &mut pieces, tokenizer)?;
                    units.extend(tokens.iter().copied().map(Unit::Token));
                }
                PromptPart::Media(media) => {
                    encode_into(&mut units, &mut pieces, tokenizer)?;
                    units.push(Unit::Media(media.clone()));
                }
            }
        }
        encode_into(&mut units, &mut pieces, tokenizer)?;
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

fn encode_into(units: &mut Vec<Unit>, pieces: &mut Vec<Piece<'_>>, tokenizer: &dyn Tokenizer) -> Result<()> {
    if !pieces.is_empty() {
        units.extend(tokenizer.encode(pieces)?.into_iter().map(Unit::Token));
        pieces.clear();
    }
    Ok(())
}

/// Returns how many leading units `left` and `right` share.
///
/// ```
/// use alloquy_core::{common_prefix, Unit::Token};
///
/// assert_eq!(common_prefix(&[Token(1), Token(2)], &[Token(1), Token(3)]), 1);
/// ```
pub fn common_prefix(left: &[Unit], right: &[Unit]) -> usize {
    left.iter().zip(right).take_while(|(left, right)| left == right).count()
}
