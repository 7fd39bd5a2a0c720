//! What a request for a response sets. It is kept with the nodes of the reply, so that the response can be shown later.

use alloquy_core::{Node, NodeId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::items::MARK;
use crate::turn_options::Metadata;

/// The fields of a response that repeat those of its request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct Settings {
    pub(crate) created_at: u64,
    pub(crate) model: String,
    pub(crate) background: bool,
    pub(crate) conversation: Option<ConversationOf>,
    pub(crate) previous_response_id: Option<String>,
    pub(crate) instructions: Option<String>,
    pub(crate) max_output_tokens: Option<usize>,
    pub(crate) max_tool_calls: Option<u64>,
    pub(crate) metadata: Metadata,
    pub(crate) parallel_tool_calls: bool,
    pub(crate) prompt_cache_key: Option<String>,
    pub(crate) reasoning: Option<Value>,
    pub(crate) safety_identifier: Option<String>,
    pub(crate) service_tier: String,
    pub(crate) store: bool,
    pub(crate) temperature: f64,
    pub(crate) presence_penalty: f64,
    pub(crate) frequency_penalty: f64,
    pub(crate) text: Value,
    pub(crate) tool_choice: Value,
    pub(crate) tools: Vec<Value>,
    pub(crate) top_logprobs: usize,
    pub(crate) top_p: f64,
    pub(crate) truncation: String,
    pub(crate) user: Option<String>,
}

/// The conversation to which a response was added.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ConversationOf {
    pub(crate) id: String,
}

/// The mark of the nodes of a response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ResponseMark {
    /// The same for all nodes of a response.
    pub(crate) turn: NodeId,
    #[serde(flatten)]
    pub(crate) settings: Settings,
}

impl ResponseMark {
    /// The mark of a new response.
    pub(crate) fn new(settings: Settings) -> Self {
        Self { turn: NodeId::new(), settings }
    }

    /// Reads the mark of a node with this metadata.
    pub(crate) fn read(metadata: &Map<String, Value>) -> Option<Self> {
        Self::deserialize(metadata.get(MARK)?).ok()
    }

    /// Returns the mark of the replies.
    pub(crate) fn of_reply(&self) -> Value {
        json!(self)
    }

    /// Returns the mark of the messages, of which there may be many: without the tools. It is shown where there is no reply.
    pub(crate) fn of_message(&self) -> Value {
        let settings = Settings { tools: Vec::new(), ..self.settings.clone() };
        json!(Self { turn: self.turn, settings })
    }

    /// Returns whether a node is one of this response.
    pub(crate) fn is_of(&self, node: &Node) -> bool {
        Self::read(&node.metadata).is_some_and(|mark| mark.turn == self.turn)
    }
}
