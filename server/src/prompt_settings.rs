//! The settings of a turn that shape its prompt and that its nodes do not have by themselves. They are kept with the replies, so that
//! their prompts can be made again.

use alloquy_core::arguments::ProcessorArguments;
use alloquy_core::preface::ToolSpec;
use alloquy_core::{Node, TurnRequest};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The entry of a reply's metadata with the settings of its turn.
pub(crate) const PROMPT_SETTINGS: &str = "alloquy_prompt";

/// What shaped a prompt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct PromptSettings {
    /// What the template receives, such as `reasoning_effort`.
    pub(crate) arguments: ProcessorArguments,
    /// The names of the tools that the turn alone had, without those that run here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) tools: Vec<String>,
}

impl PromptSettings {
    /// The settings of a turn.
    pub(crate) fn new(arguments: &ProcessorArguments, tools: &[ToolSpec]) -> Self {
        let tools = tools.iter().map(|tool| tool.name.clone()).collect();
        Self { arguments: arguments.clone(), tools }
    }

    /// Keeps them with the replies of a turn, unless nothing is set.
    pub(crate) fn keep(&self, turn: TurnRequest) -> TurnRequest {
        if *self == Self::default() { turn } else { turn.metadata(PROMPT_SETTINGS, json!(self)) }
    }

    /// Reads those of a reply.
    pub(crate) fn of(reply: &Node) -> Self {
        let kept = reply.metadata.get(PROMPT_SETTINGS).and_then(|kept| Self::deserialize(kept).ok());
        kept.unwrap_or_default()
    }
}
