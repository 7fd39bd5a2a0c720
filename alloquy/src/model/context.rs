//! The policy for conversations that are longer than the context: the requested one, or that of the model's authors.

use std::fmt;
use std::sync::Arc;

use alloquy_context::{DropPolicy, HistoryDrop, HistoryShift, HistorySummary, ShiftPolicy, SummaryPolicy};
use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::model_info::ModelInfo;
use alloquy_core::report::Warning;
use alloquy_core::{ReplyStream, Request, Result};
use alloquy_inference::LanguageModel;

use super::recommended::chat_config;

/// The policy for conversations that are longer than the context.
///
/// [`ModelBuilder::context_policy`](crate::ModelBuilder::context_policy) sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContextPolicy {
    /// A prompt that is too long is an error.
    Error,
    /// As few of the oldest turns as possible are left out.
    Drop,
    /// Enough of the oldest turns are left out that the next turns fit too.
    Shift,
    /// A summary by the model replaces the oldest turns.
    Summarize,
}

/// A [`ContextPolicy`] with its numbers.
///
/// ```
/// # #[cfg(feature = "pocket")] {
/// use alloquy::{ContextPolicy, FullContext, Model};
///
/// let model = Model::pocket_builder().context_policy(ContextPolicy::Drop).build()?;
/// assert!(matches!(model.full_context(), FullContext::Drop(_)));
/// assert_eq!(model.full_context().policy(), ContextPolicy::Drop);
/// # }
/// # Ok::<(), alloquy::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum FullContext {
    /// A prompt that is too long is an error.
    Error,
    /// As few of the oldest turns as possible are left out.
    Drop(DropPolicy),
    /// Enough of the oldest turns are left out that the next turns fit too.
    Shift(ShiftPolicy),
    /// A summary by the model replaces the oldest turns.
    Summarize(SummaryPolicy),
}

impl FullContext {
    /// Returns the requested policy, else that of the model's authors. A shift has the authors' numbers if they give some.
    pub(super) fn choose(asked: Option<ContextPolicy>, model: &ModelInfo) -> Result<Self> {
        let window = model.context_length;
        Ok(match asked {
            None => recommended_shift(model)?.map_or(Self::Error, Self::Shift),
            Some(ContextPolicy::Error) => Self::Error,
            Some(ContextPolicy::Drop) => Self::Drop(DropPolicy::new(window)),
            Some(ContextPolicy::Shift) => {
                let recommended = recommended_shift(model)?;
                Self::Shift(recommended.unwrap_or_else(|| usual_shift(window)))
            }
            Some(ContextPolicy::Summarize) => Self::Summarize(SummaryPolicy::new(window)),
        })
    }

    /// Returns which policy it is.
    pub fn policy(&self) -> ContextPolicy {
        match self {
            Self::Error => ContextPolicy::Error,
            Self::Drop(_) => ContextPolicy::Drop,
            Self::Shift(_) => ContextPolicy::Shift,
            Self::Summarize(_) => ContextPolicy::Summarize,
        }
    }
}

impl fmt::Display for FullContext {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (window, what) = match self {
            Self::Error => {
                return formatter.write_str("a conversation that outgrows the context is an error");
            }
            Self::Drop(policy) => (policy.window, "continues without its oldest turns"),
            Self::Shift(policy) => (policy.window, "continues without its oldest messages"),
            Self::Summarize(policy) => (policy.window, "continues with a summary of its oldest turns"),
        };
        write!(formatter, "a conversation of more than {window} tokens {what}")
    }
}

/// Returns the policy of a model's `mlc-chat-config.json`, if that has one.
fn recommended_shift(model: &ModelInfo) -> Result<Option<ShiftPolicy>> {
    let shift = chat_config(model)?.shift_within(model.context_length)?;
    Ok(shift
        .map(|shift| ShiftPolicy::new(shift.window).reply(shift.mean_gen_len).fill(shift.shift_fill_factor)))
}

/// Returns MLC's usual numbers, with at most a quarter of the context for the reply.
fn usual_shift(context: usize) -> ShiftPolicy {
    let policy = ShiftPolicy::new(context);
    let reply = policy.reply.min(context / 4);
    policy.reply(reply)
}

/// Shortens requests that do not fit. Later requests of a conversation are shortened at the same place, so that they find
/// their prompt in the cache.
#[derive(Debug)]
pub(super) struct Fitting {
    how: How,
    /// The same policy as middleware.
    middleware: Vec<Arc<dyn Middleware>>,
}

#[derive(Debug)]
enum How {
    Refuse,
    Drop(Arc<HistoryDrop>),
    Shift(Arc<HistoryShift>),
    Summarize(Arc<HistorySummary>),
}

impl Fitting {
    /// The model counts the prompts and writes the summaries.
    pub(super) fn new(context: &FullContext, model: &LanguageModel) -> Result<Self> {
        Ok(match context {
            FullContext::Error => Self { how: How::Refuse, middleware: Vec::new() },
            FullContext::Drop(policy) => {
                let drop = Arc::new(HistoryDrop::new(model.clone(), policy.clone())?);
                Self { how: How::Drop(Arc::clone(&drop)), middleware: vec![drop] }
            }
            FullContext::Shift(policy) => {
                let shift = Arc::new(HistoryShift::new(model.clone(), policy.clone())?);
                Self { how: How::Shift(Arc::clone(&shift)), middleware: vec![shift] }
            }
            FullContext::Summarize(policy) => {
                let writer = Arc::new(model.clone());
                let summary = Arc::new(HistorySummary::new(model.clone(), writer, policy.clone())?);
                Self { how: How::Summarize(Arc::clone(&summary)), middleware: vec![summary] }
            }
        })
    }

    /// Returns the model's reply to the request that fits.
    pub(super) async fn reply(&self, request: Request, model: &LanguageModel) -> Result<ReplyStream> {
        Next::new(&self.middleware, model).call(request).await
    }

    /// Returns the request that fits, and warnings of the messages left out.
    pub(super) async fn fitted(&self, request: Request) -> Result<(Request, Vec<Warning>)> {
        let fitted = match &self.how {
            How::Refuse => return Ok((request, Vec::new())),
            How::Drop(drop) => drop.fit(request)?,
            How::Shift(shift) => shift.shift(request)?,
            How::Summarize(summary) => {
                let fitted = summary.fit(request).await?;
                return Ok((fitted.request, fitted.warnings));
            }
        };
        let warnings = fitted.warning().into_iter().collect();
        Ok((fitted.request, warnings))
    }

    /// Returns the request whose prompt is computed ahead of the next question.
    pub(super) async fn ahead(&self, mut request: Request) -> Result<Request> {
        for middleware in &self.middleware {
            request = middleware.prepare(request).await?;
        }
        Ok(request)
    }
}
