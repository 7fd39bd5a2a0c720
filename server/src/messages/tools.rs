//! The tools of a request, and which of them the model is to call.

use alloquy_core::ToolSpec;
use alloquy_core::output::{OutputConstraints, ParallelCalls, ToolChoice};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::blocks::CacheControl;
use crate::error::{ApiError, ApiResult};

/// A tool of the client's.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolParam {
    name: String,
    #[serde(default)]
    description: Option<String>,
    input_schema: Value,
    /// `custom`; the tools that Anthropic's servers run have other types.
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default, rename = "cache_control")]
    _cache_control: Option<CacheControl>,
    #[serde(default)]
    strict: Option<bool>,
    #[serde(default)]
    input_examples: Option<Vec<Map<String, Value>>>,
    /// Calls are sent once they are whole, so it changes nothing.
    #[serde(default, rename = "eager_input_streaming")]
    _eager_input_streaming: Option<bool>,
    #[serde(default)]
    defer_loading: Option<bool>,
    #[serde(default)]
    allowed_callers: Option<Vec<String>>,
}

impl ToolParam {
    /// Reads the tool at a place.
    ///
    /// # Errors
    /// 400 for a tool that a server runs, and for one that the model would not see.
    pub(super) fn spec(&self, place: &str) -> ApiResult<ToolSpec> {
        if let Some(kind) = self.kind.as_deref().filter(|kind| *kind != "custom") {
            let message =
                format!("{place}.type is {kind:?}, and this server has no tools of its own: \"custom\"");
            return Err(ApiError::unsupported(format!("{place}.type"), message));
        }
        if self.defer_loading == Some(true) {
            let message =
                format!("{place}.defer_loading is true, and tools are not searched for here: false");
            return Err(ApiError::unsupported(format!("{place}.defer_loading"), message));
        }
        if let Some(other) = self.allowed_callers.iter().flatten().find(|caller| *caller != "direct") {
            let message = format!(
                "{place}.allowed_callers has {other:?}, and only the model calls tools here: [\"direct\"]"
            );
            return Err(ApiError::unsupported(format!("{place}.allowed_callers"), message));
        }
        let description = self.description.as_deref().unwrap_or_default();
        let mut spec = ToolSpec::new(&self.name, description, self.input_schema.clone());
        if let Some(strict) = self.strict {
            spec.extra.insert("strict".to_owned(), strict.into());
        }
        if let Some(examples) = &self.input_examples {
            spec.extra.insert("input_examples".to_owned(), examples.clone().into());
        }
        Ok(spec)
    }
}

/// Which tools the model is to call.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum ToolChoiceParam {
    Auto {
        #[serde(default)]
        disable_parallel_tool_use: Option<bool>,
    },
    Any {
        #[serde(default)]
        disable_parallel_tool_use: Option<bool>,
    },
    Tool {
        name: String,
        #[serde(default)]
        disable_parallel_tool_use: Option<bool>,
    },
    None {},
}

impl ToolChoiceParam {
    /// Adds the choice to the constraints of a reply.
    pub(super) fn constrain(&self, output: OutputConstraints) -> OutputConstraints {
        let (choice, is_single) = match self {
            Self::Auto { disable_parallel_tool_use } => (ToolChoice::Auto, *disable_parallel_tool_use),
            Self::Any { disable_parallel_tool_use } => (ToolChoice::Required, *disable_parallel_tool_use),
            Self::Tool { name, disable_parallel_tool_use } => {
                (ToolChoice::Named(name.clone()), *disable_parallel_tool_use)
            }
            Self::None {} => (ToolChoice::None, None),
        };
        let output = output.tool_choice(choice);
        if is_single == Some(true) { output.parallel_calls(ParallelCalls::Forbidden) } else { output }
    }
}
