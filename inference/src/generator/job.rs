//! The work that is sent to an engine's thread.

use alloquy_core::Result;
use alloquy_core::media::Digest;
use alloquy_core::prompt::Prompt;
use alloquy_engine::CancelToken;
use alloquy_engine::decoder::snapshot::Reading;
use alloquy_engine::decoder::{
    CacheStatistics, DecodeEvent, DecodeEventKind, Snapshot, SnapshotError, SnapshotIdentity, SnapshotSource,
};
use futures::channel::{mpsc, oneshot};

use super::exclusion::Exclusion;
use super::guided_sampler::GuidedSampler;
use super::scoring::Scoring;
use super::slots::OwnedPrompt;
use crate::sampler::Sampler;

/// One piece of work for the thread.
#[derive(Debug)]
pub(super) enum Work {
    Generate(Box<Job>),
    Score(Scoring),
    Statistics(oneshot::Sender<CacheStatistics>),
    Held(Prompt, Option<Digest>, oneshot::Sender<usize>),
    Snapshot(Prompt, SnapshotIdentity, oneshot::Sender<Result<Snapshot>>),
    Restore(Box<Reading<SnapshotSource>>, Option<Digest>, oneshot::Sender<Result<usize, SnapshotError>>),
}

/// One generation: its prompt, its sampling, and the reader of its events.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) prompt: Prompt,
    /// Whose sessions serve it.
    pub(super) owner: Option<Digest>,
    pub(super) sampler: Sampler,
    pub(super) limit: usize,
    pub(super) guide: GuidedSampler,
    pub(super) excluded: Exclusion,
    pub(super) cancel: CancelToken,
    pub(super) events: mpsc::UnboundedSender<Result<DecodeEvent>>,
}

impl Job {
    /// Returns the prompt with its owner.
    pub(super) fn owned_prompt(&self) -> OwnedPrompt<'_> {
        OwnedPrompt { units: &self.prompt.units, owner: self.owner }
    }

    /// Sends an event to the reader of the stream.
    pub(super) fn emit(&self, event: Result<DecodeEventKind>) {
        // Fails when the stream was dropped: then `cancel` ends the work.
        let _ = self.events.unbounded_send(event.map(DecodeEvent::now));
    }
}
