//! Runs one scoring in a copy of a session: its prompt chunk by chunk, then target by target.

use alloquy_core::Result;
use alloquy_core::sampling::TokenLogprob;
use alloquy_engine::{Engine, Session};

use super::active::Status;
use super::scoring::{Scoring, check_room, score_target};
use super::slots::{OwnedPrompt, Slot, Slots};

/// Targets that are being scored after a prompt.
pub(super) struct Scorer {
    scoring: Scoring,
    begun: Option<Begun>,
    scores: Vec<Vec<TokenLogprob>>,
}

/// A copy of the session that had most of the prompt.
struct Begun {
    session: Box<dyn Session>,
    /// The logits at the prompt's end, once it is computed.
    first: Option<Vec<f32>>,
}

impl Scorer {
    pub(super) fn new(scoring: Scoring) -> Self {
        Self { scoring, begun: None, scores: Vec::new() }
    }

    /// Computes the next chunk of the prompt, or the next target.
    pub(super) fn step(&mut self, engine: &dyn Engine, slots: &Slots, in_use: &[&Slot]) -> Result<Status> {
        let Scoring { prompt, targets, cancel, .. } = &self.scoring;
        cancel.check()?;
        let begun = match &mut self.begun {
            Some(begun) => begun,
            none => {
                check_room(engine, prompt, targets)?;
                none.insert(Begun {
                    session: slots.copy(engine, OwnedPrompt { units: prompt, owner: None }, in_use)?,
                    first: None,
                })
            }
        };
        let Some(target) = targets.get(self.scores.len()) else { return Ok(Status::Done) };
        // Rewinds to the prompt's end. A model that cannot rewind so far computes the rest of the prompt again.
        begun.session.truncate(prompt.len())?;
        match &begun.first {
            Some(first) if begun.session.length() == prompt.len() => {
                self.scores.push(score_target(&mut *begun.session, first, target, cancel)?);
            }
            _ => {
                let rest = prompt.get(begun.session.length()..).unwrap_or_default();
                let chunk = rest.get(..engine.prefill_chunk().max(1)).unwrap_or(rest);
                let logits = begun.session.forward(chunk, cancel)?;
                begun.first = (chunk.len() == rest.len()).then(|| logits.to_vec());
            }
        }
        Ok(Status::Running)
    }

    /// Sends the scores, or the error, to the caller that waits for them.
    pub(super) fn answer(self, outcome: Result<()>) {
        // Fails when the caller has dropped its future.
        let _ = self.scoring.answer.send(outcome.map(|()| self.scores));
    }
}
