//! What every policy for a full context must do. Such a policy is middleware that shortens a prompt until it fits.
//!
//! ```
//! use std::sync::Arc;
//!
//! use alloquy_core::middleware::{Middleware, Next};
//! use alloquy_core::report::Warning;
//! use alloquy_core::{Message, Preface, ReplyStream, Request, Result, Role};
//! use alloquy_testing::laws;
//!
//! /// Keeps only the last turn.
//! #[derive(Debug)]
//! struct LastTurn;
//!
//! #[async_trait::async_trait]
//! impl Middleware for LastTurn {
//!     async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
//!         let before = request.path.len();
//!         let request = self.prepare(request).await?;
//!         let dropped = before - request.path.len();
//!         let reply = next.call(request).await?;
//!         Ok(reply.map_result(move |mut reply| {
//!             if dropped > 0 {
//!                 reply.warnings.push(Warning::HistoryShifted { dropped, tokens: dropped });
//!             }
//!             Ok(reply)
//!         }))
//!     }
//!
//!     async fn prepare(&self, mut request: Request) -> Result<Request> {
//!         let asked = request.path.iter().rposition(|message| message.role == Role::User);
//!         let last = asked.unwrap_or(0)..request.path.len();
//!         request.path = request.path.excerpt(0, &[], last);
//!         Ok(request)
//!     }
//! }
//!
//! /// Counts a unit for each message.
//! fn messages(request: &Request) -> Result<usize> {
//!     Ok(request.path.len())
//! }
//!
//! let policy: Arc<dyn Middleware> = Arc::new(LastTurn);
//! let path = vec![Message::user("Hi"), Message::assistant("Hello!"), Message::user("And you?")];
//! let request = Request::new(Preface::default(), path);
//! pollster::block_on(laws::context_policy::all(&policy, &messages, 3, &request));
//! ```

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::prompt::PromptCounter;
use alloquy_core::report::{CacheReport, Warning};
use alloquy_core::template::PromptEnd;
use alloquy_core::{ChatModel, Error, ErrorKind, Message, Reply, ReplyStream, Request, Result, Role};
use async_trait::async_trait;

/// Runs every law on one request, whose messages all differ. `length` counts units as the model after the policy does;
/// `window` is the size of that model's context.
///
/// # Panics
/// When a law is broken.
pub async fn all(policy: &Arc<dyn Middleware>, length: &dyn PromptCounter, window: usize, request: &Request) {
    let sent = match sent(policy, length, window, request).await {
        Ok(sent) => sent,
        Err(error) => return a_refusal_has_its_reason(&error, length, window, request),
    };
    what_is_left_is_a_chat(request, &sent.request);
    the_last_turn_is_whole(request, &sent.request);
    what_is_left_out_is_reported(length, request, &sent);
    what_is_computed_ahead_is_what_is_asked(policy, request, &sent.request).await;
}

/// A policy refuses only a prompt that does not fit, and its error names the size of the context.
///
/// # Panics
/// When the law is broken.
pub fn a_refusal_has_its_reason(error: &Error, length: &dyn PromptCounter, window: usize, request: &Request) {
    assert_eq!(error.kind(), ErrorKind::ContextOverflow, "{error:#}");
    assert!(error.to_string().contains(&window.to_string()), "the refusal has no numbers: {error:#}");
    assert!(units(length, request) >= window, "a prompt that fits was refused: {error:#}");
}

/// Each result has its call and each call its result. The first message after the messages left out is the user's.
///
/// # Panics
/// When the law is broken.
pub fn what_is_left_is_a_chat(before: &Request, after: &Request) {
    let called = calls(after);
    let answered = results(after);
    assert!(answered.iter().all(|id| called.contains(id)), "a result without its call: {answered:?}");
    let were_answered = results(before);
    let lost = called.iter().find(|id| were_answered.contains(id) && !answered.contains(id));
    assert_eq!(lost, None, "a call without its result");
    let first = after.path.iter().find(|message| message.role != Role::System);
    let first_before = before.path.iter().find(|message| message.role != Role::System);
    assert!(
        first == first_before || first.is_some_and(|message| message.role == Role::User),
        "the chat begins with {first:?}"
    );
}

/// The request ends with the user's last message and everything that followed it.
///
/// # Panics
/// When the law is broken.
pub fn the_last_turn_is_whole(before: &Request, after: &Request) {
    let asked = before.path.iter().rposition(|message| message.role == Role::User);
    let last = before.path.get(asked.unwrap_or(0)..).unwrap_or_default();
    assert!(after.path.ends_with(last), "the last turn is not whole: {:?}", after.path);
}

/// A reply reports exactly how many messages and units were left out, and reports nothing where none were.
///
/// # Panics
/// When the law is broken.
pub fn what_is_left_out_is_reported(length: &dyn PromptCounter, before: &Request, sent: &Sent) {
    let shorter = units(length, before).saturating_sub(units(length, &sent.request));
    let (dropped, reported) = sent.warnings.iter().find_map(left_out).unwrap_or_default();
    assert_eq!(reported, shorter, "the units that were left out");
    let kept = before.path.len() - dropped;
    let is_one_gap = (0..=kept).any(|front| is_gap(&before.path, &sent.request.path, front, dropped));
    assert!(is_one_gap, "not {dropped} messages in a row were left out");
    assert!(sent.request.path.len() >= kept, "more than {dropped} messages were left out");
    assert_eq!(
        dropped == 0,
        before.path == sent.request.path,
        "a change was not reported, or nothing was changed"
    );
}

/// The prompt that is computed ahead of a question is the prompt that the model gets with the question.
///
/// # Panics
/// When the law is broken.
pub async fn what_is_computed_ahead_is_what_is_asked(
    policy: &Arc<dyn Middleware>,
    before: &Request,
    after: &Request,
) {
    let ahead = policy.prepare(before.clone().ending(PromptEnd::Closed)).await;
    let ahead = ahead
        .unwrap_or_else(|error| panic!("a request that can be sent cannot be computed ahead: {error:#}"));
    assert_eq!(ahead.path, after.path, "another path is computed ahead");
    assert_eq!(ahead.ending, PromptEnd::Closed, "a prompt that is computed ahead keeps its end");
}

/// The request as a policy changed it.
///
/// ```
/// use std::sync::Arc;
///
/// use alloquy_core::middleware::{Middleware, Next};
/// use alloquy_core::{Message, Preface, ReplyStream, Request, Result};
/// use alloquy_testing::laws::context_policy;
///
/// /// Changes nothing.
/// #[derive(Debug)]
/// struct Unchanged;
///
/// #[async_trait::async_trait]
/// impl Middleware for Unchanged {
///     async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
///         next.call(request).await
///     }
/// }
///
/// fn messages(request: &Request) -> Result<usize> {
///     Ok(request.path.len())
/// }
///
/// let policy: Arc<dyn Middleware> = Arc::new(Unchanged);
/// let request = Request::new(Preface::default(), vec![Message::user("Hi")]);
/// let sent = pollster::block_on(context_policy::sent(&policy, &messages, 10, &request))?;
/// assert_eq!((sent.request.path.len(), sent.warnings.len()), (1, 0));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Sent {
    /// What the model received.
    pub request: Request,
    /// The warnings of the reply.
    pub warnings: Vec<Warning>,
}

/// Sends a request through a policy to a model with a context of `window` units.
///
/// # Errors
/// Those of the policy, and [`ErrorKind::ContextOverflow`] where the model has no room.
pub async fn sent(
    policy: &Arc<dyn Middleware>,
    length: &dyn PromptCounter,
    window: usize,
    request: &Request,
) -> Result<Sent> {
    let model = Recording { length, window, received: Mutex::default() };
    let stack = std::slice::from_ref(policy);
    let reply = Next::new(stack, &model).call(request.clone()).await?.finish().await?;
    let received = model.received.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(request) = received else {
        return Err(Error::new(ErrorKind::Invalid, "the policy answered without the model"));
    };
    Ok(Sent { request, warnings: reply.warnings })
}

/// A model that keeps the last request.
struct Recording<'a> {
    length: &'a dyn PromptCounter,
    window: usize,
    received: Mutex<Option<Request>>,
}

impl fmt::Debug for Recording<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Recording").field("window", &self.window).finish_non_exhaustive()
    }
}

#[async_trait]
impl ChatModel for Recording<'_> {
    fn name(&self) -> &str {
        "recording"
    }

    async fn reply(&self, request: Request) -> Result<ReplyStream> {
        let units = self.length.units(&request)?;
        let window = self.window;
        if units >= window {
            let message = format!("a prompt of {units} units leaves no room in {window}");
            return Err(Error::new(ErrorKind::ContextOverflow, message));
        }
        *self.received.lock().unwrap_or_else(PoisonError::into_inner) = Some(request);
        Ok(ReplyStream::new(|_| async { Ok(Reply::new(Message::assistant("Yes."))) }))
    }

    async fn warm(&self, _: Request) -> Result<Option<CacheReport>> {
        Ok(None)
    }
}

/// Returns how many messages a warning reports as left out, and by how many units the prompt is shorter.
fn left_out(warning: &Warning) -> Option<(usize, usize)> {
    match warning {
        Warning::HistoryShifted { dropped, tokens } => Some((*dropped, *tokens)),
        Warning::HistorySummarized { dropped, tokens, summary, .. } => {
            Some((*dropped, tokens.saturating_sub(*summary)))
        }
        _ => None,
    }
}

/// Returns whether `after` is `before` without the `dropped` messages that follow the first `front`.
fn is_gap(before: &[Message], after: &[Message], front: usize, dropped: usize) -> bool {
    let Some(first) = before.get(..front) else { return false };
    let Some(rest) = before.get(front + dropped..) else { return false };
    after.starts_with(first) && after.ends_with(rest)
}

fn calls(request: &Request) -> Vec<&str> {
    request.path.iter().flat_map(Message::tool_calls).map(|call| call.id.as_str()).collect()
}

fn results(request: &Request) -> Vec<&str> {
    request.path.iter().flat_map(Message::tool_results).map(|result| result.id.as_str()).collect()
}

fn units(length: &dyn PromptCounter, request: &Request) -> usize {
    match length.units(request) {
        Ok(units) => units,
        Err(error) => panic!("a prompt cannot be counted: {error:#}"),
    }
}
