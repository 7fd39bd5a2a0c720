//! One model call of a turn, from the request to the whole reply.

use futures::StreamExt;

use super::results::too_long;
use super::{PartialReplyPolicy, RunningTurn, TurnEvent};
use crate::chat_model::{Reply, ReplyStream, Request};
use crate::message::{Message, Role};
use crate::processor::Delta;
use crate::report::FinishReason;
use crate::stream::Emitter;
use crate::turn::TurnRequest;
use crate::{Error, ErrorKind, Result};

/// A model call that the model has accepted.
enum Begun {
    /// The model has generated a first delta.
    Generating(ReplyStream, Delta),
    /// The reply ended without a delta.
    Ended(Reply),
}

impl RunningTurn {
    /// Calls the model and returns its reply.
    pub(super) async fn reply(
        &mut self,
        ask: &TurnRequest,
        model_calls: usize,
        emit: &mut Emitter<TurnEvent>,
    ) -> Result<Reply> {
        self.must_take_beginning(ask)?;
        let begun = match self.begin(self.request(ask, model_calls)).await {
            Err(error) if error.kind() == ErrorKind::ContextOverflow => {
                self.begin_shorter(ask, model_calls, error, emit).await
            }
            begun => begun,
        };
        // The messages of a cancelled request are stored too.
        if begun.as_ref().err().is_none_or(Error::is_cancelled) {
            self.store_messages(emit).await?;
        }
        let (mut stream, mut next) = match begun? {
            Begun::Generating(stream, first) => (stream, Some(first)),
            Begun::Ended(reply) => return Ok(reply),
        };
        while let Some(delta) = next {
            emit.send(TurnEvent::Delta(delta)).await;
            next = stream.next().await;
            if let Some(delta) = &next {
                self.guard.said(delta);
            }
        }
        let outcome = stream.finish().await;
        match (self.parts.partial_replies, outcome) {
            (PartialReplyPolicy::Keep, Err(error)) => failed(self.guard.message(), error),
            (PartialReplyPolicy::Discard, Ok(reply)) => reply.complete(),
            (_, outcome) => outcome,
        }
    }

    /// Refuses what the model would ignore.
    fn must_take_beginning(&self, ask: &TurnRequest) -> Result<()> {
        if ask.beginning.is_none() || self.parts.model.takes_beginnings() {
            return Ok(());
        }
        let message = format!(
            "model {:?} begins its replies itself: send the request without their beginning, or to a local model",
            self.model
        );
        Err(Error::new(ErrorKind::Unsupported, message))
    }

    /// Calls the model and waits for its first delta.
    ///
    /// # Errors
    /// Those with which the model refuses the request; nothing was generated then.
    async fn begin(&mut self, request: Request) -> Result<Begun> {
        self.guard.begin();
        let mut stream = self.next().call(request).await?;
        if let Some(first) = stream.next().await {
            self.guard.said(&first);
            return Ok(Begun::Generating(stream, first));
        }
        let reply = stream.finish().await?;
        let is_failed = reply.message.is_empty() && reply.error.is_some();
        Ok(Begun::Ended(if is_failed { reply.complete()? } else { reply }))
    }

    /// Calls the model again if unread tool results do not fit into its context. The longest of them become errors, as
    /// few as possible. The original results stay as a branch.
    ///
    /// # Errors
    /// `overflow` if shorter results do not help.
    async fn begin_shorter(
        &mut self,
        ask: &TurnRequest,
        model_calls: usize,
        overflow: Error,
        emit: &mut Emitter<TurnEvent>,
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

    /// Finds the tool results at the end of the path, or at the end of its stored part: an earlier turn may have ended
    /// before the model read them.
    fn unread_results(&self) -> Option<(usize, Message)> {
        let ends = [self.path.len(), self.path.len() - self.unstored.len()];
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
            request.output.after_calls();
            request.beginning = None;
        }
        request
    }
}

/// Turns the text of a model that failed into a reply, or returns the error if there is no text.
fn failed(said: Message, error: Error) -> Result<Reply> {
    if said.is_empty() {
        return Err(error);
    }
    let finish = if error.is_cancelled() { FinishReason::Cancelled } else { FinishReason::Error };
    Ok(Reply { finish, error: Some(format!("{error:#}")), ..Reply::new(said) })
}
