//! What an engine's thread is asked to do. Knows no session.

use alloquy_core::Result;
use alloquy_core::prompt::Prompt;
use alloquy_engine::Cancel;
use alloquy_engine::decoder::snapshot::Reading;
use alloquy_engine::decoder::{
    CacheStatistics, DecodeEvent, DecodeEventKind, Snapshot, SnapshotOrigin, SnapshotRefusal, SnapshotSource,
};
use futures::channel::{mpsc, oneshot};

use super::guided_sampler::GuidedSampler;
use super::scoring::Scoring;
use crate::sampler::Sampler;

/// What the thread is asked to do.
#[derive(Debug)]
pub(super) enum Work {
    Generate(Box<Job>),
    Score(Scoring),
    Statistics(oneshot::Sender<CacheStatistics>),
    Snapshot(Prompt, SnapshotOrigin, oneshot::Sender<Result<Snapshot>>),
    Restore(Box<Reading<SnapshotSource>>, oneshot::Sender<Result<usize, SnapshotRefusal>>),
}

/// One generation: its prompt, how it is drawn, and where its events go.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) prompt: Prompt,
    pub(super) sampler: Sampler,
    pub(super) limit: usize,
    pub(super) guide: GuidedSampler,
    pub(super) cancel: Cancel,
    pub(super) events: mpsc::UnboundedSender<Result<DecodeEvent>>,
}

impl Job {
    /// Reports what happens now.
    pub(super) fn emit(&self, event: Result<DecodeEventKind>) {
        // Nobody listens any more: the stream was dropped, and `cancel` ends the work.
        let _ = self.events.unbounded_send(event.map(DecodeEvent::now));
    }
}
