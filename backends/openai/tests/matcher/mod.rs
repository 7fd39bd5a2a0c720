//! A matcher that allows every token: a remote decoder sends the text of a grammar, and has no logits to mask.

use alloquy_core::Result;
use alloquy_core::grammar::{GrammarMatcher, MatcherState};
use alloquy_core::tokenizer::TokenId;

#[derive(Clone, Debug)]
pub(crate) struct Anything;

impl GrammarMatcher for Anything {
    fn mask(&mut self, _logits: &mut [f32]) -> Result<()> {
        Ok(())
    }

    fn accept(&mut self, _token: TokenId) -> Result<()> {
        Ok(())
    }

    fn progress(&mut self) -> Result<MatcherState> {
        Ok(MatcherState::MayEnd)
    }

    fn fork(&self) -> Box<dyn GrammarMatcher> {
        Box::new(self.clone())
    }
}
