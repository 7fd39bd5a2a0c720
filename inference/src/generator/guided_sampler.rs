//! Leads one reply token by token: through its thoughts, and then in the form of its grammar. Knows no model call.

use std::collections::VecDeque;

use alloquy_core::Result;
use alloquy_core::grammar::{Constraint, Progress};
use alloquy_core::tokenizer::{Piece, TokenId, Tokenizer};
use alloquy_engine::decoder::GuidedDecoding;

use crate::sampler::Sampler;
use crate::thinking::{Stage, Thoughts};

/// Leads one reply. The default leads nowhere: every token is drawn freely.
///
/// A constraint sleeps while the model thinks. It wakes behind the marker that ends the thought, or at once when the
/// prompt leaves no room for one. A model that may still begin a thought is allowed to, beside what the constraint
/// allows; where both begin with the same tokens, the first that differs tells.
#[derive(Debug, Default)]
pub(crate) struct GuidedSampler {
    stage: Stage,
    thoughts: Option<Thoughts>,
    constraint: Option<Box<dyn Constraint>>,
    /// The constraint before its first token, as long as that may begin a thought as well.
    unbegun: Option<Box<dyn Constraint>>,
    /// How many tokens said so far may begin a thought and the answer.
    shared: usize,
    /// Tokens that come next, whatever the model would say.
    forced: VecDeque<TokenId>,
    cut: Option<usize>,
    complete: bool,
}

/// All that a draw needs.
pub(crate) struct Draw<'a> {
    pub(crate) logits: &'a mut [f32],
    pub(crate) sampler: &'a mut Sampler,
    pub(crate) tokenizer: &'a dyn Tokenizer,
    pub(crate) stop_tokens: &'a [TokenId],
}

impl Draw<'_> {
    fn sample(&mut self) -> Result<TokenId> {
        self.sampler.sample(self.logits)
    }

    fn ends(&self, token: TokenId) -> bool {
        self.stop_tokens.contains(&token)
    }

    fn bytes(&self, token: TokenId) -> Vec<u8> {
        self.tokenizer.bytes(token).unwrap_or_default()
    }

    /// Encodes what follows some other text: SentencePiece writes no space before it.
    fn encode(&self, text: &str) -> Result<VecDeque<TokenId>> {
        let before = Piece::Literal("\n");
        let known = self.tokenizer.encode(&[before])?.len();
        let tokens = self.tokenizer.encode(&[before, Piece::Text(text)])?;
        Ok(tokens.into_iter().skip(known).collect())
    }
}

impl GuidedSampler {
    /// Leads a reply as it is asked for.
    pub(crate) fn new(guided: GuidedDecoding) -> Self {
        let mut guide = Self { constraint: guided.grammar.map(|(_, matcher)| matcher), ..Self::default() };
        if let Some(rule) = guided.thinking {
            guide.stage = Stage::first(&rule);
            guide.thoughts = Some(Thoughts::new(&rule));
        }
        guide
    }

    /// Says whether the reply must end, because its form is complete.
    pub(crate) fn is_complete(&self) -> bool {
        self.complete
    }

    /// Returns after how many tokens a thought was ended since the last call.
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

    /// The first tokens: a thought begins, or the answer. As long as both may begin so, the answer's form is kept, and
    /// its beginning kept aside.
    fn open(&mut self, draw: &mut Draw<'_>) -> Result<TokenId> {
        let (Some(thoughts), Some(constraint)) = (&mut self.thoughts, &mut self.constraint) else {
            return self.open_freely(draw);
        };
        let mut marker = draw.encode(&thoughts.start)?.split_off(self.shared);
        let next = marker.pop_front();
        let logit = |logits: &[f32]| next.and_then(|token| logits.get(token as usize).copied());
        let free = logit(draw.logits);
        constraint.mask(draw.logits)?;
        let thought = logit(draw.logits).is_some_and(|masked| !masked.is_finite());
        if let (true, Some(token), Some(free)) = (thought, next, free) {
            draw.logits.iter_mut().skip(token as usize).take(1).for_each(|logit| *logit = free);
        }
        let token = draw.sample()?;
        let begins = Some(token) == next;
        if thought && begins {
            self.stage = Stage::Thinking;
            self.forced = marker;
            self.constraint = self.unbegun.take().or_else(|| self.constraint.take());
            return Ok(token);
        }
        if begins && !marker.is_empty() {
            self.unbegun = self.unbegun.take().or_else(|| Some(constraint.fork()));
            self.shared += 1;
        } else {
            self.stage = Stage::Answer;
        }
        self.accept(token, draw)
    }

    fn open_freely(&mut self, draw: &mut Draw<'_>) -> Result<TokenId> {
        let token = draw.sample()?;
        let said = draw.bytes(token);
        self.stage = match self.thoughts.as_mut() {
            Some(thoughts) => thoughts.opens(&said),
            None => Stage::Answer,
        };
        Ok(token)
    }

    fn think(&mut self, draw: &mut Draw<'_>) -> Result<TokenId> {
        let Some(thoughts) = &mut self.thoughts else {
            return self.answer(draw);
        };
        if thoughts.is_spent() {
            return self.cut(draw);
        }
        let token = draw.sample()?;
        if draw.ends(token) {
            // Without a form to keep, a reply that ends in its thoughts ends there.
            return if self.constraint.is_some() { self.cut(draw) } else { Ok(token) };
        }
        let before = thoughts.tail.clone();
        if let Some(behind) = thoughts.push(&draw.bytes(token)) {
            self.stage = Stage::Answer;
            if self.constraint.is_some() {
                return self.wake(token, &behind, before, draw);
            }
        }
        Ok(token)
    }

    /// The constraint wakes behind `token`, which ended the thought and said `behind` already.
    fn wake(&mut self, token: TokenId, behind: &[u8], before: Vec<u8>, draw: &Draw<'_>) -> Result<TokenId> {
        let Some(thoughts) = &mut self.thoughts else {
            return Ok(token);
        };
        let after = thoughts.around.1.as_bytes();
        match after.strip_prefix(behind) {
            Some(rest) => {
                self.forced = draw.encode(&String::from_utf8_lossy(rest))?;
                Ok(token)
            }
            None if behind.iter().all(u8::is_ascii_whitespace) => Ok(token),
            // The token says more than the marker: the answer would begin before its form is kept.
            None => {
                thoughts.tail = before;
                self.force(draw)?;
                Ok(self.forced.pop_front().unwrap_or(token))
            }
        }
    }

    /// Ends the thought here.
    fn cut(&mut self, draw: &mut Draw<'_>) -> Result<TokenId> {
        self.cut = self.thoughts.as_ref().map(|thoughts| thoughts.tokens);
        self.stage = Stage::Answer;
        self.force(draw)?;
        match self.forced.pop_front() {
            Some(token) => Ok(token),
            None => self.answer(draw),
        }
    }

    fn force(&mut self, draw: &Draw<'_>) -> Result<()> {
        let ending = self.thoughts.as_ref().map(Thoughts::ending).unwrap_or_default();
        self.forced = draw.encode(&ending)?;
        Ok(())
    }

    fn answer(&mut self, draw: &mut Draw<'_>) -> Result<TokenId> {
        if let Some(constraint) = &mut self.constraint {
            constraint.mask(draw.logits)?;
        }
        let token = draw.sample()?;
        self.accept(token, draw)
    }

    fn accept(&mut self, token: TokenId, draw: &Draw<'_>) -> Result<TokenId> {
        if let Some(constraint) = self.constraint.as_mut().filter(|_| !draw.ends(token)) {
            constraint.accept(token)?;
            self.complete = constraint.progress()? == Progress::Complete;
        }
        Ok(token)
    }
}
