//! The middleware that measures model calls, for all protocols.

use std::sync::Arc;
use std::time::Instant;

use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::report::FinishReason;
use alloquy_core::stream::{Emitter, EventStream};
use alloquy_core::{Delta, Reply, ReplyStream, Request, Result};
use async_trait::async_trait;
use futures::StreamExt;

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

/// A call that is measured when it ends, or when it is dropped.
struct Call {
    of: MeasuredCalls,
    start: Instant,
    first: Option<Instant>,
    /// Why the call failed. It counts as dropped until it has ended.
    error: Option<&'static str>,
}

impl Call {
    fn begin(of: &MeasuredCalls) -> Self {
        Self { of: of.clone(), start: Instant::now(), first: None, error: Some("dropped") }
    }

    /// Notes the first token.
    fn said(&mut self) {
        if self.first.is_none() {
            self.first = Some(Instant::now());
            self.of.metrics.first_token(&self.of.model, self.start.elapsed());
        }
    }

    /// Counts what a reply took.
    fn replied(&mut self, reply: &Reply) {
        self.error = match reply.finish {
            _ if reply.error.is_some() => Some("model"),
            FinishReason::Cancelled => Some("cancelled"),
            _ => None,
        };
        self.of.tally.add(reply.usage);
        self.of.metrics.used(&self.of.model, reply.usage, reply.cache);
        let further = reply.usage.generated.saturating_sub(1);
        if let Some(first) = self.first.filter(|_| further > 0) {
            self.of.metrics.further_tokens(&self.of.model, first.elapsed(), further);
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.of.metrics.call_ended(CHAT, &self.of.model, self.error, self.start.elapsed());
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
        Err(error) => call.error = Some(error.kind().as_str()),
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
                call.error = Some(error.kind().as_str());
                Err(error)
            }
        }
    }
}
