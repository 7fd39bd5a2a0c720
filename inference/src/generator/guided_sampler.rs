//! Constrains one reply token by token: first by a thinking budget, then by a grammar. Where it is free, texts may be excluded.

use std::collections::VecDeque;

use alloquy_core::Result;
use alloquy_core::grammar::{GrammarMatcher, MatcherState};
use alloquy_core::tokenizer::{TokenId, Tokenizer};
use alloquy_engine::decoder::{
    GuidedDecoding, ThinkingCorrection, ThinkingScanner, ThinkingStage, encode_after_text,
};

use super::exclusion::Exclusion;
use crate::sampler::Sampler;

/// Constrains one reply. Without a grammar and a budget, every token is sampled freely.
///
/// The grammar applies after the marker that ends thinking, or from the first token on if the prompt leaves no room for
/// thinking. A model that may think is allowed to begin with either:
///
/// ```text
/// <think> Two and two. </think> {"sum": 4}     free up to `</think>`, then the grammar
/// {"sum": 4}                                   the grammar from the first token on
/// ```
///
/// If the marker and the grammar begin with the same tokens, the first token that differs decides.
#[derive(Debug, Default)]
pub(crate) struct GuidedSampler {
    stage: ThinkingStage,
    thinking: Option<ThinkingScanner>,
    constraint: Option<Box<dyn GrammarMatcher>>,
    /// A copy of the grammar before its first token, while the tokens so far may still begin a thinking block.
    unbegun: Option<Box<dyn GrammarMatcher>>,
    /// The number of tokens so far, while they may begin either a thinking block or the answer.
    shared: usize,
    /// The next tokens, regardless of the logits.
    forced: VecDeque<TokenId>,
    /// The number of tokens after which thinking was ended, until it is reported.
    cut: Option<usize>,
    complete: bool,
}

/// The inputs of one sampling step.
pub(crate) struct Draw<'a> {
    pub(crate) logits: &'a mut [f32],
    pub(crate) sampler: &'a mut Sampler,
    pub(crate) excluded: &'a Exclusion,
    pub(crate) tokenizer: &'a dyn Tokenizer,
    pub(crate) stop_tokens: &'a [TokenId],
}

impl Draw<'_> {
    /// Samples a token that a grammar allows. What a grammar allows is not excluded.
    fn sample(&mut self) -> Result<TokenId> {
        self.sampler.sample(self.logits)
    }

    /// Samples any token that is not excluded.
    fn sample_freely(&mut self) -> Result<TokenId> {
        self.excluded.mask(self.logits);
        self.sampler.sample(self.logits)
    }

    fn ends(&self, token: TokenId) -> bool {
        self.stop_tokens.contains(&token)
    }

    fn bytes(&self, token: TokenId) -> Vec<u8> {
        self.tokenizer.bytes(token).unwrap_or_default()
    }

    fn encode(&self, text: &str) -> Result<VecDeque<TokenId>> {
        Ok(encode_after_text(self.tokenizer, text)?.into())
    }
}

impl GuidedSampler {
    /// Constrains a reply as requested.
    pub(crate) fn new(guided: GuidedDecoding) -> Self {
        let mut guide = Self { constraint: guided.grammar.map(|(_, matcher)| matcher), ..Self::default() };
        if let Some(rule) = guided.thinking {
            guide.stage = ThinkingStage::first(&rule);
            guide.thinking = Some(ThinkingScanner::new(&rule));
        }
        guide
    }

    /// Returns whether the reply must end, because its grammar is complete.
    pub(crate) fn is_complete(&self) -> bool {
        self.complete
    }

    /// Returns the number of tokens after which thinking was ended, if that was since the last call.
    pub(crate) fn take_cut(&mut self) -> Option<usize> {
        self.cut.take()
    }

    /// Decides the next token.
    pub(crate) fn next(&mut self, mut draw: Draw<'_>) -> Result<TokenId> {
        if let Some(token) = self.forced.pop_front() {
            return Ok(token);
        }
        match self.stage {
            ThinkingStage::Opening => self.open(&mut draw),
            ThinkingStage::Thinking => self.think(&mut draw),
            ThinkingStage::Answer => self.answer(&mut draw),
        }
    }

    /// Samples one of the first tokens. They may begin a thinking block or the answer.
    ///
    /// While both are possible, the grammar applies, and a copy of it from before its first token is kept.
    fn open(&mut self, draw: &mut Draw<'_>) -> Result<TokenId> {
        let (Some(thinking), Some(constraint)) = (&mut self.thinking, &mut self.constraint) else {
            return self.open_freely(draw);
        };
        // The grammar masks the marker's next token, so that token gets its logit back.
        let mut marker = draw.encode(thinking.start())?.split_off(self.shared);
        let next = marker.pop_front();
        let free = logit(draw.logits, next);
        constraint.mask(draw.logits)?;
        let masked = logit(draw.logits, next).is_some_and(|logit| !logit.is_finite());
        if masked
            && let Some(free) = free
            && let Some(logit) = next.and_then(|token| draw.logits.get_mut(token as usize))
        {
            *logit = free;
        }
        let token = draw.sample()?;

        // A token that the grammar forbids begins thinking, and the rest of the marker follows it.
        let begins = Some(token) == next;
        if masked && begins {
            self.stage = ThinkingStage::Thinking;
            self.forced = marker;
            self.constraint = self.unbegun.take().or_else(|| self.constraint.take());
            return Ok(token);
        }
        if begins && !marker.is_empty() {
            // `<` may begin `<think>` or an answer in markup, so nothing is decided yet.
            if self.unbegun.is_none() {
                self.unbegun = Some(constraint.fork());
            }
            self.shared += 1;
        } else {
            self.stage = ThinkingStage::Answer;
        }
        self.accept(token, draw)
    }

    fn open_freely(&mut self, draw: &mut Draw<'_>) -> Result<TokenId> {
        let token = draw.sample_freely()?;
        let said = draw.bytes(token);
        self.stage = match self.thinking.as_mut() {
            Some(thinking) => thinking.opens(&said),
            None => ThinkingStage::Answer,
        };
        Ok(token)
    }

    fn think(&mut self, draw: &mut Draw<'_>) -> Result<TokenId> {
        let Some(thinking) = &mut self.thinking else {
            return self.answer(draw);
        };
        if thinking.is_over_budget() {
            return self.cut(draw);
        }
        let token = draw.sample_freely()?;
        if draw.ends(token) {
            // A reply that must match a grammar still has to answer. Without a grammar it may end while it thinks.
            return if self.constraint.is_some() { self.cut(draw) } else { Ok(token) };
        }
        if let Some(end) = thinking.push(&draw.bytes(token)) {
            self.stage = ThinkingStage::Answer;
            if self.constraint.is_some() {
                return self.begin_answer(token, &end.correction, draw);
            }
        }
        Ok(token)
    }

    /// Begins the answer after `token`, which ended thinking. A part of the answer that the grammar has not checked is dropped.
    fn begin_answer(
        &mut self,
        token: TokenId,
        correction: &ThinkingCorrection,
        draw: &Draw<'_>,
    ) -> Result<TokenId> {
        match correction {
            ThinkingCorrection::Append(missing) => {
                self.forced = draw.encode(missing)?;
                Ok(token)
            }
            ThinkingCorrection::Replace(ending) => {
                self.forced = draw.encode(ending)?;
                Ok(self.forced.pop_front().unwrap_or(token))
            }
        }
    }

    /// Ends thinking here, because of the budget or because the reply would end without an answer.
    fn cut(&mut self, draw: &mut Draw<'_>) -> Result<TokenId> {
        self.cut = self.thinking.as_ref().map(ThinkingScanner::tokens);
        self.stage = ThinkingStage::Answer;
        // The tokens that end thinking are the next ones.
        let ending = self.thinking.as_ref().map(ThinkingScanner::ending).unwrap_or_default();
        self.forced = draw.encode(&ending)?;
        match self.forced.pop_front() {
            Some(token) => Ok(token),
            None => self.answer(draw),
        }
    }

    fn answer(&mut self, draw: &mut Draw<'_>) -> Result<TokenId> {
        let token = match &mut self.constraint {
            Some(constraint) => {
                constraint.mask(draw.logits)?;
                draw.sample()?
            }
            None => draw.sample_freely()?,
        };
        self.accept(token, draw)
    }

    fn accept(&mut self, token: TokenId, draw: &Draw<'_>) -> Result<TokenId> {
        if let Some(constraint) = self.constraint.as_mut().filter(|_| !draw.ends(token)) {
            constraint.accept(token)?;
            self.complete = constraint.progress()? == MatcherState::Complete;
        }
        Ok(token)
    }
}

/// Returns the logit of a token.
fn logit(logits: &[f32], token: Option<TokenId>) -> Option<f32> {
    logits.get(token? as usize).copied()
}
