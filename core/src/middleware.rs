//! Middleware: whatever stands between a turn and its model.

use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;

use crate::Result;
use crate::chat_model::{ChatModel, ReplyStream, Request};

mod history_shift;

pub use history_shift::{HistoryShift, PromptLength, ShiftPolicy, ShiftedRequest};

/// Sees every model call of a turn, those after tools included.
///
/// One scope holds the way in and the way out, so state of a call is a local variable: change the request,
/// answer without the model, try again, or return a stream that changes the deltas.
///
/// ```
/// use alloquy_core::{Message, Middleware, Next, ReplyStream, Request, Result};
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
}

/// The rest of the stack, down to the model. `Copy`, so that a middleware may call it more than once.
#[derive(Clone, Copy, Debug)]
pub struct Next<'a> {
    rest: &'a [Arc<dyn Middleware>],
    model: &'a dyn ChatModel,
}

impl<'a> Next<'a> {
    /// Stacks `middleware` over `model`, the first outermost.
    pub fn new(middleware: &'a [Arc<dyn Middleware>], model: &'a dyn ChatModel) -> Self {
        Self { rest: middleware, model }
    }

    /// Passes the request on.
    ///
    /// # Errors
    /// Those of the rest of the stack.
    pub async fn call(self, request: Request) -> Result<ReplyStream> {
        match self.rest.split_first() {
            Some((first, rest)) => first.handle(request, Next { rest, ..self }).await,
            None => self.model.reply(request).await,
        }
    }
}
