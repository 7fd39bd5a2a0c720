//! Middleware: code between a turn and its model.

use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;

use crate::chat_model::{ChatModel, ReplyStream, Request};
use crate::panics::caught;
use crate::prompt::PreparedPrompt;
use crate::report::{CacheReport, TextScore};
use crate::{ErrorKind, Result};

/// Sees every model call of a turn, including those after tools.
///
/// One function sees both the request and the reply, so the state of a call is a local variable. It may change the
/// request, answer without the model, try again, or return a stream that changes the deltas.
///
/// ```
/// use alloquy_core::{Message, ReplyStream, Request, Result};
/// use alloquy_core::middleware::{Middleware, Next};
///
/// /// Asks every question politely.
/// #[derive(Debug)]
/// struct Polite;
///
/// #[async_trait::async_trait]
/// impl Middleware for Polite {
///     async fn handle(&self, mut request: Request, next: Next<'_>) -> Result<ReplyStream> {
///         request.path.push(Message::user("Please."));
///         next.call(request).await
///     }
/// }
/// ```
#[async_trait]
pub trait Middleware: Send + Sync + Debug {
    /// Handles a request, usually by passing it to `next`.
    ///
    /// # Errors
    /// Its own, and those of `next`.
    async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream>;

    /// Changes a request for which no reply is generated: its prompt is computed ahead, or texts are scored after it. A
    /// middleware whose `handle` changes what the model sees of a conversation makes the same change here.
    ///
    /// # Errors
    /// Its own.
    async fn prepare(&self, request: Request) -> Result<Request> {
        Ok(request)
    }
}

#[async_trait]
impl<M: Middleware + ?Sized> Middleware for Arc<M> {
    async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
        (**self).handle(request, next).await
    }

    async fn prepare(&self, request: Request) -> Result<Request> {
        (**self).prepare(request).await
    }
}

/// The kind of error for the panic of a middleware or a model.
const PANICKED: ErrorKind = ErrorKind::Backend;

/// The subject of the error for a panic while no reply is generated.
const AHEAD: &str = "the model, or a middleware before it,";

/// The rest of the stack, down to the model. It is `Copy`, so a middleware may call it more than once.
///
/// Each [`Middleware`] receives one.
#[derive(Clone, Copy, Debug)]
pub struct Next<'a> {
    rest: &'a [Arc<dyn Middleware>],
    model: &'a dyn ChatModel,
}

impl<'a> Next<'a> {
    /// Creates a stack of `middleware` over `model`; the first one is outermost.
    pub fn new(middleware: &'a [Arc<dyn Middleware>], model: &'a dyn ChatModel) -> Self {
        Self { rest: middleware, model }
    }

    /// Passes the request on.
    ///
    /// # Errors
    /// Those of the rest of the stack, and [`ErrorKind::Backend`] with the text of its panic if it panics.
    pub async fn call(self, request: Request) -> Result<ReplyStream> {
        match self.rest.split_first() {
            Some((first, rest)) => {
                caught(PANICKED, "a middleware", async { first.handle(request, Next { rest, ..self }).await })
                    .await
            }
            None => {
                request.must_name_one_of(self.model)?;
                caught(PANICKED, "the model", async { self.model.reply(request).await }).await
            }
        }
    }

    /// Computes the prompt of a request ahead, after the rest of the stack has changed it.
    pub(crate) async fn warm(self, request: Request) -> Result<Option<CacheReport>> {
        caught(PANICKED, AHEAD, async { self.model.warm(self.prepared(request).await?).await }).await
    }

    /// Returns the prompt of a request, after the rest of the stack has changed it.
    pub(crate) async fn prompt(self, request: Request) -> Result<Option<PreparedPrompt>> {
        caught(PANICKED, AHEAD, async { self.model.prompt(&self.prepared(request).await?) }).await
    }

    /// Scores texts after a request, after the rest of the stack has changed it.
    pub(crate) async fn score(self, request: Request, targets: &[String]) -> Result<Vec<TextScore>> {
        caught(PANICKED, AHEAD, async { self.model.score(self.prepared(request).await?, targets).await })
            .await
    }

    async fn prepared(self, mut request: Request) -> Result<Request> {
        for middleware in self.rest {
            request = middleware.prepare(request).await?;
        }
        request.must_name_one_of(self.model)?;
        Ok(request)
    }
}
