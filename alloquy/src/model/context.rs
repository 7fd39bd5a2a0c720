//! What becomes of conversations that outgrow the context: what was asked for, or what the model's makers wanted.

use std::fmt;
use std::sync::Arc;

use alloquy_context::{DropPolicy, HistoryDrop, HistoryShift, HistorySummary, ShiftPolicy, SummaryPolicy};
use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::model_info::ModelInfo;
use alloquy_core::report::Degradation;
use alloquy_core::{ReplyStream, Request, Result};
use alloquy_inference::LanguageModel;

use super::recommended::chat_config;

/// What becomes of conversations that outgrow the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContextPolicy {
    /// They are refused.
    Error,
    /// They go without as few of the oldest turns as possible.
    Drop,
    /// They go without so many of the oldest turns that there is room for a while.
    Shift,
    /// A summary by the model stands for the oldest turns.
    Summarize,
}

/// A [`ContextPolicy`] with its numbers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum FullContext {
    /// A prompt that is too long is an error.
    Error,
    /// As few of the oldest turns as possible are left out.
    Drop(DropPolicy),
    /// So many of the oldest turns are left out that there is room for a while.
    Shift(ShiftPolicy),
    /// A summary stands for the oldest turns.
    Summarize(SummaryPolicy),
}

impl FullContext {
    /// Takes what is asked for, else what the model's makers wanted; a shift has their numbers where they gave some.
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
            Self::Drop(policy) => (policy.window, "goes on without its oldest turns"),
            Self::Shift(policy) => (policy.window, "goes on without its oldest messages"),
            Self::Summarize(policy) => (policy.window, "goes on with a summary of its oldest turns"),
        };
        write!(formatter, "a conversation of more than {window} tokens {what}")
    }
}

/// The numbers in a model's file of MLC, where it has some.
fn recommended_shift(model: &ModelInfo) -> Result<Option<ShiftPolicy>> {
    let shift = chat_config(model)?.shift_within(model.context_length)?;
    Ok(shift
        .map(|shift| ShiftPolicy::new(shift.window).reply(shift.mean_gen_len).fill(shift.shift_fill_factor)))
}

/// MLC's numbers, but a quarter for the reply where the context is that small.
fn usual_shift(context: usize) -> ShiftPolicy {
    let policy = ShiftPolicy::new(context);
    let reply = policy.reply.min(context / 4);
    policy.reply(reply)
}

/// Makes requests fit. It remembers where conversations went on, so that what was computed is reused.
#[derive(Debug)]
pub(super) struct Fitting {
    how: How,
    /// The same, on the way to the model.
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
    /// Lengths of prompts are the model's, and so are summaries.
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

    /// Asks the model for an answer to what fits.
    pub(super) async fn reply(&self, request: Request, model: &LanguageModel) -> Result<ReplyStream> {
        Next::new(&self.middleware, model).call(request).await
    }

    /// Returns a request as the model will see it, and what it goes without.
    pub(super) async fn fitted(&self, request: Request) -> Result<(Request, Vec<Degradation>)> {
        let fitted = match &self.how {
            How::Refuse => return Ok((request, Vec::new())),
            How::Drop(drop) => drop.fit(request)?,
            How::Shift(shift) => shift.shift(request)?,
            How::Summarize(summary) => {
                let fitted = summary.fit(request).await?;
                return Ok((fitted.request, fitted.degradations));
            }
        };
        let told = fitted.degradation();
        Ok((fitted.request, told.into_iter().collect()))
    }

    /// Returns a request whose prompt is computed ahead, as if an answer were asked for.
    pub(super) async fn ahead(&self, mut request: Request) -> Result<Request> {
        for middleware in &self.middleware {
            request = middleware.prepare(request).await?;
        }
        Ok(request)
    }
}
