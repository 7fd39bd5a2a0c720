//! What a session of a test holds: units, up to a context's length.

use std::hash::{DefaultHasher, Hash, Hasher};

use alloquy_core::prompt::Unit;
use alloquy_core::{Error, ErrorKind, Result};
use alloquy_engine::Cancel;
use alloquy_engine::decoder::StateReader;
use alloquy_engine::media_processor::MediaProcessor;

use super::ScriptedMedia;

/// The units that a session holds, taken and cut back as every session must.
#[derive(Clone, Debug)]
pub(super) struct Resident {
    pub(super) units: Vec<Unit>,
    context: usize,
    /// What media take; one position each where nobody says.
    media: Option<ScriptedMedia>,
}

impl Resident {
    /// Holds nothing yet.
    pub(super) fn new(context: usize) -> Self {
        Self { units: Vec::new(), context, media: None }
    }

    /// Counts what media take.
    pub(super) fn showing(self, media: Option<ScriptedMedia>) -> Self {
        Self { media, ..self }
    }

    fn positions(&self, units: &[Unit]) -> Result<usize> {
        let count = |unit: &Unit| match (unit, &self.media) {
            (Unit::Media(shown), Some(media)) => media.outline(shown).map(|outline| outline.features()),
            _ => Ok(1),
        };
        units.iter().map(count).sum()
    }

    /// Takes units, one by one until it is cancelled; `each` is called for each of them.
    pub(super) fn take(&mut self, units: &[Unit], cancel: &Cancel, mut each: impl FnMut()) -> Result<()> {
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

    /// Writes down the first `length` units: each as a hash of those up to it, so that none goes in another's place.
    pub(super) fn snapshot(&self, length: usize, into: &mut Vec<u8>) -> Result<()> {
        let held = self.units.len();
        let units = self
            .units
            .get(..length)
            .ok_or_else(|| Error::new(ErrorKind::Invalid, format!("{held} units are held, not {length}")))?;
        into.extend(state(units));
        Ok(())
    }

    /// Holds units that were written down.
    pub(super) fn restore(&mut self, units: &[Unit], written: &mut StateReader<'_>) -> Result<()> {
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

    /// Keeps the first `length` units, and returns how many those are.
    pub(super) fn truncate(&mut self, length: usize) -> usize {
        self.units.truncate(length);
        self.units.len()
    }
}

fn state(units: &[Unit]) -> Vec<u8> {
    let mut hasher = DefaultHasher::new();
    let mut hashed = |unit: &Unit| {
        match unit {
            Unit::Token(token) => token.hash(&mut hasher),
            Unit::Media(media) => media.digest().hash(&mut hasher),
        }
        hasher.finish().to_le_bytes()
    };
    units.iter().flat_map(&mut hashed).collect()
}
