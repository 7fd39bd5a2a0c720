//! One reply against its grammar. Knows tokens by number.

use std::fmt;

use alloquy_core::grammar::{Constraint, Progress};
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

impl Constraint for ReplyConstraint {
    fn mask(&mut self, logits: &mut [f32]) -> Result<()> {
        let allowed = self.matcher.compute_mask_or_eos();
        forbid_others(&allowed.map_err(|error| failure::of(Stage::Reply, &error))?, logits);
        Ok(())
    }

    fn accept(&mut self, token: TokenId) -> Result<()> {
        let taken = self.matcher.try_consume_tokens(&[token]);
        match taken.map_err(|error| failure::of(Stage::Reply, &error))? {
            0 => {
                let message = format!("token {token} does not go on in the reply's form");
                Err(Error::new(ErrorKind::Invalid, message))
            }
            _ => Ok(()),
        }
    }

    fn progress(&mut self) -> Result<Progress> {
        if self.matcher.is_stopped() {
            return Ok(Progress::Complete);
        }
        match self.matcher.is_accepting().map_err(|error| failure::of(Stage::Reply, &error))? {
            true => Ok(Progress::MayEnd),
            false => Ok(Progress::Open),
        }
    }

    fn fork(&self) -> Box<dyn Constraint> {
        Box::new(Self::new(self.matcher.deep_clone()))
    }
}

impl fmt::Debug for ReplyConstraint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ReplyConstraint").field("stop", &self.matcher.stop_reason()).finish()
    }
}

/// Tokens of a mask's word.
const WORD: usize = u32::BITS as usize;

/// Word by word, because most words of a mask are all zeros or all ones.
fn forbid_others(allowed: &SimpleVob, logits: &mut [f32]) {
    let words = allowed.as_slice().iter().copied().chain(std::iter::repeat(0));
    for (word, logits) in words.zip(logits.chunks_mut(WORD)) {
        match word {
            0 => logits.fill(f32::NEG_INFINITY),
            u32::MAX => {}
            word => {
                let forbidden = |(bit, _): &(usize, &mut f32)| word & (1 << bit) == 0;
                let logits = logits.iter_mut().enumerate().filter(forbidden);
                logits.for_each(|(_, logit)| *logit = f32::NEG_INFINITY);
            }
        }
    }
}
