//! Snapshots of what a model has computed of conversations, after its policy for a full context.

use alloquy_core::{Owner, Request, Result};
use alloquy_engine::decoder::{
    HeldPrompt, Snapshot, SnapshotError, SnapshotIdentity, SnapshotModel, SnapshotSource,
};
use async_trait::async_trait;

use super::Model;

#[async_trait]
impl SnapshotModel for Model {
    fn origin(&self) -> Option<SnapshotIdentity> {
        SnapshotModel::origin(self.language_model())
    }

    async fn held(&self, request: &Request) -> Result<HeldPrompt> {
        let (request, _) = self.fitted(request.clone()).await?;
        self.language_model().held(&request).await
    }

    async fn snapshot(&self, request: &Request) -> Result<Snapshot> {
        let (request, _) = self.fitted(request.clone()).await?;
        self.language_model().snapshot(&request).await
    }

    async fn restore_for(&self, owner: &Owner, from: SnapshotSource) -> Result<usize, SnapshotError> {
        self.language_model().restore_for(owner, from).await
    }
}
