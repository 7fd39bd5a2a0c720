//! Constrains one reply token by token: first by a thinking budget, then by a grammar. Where it is free, texts may be excluded.

use std::collections::VecDeque;

use alloquy_core::Result;
use alloquy_core::grammar::{GrammarMatcher, MatcherState};
use alloquy_core::tokenizer::{TokenId, Tokenizer, TokenizerInput};
use alloquy_engine::decoder::GuidedDecoding;

use super::exclusion::Exclusion;
use crate::sampler::Sampler;
use crate::thinking::{Stage, ThinkingScanner};

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
    stage: Stage,
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

    /// Encodes a text that follows other text: at the start of a text, SentencePiece would add a space.
    fn encode(&self, text: &str) -> Result<VecDeque<TokenId>> {
        let before = TokenizerInput::Literal("\n");
        let known = self.tokenizer.encode(&[before])?.len();
        let tokens = self.tokenizer.encode(&[before, TokenizerInput::Text(text)])?;
        Ok(tokens.into_iter().skip(known).collect())
    }
}

impl GuidedSampler {
    /// Constrains a reply as requested.
    pub(crate) fn new(guided: GuidedDecoding) -> Self {
        let mut guide = Self { constraint: guided.grammar.map(|(_, matcher)| matcher), ..Self::default() };
        if let Some(rule) = guided.thinking {
            guide.stage = Stage::first(&rule);
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
            Stage::Opening => self.open(&mut draw),
            Stage::Thinking => self.think(&mut draw),
            Stage::Answer => self.answer(&mut draw),
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
        let mut marker = draw.encode(&thinking.start)?.split_off(self.shared);
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
            self.stage = Stage::Thinking;
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
            self.stage = Stage::Answer;
        }
        self.accept(token, draw)
    }

    fn open_freely(&mut self, draw: &mut Draw<'_>) -> Result<TokenId> {
        let token = draw.sample_freely()?;
        let said = draw.bytes(token);
        self.stage = match self.thinking.as_mut() {
            Some(thinking) => thinking.opens(&said),
            None => Stage::Answer,
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
        let before = thinking.tail.clone();
        if let Some(rest) = thinking.push(&draw.bytes(token)) {
            self.stage = Stage::Answer;
            if self.constraint.is_some() {
                return self.begin_answer(token, &rest, before, draw);
            }
        }
        Ok(token)
    }

    /// Begins the answer after `token`, which ended thinking.
    ///
    /// `rest` is the text of the token after the marker. `before` is the tail of the thinking block before the token.
    fn begin_answer(
        &mut self,
        token: TokenId,
        rest: &[u8],
        before: Vec<u8>,
        draw: &Draw<'_>,
    ) -> Result<TokenId> {
        let Some(thinking) = &mut self.thinking else {
            return Ok(token);
        };
        // `</think>` or `</think>\n`: the missing line breaks follow.
        let blanks = thinking.around.1.as_bytes();
        if let Some(missing) = blanks.strip_prefix(rest) {
            self.forced = draw.encode(&String::from_utf8_lossy(missing))?;
            return Ok(token);
        }
        if rest.iter().all(u8::is_ascii_whitespace) {
            return Ok(token);
        }
        // `>{"` contains a part of the answer that the grammar has not checked. The marker alone replaces the token.
        thinking.tail = before;
        self.force(draw)?;
        Ok(self.forced.pop_front().unwrap_or(token))
    }

    /// Ends thinking here, because of the budget or because the reply would end without an answer.
    fn cut(&mut self, draw: &mut Draw<'_>) -> Result<TokenId> {
        self.cut = self.thinking.as_ref().map(|thinking| thinking.tokens);
        self.stage = Stage::Answer;
        self.force(draw)?;
        match self.forced.pop_front() {
            Some(token) => Ok(token),
            None => self.answer(draw),
        }
    }

    /// Makes the tokens that end thinking the next ones.
    fn force(&mut self, draw: &Draw<'_>) -> Result<()> {
        let ending = self.thinking.as_ref().map(ThinkingScanner::ending).unwrap_or_default();
        self.forced = draw.encode(&ending)?;
        Ok(())
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
