//! The tools of a request: those that its client runs, those of the host, and the choice among them.

use alloquy_core::ToolSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::error::{ApiError, ApiResult};
use crate::host_tools::{GivenMcp, Offered, add_offered};
use crate::items::Namespaces;
use crate::served_tools::ToolServers;

/// A tool.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum GivenTool {
    /// One that the client runs.
    Function(GivenFunction),
    /// Several that the client runs, in a group.
    Namespace(GivenNamespace),
    /// Those of a server that the host has.
    Mcp(GivenMcp),
}

/// A function of the client.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GivenFunction {
    name: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    parameters: Option<Value>,
    #[serde(default)]
    strict: Option<bool>,
}

impl GivenFunction {
    /// Returns what the model reads of it, under this name.
    fn offered(&self, name: &str) -> Offered {
        let parameters = self.parameters.clone().unwrap_or(Value::Null);
        let mut spec = ToolSpec::new(name, self.description.clone().unwrap_or_default(), parameters);
        if let Some(strict) = self.strict {
            spec.extra = Map::from_iter([("strict".to_owned(), json!(strict))]);
        }
        Offered { spec, server: None }
    }
}

/// A group of functions.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GivenNamespace {
    name: String,
    /// Words about the group, which change nothing: the model reads those of its functions.
    #[serde(default)]
    description: Option<String>,
    tools: Vec<NamespaceMember>,
}

/// A tool of a group.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum NamespaceMember {
    Function(GivenFunction),
}

impl GivenNamespace {
    fn offered(&self) -> Vec<Offered> {
        let mut offered = Vec::with_capacity(self.tools.len());
        for NamespaceMember::Function(function) in &self.tools {
            offered.push(function.offered(&Namespaces::joined(&self.name, &function.name)));
        }
        offered
    }
}

/// Returns the tools that a request names.
///
/// # Errors
/// 400 for two tools of one name, and for a server that the host does not have.
pub(super) fn offered(tools: &[GivenTool], servers: &ToolServers) -> ApiResult<Vec<Offered>> {
    let mut offered: Vec<Offered> = Vec::with_capacity(tools.len());
    for (index, tool) in tools.iter().enumerate() {
        let place = format!("tools[{index}]");
        let new = match tool {
            GivenTool::Function(function) => vec![function.offered(&function.name)],
            GivenTool::Namespace(namespace) => namespace.offered(),
            GivenTool::Mcp(given) => given.offered(&place, servers)?,
        };
        add_offered(&mut offered, new, &place)?;
    }
    Ok(offered)
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
    Mcp(ChosenMcp),
    AllowedTools { mode: String, tools: Vec<AllowedTool> },
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum AllowedTool {
    Function { name: String },
    Mcp(ChosenMcp),
}

/// A tool of a server, or all of them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChosenMcp {
    server_label: String,
    #[serde(default)]
    name: Option<String>,
}

impl ChosenMcp {
    /// Returns the names of the tools.
    fn names(self, place: &str, offered: &[Offered]) -> ApiResult<Vec<String>> {
        let of_server = offered.iter().filter(|tool| tool.label() == Some(&self.server_label));
        let names: Vec<String> = match &self.name {
            Some(name) => {
                of_server.filter(|tool| tool.name() == name).map(|tool| tool.name().to_owned()).collect()
            }
            None => of_server.map(|tool| tool.name().to_owned()).collect(),
        };
        if names.is_empty() {
            let tool = self.name.map(|name| format!("no tool {name:?} of ")).unwrap_or_default();
            let message = format!(
                "{place} names {tool}the server {:?}, which is not among the tools",
                self.server_label
            );
            return Err(ApiError::invalid(place, message));
        }
        Ok(names)
    }
}

impl AllowedTools {
    /// Reads the field `tool_choice`.
    ///
    /// # Errors
    /// 400 for another form, and for tools that are not offered.
    pub(super) fn read(choice: Option<&Value>, offered: &[Offered]) -> ApiResult<Self> {
        let value = match choice {
            None => return Ok(Self::All(None)),
            Some(Value::String(mode)) => return Ok(Self::All(Some(mode.clone()))),
            Some(value) => value,
        };
        let choice = Choice::deserialize(value).map_err(|error| {
            let message = format!("tool_choice: {error}; expected a function, mcp or allowed_tools");
            ApiError::unsupported("tool_choice", message)
        })?;
        match choice {
            Choice::Function { name } => Ok(Self::Named(name)),
            Choice::Mcp(ChosenMcp { server_label, name: Some(name) }) => {
                let chosen = ChosenMcp { server_label, name: Some(name.clone()) };
                chosen.names("tool_choice", offered)?;
                Ok(Self::Named(name))
            }
            Choice::Mcp(chosen) => {
                let names = chosen.names("tool_choice", offered)?;
                Ok(Self::Some { names, mode: "required".to_owned() })
            }
            Choice::AllowedTools { mode, tools } => some_of(mode, tools, offered),
        }
    }

    /// Returns whether a tool may be called.
    pub(super) fn allows(&self, name: &str) -> bool {
        match self {
            Self::Some { names, .. } => names.iter().any(|other| other == name),
            _ => true,
        }
    }
}

fn some_of(mode: String, tools: Vec<AllowedTool>, offered: &[Offered]) -> ApiResult<AllowedTools> {
    if mode != "auto" && mode != "required" {
        let message = format!("tool_choice.mode is {mode:?}, expected \"auto\" or \"required\"");
        return Err(ApiError::invalid("tool_choice.mode", message));
    }
    let mut names = Vec::new();
    for tool in tools {
        match tool {
            AllowedTool::Function { name } => names.push(name),
            AllowedTool::Mcp(chosen) => names.extend(chosen.names("tool_choice.tools", offered)?),
        }
    }
    let unknown = names.iter().find(|name| offered.iter().all(|tool| tool.name() != name.as_str()));
    if let Some(unknown) = unknown {
        let message = format!("tool_choice.tools has {unknown:?}, which is not among the tools");
        return Err(ApiError::invalid("tool_choice.tools", message));
    }
    Ok(AllowedTools::Some { names, mode })
}

/// Returns the choice in the form of Chat Completions.
pub(super) fn chat_choice(choice: &AllowedTools) -> Option<Value> {
    match choice {
        AllowedTools::All(mode) => mode.as_ref().map(|mode| json!(mode)),
        AllowedTools::Named(name) => Some(json!({"type": "function", "function": {"name": name}})),
        AllowedTools::Some { mode, .. } => Some(json!(mode)),
    }
}
