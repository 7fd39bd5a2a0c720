//! Scores how likely given texts are as continuations of a prompt.

use alloquy_core::prompt::PromptUnit;
use alloquy_core::sampling::TokenLogprob;
use alloquy_core::tokenizer::TokenId;
use alloquy_core::{Error, ErrorKind, Result};
use alloquy_engine::{CancelToken, Engine, Session};
use futures::channel::oneshot;

use crate::sampler::LogSoftmax;

/// Targets to score, and the caller that waits for the scores.
#[derive(Debug)]
pub(crate) struct Scoring {
    pub(crate) prompt: Vec<PromptUnit>,
    pub(crate) targets: Vec<Vec<TokenId>>,
    pub(crate) cancel: CancelToken,
    pub(crate) answer: oneshot::Sender<Result<Vec<Vec<TokenLogprob>>>>,
}

/// Checks that a prompt fits with the longest of its targets.
///
/// # Errors
/// [`ErrorKind::Invalid`] without a prompt, and [`ErrorKind::ContextOverflow`] if they do not fit.
pub(crate) fn check_room(engine: &dyn Engine, prompt: &[PromptUnit], targets: &[Vec<TokenId>]) -> Result<()> {
    if prompt.is_empty() {
        return Err(Error::new(ErrorKind::Invalid, "the prompt is empty"));
    }
    let context = engine.model().context_length;
    let longest = targets.iter().map(Vec::len).max().unwrap_or(0);
    let length = positions(engine, prompt)?;
    if length + longest > context {
        let message =
            format!("the prompt has {length} tokens, a target {longest} and the model's context {context}");
        return Err(Error::new(ErrorKind::ContextOverflow, message));
    }
    Ok(())
}

/// Returns how many positions units take.
pub(crate) fn positions(engine: &dyn Engine, units: &[PromptUnit]) -> Result<usize> {
    let mut positions = 0;
    for unit in units {
        positions += match unit {
            PromptUnit::Token(_) => 1,
            PromptUnit::Media(_) => engine.positions(unit)?,
        };
    }
    Ok(positions)
}

/// Scores one target; `first` are the logits at the prompt's end.
pub(crate) fn score_target(
    session: &mut dyn Session,
    first: &[f32],
    target: &[TokenId],
    cancel: &CancelToken,
) -> Result<Vec<TokenLogprob>> {
    let mut scores = Vec::with_capacity(target.len());
    let mut tokens = target.iter().copied();
    // The logits after each token score the next one: the first token is scored by the prompt, and the last one need not be
    // computed.
    if let Some(token) = tokens.next() {
        scores.push(LogSoftmax::new(first).of(token));
    }
    let computed = target.split_last().map(|(_, computed)| computed).unwrap_or_default();
    let computed: Vec<_> = computed.iter().copied().map(PromptUnit::Token).collect();
    session.forward_each(&computed, cancel, &mut |logits| {
        if let Some(token) = tokens.next() {
            scores.push(LogSoftmax::new(logits).of(token));
        }
    })?;
    Ok(scores)
}
