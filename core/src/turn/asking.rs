//! One model call of a turn, from the request to the whole reply. Makes no nodes.

use futures::StreamExt;

use super::results::too_long;
use super::{Line, PartialReplies, TurnEvent};
use crate::chat_model::{Reply, ReplyStream, Request};
use crate::message::{Message, Role};
use crate::processor::Delta;
use crate::report::FinishReason;
use crate::stream::Emit;
use crate::turn::TurnRequest;
use crate::{Error, ErrorKind, Result};

/// A model call that was not refused.
enum Begun {
    /// The model has said something.
    Saying(ReplyStream, Delta),
    /// It ended without a word.
    Ended(Reply),
}

impl Line {
    /// Asks the model, and returns what it said.
    pub(super) async fn reply(
        &mut self,
        ask: &TurnRequest,
        model_calls: usize,
        emit: &mut Emit<TurnEvent>,
    ) -> Result<Reply> {
        let begun = match self.begin(self.request(ask, model_calls)).await {
            Err(error) if error.kind() == ErrorKind::ContextOverflow => {
                self.begin_shorter(ask, model_calls, error, emit).await
            }
            begun => begun,
        };
        // What was asked and then stopped was asked nevertheless.
        if begun.as_ref().err().is_none_or(Error::is_cancelled) {
            self.store_said(emit).await?;
        }
        let (mut stream, mut next) = match begun? {
            Begun::Saying(stream, first) => (stream, Some(first)),
            Begun::Ended(reply) => return Ok(reply),
        };
        while let Some(delta) = next {
            emit.send(TurnEvent::Delta(delta)).await;
            next = stream.next().await;
            if let Some(delta) = &next {
                self.abandoned.said(delta);
            }
        }
        let outcome = stream.finish().await;
        match (self.parts.partial_replies, outcome) {
            (PartialReplies::Keep, Err(error)) => failed(self.abandoned.message(), error),
            (PartialReplies::Discard, Ok(reply)) => reply.complete(),
            (_, outcome) => outcome,
        }
    }

    /// Asks the model, and waits until it says something.
    ///
    /// # Errors
    /// Whatever it refuses the request with: nothing was said then.
    async fn begin(&mut self, request: Request) -> Result<Begun> {
        self.abandoned.begin();
        let mut stream = self.next().call(request).await?;
        if let Some(first) = stream.next().await {
            self.abandoned.said(&first);
            return Ok(Begun::Saying(stream, first));
        }
        let reply = stream.finish().await?;
        let is_failed = reply.message.is_empty() && reply.error.is_some();
        Ok(Begun::Ended(if is_failed { reply.complete()? } else { reply }))
    }

    /// Asks the model once more when its context cannot take results of tools that it has not read yet: the longest of them
    /// become errors, as few as it takes. What they replace stays, as a branch.
    ///
    /// # Errors
    /// `overflow` where results are not to blame.
    async fn begin_shorter(
        &mut self,
        ask: &TurnRequest,
        model_calls: usize,
        overflow: Error,
        emit: &mut Emit<TurnEvent>,
    ) -> Result<Begun> {
        let Some((index, whole)) = self.unread_results() else {
            return Err(overflow);
        };
        for shorter in too_long(&whole, &overflow) {
            let mut request = self.request(ask, model_calls);
            request.path.replace(index, shorter.message.clone());
            match self.begin(request).await {
                Err(error) if error.kind() == ErrorKind::ContextOverflow => {}
                begun => {
                    if begun.is_ok() {
                        self.replace(index, shorter, emit).await;
                    }
                    return begun;
                }
            }
        }
        Err(overflow)
    }

    /// Finds the results at the end of the path, or at the end of what was there before this turn spoke: an earlier turn may
    /// have ended before the model could refuse them.
    fn unread_results(&self) -> Option<(usize, Message)> {
        let ends = [self.path.len(), self.path.len() - self.unsaid.len()];
        for end in ends {
            let index = end.checked_sub(1)?;
            let message = &self.path.get(index)?.message;
            if message.role == Role::Tool {
                return Some((index, message.clone()));
            }
        }
        None
    }

    fn request(&self, ask: &TurnRequest, model_calls: usize) -> Request {
        let path = self.path.messages().clone();
        let request = self.parts.request(&self.tools, &self.record, path, ask);
        let mut request = request.origin(self.origin()).stop(self.stop.clone());
        if model_calls > 0 {
            request.guidance.after_calls();
        }
        request
    }
}

/// Keeps what a model had said when it failed; before the first word there is nothing to keep.
fn failed(said: Message, error: Error) -> Result<Reply> {
    if said.is_empty() {
        return Err(error);
    }
    let finish = if error.is_cancelled() { FinishReason::Cancelled } else { FinishReason::Error };
    Ok(Reply { finish, error: Some(format!("{error:#}")), ..Reply::new(said) })
}
