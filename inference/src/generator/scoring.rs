//! How likely given texts are as a continuation. Knows no other work of the thread.

use alloquy_core::prompt::Unit;
use alloquy_core::sampling::Logprob;
use alloquy_core::tokenizer::TokenId;
use alloquy_core::{Error, ErrorKind, Result};
use alloquy_engine::{Cancel, Engine, Session};
use futures::channel::oneshot;

use crate::sampler::LogSoftmax;

/// Targets to score, and who waits for it.
#[derive(Debug)]
pub(crate) struct Scoring {
    pub(crate) prompt: Vec<Unit>,
    pub(crate) targets: Vec<Vec<TokenId>>,
    pub(crate) cancel: Cancel,
    pub(crate) answer: oneshot::Sender<Result<Vec<Vec<Logprob>>>>,
}

/// Refuses what would not fit.
///
/// # Errors
/// [`ErrorKind::Invalid`] without a prompt, [`ErrorKind::ContextOverflow`].
pub(crate) fn check_room(engine: &dyn Engine, prompt: &[Unit], targets: &[Vec<TokenId>]) -> Result<()> {
    if prompt.is_empty() {
        return Err(Error::new(ErrorKind::Invalid, "the prompt is empty"));
    }
    let (context, longest) = (engine.model().context_length, targets.iter().map(Vec::len).max().unwrap_or(0));
    let length = positions(engine, prompt)?;
    if length + longest > context {
        let message =
            format!("the prompt has {length} tokens, a target {longest} and the model's context {context}");
        return Err(Error::new(ErrorKind::ContextOverflow, message));
    }
    Ok(())
}

/// Returns how many positions units take.
pub(crate) fn positions(engine: &dyn Engine, units: &[Unit]) -> Result<usize> {
    let count = |unit: &Unit| match unit {
        Unit::Token(_) => Ok(1),
        media @ Unit::Media(_) => engine.positions(media),
    };
    units.iter().map(count).sum()
}

/// Scores one target; `first` are the logits at the prompt's end.
pub(crate) fn score_target(
    session: &mut dyn Session,
    first: &[f32],
    target: &[TokenId],
    cancel: &Cancel,
) -> Result<Vec<Logprob>> {
    let mut tokens = target.iter().copied();
    let mut scores: Vec<_> =
        tokens.next().map(|token| LogSoftmax::new(first).of(token)).into_iter().collect();
    // The last token's logits say what would follow it.
    let fed: Vec<_> =
        target.split_last().map_or(&[][..], |(_, fed)| fed).iter().copied().map(Unit::Token).collect();
    session.forward_each(&fed, cancel, &mut |logits| {
        scores.extend(tokens.next().map(|token| LogSoftmax::new(logits).of(token)));
    })?;
    Ok(scores)
}
