//! Sequences of tokens that must not occur twice (`NoRepeatNGramLogitsProcessor`).

use std::collections::{HashMap, VecDeque};

use alloquy_core::SamplingOptions;
use alloquy_core::sampling::PenaltyScope;
use alloquy_core::tokenizer::TokenId;

/// The n-grams that occurred, each added once, when its last token comes.
#[derive(Clone, Debug)]
pub(super) struct NGrams {
    size: usize,
    scope: PenaltyScope,
    window: Option<usize>,
    tokens: Vec<TokenId>,
    /// Where the window begins in `tokens`.
    start: usize,
    /// The tokens that followed each sequence of `size - 1` tokens, in their order.
    followers: HashMap<Vec<TokenId>, VecDeque<TokenId>>,
}

impl NGrams {
    pub(super) fn new(options: &SamplingOptions) -> Option<Self> {
        Some(Self {
            size: options.no_repeat_ngram.filter(|&size| size > 0)?,
            scope: options.penalty_scope.unwrap_or(PenaltyScope::PromptAndReply),
            window: options.penalty_window.filter(|&window| window > 0),
            tokens: Vec::new(),
            start: 0,
            followers: HashMap::new(),
        })
    }

    /// Takes a token of the prompt.
    pub(super) fn read(&mut self, token: TokenId) {
        if self.scope == PenaltyScope::PromptAndReply {
            self.accept(token);
        }
    }

    /// Takes a token of the reply.
    pub(super) fn accept(&mut self, token: TokenId) {
        if let Some(beginning) = self.beginning() {
            self.followers.entry(beginning.to_vec()).or_default().push_back(token);
        }
        self.tokens.push(token);
        if self.window.is_some_and(|window| self.tokens.len() - self.start > window) {
            self.forget_first();
        }
    }

    /// Forbids the tokens that would complete an n-gram that occurred.
    pub(super) fn apply(&self, logits: &mut [f32]) {
        let followers = self.beginning().and_then(|beginning| self.followers.get(beginning));
        for &token in followers.into_iter().flatten() {
            if let Some(logit) = logits.get_mut(token as usize) {
                *logit = f32::NEG_INFINITY;
            }
        }
    }

    /// The last `size - 1` tokens, which the next one may complete.
    fn beginning(&self) -> Option<&[TokenId]> {
        let from = self.tokens.len().checked_sub(self.size - 1).filter(|&from| from >= self.start)?;
        self.tokens.get(from..)
    }

    fn forget_first(&mut self) {
        let first = self.tokens.get(self.start..self.start + self.size - 1).unwrap_or_default();
        if let Some(followers) = self.followers.get_mut(first) {
            followers.pop_front();
            if followers.is_empty() {
                let first = first.to_vec();
                self.followers.remove(&first);
            }
        }
        self.start += 1;
    }
}
