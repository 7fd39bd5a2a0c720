//! Models whose computed prompts are saved, and places for them.

use alloquy_core::media::Digest;
use alloquy_core::prompt::PromptUnit;
use alloquy_core::{Owner, Request, Result};
use alloquy_engine::decoder::snapshot::Beginning;
use alloquy_engine::decoder::{
    HeldPrompt, Snapshot, SnapshotError, SnapshotIdentity, SnapshotModel, SnapshotSource,
};
use async_trait::async_trait;

/// Saves the number of messages as tokens, for models without tokens.
#[derive(Debug)]
pub(crate) struct CountedSnapshots;

fn units(request: &Request) -> Vec<PromptUnit> {
    (0..).map(PromptUnit::Token).take(request.path.len()).collect()
}

#[async_trait]
impl SnapshotModel for CountedSnapshots {
    fn origin(&self) -> Option<SnapshotIdentity> {
        Some(SnapshotIdentity::new(Digest::of(b"counted"), Digest::of(b"messages")))
    }

    async fn held(&self, request: &Request) -> Result<HeldPrompt> {
        Ok(HeldPrompt::new(units(request), 0))
    }

    async fn snapshot(&self, request: &Request) -> Result<Snapshot> {
        let beginning = Beginning { units: units(request), was_longer: false };
        Ok(Snapshot::of_state(self.origin().expect("an origin"), beginning, b"state"))
    }

    async fn restore_for(&self, _: &Owner, from: SnapshotSource) -> Result<usize, SnapshotError> {
        usize::try_from(from.length()).map_err(|_| SnapshotError::Damaged)
    }
}
