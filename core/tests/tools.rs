//! The toolbox: names, failures, and who answers what.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::Arc;

use alloquy_core::{Error, ErrorKind, Message, Part, Result, Role, Tool, ToolCall, ToolSpec, Toolbox};
use serde_json::{Value, json};

#[derive(Debug)]
struct Divide(&'static str);

#[async_trait::async_trait]
impl Tool for Divide {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new(self.0, "Divides", json!({"type": "object"}))
    }
    async fn call(&self, arguments: &Value) -> Result<Value> {
        let number = |name: &str| arguments[name].as_i64().unwrap_or(0);
        let quotient = number("a").checked_div(number("b"));
        quotient.map(Value::from).ok_or_else(|| Error::new(ErrorKind::Tool, "cannot divide by 0"))
    }
}

fn calls(calls: &[(&str, Value)]) -> Message {
    let part = |(index, (name, arguments)): (usize, &(&str, Value))| {
        Part::ToolCall(ToolCall::new(format!("call_{index}"), *name, arguments.clone()))
    };
    Message::new(Role::Assistant, calls.iter().enumerate().map(part).collect())
}

#[test]
fn every_call_is_answered_in_order_or_left_to_the_host() {
    let mut toolbox = Toolbox::default();
    toolbox.add(Arc::new(Divide("divide"))).unwrap();
    let message = calls(&[
        ("divide", json!({"a": 6, "b": 2})),
        ("divide", json!({"a": 6, "b": 0})),
        ("host", json!({})),
        ("devide", json!({})),
    ]);
    let offered = [ToolSpec::new("host", "", json!({}))];
    let answers = pollster::block_on(toolbox.answer(&message, &offered));
    insta::assert_json_snapshot!(answers.results);
    assert_eq!(answers.pending, [ToolCall::new("call_2", "host", json!({}))]);
}

#[test]
fn a_name_is_taken_once_and_never_empty() {
    let mut toolbox = Toolbox::default();
    toolbox.add(Arc::new(Divide("divide"))).unwrap();
    for name in ["divide", ""] {
        let error = toolbox.add(Arc::new(Divide(name))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Tool);
        assert!(error.to_string().contains(&format!("{name:?}")));
    }
}
