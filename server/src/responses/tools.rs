//! The tools of a request, which its client runs, and the choice among them.

use alloquy_core::ToolSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::error::{ApiError, ApiResult};

/// A tool.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum GivenTool {
    /// One that the client runs.
    Function {
        name: String,
        #[serde(default)]
        description: Option<String>,
        #[serde(default)]
        parameters: Option<Value>,
        #[serde(default)]
        strict: Option<bool>,
    },
}

impl GivenTool {
    fn name(&self) -> &str {
        let Self::Function { name, .. } = self;
        name
    }

    fn spec(&self) -> ToolSpec {
        let Self::Function { name, description, parameters, strict } = self;
        let parameters = parameters.clone().unwrap_or(Value::Null);
        let mut spec = ToolSpec::new(name, description.clone().unwrap_or_default(), parameters);
        if let Some(strict) = strict {
            spec.extra = Map::from_iter([("strict".to_owned(), json!(strict))]);
        }
        spec
    }
}

/// Which tools may be called.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum AllowedTools {
    /// All, as the mode says: `auto`, `none` or `required`.
    All(Option<String>),
    /// This one must be called.
    Named(String),
    /// Some of them, as the mode says: `auto` or `required`.
    Some { names: Vec<String>, mode: String },
}

/// The forms of the field `tool_choice`.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum Choice {
    Function { name: String },
    AllowedTools { mode: String, tools: Vec<AllowedTool> },
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum AllowedTool {
    Function { name: String },
}

impl AllowedTools {
    /// Reads the field `tool_choice`.
    ///
    /// # Errors
    /// 400 for another form, and for tools that are not offered.
    pub(super) fn read(choice: Option<&Value>, tools: &[GivenTool]) -> ApiResult<Self> {
        let value = match choice {
            None => return Ok(Self::All(None)),
            Some(Value::String(mode)) => return Ok(Self::All(Some(mode.clone()))),
            Some(value) => value,
        };
        let choice = Choice::deserialize(value).map_err(|error| {
            let message = format!("tool_choice: {error}; expected a function or allowed_tools");
            ApiError::unsupported("tool_choice", message)
        })?;
        match choice {
            Choice::Function { name } => Ok(Self::Named(name)),
            Choice::AllowedTools { mode, tools: some } => {
                if mode != "auto" && mode != "required" {
                    let message = format!("tool_choice.mode is {mode:?}, expected \"auto\" or \"required\"");
                    return Err(ApiError::invalid("tool_choice.mode", message));
                }
                let names: Vec<String> =
                    some.into_iter().map(|AllowedTool::Function { name }| name).collect();
                let unknown = names.iter().find(|name| tools.iter().all(|tool| tool.name() != name.as_str()));
                if let Some(unknown) = unknown {
                    let message = format!("tool_choice.tools has {unknown:?}, which is not among the tools");
                    return Err(ApiError::invalid("tool_choice.tools", message));
                }
                Ok(Self::Some { names, mode })
            }
        }
    }
}

/// Returns the tools that the model is offered.
///
/// # Errors
/// 400 for two tools of one name.
pub(super) fn allowed(tools: &[GivenTool], choice: &AllowedTools) -> ApiResult<Vec<ToolSpec>> {
    let mut specs = Vec::with_capacity(tools.len());
    for (index, tool) in tools.iter().enumerate() {
        if tools.iter().take(index).any(|other| other.name() == tool.name()) {
            let place = format!("tools[{index}].name");
            let message = format!("{place}: another tool has the name {:?}", tool.name());
            return Err(ApiError::invalid(place, message));
        }
        let is_allowed = match choice {
            AllowedTools::Some { names, .. } => names.iter().any(|name| name == tool.name()),
            _ => true,
        };
        if is_allowed {
            specs.push(tool.spec());
        }
    }
    Ok(specs)
}

/// Returns the choice in the form of Chat Completions.
pub(super) fn chat_choice(choice: &AllowedTools) -> Option<Value> {
    match choice {
        AllowedTools::All(mode) => mode.as_ref().map(|mode| json!(mode)),
        AllowedTools::Named(name) => Some(json!({"type": "function", "function": {"name": name}})),
        AllowedTools::Some { mode, .. } => Some(json!(mode)),
    }
}
