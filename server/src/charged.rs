//! The limits of a key for calls that are no turns: those of models of vectors, and of rerankers.

use std::sync::Arc;

use alloquy_core::chat_model::ChatModel;
use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::prompt::PromptCounter;
use alloquy_core::report::{CacheReport, Usage};
use alloquy_core::stream::EventStream;
use alloquy_core::{Error, ErrorKind, Message, Reply, ReplyStream, Request, Result, SamplingOptions};
use async_trait::async_trait;

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
