//! Validation: nothing of a reply is shown before a validator accepts it, and the model is asked again with the reason.
//!
//! [`ValidateReplies`] is the middleware. It validates by form (`SchemaValidator`, [`RegexValidator`], [`TypeValidator`]), by a
//! model that judges ([`ModelJudge`]), or by a function.

mod form;
mod judge;

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;

use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::report::{FinishReason, Usage, Warning};
use alloquy_core::{Error, ErrorKind, Message, Reply, ReplyStream, Request, Result};
use async_trait::async_trait;
use serde_json::json;

use crate::replay::stream_of;

#[cfg(feature = "json-schema")]
pub use form::SchemaValidator;
pub use form::{RegexValidator, TypeValidator};
pub use judge::ModelJudge;

/// The name of the fact with the number of attempts and the tokens of rejected replies, in [`Reply::facts`].
///
/// [`ValidateReplies`] has an example.
pub const VALIDATION_FACT: &str = "alloquy.validation";

/// Whether a reply is valid.
///
/// A [`Validator`] returns it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is.
    Valid,
    /// It is not, for this reason. The model reads the reason when it is asked again.
    Invalid(String),
}

/// Decides whether a reply is valid. Each function of a request and a reply is a validator.
///
/// ```
/// use alloquy_core::{Message, Reply, Request, Result};
/// use alloquy_guards::validate::{Validator, Verdict};
///
/// fn is_short(_: &Request, reply: &Reply) -> Result<Verdict> {
///     if reply.text().len() > 100 {
///         return Ok(Verdict::Invalid("it has more than 100 bytes".to_owned()));
///     }
///     Ok(Verdict::Valid)
/// }
///
/// let reply = Reply::new(Message::assistant("Yes."));
/// assert_eq!(pollster::block_on(is_short.validate(&Request::default(), &reply))?, Verdict::Valid);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[async_trait]
pub trait Validator: Send + Sync {
    /// Returns whether the reply to a request is valid.
    ///
    /// # Errors
    /// When it is unknown; then the reply is not shown.
    async fn validate(&self, request: &Request, reply: &Reply) -> Result<Verdict>;
}

#[async_trait]
impl<F> Validator for F
where
    F: Fn(&Request, &Reply) -> Result<Verdict> + Send + Sync,
{
    async fn validate(&self, request: &Request, reply: &Reply) -> Result<Verdict> {
        self(request, reply)
    }
}

impl fmt::Debug for dyn Validator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Validator")
    }
}

/// What happens to a reply that is rejected the last time.
///
/// [`ValidateReplies::rejected`] sets it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnRejected {
    /// The call fails. The source of the error is a [`RejectedReply`].
    #[default]
    Fail,
    /// The reply is shown, with [`Warning::ReplyRejected`].
    LetThrough,
}

/// The source of the error for a reply that was rejected. It has the reply, which is in no text of the error and is not printed.
///
/// ```
/// use alloquy_core::{ErrorKind, Manager, Preface, Reply, Request, Result};
/// use alloquy_guards::validate::{RejectedReply, ValidateReplies, Verdict};
/// use alloquy_testing::EchoModel;
/// use std::error::Error;
/// use std::num::NonZeroU32;
///
/// fn never(_: &Request, _: &Reply) -> Result<Verdict> {
///     Ok(Verdict::Invalid("it is an echo".to_owned()))
/// }
///
/// # pollster::block_on(async {
/// let guard = ValidateReplies::new(never).attempts(NonZeroU32::MIN);
/// let manager = Manager::builder(EchoModel).middleware(guard).build()?;
/// let conversation = manager.create(Preface::default()).await?;
/// let error = conversation.send("Hello").await.unwrap_err();
/// assert_eq!(error.to_string(), "the reply was rejected, because it is an echo");
/// let rejected = error.source().and_then(|source| source.downcast_ref::<RejectedReply>());
/// assert!(rejected.is_some_and(|rejected| rejected.message.text().contains("Hello")));
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct RejectedReply {
    /// The message.
    pub message: Message,
}

impl fmt::Debug for RejectedReply {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RejectedReply").finish_non_exhaustive()
    }
}

impl fmt::Display for RejectedReply {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a guard rejected the reply")
    }
}

impl std::error::Error for RejectedReply {}

/// Shows a reply only after a validator accepted it.
///
/// A rejected reply and the reason are added to the request, and the model is asked again, twice in all unless
/// [`ValidateReplies::attempts`] says otherwise. Rejected replies are not stored. The facts of the reply have the number of attempts
/// and the tokens of rejected replies, as [`VALIDATION_FACT`].
///
/// A reply that is cancelled, or whose model fails midway, is an error, because it is not validated.
///
/// ```
/// use alloquy_core::{Manager, Preface};
/// use alloquy_guards::validate::{RegexValidator, ValidateReplies};
/// use alloquy_testing::{ScriptedModel, ScriptedReply};
///
/// # pollster::block_on(async {
/// let replies = ["It is four.", "4"].map(ScriptedReply::text);
/// let guard = ValidateReplies::new(RegexValidator::new("[0-9]+")?);
/// let manager = Manager::builder(ScriptedModel::replying(replies)).middleware(guard).build()?;
/// let conversation = manager.create(Preface::default()).await?;
/// let turn = conversation.send("2 + 2?").await?;
/// assert_eq!(turn.text(), "4");
/// assert_eq!(turn.reply.facts["alloquy.validation"]["attempts"], 2);
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ValidateReplies {
    validator: Arc<dyn Validator>,
    attempts: NonZeroU32,
    rejected: OnRejected,
}

/// How often a model is asked at most, unless the host decides.
const ATTEMPTS: NonZeroU32 = NonZeroU32::MIN.saturating_add(1);

impl ValidateReplies {
    /// Creates the middleware.
    pub fn new(validator: impl Validator + 'static) -> Self {
        Self { validator: Arc::new(validator), attempts: ATTEMPTS, rejected: OnRejected::default() }
    }

    /// Sets how often the model is asked at most.
    #[must_use]
    pub fn attempts(mut self, attempts: NonZeroU32) -> Self {
        self.attempts = attempts;
        self
    }

    /// Sets what happens to a reply that is rejected the last time.
    #[must_use]
    pub fn rejected(mut self, rejected: OnRejected) -> Self {
        self.rejected = rejected;
        self
    }

    /// Returns the outcome of the last attempt.
    fn end(&self, mut reply: Reply, reason: String) -> Result<Reply> {
        let attempts = self.attempts.get();
        if self.rejected == OnRejected::LetThrough {
            reply.warnings.push(Warning::ReplyRejected { attempts, reason });
            return Ok(reply);
        }
        let words = match attempts {
            1 => format!("the reply was rejected, because {reason}"),
            _ => format!("the reply was rejected {attempts} times, the last one because {reason}"),
        };
        Err(Error::new(ErrorKind::Invalid, words).with_source(RejectedReply { message: reply.message }))
    }
}

#[async_trait]
impl Middleware for ValidateReplies {
    async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
        let mut asked = request.clone();
        let mut spent = Usage::default();
        let mut attempt = 1;
        let mut reply = loop {
            let reply = next.call(asked.clone()).await?.finish().await?.complete()?;
            if reply.finish == FinishReason::Cancelled {
                let words = "the reply was cancelled before it was validated";
                return Err(Error::new(ErrorKind::Cancelled, words));
            }
            match self.validator.validate(&request, &reply).await? {
                Verdict::Valid => break reply,
                Verdict::Invalid(reason) if attempt == self.attempts.get() => {
                    break self.end(reply, reason)?;
                }
                Verdict::Invalid(reason) => {
                    spent.prompt += reply.usage.prompt;
                    spent.cached += reply.usage.cached;
                    spent.generated += reply.usage.generated;
                    spent.thinking += reply.usage.thinking;
                    ask_again(&mut asked, reply, &reason);
                }
            }
            attempt += 1;
        };
        if attempt > 1 {
            let fact = json!({"attempts": attempt, "spent": spent});
            reply.facts.insert(VALIDATION_FACT.to_owned(), fact);
        }
        Ok(stream_of(reply))
    }
}

/// Adds a rejected reply and the reason to a request.
fn ask_again(request: &mut Request, reply: Reply, reason: &str) {
    let calls: Vec<_> = reply.message.tool_calls().cloned().collect();
    request.path.push_sampled(reply.message, reply.tokens);
    if !calls.is_empty() {
        // Many templates require a result of each call.
        let mut results = Vec::new();
        for call in &calls {
            results.push(alloquy_core::message::ToolResult::error(
                call,
                "the call was rejected and did not run",
            ));
        }
        request.path.push(Message::tool(results));
    }
    let words = format!(
        "The answer is rejected, because {reason}. Answer again, and only with the corrected answer."
    );
    request.path.push(Message::user(words));
}
