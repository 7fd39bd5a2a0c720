//! Tools: what a model may ask the host to do.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use crate::message::{Message, ToolCall, ToolResult};
use crate::preface::ToolSpec;
use crate::{Error, ErrorKind, Result};

/// Something a model may ask for.
///
/// ```
/// use alloquy_core::{Result, Tool, ToolSpec};
/// use serde_json::{Value, json};
///
/// #[derive(Debug)]
/// struct Add;
///
/// #[async_trait::async_trait]
/// impl Tool for Add {
///     fn spec(&self) -> ToolSpec {
///         let number = json!({"type": "integer"});
///         let parameters = json!({"type": "object", "properties": {"a": number, "b": number}});
///         ToolSpec::new("add", "Adds two integers", parameters)
///     }
///     async fn call(&self, arguments: &Value) -> Result<Value> {
///         Ok(json!(arguments["a"].as_i64().unwrap_or(0) + arguments["b"].as_i64().unwrap_or(0)))
///     }
/// }
/// # assert_eq!(pollster::block_on(Add.call(&json!({"a": 1, "b": 2})))?, 3);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[async_trait]
pub trait Tool: Send + Sync + fmt::Debug {
    /// Describes the tool for the model.
    fn spec(&self) -> ToolSpec;

    /// Runs the tool. Dropping the future ends it.
    ///
    /// # Errors
    /// What the model should read about a failure; the conversation goes on.
    async fn call(&self, arguments: &Value) -> Result<Value>;
}

/// The tools of a manager, by name.
#[derive(Clone, Debug, Default)]
pub struct Toolbox {
    tools: Vec<(ToolSpec, Arc<dyn Tool>)>,
}

impl Toolbox {
    /// Adds a tool.
    ///
    /// # Errors
    /// [`ErrorKind::Tool`] when its name is empty or taken.
    pub fn add(&mut self, tool: Arc<dyn Tool>) -> Result<()> {
        let spec = tool.spec();
        if spec.name.is_empty() || self.find(&spec.name).is_some() {
            let message = format!("tool name {:?} is empty or taken", spec.name);
            return Err(Error::new(ErrorKind::Tool, message));
        }
        self.tools.push((spec, tool));
        Ok(())
    }

    /// Returns the tools' descriptions in the order they were added.
    pub fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.iter().map(|(spec, _)| spec)
    }

    /// Answers the calls of `message`, one after another.
    ///
    /// A tool that fails answers with its error, and so does a name that neither this box nor `offered` knows: the
    /// model reads which names there are. Calls of tools that only the host knows are left pending.
    pub async fn answer(&self, message: &Message, offered: &[ToolSpec]) -> ToolAnswers {
        let mut answers = ToolAnswers::default();
        for call in message.tool_calls() {
            match self.find(&call.name) {
                Some(tool) => answers.results.push(run(tool, call).await),
                None if offered.iter().any(|spec| spec.name == call.name) => {
                    answers.pending.push(call.clone());
                }
                None => answers.results.push(self.unknown(call, offered)),
            }
        }
        answers
    }

    fn find(&self, name: &str) -> Option<&dyn Tool> {
        let (_, tool) = self.tools.iter().find(|(spec, _)| spec.name == name)?;
        Some(tool.as_ref())
    }

    fn unknown(&self, call: &ToolCall, offered: &[ToolSpec]) -> ToolResult {
        let mut names: Vec<_> = self.specs().chain(offered).map(|spec| spec.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        ToolResult::error(call, format!("unknown tool {:?}, one of: {}", call.name, names.join(", ")))
    }
}

/// What became of the tool calls of one message.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolAnswers {
    /// Answers, in the order of the calls.
    pub results: Vec<ToolResult>,
    /// Calls that only the host can answer.
    pub pending: Vec<ToolCall>,
}

async fn run(tool: &dyn Tool, call: &ToolCall) -> ToolResult {
    match tool.call(&call.arguments).await {
        Ok(content) => ToolResult::ok(call, content),
        Err(error) => ToolResult::error(call, format!("{error:#}")),
    }
}
