//! The units of a session in tests, up to the length of a context.

use std::hash::{DefaultHasher, Hash, Hasher};

use alloquy_core::prompt::PromptUnit;
use alloquy_core::{Error, ErrorKind, Result};
use alloquy_engine::CancelToken;
use alloquy_engine::decoder::StateReader;
use alloquy_engine::media_processor::MediaProcessor;

use super::ScriptedMedia;

/// The units that a session has computed, appended and truncated as in every session.
#[derive(Clone, Debug)]
pub(super) struct CachedPrompt {
    pub(super) units: Vec<PromptUnit>,
    context: usize,
    /// Counts the positions of media. Without it, each takes one position.
    media: Option<ScriptedMedia>,
}

impl CachedPrompt {
    /// Makes an empty one.
    pub(super) fn new(context: usize) -> Self {
        Self { units: Vec::new(), context, media: None }
    }

    /// Sets what counts the positions of media.
    pub(super) fn showing(self, media: Option<ScriptedMedia>) -> Self {
        Self { media, ..self }
    }

    fn positions(&self, units: &[PromptUnit]) -> Result<usize> {
        let mut positions = 0;
        for unit in units {
            positions += match (unit, &self.media) {
                (PromptUnit::Media(shown), Some(media)) => media.outline(shown)?.features(),
                _ => 1,
            };
        }
        Ok(positions)
    }

    /// Appends units, one by one until it is cancelled, and calls `each` for each of them.
    pub(super) fn take(
        &mut self,
        units: &[PromptUnit],
        cancel: &CancelToken,
        mut each: impl FnMut(),
    ) -> Result<()> {
        if units.is_empty() {
            return Err(Error::new(ErrorKind::Invalid, "no units to forward"));
        }
        let length = self.positions(&self.units)? + self.positions(units)?;
        if length > self.context {
            let message = format!("{length} units do not fit into {}", self.context);
            return Err(Error::new(ErrorKind::ContextOverflow, message));
        }
        for unit in units {
            cancel.check()?;
            self.units.push(unit.clone());
            each();
        }
        Ok(())
    }

    /// Saves the first `length` units: for each, a hash of all units up to it, so that no unit can replace another.
    pub(super) fn snapshot(&self, length: usize, into: &mut Vec<u8>) -> Result<()> {
        let Some(units) = self.units.get(..length) else {
            let message = format!("the session has {} units, not {length}", self.units.len());
            return Err(Error::new(ErrorKind::Invalid, message));
        };
        into.extend(state(units));
        Ok(())
    }

    /// Restores saved units.
    pub(super) fn restore(&mut self, units: &[PromptUnit], written: &mut StateReader<'_>) -> Result<()> {
        if units.len() > self.context {
            let message = format!("{} units do not fit into {}", units.len(), self.context);
            return Err(Error::new(ErrorKind::ContextOverflow, message));
        }
        let wanted = state(units);
        let mut found = vec![0; wanted.len()];
        written.fill(&mut found)?;
        written.end()?;
        if found != wanted {
            return Err(Error::new(ErrorKind::Corrupt, "the state is not of these units"));
        }
        self.units = units.to_vec();
        Ok(())
    }

    /// Keeps the first `length` units, and returns how many there are then.
    pub(super) fn truncate(&mut self, length: usize) -> usize {
        self.units.truncate(length);
        self.units.len()
    }
}

fn state(units: &[PromptUnit]) -> Vec<u8> {
    let mut hasher = DefaultHasher::new();
    let mut state = Vec::new();
    for unit in units {
        match unit {
            PromptUnit::Token(token) => token.hash(&mut hasher),
            PromptUnit::Media(media) => media.digest().hash(&mut hasher),
        }
        state.extend(hasher.finish().to_le_bytes());
    }
    state
}
