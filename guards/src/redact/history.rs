//! The middleware that redacts what the model sees of a conversation.

use std::collections::BTreeSet;

use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::{ReplyStream, Request, Result, Role};
use async_trait::async_trait;

use super::blocks::Blocks;
use super::message;
use super::ordered::Ids;
use super::redactor::{Counts, Redactor};
use super::replies::note;

/// The name of the fact with the number of matches in the history, in [`Reply::facts`](alloquy_core::Reply::facts).
///
/// [`RedactHistory`] has an example.
pub const HISTORY_REDACTION_FACT: &str = "alloquy.redaction.history";

/// Redacts the messages of a conversation before the model sees them. The stored conversation keeps them.
///
/// Messages of users, of the model and of tools are redacted, also in the preface; [`RedactHistory::roles`] changes which. Media are
/// not read. A changed reply of the model is tokenized again, because its token ids spell what was removed. A reply whose history
/// contained matches has their number, by pattern, as [`HISTORY_REDACTION_FACT`].
///
/// ```
/// use alloquy_core::{Manager, Preface};
/// use alloquy_guards::redact::{RedactHistory, Redactor};
/// use alloquy_testing::EchoModel;
///
/// # pollster::block_on(async {
/// let guard = RedactHistory::new(Redactor::named(["card"])?);
/// let manager = Manager::builder(EchoModel).middleware(guard).build()?;
/// let conversation = manager.create(Preface::default()).await?;
/// let turn = conversation.send("Pay with 4111 1111 1111 1111.").await?;
/// assert_eq!(turn.text(), "Pay with [card].");
/// assert_eq!(conversation.history().await?[0].message.text(), "Pay with 4111 1111 1111 1111.");
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RedactHistory {
    redactor: Redactor,
    roles: BTreeSet<&'static str>,
}

impl RedactHistory {
    /// Creates the middleware.
    pub fn new(redactor: Redactor) -> Self {
        Self { redactor, roles: BTreeSet::new() }.roles([Role::User, Role::Assistant, Role::Tool])
    }

    /// Sets the roles whose messages are redacted.
    #[must_use]
    pub fn roles(mut self, roles: impl IntoIterator<Item = Role>) -> Self {
        self.roles = roles.into_iter().map(Role::as_str).collect();
        self
    }

    fn redacted(&self, mut request: Request) -> Result<(Request, Counts)> {
        let mut counts = Counts::new();
        // A call and its result have the same id, and so the same replacement.
        let mut ids = Ids::new("redacted_history_".to_owned());
        for message in &mut request.preface.messages {
            if self.roles.contains(message.role.as_str()) {
                message::redact(message, &self.redactor, Blocks::Joined, &mut ids, &mut counts)?;
            }
        }
        let mut has_other_replies = false;
        for place in 0..request.path.len() {
            let Some(message) = request.path.get(place) else { break };
            if !self.roles.contains(message.role.as_str()) {
                continue;
            }
            let mut redacted = message.clone();
            if message::redact(&mut redacted, &self.redactor, Blocks::Joined, &mut ids, &mut counts)? {
                has_other_replies |= redacted.role == Role::Assistant;
                request.path.replace(place, redacted);
            }
        }
        if has_other_replies {
            // It is unknown which of the ids spell what was removed.
            request.replies.clear();
        }
        Ok((request, counts))
    }
}

#[async_trait]
impl Middleware for RedactHistory {
    async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
        let (request, counts) = self.redacted(request)?;
        let stream = next.call(request).await?;
        if counts.is_empty() {
            return Ok(stream);
        }
        Ok(stream.map_result(move |mut reply| {
            note(&mut reply, HISTORY_REDACTION_FACT, counts);
            Ok(reply)
        }))
    }

    async fn prepare(&self, request: Request) -> Result<Request> {
        Ok(self.redacted(request)?.0)
    }
}
