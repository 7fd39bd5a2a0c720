//! What tests of turns share: a tool, and where a turn is when its first call is answered.
#![allow(dead_code)] // no test takes all of it

use alloquy_core::{Result, Tool, ToolSpec, Turn, TurnEvent};
use futures::StreamExt;
use serde_json::{Value, json};

/// A description of a tool that takes whatever it is given.
pub(crate) fn spec(name: &str) -> ToolSpec {
    ToolSpec::new(name, format!("Does {name}"), json!({"type": "object"}))
}

/// It is always noon, in the one zone that it is asked for.
#[derive(Debug)]
pub(crate) struct Clock;

#[async_trait::async_trait]
impl Tool for Clock {
    fn spec(&self) -> ToolSpec {
        spec("clock")
    }
    async fn call(&self, arguments: &Value) -> Result<Value> {
        assert_eq!(arguments["zone"], "UTC");
        Ok("noon".into())
    }
}

/// Takes a turn up to the first result of a tool.
pub(crate) async fn first_result(turn: &mut Turn) {
    while let Some(event) = turn.next().await {
        if matches!(event, Ok(TurnEvent::ToolResult(_))) {
            return;
        }
    }
    panic!("no tool answered");
}
