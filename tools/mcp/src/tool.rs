//! One tool of a server.

use std::sync::Arc;

use alloquy_core::{Error, ErrorKind, Result, Tool, ToolSpec};
use async_trait::async_trait;
use rmcp::model::{CallToolRequestParams, JsonObject};
use serde_json::Value;

use crate::connection::Connection;
use crate::content;

/// A tool that a server runs.
#[derive(Debug)]
pub(crate) struct McpTool {
    connection: Arc<Connection>,
    /// The name that the server knows.
    name: String,
    spec: ToolSpec,
}

impl McpTool {
    pub(crate) fn new(connection: Arc<Connection>, prefix: &str, tool: &rmcp::model::Tool) -> Self {
        let description = tool.description.as_deref().unwrap_or_default();
        let parameters = Value::Object((*tool.input_schema).clone());
        let spec = ToolSpec::new(format!("{prefix}{}", tool.name), description, parameters);
        Self { connection, name: tool.name.to_string(), spec }
    }
}

#[async_trait]
impl Tool for McpTool {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(&self, arguments: &Value) -> Result<Value> {
        let mut request = CallToolRequestParams::new(self.name.clone());
        request.arguments = Some(object(&self.spec.name, arguments)?);
        content::read(self.connection.call(request).await?)
    }
}

/// Returns the arguments as an object, which is all that the protocol allows.
fn object(name: &str, arguments: &Value) -> Result<JsonObject> {
    match arguments {
        Value::Object(arguments) => Ok(arguments.clone()),
        Value::Null => Ok(JsonObject::new()),
        other => {
            let message = format!("the arguments of {name:?} do not fit: {other} is no object");
            Err(Error::new(ErrorKind::Tool, message))
        }
    }
}
