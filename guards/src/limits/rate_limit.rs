//! How often a model may be called.

use std::sync::Arc;
use std::time::Duration;

use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::stream::{Emitter, EventStream};
use alloquy_core::{Delta, Error, ErrorKind, Reply, ReplyStream, Request, Result};
use async_trait::async_trait;
use futures::StreamExt;

use super::{LimitStore, Rate, RetryAfter, Scope, Taken, unchecked};

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

    /// Returns how long a request would have to wait now: no time, unless the limit is reached. Nothing is taken, but a call at the same moment
    /// may be refused.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::time::Duration;
    ///
    /// use alloquy_core::Request;
    /// use alloquy_guards::limits::{MemoryLimits, Rate, RateLimit, Scope};
    ///
    /// # pollster::block_on(async {
    /// let rate = Rate::new(1, Duration::from_secs(60))?;
    /// let limit = RateLimit::new(rate, Scope::Everything, Arc::new(MemoryLimits::default()));
    /// assert_eq!(limit.wait(&Request::default()).await?, Duration::ZERO);
    /// # Ok::<(), alloquy_core::Error>(())
    /// # })?;
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a scope that the request does not have, and those of the store.
    pub async fn wait(&self, request: &Request) -> Result<Duration> {
        let key = self.key(request)?;
        match self.store.take(&key, self.rate, 1).await.map_err(unchecked)? {
            Taken::Wait(wait) => Ok(wait),
            Taken::Yes => {
                self.store.give_back(&key, self.rate, 1).await.map_err(unchecked)?;
                Ok(Duration::ZERO)
            }
            Taken::Never => Ok(Duration::MAX),
        }
    }

    /// Returns the key of a request. A store may count budgets and other rates under the same scope.
    fn key(&self, request: &Request) -> Result<String> {
        Ok(format!("{} {}", self.rate.name(), self.scope.key(request)?))
    }

    async fn take(&self, request: &Request) -> Result<String> {
        let key = self.key(request)?;
        match self.store.take(&key, self.rate, 1).await.map_err(unchecked)? {
            Taken::Yes => Ok(key),
            Taken::Wait(wait) => {
                let words = match self.scope {
                    Scope::Everything => "the limit of calls is reached".to_owned(),
                    scope => format!("the limit of calls of {scope} is reached"),
                };
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
