//! Fallback: a model that tries again, and then other models, before the first delta of a reply.
//!
//! [`Fallback`] is a [`ChatModel`], so it is used wherever a model is.

mod breaker;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use alloquy_core::prompt::PreparedPrompt;
use alloquy_core::report::{CacheReport, TextScore, Warning};
use alloquy_core::stream::EventStream;
use alloquy_core::tool::Timer;
use alloquy_core::{ChatModel, Delta, Error, ErrorKind, Reply, ReplyStream, Request, Result};
use async_trait::async_trait;
use futures::StreamExt;
use futures::future::{Either, select};

use crate::clock::{Clock, SystemClock};
use crate::limits::RetryAfter;
use breaker::Breaker;

pub use breaker::BreakerPolicy;

/// How often a model is tried, and how long is waited for it.
///
/// ```
/// use std::time::Duration;
///
/// use alloquy_guards::fallback::RetryPolicy;
///
/// let policy = RetryPolicy::default().attempts(3).first_delta_within(Duration::from_secs(20));
/// assert_eq!((policy.attempts, policy.back_off), (3, Duration::from_millis(500)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryPolicy {
    /// How often each model is tried at most; 0 counts as 1.
    pub attempts: u32,
    /// How long is waited before the second attempt. Each further wait is twice as long.
    pub back_off: Duration,
    /// The longest wait before an attempt. An error that says to wait longer ends the attempts of its model.
    pub longest_wait: Duration,
    /// How long is waited for the first delta.
    pub first_delta_within: Duration,
}

impl Default for RetryPolicy {
    /// Two attempts, half a second apart, of at most 60 seconds.
    fn default() -> Self {
        Self {
            attempts: 2,
            back_off: Duration::from_millis(500),
            longest_wait: Duration::from_secs(10),
            first_delta_within: Duration::from_secs(60),
        }
    }
}

impl RetryPolicy {
    /// Sets how often each model is tried at most.
    #[must_use]
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts;
        self
    }

    /// Sets how long is waited before the second attempt.
    #[must_use]
    pub fn back_off(mut self, wait: Duration) -> Self {
        self.back_off = wait;
        self
    }

    /// Sets how long is waited for the first delta.
    #[must_use]
    pub fn first_delta_within(mut self, time: Duration) -> Self {
        self.first_delta_within = time;
        self
    }
}

/// Answers with the first of several models that can.
///
/// A model is tried again where that may help: after [`ErrorKind::Busy`] and [`ErrorKind::Backend`], and where its first delta takes
/// too long. Then the next model is tried, also for a prompt that does not fit. A request that is invalid, or cancelled, is not tried
/// again. After the first delta nothing is tried again, because a caller has seen it.
///
/// A model that failed several times in a row is left out for a while ([`BreakerPolicy`]). A reply of another model than the first has
/// [`Warning::ModelReplaced`] for each model before it. If every model fails, the error is that of the last one, with those of the
/// others.
///
/// `reply` waits for the first delta.
///
/// ```
/// use std::time::Duration;
///
/// use alloquy_core::Conversation;
/// use alloquy_core::report::Warning;
/// use alloquy_guards::fallback::Fallback;
/// use alloquy_testing::{EchoModel, ScriptedModel, ScriptedReply};
///
/// /// Hosts with a runtime pass the runtime's function instead.
/// async fn sleep(duration: Duration) {
///     std::thread::sleep(duration.min(Duration::from_millis(1)));
/// }
///
/// # pollster::block_on(async {
/// // A model that fails twice, and one that repeats.
/// let failures = vec![ScriptedReply::Fails(String::new()); 2];
/// let broken = ScriptedModel::replying(failures).named("large");
/// let model = Fallback::new(broken, sleep).or(EchoModel);
/// let turn = Conversation::new(model).send("Hello").await?;
/// assert_eq!(turn.text(), "Hello");
/// assert!(matches!(&turn.reply.warnings[..], [Warning::ModelReplaced { asked, .. }] if asked == "large"));
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Fallback {
    first: Entry,
    further: Vec<Entry>,
    timer: Arc<dyn Timer>,
    policy: RetryPolicy,
    clock: Arc<dyn Clock>,
}

#[derive(Clone, Debug)]
struct Entry {
    model: Arc<dyn ChatModel>,
    breaker: Arc<Breaker>,
}

impl Entry {
    fn new(model: impl ChatModel + 'static) -> Self {
        Self { model: Arc::new(model), breaker: Arc::default() }
    }
}

/// A reply whose first delta has arrived, or that ended without one.
struct Started {
    first: Option<Delta>,
    stream: ReplyStream,
    /// The reply, if it ended without a delta.
    ended: Option<Reply>,
}

impl Fallback {
    /// Creates a model that tries `model` first. The timer is a function such as `tokio::time::sleep`.
    pub fn new(model: impl ChatModel + 'static, timer: impl Timer + 'static) -> Self {
        Self {
            first: Entry::new(model),
            further: Vec::new(),
            timer: Arc::new(timer),
            policy: RetryPolicy::default(),
            clock: Arc::new(SystemClock::default()),
        }
    }

    /// Adds a model that is tried after those before it.
    #[must_use]
    pub fn or(mut self, model: impl ChatModel + 'static) -> Self {
        let mut entry = Entry::new(model);
        entry.breaker = Arc::new(Breaker::new(self.first.breaker.policy()));
        self.further.push(entry);
        self
    }

    /// Sets how often each model is tried.
    #[must_use]
    pub fn policy(mut self, policy: RetryPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets when a model that fails is left out.
    #[must_use]
    pub fn breaker(mut self, policy: BreakerPolicy) -> Self {
        for entry in std::iter::once(&mut self.first).chain(&mut self.further) {
            entry.breaker = Arc::new(Breaker::new(policy));
        }
        self
    }

    /// Sets the clock of the breakers.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Tries one model as often as the policy allows.
    async fn tried(&self, entry: &Entry, request: &Request) -> Result<Started> {
        let mut wait = self.policy.back_off;
        let mut attempt = 1;
        loop {
            if let Some(rest) = entry.breaker.closes_in(self.clock.elapsed()) {
                let words = format!("model {:?} failed several times and is left out", entry.model.name());
                return Err(Error::new(ErrorKind::Busy, words).with_source(RetryAfter(rest)));
            }
            let error = match self.started(entry, request.clone()).await {
                Ok(started) => {
                    entry.breaker.succeeded();
                    return Ok(started);
                }
                Err(error) => error,
            };
            if is_of_model(&error) {
                entry.breaker.failed(self.clock.elapsed());
            } else {
                entry.breaker.answered();
            }
            let asked_wait = RetryAfter::of(&error).unwrap_or_default().max(wait);
            let may_help = matches!(error.kind(), ErrorKind::Busy | ErrorKind::Backend);
            if !may_help || attempt >= self.policy.attempts || asked_wait > self.policy.longest_wait {
                return Err(error);
            }
            self.timer.sleep(asked_wait).await;
            if request.stop.is_stopped() {
                return Err(error);
            }
            wait = wait.saturating_mul(2).min(self.policy.longest_wait);
            attempt += 1;
        }
    }

    /// Waits for the first delta of a model.
    async fn started(&self, entry: &Entry, request: Request) -> Result<Started> {
        let within = self.policy.first_delta_within;
        let first = Box::pin(first_delta(&*entry.model, request));
        match select(first, self.timer.sleep(within)).await {
            Either::Left((started, _)) => started,
            Either::Right(_) => {
                let words = format!("model {:?} sent nothing within {within:?}", entry.model.name());
                Err(Error::new(ErrorKind::Backend, words))
            }
        }
    }
}

async fn first_delta(model: &dyn ChatModel, request: Request) -> Result<Started> {
    let mut stream = model.reply(request).await?;
    while let Some(first) = stream.next().await {
        if !is_empty(&first) {
            return Ok(Started { first: Some(first), stream, ended: None });
        }
    }
    let reply = stream.finish().await?;
    let empty = EventStream::new(|_| async { Err(Error::new(ErrorKind::Backend, "the reply has ended")) });
    Ok(Started { first: None, stream: empty, ended: Some(reply) })
}

/// Returns whether a delta shows nothing.
fn is_empty(delta: &Delta) -> bool {
    match delta {
        Delta::Text(text) | Delta::Thinking(text) => text.is_empty(),
        Delta::Channel(said) => said.text.is_empty(),
        _ => false,
    }
}

/// Returns whether an error says something of the model, and not of the request.
fn is_of_model(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Backend | ErrorKind::Busy | ErrorKind::Model | ErrorKind::Store)
}

/// Returns whether another model may answer a request that failed like this.
fn may_another(error: &Error) -> bool {
    let is_of_prompt = matches!(
        error.kind(),
        ErrorKind::ContextOverflow | ErrorKind::Unsupported | ErrorKind::Template | ErrorKind::Tokenize
    );
    is_of_model(error) || is_of_prompt
}

/// Returns the stream of a reply that has started.
fn resumed(started: Started, warnings: Vec<Warning>) -> ReplyStream {
    let Started { first, mut stream, ended } = started;
    EventStream::new(move |mut emit| async move {
        if let Some(first) = first {
            emit.send(first).await;
        }
        let mut reply = match ended {
            Some(reply) => reply,
            None => {
                while let Some(delta) = stream.next().await {
                    emit.send(delta).await;
                }
                stream.finish().await?
            }
        };
        reply.warnings.splice(..0, warnings);
        Ok(reply)
    })
}

impl fmt::Debug for Fallback {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names = vec![self.first.model.name()];
        names.extend(self.further.iter().map(|entry| entry.model.name()));
        formatter
            .debug_struct("Fallback")
            .field("models", &names)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl ChatModel for Fallback {
    /// Returns the name of the first model.
    fn name(&self) -> &str {
        self.first.model.name()
    }

    fn names(&self) -> Vec<&str> {
        self.first.model.names()
    }

    /// Returns whether all of them do, since each may answer.
    fn takes_beginnings(&self) -> bool {
        let mut all = std::iter::once(&self.first).chain(&self.further);
        all.all(|entry| entry.model.takes_beginnings())
    }

    async fn reply(&self, request: Request) -> Result<ReplyStream> {
        let mut failed: Vec<(&str, Error)> = Vec::new();
        for entry in std::iter::once(&self.first).chain(&self.further) {
            let mut asked = request.clone();
            if !failed.is_empty() {
                // The name is one of the first model's.
                asked.model = None;
            }
            match self.tried(entry, &asked).await {
                Ok(started) => {
                    let used = entry.model.name().to_owned();
                    let mut warnings = Vec::new();
                    for (asked, error) in &failed {
                        let reason = format!("{error:#}");
                        let asked = (*asked).to_owned();
                        warnings.push(Warning::ModelReplaced { asked, used: used.clone(), reason });
                    }
                    return Ok(resumed(started, warnings));
                }
                Err(error) if may_another(&error) && !request.stop.is_stopped() => {
                    failed.push((entry.model.name(), error));
                }
                Err(error) => return Err(error),
            }
        }
        let Some((_, last)) = failed.pop() else {
            return Err(Error::new(ErrorKind::Backend, "there is no model"));
        };
        if failed.is_empty() {
            return Err(last);
        }
        let before: Vec<_> = failed.iter().map(|(name, error)| format!("{name}: {error:#}")).collect();
        Err(last.context(format!("every model failed ({})", before.join("; "))))
    }

    /// Returns the prompt of the first model.
    fn prompt(&self, request: &Request) -> Result<Option<PreparedPrompt>> {
        self.first.model.prompt(request)
    }

    /// Computes the prompt of the first model ahead.
    async fn warm(&self, request: Request) -> Result<Option<CacheReport>> {
        self.first.model.warm(request).await
    }

    /// Scores with the first model.
    async fn score(&self, request: Request, targets: &[String]) -> Result<Vec<TextScore>> {
        self.first.model.score(request, targets).await
    }
}
