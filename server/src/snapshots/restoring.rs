//! The middleware of stored conversations: it restores a snapshot before a call of the model, and remembers the turn after it.

use std::sync::Arc;
use std::time::Duration;

use alloquy_core::chat_model::Origin;
use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::stop::StopSignal;
use alloquy_core::{Error, ErrorKind, Reply, ReplyStream, Request, Result};
use alloquy_engine::decoder::{SnapshotContents, SnapshotError, SnapshotModel};
use async_trait::async_trait;

use super::Snapshots;
use super::recent::RecentTurn;
use super::report::SnapshotReport;

/// How long a turn waits for each answer of the place of the snapshots.
const PATIENCE: Duration = Duration::from_secs(10);

/// The name of the report among the facts of a reply.
const FACT: &str = "snapshot";

/// What is around each call of one model by turns of stored conversations, as the innermost middleware: it sees requests as the model
/// does.
#[derive(Debug)]
pub(crate) struct RestoringCalls {
    snapshots: Snapshots,
    /// The name under which the model is served.
    name: String,
    model: Arc<dyn SnapshotModel>,
}

impl RestoringCalls {
    pub(crate) fn new(snapshots: &Snapshots, name: &str, model: &Arc<dyn SnapshotModel>) -> Self {
        Self { snapshots: snapshots.clone(), name: name.to_owned(), model: Arc::clone(model) }
    }

    /// Restores the snapshot of a conversation if that helps, and returns what is to be reported.
    async fn restored(&self, request: &Request, origin: &Origin) -> Option<SnapshotReport> {
        let report = match self.restore(request, origin).await {
            Ok(report) => report,
            Err(error) => {
                self.snapshots.note_failure();
                tracing::warn!(error = format!("{error:#}"), "a snapshot cannot be read");
                Some(SnapshotReport::unavailable("the snapshot could not be read: the log has the cause"))
            }
        };
        match &report {
            Some(SnapshotReport::Restored(tokens)) => {
                self.snapshots.metrics.snapshot_restored(&self.name, *tokens);
            }
            Some(SnapshotReport::Refused { reason, .. }) => {
                self.snapshots.metrics.snapshot_refused(&self.name, reason);
            }
            None => {}
        }
        report
    }

    async fn restore(&self, request: &Request, origin: &Origin) -> Result<Option<SnapshotReport>> {
        let (owner, id) = (&origin.owner, &origin.conversation);
        let mut prompt = None;
        // After a turn here there is usually nothing to look for, which the model knows faster than a bucket.
        let recent = self.snapshots.recent(owner, id).is_some_and(|turn| turn.model == self.name);
        if recent {
            // A prompt that cannot be made is an error of the call itself.
            let Ok(held) = self.model.held(request).await else { return Ok(None) };
            if held.has_earlier_turns() {
                return Ok(None);
            }
            prompt = Some(held);
        }
        if self.snapshots.is_paused() {
            let message = "the place of the snapshots has failed a moment ago";
            return Ok(Some(SnapshotReport::unavailable(message)));
        }
        let summary = in_time(self.snapshots.summary(owner, id)).await?;
        let Some(summary) = summary else { return Ok(None) };
        let contents = match summary.contents {
            Ok(contents) => contents,
            Err(refusal) => return Ok(Some(refusal.into())),
        };
        if let Some(refusal) = self.refused(&contents) {
            return Ok(Some(refusal.into()));
        }
        let prompt = match prompt {
            Some(prompt) => prompt,
            None => match self.model.held(request).await {
                Ok(prompt) => prompt,
                Err(_) => return Ok(None),
            },
        };
        if prompt.gain(&contents.units) == 0 {
            return Ok(None);
        }
        let Some(source) = in_time(self.snapshots.open(owner, id)).await? else { return Ok(None) };
        Ok(Some(match self.model.restore_for(owner, source).await {
            Ok(tokens) => SnapshotReport::Restored(tokens),
            Err(refusal) => refusal.into(),
        }))
    }

    /// Returns why a snapshot is not of this model.
    fn refused(&self, contents: &SnapshotContents) -> Option<SnapshotError> {
        let Some(origin) = self.model.origin() else { return Some(SnapshotError::Unsupported) };
        if contents.origin.model != origin.model {
            return Some(SnapshotError::OtherModel);
        }
        (contents.origin.template != origin.template).then_some(SnapshotError::OtherTemplate)
    }
}

/// Waits for the place of the snapshots, but not longer than a turn may wait for it.
async fn in_time<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::time::timeout(PATIENCE, work).await.unwrap_or_else(|_| {
        let message = format!("the place of the snapshots took more than {} seconds", PATIENCE.as_secs());
        Err(Error::new(ErrorKind::Store, message))
    })
}

#[async_trait]
impl Middleware for RestoringCalls {
    async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
        let Some(origin) = request.origin.clone() else { return next.call(request).await };
        let report = self.restored(&request, &origin).await;
        let mut sent = request.clone();
        // The turn ends, and what it was stopped by with it.
        sent.stop = StopSignal::default();
        let stream = next.call(request).await?;
        let (snapshots, model) = (self.snapshots.clone(), self.name.clone());
        Ok(stream.map_result(move |mut reply| {
            if let Some(report) = report {
                reply.facts.insert(FACT.to_owned(), report.json());
            }
            if reply.error.is_none() {
                snapshots.recent.note(turn(origin, model, sent, &reply));
            }
            Ok(reply)
        }))
    }
}

fn turn(origin: Origin, model: String, request: Request, reply: &Reply) -> RecentTurn {
    let Origin { owner, conversation, parent, .. } = origin;
    let (reply, tokens) = (reply.message.clone(), reply.tokens.clone());
    RecentTurn { owner, conversation, model, parent, request, reply, tokens }
}
