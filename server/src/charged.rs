//! The limits of a key for calls that are no turns: those of models of vectors, of rerankers, and of what scores texts.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use alloquy_core::chat_model::ChatModel;
use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::prompt::PromptCounter;
use alloquy_core::report::{CacheReport, Usage};
use alloquy_core::stream::EventStream;
use alloquy_core::{Error, ErrorKind, Message, Reply, ReplyStream, Request, Result, SamplingOptions};
use async_trait::async_trait;
use futures::future::BoxFuture;

/// A call of so many tokens, where they are known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChargedCall(pub(crate) Option<usize>);

impl ChargedCall {
    /// Takes the call from limits, which are those that apply to turns, for a request that says whose it is.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] and [`ErrorKind::Invalid`] where a limit does not allow the call, and [`ErrorKind::Unsupported`] where a limit
    /// needs the number of tokens and nothing counts them.
    pub(crate) async fn take(self, mut request: Request, limits: &[Arc<dyn Middleware>]) -> Result<()> {
        // No reply follows.
        request.sampling = SamplingOptions { max_tokens: Some(0), ..SamplingOptions::default() };
        Next::new(limits, &self).call(request).await?.finish().await.map(drop)
    }
}

impl PromptCounter for ChargedCall {
    fn units(&self, _: &Request) -> Result<usize> {
        self.0.ok_or_else(|| {
            let message = "this model does not count the tokens of its texts, so a key with tokens_per_day cannot use it";
            Error::new(ErrorKind::Unsupported, message)
        })
    }
}

#[async_trait]
impl ChatModel for ChargedCall {
    fn name(&self) -> &'static str {
        "charged"
    }

    /// Reports the tokens, and writes nothing.
    async fn reply(&self, _: Request) -> Result<ReplyStream> {
        let mut reply = Reply::new(Message::assistant(""));
        reply.usage = Usage::new(self.0.unwrap_or_default(), 0);
        Ok(EventStream::new(|_| async { Ok(reply) }))
    }

    async fn warm(&self, _: Request) -> Result<Option<CacheReport>> {
        Ok(None)
    }
}

/// What is done in a call, and how many tokens it took.
type Work<'a, T> = BoxFuture<'a, Result<(T, usize)>>;

/// A call whose exact tokens are known once it has ended: the most that it may take are reserved before.
pub(crate) struct SettledCall<'a, T> {
    /// The most tokens, where they are known.
    most: Option<usize>,
    /// It is done once.
    work: Mutex<Option<Work<'a, T>>>,
    outcome: Mutex<Option<T>>,
}

impl<T> fmt::Debug for SettledCall<'_, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SettledCall").field("most", &self.most).finish_non_exhaustive()
    }
}

impl<'a, T: Send> SettledCall<'a, T> {
    /// A call that takes `most` tokens at most. `work` returns what it made and how many tokens it took.
    pub(crate) fn new(most: Option<usize>, work: Work<'a, T>) -> Self {
        Self { most, work: Mutex::new(Some(work)), outcome: Mutex::new(None) }
    }

    /// Makes the call within limits, which are those of [`ChargedCall::take`]. One that fails takes no tokens.
    ///
    /// # Errors
    /// As [`ChargedCall::take`], and those of the work.
    pub(crate) async fn make(self, mut request: Request, limits: &[Arc<dyn Middleware>]) -> Result<T> {
        // No reply follows.
        request.sampling = SamplingOptions { max_tokens: Some(0), ..SamplingOptions::default() };
        Next::new(limits, &self).call(request).await?.finish().await?;
        let outcome = self.outcome.into_inner().unwrap_or_else(PoisonError::into_inner);
        outcome.ok_or_else(was_done)
    }
}

/// The error for work that a limit wants done twice, or not at all.
fn was_done() -> Error {
    Error::new(ErrorKind::Backend, "a limit did not make the call once")
}

#[async_trait]
impl<T: Send> ChatModel for SettledCall<'_, T> {
    fn name(&self) -> &'static str {
        "settled"
    }

    /// Does the work, reports its tokens, and writes nothing.
    async fn reply(&self, _: Request) -> Result<ReplyStream> {
        let work = self.work.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (made, tokens) = work.ok_or_else(was_done)?.await?;
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(made);
        let mut reply = Reply::new(Message::assistant(""));
        reply.usage = Usage::new(tokens, 0);
        Ok(EventStream::new(|_| async { Ok(reply) }))
    }

    async fn warm(&self, _: Request) -> Result<Option<CacheReport>> {
        Ok(None)
    }
}
