//! What becomes of conversations that outgrow the context: what was asked for, or what the model's makers wanted.

use std::fmt;
use std::sync::Arc;

use alloquy_core::{
    Degradation, DropPolicy, HistoryDrop, HistoryShift, HistorySummary, ManagerBuilder, ModelInfo, Request,
    Result, ShiftPolicy, SummaryPolicy,
};
use alloquy_inference::LanguageModel;

use super::chat_config;
use crate::arguments::ContextPolicy;

/// A policy with its numbers.
#[derive(Clone, Debug)]
pub(super) enum Overflow {
    Error,
    Drop(DropPolicy),
    Shift(ShiftPolicy),
    Summarise(SummaryPolicy),
}

impl Overflow {
    /// Takes what is asked for, else what the model's makers wanted; a shift has their numbers where they gave some.
    pub(super) fn choose(asked: Option<ContextPolicy>, model: &ModelInfo) -> Result<Self> {
        let window = model.context_length;
        let told = || chat_config(model)?.shift_policy(window);
        Ok(match asked {
            None => told()?.map_or(Self::Error, Self::Shift),
            Some(ContextPolicy::Error) => Self::Error,
            Some(ContextPolicy::Drop) => Self::Drop(DropPolicy::new(window)),
            Some(ContextPolicy::Shift) => Self::Shift(told()?.unwrap_or_else(|| usual_shift(window))),
            Some(ContextPolicy::Summarise) => Self::Summarise(SummaryPolicy::new(window)),
        })
    }

    /// Returns which policy it is.
    pub(super) fn policy(&self) -> ContextPolicy {
        match self {
            Self::Error => ContextPolicy::Error,
            Self::Drop(_) => ContextPolicy::Drop,
            Self::Shift(_) => ContextPolicy::Shift,
            Self::Summarise(_) => ContextPolicy::Summarise,
        }
    }

    /// Puts it in front of the model; summaries are the model's own.
    pub(super) fn added_to(&self, builder: ManagerBuilder, round: &LanguageModel) -> Result<ManagerBuilder> {
        Ok(match self {
            Self::Error => builder,
            Self::Drop(policy) => builder.middleware(HistoryDrop::new(round.clone(), policy.clone())?),
            Self::Shift(policy) => builder.middleware(HistoryShift::new(round.clone(), policy.clone())?),
            Self::Summarise(policy) => builder.middleware(summary(round, policy)?),
        })
    }

    /// Returns a request as the model will see it, and what it goes without.
    pub(super) async fn fitted(
        &self,
        request: Request,
        round: &LanguageModel,
    ) -> Result<(Request, Vec<Degradation>)> {
        let fitted = match self {
            Self::Error => return Ok((request, Vec::new())),
            Self::Drop(policy) => HistoryDrop::new(round.clone(), policy.clone())?.fit(request)?,
            Self::Shift(policy) => HistoryShift::new(round.clone(), policy.clone())?.shift(request)?,
            Self::Summarise(policy) => {
                let fitted = summary(round, policy)?.fit(request).await?;
                return Ok((fitted.request, fitted.degradations));
            }
        };
        let told = fitted.degradation();
        Ok((fitted.request, told.into_iter().collect()))
    }
}

impl fmt::Display for Overflow {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (window, what) = match self {
            Self::Error => {
                return formatter.write_str("a conversation that outgrows the context is an error");
            }
            Self::Drop(policy) => (policy.window, "goes on without its oldest turns"),
            Self::Shift(policy) => (policy.window, "goes on without its oldest messages"),
            Self::Summarise(policy) => (policy.window, "goes on with a summary of its oldest turns"),
        };
        write!(formatter, "a conversation of more than {window} tokens {what}")
    }
}

fn summary(round: &LanguageModel, policy: &SummaryPolicy) -> Result<HistorySummary> {
    HistorySummary::new(round.clone(), Arc::new(round.clone()), policy.clone())
}

/// MLC's numbers, but a quarter for the reply where the context is that small.
fn usual_shift(context: usize) -> ShiftPolicy {
    let policy = ShiftPolicy::new(context);
    let reply = policy.reply.min(context / 4);
    policy.reply(reply)
}
