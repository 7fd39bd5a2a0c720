//! What every protocol reports of a reply: how it ended, and the field `alloquy` of its objects.

use alloquy_core::report::{CacheReport, FinishReason, ReplyFacts, Usage, Warning};
use alloquy_core::{ConversationId, NodeId, Reply, TurnReply};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::error::{ApiResult, broken_reply};

/// Returns a reply that did not fail midway.
///
/// # Errors
/// 500 for another one, which is in the log.
pub(crate) fn complete(reply: TurnReply) -> ApiResult<TurnReply> {
    match &reply.reply.error {
        Some(error) => Err(broken_reply(error)),
        None => Ok(reply),
    }
}

/// What is reported of a reply that was just generated, or of one that is stored.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct ReplyReport {
    /// Why it ended, in our words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) finish: Option<FinishReason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stop_string: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) seed: Option<u64>,
    /// How much of the prompt was cached, and why the rest was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cache: Option<CacheReport>,
    /// What was not done as asked.
    pub(crate) warnings: Vec<Warning>,
    /// What guards noted.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub(crate) facts: Map<String, Value>,
    /// The stored conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) conversation: Option<ConversationId>,
    /// The node of the reply in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) node: Option<NodeId>,
    #[serde(skip)]
    pub(crate) usage: Usage,
}

impl ReplyReport {
    /// The report of a reply that is stored at a node, or of one that is stored nowhere.
    pub(crate) fn of(reply: &Reply, stored: Option<(ConversationId, NodeId)>) -> Self {
        let (conversation, node) = stored.unzip();
        Self {
            finish: Some(reply.finish),
            stop_string: reply.stop_string.clone(),
            seed: reply.seed,
            cache: reply.cache,
            warnings: reply.warnings.clone(),
            facts: reply.facts.clone(),
            conversation,
            node,
            usage: reply.usage,
        }
    }

    /// The report of a stored reply.
    pub(crate) fn stored(facts: &ReplyFacts, conversation: ConversationId, node: NodeId) -> Self {
        Self {
            finish: facts.finish,
            stop_string: facts.stop_string.clone(),
            seed: facts.seed,
            cache: facts.cache,
            warnings: facts.warnings.clone(),
            facts: facts.facts.clone(),
            conversation: Some(conversation),
            node: Some(node),
            usage: facts.usage.unwrap_or_default(),
        }
    }

    /// Returns the field `alloquy`.
    pub(crate) fn json(&self) -> Value {
        json!(self)
    }

    /// Returns the `finish_reason` of Chat Completions.
    pub(crate) fn finish_reason(&self) -> &'static str {
        match self.finish {
            Some(FinishReason::Length | FinishReason::ContextFull) => "length",
            Some(FinishReason::ToolCalls) => "tool_calls",
            _ => "stop",
        }
    }

    /// Returns the `usage` of Chat Completions.
    pub(crate) fn usage(&self) -> Value {
        let usage = self.usage;
        json!({
            "prompt_tokens": usage.prompt,
            "completion_tokens": usage.generated,
            "total_tokens": usage.prompt + usage.generated,
            "prompt_tokens_details": {"cached_tokens": usage.cached, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": usage.thinking, "audio_tokens": 0},
        })
    }
}
