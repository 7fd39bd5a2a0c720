//! Tools of a host, which count their calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use alloquy_core::message::ToolCall;
use alloquy_core::report::FinishReason;
use alloquy_core::tool::Toolbox;
use alloquy_core::{Content, Error, ErrorKind, Message, Reply, Result, Role, Tool, ToolSpec};
use alloquy_server::ServedTools;
use async_trait::async_trait;
use serde_json::{Value, json};

/// Calculates: `add` adds, `fail` fails, and both count their calls.
#[derive(Clone, Debug)]
struct Calculating {
    name: &'static str,
    calls: Arc<AtomicUsize>,
}

#[async_trait]
impl Tool for Calculating {
    fn spec(&self) -> ToolSpec {
        let number = json!({"type": "integer"});
        let schema = json!({"type": "object", "properties": {"a": number, "b": number}});
        ToolSpec::new(self.name, "Calculates", schema)
    }

    async fn call(&self, arguments: &Value) -> Result<Value> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(20)).await;
        match self.name {
            "add" => Ok(json!(arguments["a"].as_i64().unwrap_or(0) + arguments["b"].as_i64().unwrap_or(0))),
            _ => Err(Error::new(ErrorKind::Tool, "nothing to be done")),
        }
    }
}

/// The tools `add` and `fail` under the label `sums`, and how often they were called.
pub(crate) fn sums() -> (ServedTools, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let tool = |name| Calculating { name, calls: Arc::clone(&calls) };
    (ServedTools::new("sums", Toolbox::default().tool(tool("add")).tool(tool("fail"))), calls)
}

/// A reply that calls tools with these ids and names.
pub(crate) fn calling(calls: &[(&str, &str)]) -> Reply {
    let calls =
        calls.iter().map(|(id, name)| Content::ToolCall(ToolCall::new(*id, *name, json!({"a": 2, "b": 3}))));
    let mut reply = Reply::new(Message::new(Role::Assistant, calls.collect()));
    reply.finish = FinishReason::ToolCalls;
    reply
}
