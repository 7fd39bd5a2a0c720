//! The middleware that measures model calls, for all protocols.

use std::sync::Arc;
use std::time::Instant;

use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::report::FinishReason;
use alloquy_core::stream::{Emitter, EventStream};
use alloquy_core::{Delta, Error, Reply, ReplyStream, Request, Result};
use async_trait::async_trait;
use futures::StreamExt;

use super::measured::Measured;
use super::{CHAT, Metrics};
use crate::tally::Tally;

/// Measures the model calls of one request's turn.
#[derive(Clone, Debug)]
pub(crate) struct MeasuredCalls {
    metrics: Metrics,
    model: Arc<str>,
    tally: Tally,
}

impl MeasuredCalls {
    /// Measures calls of a model, by the name under which it is served.
    pub(crate) fn new(metrics: &Metrics, model: &str, tally: &Tally) -> Self {
        let model = Arc::from(model);
        tally.model(&model);
        Self { metrics: metrics.clone(), model, tally: tally.clone() }
    }
}

/// A call of a chat model that is measured.
struct Call {
    measured: Measured,
    first: Option<Instant>,
}

impl Call {
    fn begin(of: &MeasuredCalls) -> Self {
        Self { measured: Measured::begin(&of.metrics, CHAT, &of.model, &of.tally), first: None }
    }

    /// Notes the first token.
    fn said(&mut self) {
        if self.first.is_none() {
            self.first = Some(Instant::now());
            self.measured.first_token();
        }
    }

    fn failed(&mut self, error: &Error) {
        self.measured.set_error(Some(error.kind().as_str()));
    }

    /// Counts what a reply took.
    fn replied(&mut self, reply: &Reply) {
        self.measured.set_error(match reply.finish {
            _ if reply.error.is_some() => Some("model"),
            FinishReason::Cancelled => Some("cancelled"),
            _ => None,
        });
        self.measured.used(reply.usage, reply.cache);
        let further = reply.usage.generated.saturating_sub(1);
        if let Some(first) = self.first.filter(|_| further > 0) {
            self.measured.further_tokens(first.elapsed(), further);
        }
    }
}

async fn run(mut call: Call, mut stream: ReplyStream, mut emit: Emitter<Delta>) -> Result<Reply> {
    while let Some(delta) = stream.next().await {
        call.said();
        emit.send(delta).await;
    }
    let outcome = stream.finish().await;
    match &outcome {
        Ok(reply) => call.replied(reply),
        Err(error) => call.failed(error),
    }
    outcome
}

#[async_trait]
impl Middleware for MeasuredCalls {
    async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
        let mut call = Call::begin(self);
        match next.call(request).await {
            Ok(stream) => Ok(EventStream::new(move |emit| run(call, stream, emit))),
            Err(error) => {
                call.failed(&error);
                Err(error)
            }
        }
    }
}
