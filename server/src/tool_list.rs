//! `/v1/alloquy/tools`: the tools of the host, which requests name by the labels of their servers.

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::app::App;
use crate::operation::Operation;
use crate::paging::ListOf;
use crate::served_tools::ServedTools;

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/v1/alloquy/tools", get(list))
}

pub(crate) fn operations() -> Vec<Operation> {
    let list =
        Operation::get("/v1/alloquy/tools", "Lists the servers of the host's tools, with their tools.");
    vec![list.answer::<ListOf<ToolServerObject>>()]
}

/// A server of tools that the host has.
#[derive(Debug, JsonSchema, Serialize)]
struct ToolServerObject {
    /// The label, which requests send as `server_label`.
    id: String,
    object: &'static str,
    /// The tools that it has now.
    tools: Vec<ServedToolObject>,
    /// Why its tools cannot be listed now; `null` where they are.
    error: Option<String>,
}

/// A tool of the host.
#[derive(Debug, JsonSchema, Serialize)]
struct ServedToolObject {
    name: String,
    description: String,
    /// The JSON Schema of its arguments; `null` where it has none.
    parameters: Value,
}

impl ToolServerObject {
    fn of(server: &ServedTools) -> Self {
        let mut object =
            Self { id: server.label().to_owned(), object: "tool_server", tools: Vec::new(), error: None };
        match server.toolbox().now() {
            Ok(tools) => {
                for spec in tools.specs() {
                    let (name, description) = (spec.name.clone(), spec.description.clone());
                    let parameters = spec.parameters.clone();
                    object.tools.push(ServedToolObject { name, description, parameters });
                }
            }
            Err(error) => object.error = Some(format!("{error:#}")),
        }
        object
    }
}

async fn list(State(app): State<App>) -> Json<ListOf<ToolServerObject>> {
    let objects = app.tools().all().iter().map(ToolServerObject::of).collect();
    Json(ListOf::of(objects, |server: &ToolServerObject| server.id.as_str(), false))
}
