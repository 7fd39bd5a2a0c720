//! A server with a tool for every way an answer can look, over standard streams and over HTTP.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, JsonObject,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};

/// Says whether `grow` was called, and how many calls of `wait` were given up.
#[derive(Debug, Default)]
pub(crate) struct Server {
    grown: AtomicBool,
    given_up: AtomicUsize,
}

fn tool(name: &'static str, description: &'static str, properties: &Value) -> Tool {
    let schema = json!({"type": "object", "properties": properties});
    let schema: JsonObject = schema.as_object().unwrap().clone();
    Tool::new(name, description, schema)
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build();
        let mut info = ServerConfig::new(capabilities);
        info.server_info = Implementation::new("trial", "1");
        info.instructions = Some("Try everything.".to_owned());
        info
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let number = json!({"type": "integer"});
        let mut tools = vec![
            tool("add", "Adds two integers", &json!({"a": number, "b": number})),
            tool("fail", "Fails", &json!({})),
            tool("picture", "Gives an image", &json!({})),
            tool("grow", "Makes a tool appear", &json!({})),
            tool("wait", "Never answers", &json!({})),
            tool("given_up", "Counts the calls of wait that nobody waits for any more", &json!({})),
            tool("process", "Tells the id of the process", &json!({})),
            tool("die", "Ends the server", &json!({})),
        ];
        if self.grown.load(Ordering::SeqCst) {
            tools.push(tool("grown", "Appeared", &json!({})));
        }
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let result = match &*request.name {
            "add" => match (arguments["a"].as_i64(), arguments["b"].as_i64()) {
                (Some(a), Some(b)) => CallToolResult::structured(json!({"sum": a + b})),
                _ => return Err(ErrorData::invalid_params("a and b have to be integers", None)),
            },
            "fail" => CallToolResult::error(vec![ContentBlock::text("nothing to be done")]),
            "picture" => CallToolResult::success(vec![
                ContentBlock::text("a dot"),
                ContentBlock::image("AAEC", "image/png"),
            ]),
            "grow" => {
                self.grown.store(true, Ordering::SeqCst);
                context.peer.notify_tool_list_changed().await.unwrap();
                CallToolResult::success(vec![])
            }
            "wait" => {
                context.ct.cancelled().await;
                self.given_up.fetch_add(1, Ordering::SeqCst);
                CallToolResult::success(vec![])
            }
            "given_up" => CallToolResult::structured(json!(self.given_up.load(Ordering::SeqCst))),
            "grown" => CallToolResult::success(vec![ContentBlock::text("hello")]),
            "process" => CallToolResult::structured(json!(std::process::id())),
            "die" => std::process::exit(3),
            other => return Err(ErrorData::invalid_params(format!("no tool {other:?}"), None)),
        };
        Ok(result.into())
    }
}
