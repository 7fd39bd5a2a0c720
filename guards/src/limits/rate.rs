//! How often a model may be called.

use std::sync::Arc;
use std::time::Duration;

use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::stream::{Emitter, EventStream};
use alloquy_core::{Delta, Error, ErrorKind, Reply, ReplyStream, Request, Result};
use async_trait::async_trait;
use futures::StreamExt;

use super::{LimitStore, RetryAfter, Scope, Taken, unchecked};

/// A number of calls for each time, and how many may be at once.
///
/// The calls are spread by the generic cell rate algorithm (GCRA, ITU-T I.371): each call adds one interval to a debt that time
/// removes, and the debt may be as long as a burst. So no window begins at once for all.
///
/// ```
/// use std::time::Duration;
///
/// use alloquy_guards::limits::Rate;
///
/// let rate = Rate::new(60, Duration::from_secs(60))?.burst(5)?;
/// assert!(rate.burst(0).is_err() && Rate::new(0, Duration::from_secs(60)).is_err());
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// The time of one call in nanoseconds.
    interval: u64,
    burst: u32,
}

impl Rate {
    /// Creates a rate of `calls` for each `time`, all of which may be at once.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for no calls, no time, more calls than nanoseconds, or more than a century.
    pub fn new(calls: u32, time: Duration) -> Result<Self> {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let interval = nanoseconds.checked_div(u64::from(calls)).unwrap_or(0);
        if interval == 0 || time > CENTURY {
            let words = format!(
                "{calls} calls in {time:?} are not a rate: at least 1 call in 1ns, at most a century"
            );
            return Err(Error::new(ErrorKind::Invalid, words));
        }
        Ok(Self { interval, burst: calls })
    }

    /// Sets how many calls may be at once.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for no calls.
    pub fn burst(mut self, calls: u32) -> Result<Self> {
        if calls == 0 {
            return Err(Error::new(ErrorKind::Invalid, "a burst of 0 calls allows none: at least 1"));
        }
        self.burst = calls;
        Ok(self)
    }

    /// Returns the time of some calls in nanoseconds.
    pub(super) fn cost(self, units: u32) -> u64 {
        self.interval.saturating_mul(u64::from(units))
    }

    /// Decides about calls at a time, where the debt ends at `empty`, which is not before `now`.
    pub(super) fn take(self, now: u64, empty: u64, units: u32) -> Taken {
        if units > self.burst {
            return Taken::Never;
        }
        let debt = (empty - now).saturating_add(self.cost(units));
        match debt.checked_sub(self.cost(self.burst)) {
            None | Some(0) => Taken::Yes,
            Some(wait) => Taken::Wait(Duration::from_nanos(wait)),
        }
    }
}

const CENTURY: Duration = Duration::from_secs(100 * 366 * 86_400);

/// Limits how often a model is called.
///
/// A turn that runs tools calls the model several times, and each call counts. A call that fails is given back, and one that is
/// dropped is not. Register it outside of middleware that may call the model again, so that its calls count once, or inside of it, so
/// that each counts.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// use alloquy_core::{ErrorKind, Manager, Preface};
/// use alloquy_guards::limits::{MemoryLimits, Rate, RateLimit, RetryAfter, Scope};
/// use alloquy_testing::EchoModel;
///
/// # pollster::block_on(async {
/// let rate = Rate::new(1, Duration::from_secs(60))?;
/// let limit = RateLimit::new(rate, Scope::Owner, Arc::new(MemoryLimits::default()));
/// let manager = Manager::builder(EchoModel).middleware(limit).build()?;
/// let conversation = manager.create(Preface::default()).await?;
/// conversation.send("Hello").await?;
/// let error = conversation.send("Hello again").await.unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Busy);
/// assert!(RetryAfter::of(&error).is_some_and(|wait| wait <= Duration::from_secs(60)));
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RateLimit {
    rate: Rate,
    scope: Scope,
    store: Arc<dyn LimitStore>,
}

impl RateLimit {
    /// Creates the middleware.
    pub fn new(rate: Rate, scope: Scope, store: Arc<dyn LimitStore>) -> Self {
        Self { rate, scope, store }
    }

    async fn take(&self, request: &Request) -> Result<String> {
        // A store may count budgets and other rates under the same scope.
        let Rate { interval, burst } = self.rate;
        let key = format!("rate {interval} {burst} {}", self.scope.key(request)?);
        match self.store.take(&key, self.rate, 1).await.map_err(unchecked)? {
            Taken::Yes => Ok(key),
            Taken::Wait(wait) => {
                let words = format!("the limit of calls of {} is reached", self.scope);
                Err(Error::new(ErrorKind::Busy, words).with_source(RetryAfter(wait)))
            }
            Taken::Never => Err(Error::new(ErrorKind::Invalid, "the limit allows no call")),
        }
    }

    /// Gives a call back after an error, which it returns.
    async fn failed(&self, key: &str, error: Error) -> Error {
        if let Err(lost) = self.store.give_back(key, self.rate, 1).await {
            tracing::warn!(error = %lost, "a call that failed could not be given back");
        }
        error
    }

    async fn run(self, key: String, mut stream: ReplyStream, mut emit: Emitter<Delta>) -> Result<Reply> {
        while let Some(delta) = stream.next().await {
            emit.send(delta).await;
        }
        match stream.finish().await {
            Ok(reply) => Ok(reply),
            Err(error) => Err(self.failed(&key, error).await),
        }
    }
}

#[async_trait]
impl Middleware for RateLimit {
    async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
        let key = self.take(&request).await?;
        let stream = match next.call(request).await {
            Ok(stream) => stream,
            Err(error) => return Err(self.failed(&key, error).await),
        };
        let limit = self.clone();
        Ok(EventStream::new(move |emit| limit.run(key, stream, emit)))
    }
}
