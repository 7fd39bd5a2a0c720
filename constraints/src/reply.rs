//! Matches one reply against its grammar, token by token.

use std::fmt;

use alloquy_core::grammar::{GrammarMatcher, MatcherState};
use alloquy_core::tokenizer::TokenId;
use alloquy_core::{Error, ErrorKind, Result};
use llguidance::Matcher;
use llguidance::toktrie::SimpleVob;

use crate::failure::{self, Stage};

/// A constraint by `llguidance`.
pub(crate) struct ReplyConstraint {
    matcher: Matcher,
}

impl ReplyConstraint {
    pub(crate) fn new(matcher: Matcher) -> Self {
        Self { matcher }
    }
}

impl GrammarMatcher for ReplyConstraint {
    fn mask(&mut self, logits: &mut [f32]) -> Result<()> {
        let allowed = self.matcher.compute_mask_or_eos();
        forbid_others(&allowed.map_err(|error| failure::of(Stage::Reply, &error))?, logits);
        Ok(())
    }

    fn accept(&mut self, token: TokenId) -> Result<()> {
        let taken = self.matcher.try_consume_tokens(&[token]);
        match taken.map_err(|error| failure::of(Stage::Reply, &error))? {
            0 => {
                let message = format!("token {token} does not continue the reply's grammar");
                Err(Error::new(ErrorKind::Invalid, message))
            }
            _ => Ok(()),
        }
    }

    fn progress(&mut self) -> Result<MatcherState> {
        if self.matcher.is_stopped() {
            return Ok(MatcherState::Complete);
        }
        if self.matcher.is_accepting().map_err(|error| failure::of(Stage::Reply, &error))? {
            Ok(MatcherState::MayEnd)
        } else {
            Ok(MatcherState::Open)
        }
    }

    fn fork(&self) -> Box<dyn GrammarMatcher> {
        Box::new(Self::new(self.matcher.deep_clone()))
    }
}

impl fmt::Debug for ReplyConstraint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ReplyConstraint").field("stop", &self.matcher.stop_reason()).finish()
    }
}

/// How many tokens a word of a mask holds.
const WORD: usize = u32::BITS as usize;

/// Sets the logits of all tokens that are not allowed to minus infinity.
///
/// It goes word by word, because most words of a mask are all zeros or all ones. Logits beyond the mask belong to no token.
fn forbid_others(allowed: &SimpleVob, logits: &mut [f32]) {
    let words = allowed.as_slice().iter().copied().chain(std::iter::repeat(0));
    for (word, logits) in words.zip(logits.chunks_mut(WORD)) {
        match word {
            0 => logits.fill(f32::NEG_INFINITY),
            u32::MAX => {}
            word => {
                for (bit, logit) in logits.iter_mut().enumerate() {
                    if word & (1 << bit) == 0 {
                        *logit = f32::NEG_INFINITY;
                    }
                }
            }
        }
    }
}
