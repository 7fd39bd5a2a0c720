//! Counters: how many calls, tokens, warnings and tool calls there were, and how long they took, in one place.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::report::Warning;
use alloquy_core::stream::{Emitter, EventStream};
use alloquy_core::{Delta, Error, Reply, ReplyStream, Request, Result};
use async_trait::async_trait;
use futures::StreamExt;
use serde::Serialize;
use serde_json::Value;

use crate::clock::{Clock, SystemClock};

/// Counts the calls of models. Copies share the counts, so that a server shows what its managers count.
///
/// The counts have no text of a conversation. A call that is refused counts for the usual model, because the name in its request may be
/// any text.
///
/// ```
/// use alloquy_core::{Manager, Preface};
/// use alloquy_guards::counters::Counters;
/// use alloquy_testing::EchoModel;
///
/// # pollster::block_on(async {
/// let counters = Counters::new("echo");
/// let manager = Manager::builder(EchoModel).middleware(counters.clone()).build()?;
/// let conversation = manager.create(Preface::default()).await?;
/// conversation.send("Hello").await?;
/// conversation.send("Goodbye").await?;
/// let counts = counters.read();
/// assert_eq!((counts["echo"].calls, counts["echo"].replies, counts["echo"].errors.len()), (2, 2, 0));
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Counters {
    /// The name for requests that name no model.
    model: Arc<str>,
    counts: Arc<Mutex<BTreeMap<String, Counts>>>,
    clock: Arc<dyn Clock>,
}

/// The counts of a model since the [`Counters`] were created.
///
/// [`Counters`] has an example.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Counts {
    /// Calls, however they ended.
    pub calls: u64,
    /// Replies that ended, also at a limit, or cancelled with a text.
    pub replies: u64,
    /// Calls whose stream was dropped before it ended.
    pub dropped: u64,
    /// Calls that failed, by the kind of the error, such as `context_overflow`.
    pub errors: BTreeMap<String, u64>,
    /// Replies by the reason of their end, such as `stop`.
    pub finish_reasons: BTreeMap<String, u64>,
    /// Tokens of prompts, with those that were cached.
    pub prompt_tokens: u64,
    /// Tokens of prompts that were cached.
    pub cached_tokens: u64,
    /// Tokens of replies.
    pub generated_tokens: u64,
    /// Tool calls in replies.
    pub tool_calls: u64,
    /// Warnings of replies by their names, such as `option_ignored`.
    pub warnings: BTreeMap<String, u64>,
    /// The time of all calls that ended, from the request to the end, in seconds.
    pub seconds: f64,
    /// The time of these calls up to their first delta, in seconds.
    pub first_delta_seconds: f64,
    /// How many calls had a delta, for the average of [`Counts::first_delta_seconds`].
    pub first_deltas: u64,
}

impl Counters {
    /// Creates counters of zero; `model` is the name for requests that name no model.
    pub fn new(model: impl Into<String>) -> Self {
        Self { model: model.into().into(), counts: Arc::default(), clock: Arc::new(SystemClock::default()) }
    }

    /// Sets the clock.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Returns the counts so far, by the name of the model.
    pub fn read(&self) -> BTreeMap<String, Counts> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Counts>> {
        // The counts are valid even if a thread panicked with the lock.
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self) -> Call {
        let start = self.clock.elapsed();
        let model = Arc::clone(&self.model);
        Call { counters: self.clone(), model, start, first_delta: None, has_ended: false }
    }
}

/// A call that is counted when it ends, or as dropped.
struct Call {
    counters: Counters,
    model: Arc<str>,
    start: Duration,
    first_delta: Option<Duration>,
    has_ended: bool,
}

impl Call {
    /// Notes the time of the first delta.
    fn said(&mut self) {
        if self.first_delta.is_none() {
            self.first_delta = Some(self.counters.clock.elapsed().saturating_sub(self.start));
        }
    }

    /// Counts the outcome.
    fn end(&mut self, outcome: Result<&Reply, &Error>) {
        self.has_ended = true;
        let took = self.counters.clock.elapsed().saturating_sub(self.start);
        let mut all = self.counters.lock();
        let counts = all.entry(self.model.to_string()).or_default();
        counts.calls += 1;
        counts.seconds += took.as_secs_f64();
        if let Some(first) = self.first_delta {
            counts.first_delta_seconds += first.as_secs_f64();
            counts.first_deltas += 1;
        }
        match outcome {
            Ok(reply) => counts.add(reply),
            Err(error) => counts.fail(error),
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if !self.has_ended {
            let mut all = self.counters.lock();
            let counts = all.entry(self.model.to_string()).or_default();
            counts.calls += 1;
            counts.dropped += 1;
        }
    }
}

impl Counts {
    fn add(&mut self, reply: &Reply) {
        self.replies += 1;
        count(&mut self.finish_reasons, &reply.finish);
        self.prompt_tokens += number(reply.usage.prompt);
        self.cached_tokens += number(reply.usage.cached);
        self.generated_tokens += number(reply.usage.generated);
        self.tool_calls += number(reply.message.tool_calls().count());
        for warning in &reply.warnings {
            self.warn(warning);
        }
    }

    fn warn(&mut self, warning: &Warning) {
        count(&mut self.warnings, warning);
    }

    fn fail(&mut self, error: &Error) {
        *self.errors.entry(error.kind().as_str().to_owned()).or_default() += 1;
    }
}

/// Counts a value under its name in JSON: a text, or the only key of an object.
fn count(counts: &mut BTreeMap<String, u64>, value: &impl Serialize) {
    let name = match serde_json::to_value(value) {
        Ok(Value::String(name)) => name,
        Ok(Value::Object(fields)) => fields.keys().next().cloned().unwrap_or_default(),
        _ => "other".to_owned(),
    };
    *counts.entry(name).or_default() += 1;
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

async fn run(mut call: Call, mut stream: ReplyStream, mut emit: Emitter<Delta>) -> Result<Reply> {
    while let Some(delta) = stream.next().await {
        call.said();
        emit.send(delta).await;
    }
    let outcome = stream.finish().await;
    call.end(outcome.as_ref());
    outcome
}

#[async_trait]
impl Middleware for Counters {
    async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
        let model = request.model.clone();
        let mut call = self.begin();
        match next.call(request).await {
            Ok(stream) => {
                if let Some(model) = model {
                    call.model = model.into();
                }
                Ok(EventStream::new(move |emit| run(call, stream, emit)))
            }
            Err(error) => {
                call.end(Err(&error));
                Err(error)
            }
        }
    }
}
