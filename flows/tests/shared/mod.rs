//! What the tests of flows share.

#![allow(dead_code)]

use std::sync::{Arc, Mutex};

use alloquy_core::media::Digest;
use alloquy_core::message::ToolResult;
use alloquy_core::tool::ToolContext;
use alloquy_core::{Conversation, Result, Tool, ToolSpec};
use alloquy_flows::{CallKey, Flow};
use serde_json::{Value, json};

/// Reads a flow without problems.
pub(crate) fn flow(text: &str) -> Flow {
    let flow = Flow::from_yaml(text).unwrap();
    assert_eq!(flow.problems(), []);
    flow
}

/// The roles and texts of a conversation.
pub(crate) async fn texts(conversation: &Conversation) -> Vec<String> {
    let mut texts = Vec::new();
    for node in conversation.history().await.unwrap() {
        let results: Vec<_> = node.message.tool_results().map(ToolResult::text).collect();
        let text = if results.is_empty() { node.message.text() } else { results.join(" ") };
        texts.push(format!("{}: {text}", node.message.role.as_str()));
    }
    texts
}

/// The arguments and the key of a call.
type Call = (Value, Option<Digest>);

/// A tool that counts its calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counter {
    calls: Arc<Mutex<Vec<Call>>>,
}

impl Counter {
    pub(crate) fn arguments(&self) -> Vec<Value> {
        self.calls.lock().unwrap().iter().map(|(arguments, _)| arguments.clone()).collect()
    }

    pub(crate) fn keys(&self) -> Vec<Option<Digest>> {
        self.calls.lock().unwrap().iter().map(|(_, key)| *key).collect()
    }
}

#[async_trait::async_trait]
impl Tool for Counter {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("kitchen", "Makes drinks", json!({"type": "object"}))
    }

    async fn call(&self, arguments: &Value) -> Result<Value> {
        self.call_with(arguments, &ToolContext::default()).await
    }

    async fn call_with(&self, arguments: &Value, context: &ToolContext) -> Result<Value> {
        let key = context.turn_data.get::<CallKey>().map(|key| key.0);
        let mut calls = self.calls.lock().unwrap();
        calls.push((arguments.clone(), key));
        Ok(format!("kitchen {}", calls.len()).into())
    }
}
