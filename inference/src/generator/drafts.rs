//! The drafts of one reply: the account of each source, and the session of the draft model.

use alloquy_core::prompt::PromptUnit;
use alloquy_core::report::{DraftSource, DraftStop};

use super::follower::Follower;
use super::pace::Pace;

/// After how many steps with drafts there is one without, to measure how long that takes.
const REFERENCE: usize = 32;

/// What one reply has drafts from.
#[derive(Debug, Default)]
pub(super) struct Drafts {
    pub(super) lookup: Option<Source>,
    pub(super) model: Option<Source>,
    /// The draft model's session, from its first draft on.
    pub(super) follower: Option<Follower>,
    /// The sources that were stopped, until that is reported.
    stops: Vec<(DraftSource, DraftStop)>,
    /// Steps since the last one without a draft; `None` before it.
    since_plain: Option<usize>,
    /// Seconds that the prompt took.
    pub(super) prompt: f64,
}

/// A source of drafts.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) pace: Pace,
    is_stopped: bool,
}

/// A draft, and what guessed it.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) units: Vec<PromptUnit>,
    pub(super) source: DraftSource,
    /// Seconds that it took.
    pub(super) took: f64,
}

impl Drafts {
    /// Begins a reply with the accounts of its sources.
    pub(super) fn new(lookup: Option<Pace>, model: Option<Pace>) -> Self {
        let [lookup, model] = [lookup, model].map(|pace| Some(Source { pace: pace?, is_stopped: false }));
        Self { lookup, model, ..Self::default() }
    }

    /// Returns the account of a source that is not stopped.
    pub(super) fn pace(&mut self, source: DraftSource) -> Option<&mut Pace> {
        let source = match source {
            DraftSource::Lookup => &mut self.lookup,
            _ => &mut self.model,
        };
        let source = source.as_mut().filter(|source| !source.is_stopped)?;
        Some(&mut source.pace)
    }

    /// Stops a source for the rest of the reply.
    pub(super) fn stop(&mut self, source: DraftSource, reason: DraftStop) {
        if self.pace(source).is_none() {
            return;
        }
        self.stops.push((source, reason));
        let stopped = match source {
            DraftSource::Lookup => &mut self.lookup,
            _ => &mut self.model,
        };
        if let Some(stopped) = stopped {
            stopped.is_stopped = true;
        }
    }

    /// Stops all sources.
    pub(super) fn stop_all(&mut self, reason: &DraftStop) {
        for source in [DraftSource::Lookup, DraftSource::Model] {
            self.stop(source, reason.clone());
        }
    }

    /// Returns the sources that were stopped since the last call.
    pub(super) fn take_stops(&mut self) -> Vec<(DraftSource, DraftStop)> {
        std::mem::take(&mut self.stops)
    }

    /// Returns whether the next step is one without a draft, to measure it.
    pub(super) fn is_reference_due(&self) -> bool {
        self.since_plain.is_none_or(|steps| steps >= REFERENCE)
    }

    /// Notes a step without a draft, and how long it took.
    pub(super) fn note_plain(&mut self, run: f64) {
        self.since_plain = Some(0);
        for source in [DraftSource::Lookup, DraftSource::Model] {
            if let Some(pace) = self.pace(source) {
                pace.note_none(run);
            }
        }
    }

    /// Notes a step with a draft for the sources that it is not from.
    pub(super) fn note_other(&mut self, used: DraftSource, run: f64) {
        self.since_plain = self.since_plain.map(|steps| steps + 1);
        for source in [DraftSource::Lookup, DraftSource::Model] {
            if source != used
                && let Some(pace) = self.pace(source)
            {
                pace.note_none(run);
            }
        }
    }
}
