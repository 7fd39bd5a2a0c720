//! Penalties of tokens that occurred before. Each token is counted once, when it comes.

use std::collections::{HashMap, VecDeque};

use alloquy_core::SamplingOptions;
use alloquy_core::sampling::PenaltyScope;
use alloquy_core::tokenizer::TokenId;

/// A penalty and the tokens it counts.
#[derive(Clone, Debug)]
pub(super) struct Penalty {
    kind: Kind,
    scope: PenaltyScope,
    counts: Counts,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// `RepetitionPenaltyLogitsProcessor`.
    Repetition(f32),
    /// The presence and frequency penalties of OpenAI's API: `logit - count * frequency - presence`.
    Occurrence { presence: f32, frequency: f32 },
}

impl Penalty {
    /// Makes the penalties that `options` describe, in their order.
    pub(super) fn all(options: &SamplingOptions) -> Vec<Self> {
        let mut penalties = Vec::new();
        if let Some(factor) = options.repetition_penalty.filter(|&factor| factor != 1.0) {
            penalties.push(Self::new(Kind::Repetition(factor), PenaltyScope::PromptAndReply, options));
        }
        let presence = options.presence_penalty.unwrap_or(0.0);
        let frequency = options.frequency_penalty.unwrap_or(0.0);
        if presence != 0.0 || frequency != 0.0 {
            let kind = Kind::Occurrence { presence, frequency };
            penalties.push(Self::new(kind, PenaltyScope::Reply, options));
        }
        penalties
    }

    /// Makes a penalty with the scope that is usual for its kind, unless the options have one.
    fn new(kind: Kind, usual: PenaltyScope, options: &SamplingOptions) -> Self {
        let scope = options.penalty_scope.unwrap_or(usual);
        Self { kind, scope, counts: Counts::new(options.penalty_window) }
    }

    /// Counts a token of the prompt.
    pub(super) fn read(&mut self, token: TokenId) {
        if self.scope == PenaltyScope::PromptAndReply {
            self.counts.add(token);
        }
    }

    /// Counts a token of the reply.
    pub(super) fn accept(&mut self, token: TokenId) {
        self.counts.add(token);
    }

    pub(super) fn apply(&self, logits: &mut [f32]) {
        for (&token, &count) in &self.counts.counts {
            if let Some(logit) = logits.get_mut(token as usize) {
                *logit = self.kind.penalized(*logit, count);
            }
        }
    }
}

impl Kind {
    fn penalized(self, logit: f32, count: usize) -> f32 {
        match self {
            Self::Repetition(factor) if logit < 0.0 => logit * factor,
            Self::Repetition(factor) => logit / factor,
            Self::Occurrence { presence, frequency } => logit - count as f32 * frequency - presence,
        }
    }
}

/// How often tokens occurred among the last ones.
#[derive(Clone, Debug)]
struct Counts {
    counts: HashMap<TokenId, usize>,
    /// The tokens in the window; empty without one.
    recent: VecDeque<TokenId>,
    window: Option<usize>,
}

impl Counts {
    fn new(window: Option<usize>) -> Self {
        let window = window.filter(|&window| window > 0);
        Self { counts: HashMap::new(), recent: VecDeque::new(), window }
    }

    fn add(&mut self, token: TokenId) {
        *self.counts.entry(token).or_default() += 1;
        let Some(window) = self.window else { return };
        self.recent.push_back(token);
        if self.recent.len() > window
            && let Some(gone) = self.recent.pop_front()
        {
            self.remove(gone);
        }
    }

    fn remove(&mut self, token: TokenId) {
        if let Some(count) = self.counts.get_mut(&token) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&token);
            }
        }
    }
}
