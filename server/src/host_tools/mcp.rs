//! Servers of tools in a request: `{"type": "mcp"}` selects one of the host by its label. Which of its tools are offered, which of them
//! wait for an approval, and how they run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use alloquy_core::message::ToolCall;
use alloquy_core::tool::{ApprovalDecision, ToolApproval, ToolContext, Toolbox, Tools};
use alloquy_core::{Error, ErrorKind, Node, Result, Tool, ToolSpec};
use async_trait::async_trait;
use futures::StreamExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::offered::{Offered, OfferedBy};
use crate::error::{ApiError, ApiResult};
use crate::items::{McpServer, McpServers, McpTool};
use crate::served_tools::ToolServers;

/// A server of tools in a request.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GivenMcp {
    /// The label under which the host has the server.
    server_label: String,
    /// The address of the server, where the host has named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    server_url: Option<String>,
    /// Words for people, which change nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    server_description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    allowed_tools: Option<GivenFilter>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    require_approval: Option<GivenApprovals>,
    /// `["direct"]` is the only one that is possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    allowed_callers: Option<Vec<String>>,
    /// Only `false` is possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    defer_loading: Option<bool>,
}

/// Tools by their names.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(untagged, expecting = "expected a list of names, or an object with tool_names")]
enum GivenFilter {
    Names(Vec<String>),
    Filter(NameFilter),
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NameFilter {
    tool_names: Vec<String>,
}

impl GivenFilter {
    fn names(&self) -> &[String] {
        match self {
            Self::Names(names) | Self::Filter(NameFilter { tool_names: names }) => names,
        }
    }
}

/// Which calls wait for an approval: those of all tools unless it is given.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(untagged, expecting = "expected \"always\", \"never\", or an object with always and never")]
enum GivenApprovals {
    All(AllApprovals),
    Some(SomeApprovals),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum AllApprovals {
    Always,
    Never,
}

/// The tools of `never` run at once. Calls of all others wait.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct SomeApprovals {
    #[serde(skip_serializing_if = "Option::is_none")]
    always: Option<NameFilter>,
    #[serde(skip_serializing_if = "Option::is_none")]
    never: Option<NameFilter>,
}

impl GivenMcp {
    /// Returns the tools that are offered. `place` is that of this entry.
    ///
    /// # Errors
    /// 400 for a label and an address that the host does not have, for names that the server does not have, and for what is not done here;
    /// those of a source of tools that fails.
    pub(crate) fn offered(&self, place: &str, servers: &ToolServers) -> ApiResult<Vec<Offered>> {
        let label = &self.server_label;
        let Some(server) = servers.get(label) else {
            let place = format!("{place}.server_label");
            let message = format!(
                "{place}: this server has no tools of {label:?}, expected one of {}",
                json!(servers.labels())
            );
            return Err(ApiError::invalid(place, message));
        };
        self.check_fixed(place, server.address())?;
        let tools = server.toolbox().now()?;
        let all: Vec<&str> = tools.specs().map(|spec| spec.name.as_str()).collect();
        if let Some(allowed) = &self.allowed_tools {
            must_be_among(allowed.names(), &all, &format!("{place}.allowed_tools"), label)?;
        }
        self.check_approvals(place, &all)?;
        let mut offered = Vec::new();
        for spec in tools.specs() {
            let is_allowed =
                self.allowed_tools.as_ref().is_none_or(|allowed| allowed.names().contains(&spec.name));
            if is_allowed {
                let waits = self.waits(&spec.name);
                let by = OfferedBy { label: label.clone(), waits, tools: tools.clone() };
                offered.push(Offered { spec: spec.clone(), server: Some(by) });
            }
        }
        Ok(offered)
    }

    /// Checks the fields of which only some values are possible here.
    fn check_fixed(&self, place: &str, address: Option<&str>) -> ApiResult<()> {
        if let Some(url) = self.server_url.as_deref().filter(|url| Some(*url) != address) {
            let place = format!("{place}.server_url");
            let message = match address {
                Some(address) => format!(
                    "{place} is {url:?}, and the host has named {address:?} for this label: send that, or none"
                ),
                None => format!(
                    "{place} is {url:?}, and this server connects to no address of a request: send the label alone"
                ),
            };
            return Err(ApiError::unsupported(place, message));
        }
        if self.defer_loading == Some(true) {
            let place = format!("{place}.defer_loading");
            let message = format!("{place} is true, and tools are not searched for here: false");
            return Err(ApiError::unsupported(place, message));
        }
        match &self.allowed_callers {
            Some(callers) if callers.iter().any(|caller| caller != "direct") || callers.is_empty() => {
                let place = format!("{place}.allowed_callers");
                let message = format!(
                    "{place} is {}, and only the model calls tools here: [\"direct\"]",
                    json!(callers)
                );
                Err(ApiError::unsupported(place, message))
            }
            _ => Ok(()),
        }
    }

    fn check_approvals(&self, place: &str, all: &[&str]) -> ApiResult<()> {
        let Some(GivenApprovals::Some(some)) = &self.require_approval else { return Ok(()) };
        let label = &self.server_label;
        let place = format!("{place}.require_approval");
        for (field, filter) in [("always", &some.always), ("never", &some.never)] {
            if let Some(filter) = filter {
                must_be_among(&filter.tool_names, all, &format!("{place}.{field}.tool_names"), label)?;
            }
        }
        let always = some.always.iter().flat_map(|filter| &filter.tool_names);
        let never: Vec<&String> = some.never.iter().flat_map(|filter| &filter.tool_names).collect();
        match always.into_iter().find(|name| never.contains(name)) {
            Some(both) => {
                let message = format!("{place}: {both:?} is in always and in never: leave it in one of them");
                Err(ApiError::invalid(place, message))
            }
            None => Ok(()),
        }
    }

    fn waits(&self, tool: &str) -> bool {
        match &self.require_approval {
            Some(GivenApprovals::All(AllApprovals::Never)) => false,
            Some(GivenApprovals::Some(some)) => {
                let never = some.never.as_ref();
                never.is_none_or(|filter| filter.tool_names.iter().all(|name| name != tool))
            }
            None | Some(GivenApprovals::All(AllApprovals::Always)) => true,
        }
    }
}

fn must_be_among(names: &[String], all: &[&str], place: &str, label: &str) -> ApiResult<()> {
    match names.iter().find(|name| !all.contains(&name.as_str())) {
        Some(unknown) => {
            let message = format!("{place} has {unknown:?}, and the tools of {label:?} are {}", json!(all));
            Err(ApiError::invalid(place, message))
        }
        None => Ok(()),
    }
}

/// The tools of the host in a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostTools {
    offered: Vec<Offered>,
    /// The names of those that the choice among tools leaves.
    allowed: Vec<String>,
    /// How many of their calls may run.
    most: Option<u64>,
    pub(crate) servers: McpServers,
}

impl HostTools {
    /// Takes those of the host.
    pub(crate) fn new(offered: &[Offered], allowed: &[ToolSpec], most: Option<u64>) -> Self {
        let mut servers: Vec<McpServer> = Vec::new();
        for tool in offered {
            let Some(by) = &tool.server else { continue };
            let known = servers.iter().position(|server| server.label == by.label);
            let index = known.unwrap_or_else(|| {
                let label = by.label.clone();
                servers.push(McpServer { label, is_listed: true, tools: Vec::new(), waiting: Vec::new() });
                servers.len() - 1
            });
            let Some(server) = servers.get_mut(index) else { continue };
            server.tools.push(shown(&tool.spec));
            if by.waits {
                server.waiting.push(tool.spec.name.clone());
            }
        }
        let offered = offered.iter().filter(|tool| tool.server.is_some()).cloned().collect();
        let allowed = allowed.iter().map(|spec| spec.name.clone()).collect();
        Self { offered, allowed, most, servers: McpServers(servers) }
    }

    /// Returns whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.offered.is_empty()
    }

    /// Returns whether a tool of a server is offered.
    pub(crate) fn has(&self, label: &str, name: &str) -> bool {
        self.offered.iter().any(|tool| {
            tool.spec.name == name && tool.server.as_ref().is_some_and(|server| server.label == label)
        })
    }

    /// Returns the toolboxes of a request: of all tools, for calls that were approved, and of those that need no approval. Together they run
    /// as many calls as the request allows.
    pub(crate) fn toolboxes(&self) -> (Toolbox, Toolbox) {
        let mut all = Toolbox::default();
        let mut free = Toolbox::default();
        if let Some(most) = self.most {
            let limit = Arc::new(CallLimit { most, left: AtomicU64::new(most) });
            all = all.approval(Arc::clone(&limit));
            free = free.approval(limit);
        }
        for tool in &self.offered {
            let Some(server) = &tool.server else { continue };
            let labelled = Labelled { spec: tool.spec.clone(), tools: server.tools.clone() };
            if !server.waits && self.allowed.contains(&tool.spec.name) {
                free = free.tool(labelled.clone());
            }
            all = all.tool(labelled);
        }
        (all, free)
    }
}

/// Notes which lists of tools a path has shown already: those that are the same are not shown again.
pub(crate) fn note_lists(servers: &mut McpServers, path: &[Node]) {
    for server in &mut servers.0 {
        let of_path = path.iter().flat_map(|node| McpServers::of(&node.metadata).0);
        let stored = of_path.rev().find(|other| other.label == server.label);
        server.is_listed = !stored.is_some_and(|other| other.tools == server.tools);
    }
}

fn shown(spec: &ToolSpec) -> McpTool {
    let description = Some(spec.description.clone()).filter(|text| !text.is_empty());
    let input_schema = match &spec.parameters {
        Value::Null => Value::Object(Map::new()),
        schema => schema.clone(),
    };
    McpTool { name: spec.name.clone(), description, input_schema, annotations: None }
}

/// A tool of a server, which runs by the rules of the server's toolbox.
#[derive(Clone, Debug)]
struct Labelled {
    spec: ToolSpec,
    tools: Tools,
}

#[async_trait]
impl Tool for Labelled {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(&self, arguments: &Value) -> Result<Value> {
        self.call_with(arguments, &ToolContext::default()).await
    }

    async fn call_with(&self, arguments: &Value, context: &ToolContext) -> Result<Value> {
        let call = ToolCall::new("call", &self.spec.name, arguments.clone());
        let tools = self.tools.clone().with_context(context.clone());
        let mut results = Box::pin(tools.answer(std::slice::from_ref(&call), &[]));
        match results.next().await {
            Some(result) if result.is_error => Err(Error::new(ErrorKind::Tool, result.text())),
            Some(result) => Ok(result.content),
            None => Err(Error::new(ErrorKind::Tool, "the tool gave no result")),
        }
    }
}

/// Lets as many calls run as a request allows.
#[derive(Debug)]
struct CallLimit {
    most: u64,
    left: AtomicU64,
}

#[async_trait]
impl ToolApproval for CallLimit {
    async fn approve(&self, _: &ToolCall, _: &ToolSpec, _: &ToolContext) -> ApprovalDecision {
        let taken = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        match taken {
            Ok(_) => ApprovalDecision::Allow,
            Err(_) => ApprovalDecision::Refuse(format!(
                "{} calls are the most that this request allows (max_tool_calls), and they have run",
                self.most
            )),
        }
    }
}
