//! The toolbox: names, failures, refusals, time, and how many calls run at once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use alloquy_core::message::{ToolCall, ToolResult};
use alloquy_core::tool::{ApprovalDecision, ToolApproval, ToolContext, ToolProvider, Toolbox, TypedTool};
use alloquy_core::{Error, ErrorKind, Result, Tool, ToolSpec};
use alloquy_testing::laws;
use futures::StreamExt;
use pollster::block_on;
use schemars::JsonSchema;
use serde::Deserialize;
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

fn calls(calls: &[(&str, Value)]) -> Vec<ToolCall> {
    let call = |(index, (name, arguments)): (usize, &(&str, Value))| {
        ToolCall::new(format!("call_{index}"), *name, arguments.clone())
    };
    calls.iter().enumerate().map(call).collect()
}

fn answers(toolbox: &Toolbox, calls: &[ToolCall]) -> Vec<ToolResult> {
    let offered = [ToolSpec::new("host", "", json!({}))];
    block_on(toolbox.now().unwrap().answer(calls, &offered).collect())
}

#[test]
fn every_call_is_answered_in_order() {
    let toolbox = Toolbox::default().tool(Divide("divide"));
    let calls = calls(&[
        ("divide", json!({"a": 6, "b": 2})),
        ("divide", json!({"a": 6, "b": 0})),
        ("devide", json!({})),
    ]);
    insta::assert_json_snapshot!(answers(&toolbox, &calls));
}

#[test]
fn tool_names_are_unique_and_not_empty() {
    for name in ["divide", ""] {
        let toolbox = Toolbox::default().tool(Divide("divide")).tool(Divide(name));
        let error = toolbox.now().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Tool);
        assert!(error.to_string().contains(&format!("{name:?}")));
    }
}

/// Waits until a given number of calls run at once, and counts how many did.
#[derive(Debug, Default)]
struct Crowd {
    expected: usize,
    running: AtomicUsize,
    most: AtomicUsize,
}

impl Crowd {
    fn of(expected: usize) -> Arc<Self> {
        Arc::new(Self { expected, ..Self::default() })
    }
}

#[async_trait::async_trait]
impl Tool for Crowd {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("crowd", "", json!({"type": "object"}))
    }
    async fn call(&self, _arguments: &Value) -> Result<Value> {
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(running, Ordering::SeqCst);
        while self.most.load(Ordering::SeqCst) < self.expected {
            pending_once().await;
        }
        self.running.fetch_sub(1, Ordering::SeqCst);
        Ok(Value::Null)
    }
}

/// Lets everything else go first.
async fn pending_once() {
    let mut waited = false;
    futures::future::poll_fn(|context| {
        context.waker().wake_by_ref();
        if std::mem::replace(&mut waited, true) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
}

#[test]
fn calls_run_at_once_up_to_the_limit() {
    let crowds =
        calls(&[("crowd", json!({})), ("crowd", json!({})), ("crowd", json!({})), ("crowd", json!({}))]);
    for (limit, expected) in [(4, 4), (2, 2), (0, 1)] {
        let crowd = Crowd::of(expected);
        let toolbox = Toolbox::default().tool(Arc::clone(&crowd)).parallel(limit);
        assert_eq!(answers(&toolbox, &crowds).len(), 4);
        assert_eq!(crowd.most.load(Ordering::SeqCst), expected);
    }
}

#[test]
fn a_call_that_takes_too_long_has_an_error_as_its_result() {
    let never = Crowd::of(usize::MAX);
    let immediately = |_: Duration| async {};
    let toolbox = Toolbox::default().tool(never).tool(Divide("divide"));
    let toolbox = toolbox.timeout(Duration::from_secs(30), immediately);
    let results = answers(&toolbox, &calls(&[("crowd", json!({})), ("divide", json!({"a": 4, "b": 2}))]));
    assert_eq!(results[0].text(), "the tool did not answer within 30s");
    assert_eq!((results[0].is_error, results[1].text().as_str()), (true, "2"), "what is done counts");
}

/// Refuses what divides by more than 2, and notes what it is asked.
#[derive(Debug, Default)]
struct Careful(std::sync::Mutex<Vec<String>>);

#[async_trait::async_trait]
impl ToolApproval for Careful {
    async fn approve(&self, call: &ToolCall, tool: &ToolSpec, _: &ToolContext) -> ApprovalDecision {
        assert_eq!(call.name, tool.name);
        self.0.lock().unwrap().push(call.id.clone());
        match call.arguments["b"].as_i64() {
            Some(0..=2) => ApprovalDecision::Allow,
            _ => ApprovalDecision::Refuse("2 is enough".to_owned()),
        }
    }
}

#[test]
fn refused_calls_do_not_run_and_the_model_reads_why() {
    let careful = Arc::new(Careful::default());
    let toolbox = Toolbox::default().tool(Divide("divide")).approval(Arc::clone(&careful));
    let calls = calls(&[
        ("divide", json!({"a": 6, "b": 3})),
        ("unknown", json!({})),
        ("divide", json!({"a": 6, "b": 2})),
    ]);
    let results = answers(&toolbox, &calls);
    let texts: Vec<_> = results.iter().map(|result| (result.text(), result.is_error)).collect();
    insta::assert_debug_snapshot!(texts);
    assert_eq!(*careful.0.lock().unwrap(), ["call_0", "call_2"]);
}

/// A source whose tools change.
#[derive(Debug, Default)]
struct Server(std::sync::Mutex<Vec<&'static str>>);

impl ToolProvider for Server {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.0.lock().unwrap().iter().map(|name| Arc::new(Divide(name)) as Arc<dyn Tool>).collect()
    }
}

#[test]
fn a_turn_keeps_the_tools_of_a_source_that_changes() {
    let server = Arc::new(Server::default());
    let toolbox = Toolbox::default().source(Arc::clone(&server));
    let before = toolbox.now().unwrap();
    server.0.lock().unwrap().push("divide");
    assert!(!before.has("divide"));
    assert!(toolbox.now().unwrap().has("divide"));
    server.0.lock().unwrap().push("divide");
    assert_eq!(toolbox.now().unwrap_err().kind(), ErrorKind::Tool);
}

/// A trip.
#[derive(Debug, Deserialize, JsonSchema)]
#[allow(dead_code)] // only its schema counts
struct Trip {
    /// Where it begins.
    from: Place,
    /// Where it ends; home when absent.
    to: Option<Place>,
    /// How it is travelled.
    #[serde(default)]
    by: Vec<Vehicle>,
    /// How many travel.
    travellers: u32,
    title: String,
}

/// A place.
#[derive(Debug, Deserialize, JsonSchema)]
#[allow(dead_code)]
struct Place {
    city: String,
    /// In degrees.
    latitude: f64,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Vehicle {
    Train,
    Ship,
}

#[test]
fn a_typed_tool_obeys_the_laws() {
    let tool = TypedTool::new("book", "Books a trip", |_: Trip| async { Ok("booked") });
    let place = json!({"city": "Oslo", "latitude": 59.9});
    laws::tool::all(&tool, &json!({"from": place, "travellers": 1, "title": "Mr"}));
}

#[test]
fn the_schema_of_a_type_has_no_references() {
    let tool = TypedTool::new("book", "Books a trip", |_: Trip| async { Ok("booked") });
    let schema = tool.spec().parameters;
    assert!(!schema.to_string().contains("$ref"));
    insta::assert_json_snapshot!(schema);
}

#[test]
fn arguments_that_do_not_fit_are_an_error_with_the_place() {
    let tool = TypedTool::new("book", "Books a trip", |_: Trip| async { Ok("booked") });
    let place = json!({"city": "Oslo", "latitude": 59.9});
    let bad = [
        json!("from Oslo"),
        json!({"from": place, "title": "Mr"}),
        json!({"from": place, "travellers": -1, "title": "Mr"}),
        json!({"from": place, "travellers": 1, "title": "Mr", "by": ["plane"]}),
    ];
    let errors: Vec<_> = bad.iter().map(|bad| block_on(tool.call(bad)).unwrap_err().to_string()).collect();
    insta::assert_snapshot!(errors.join("\n"));
    let good = json!({"from": place, "travellers": 1, "title": "Mr"});
    assert_eq!(block_on(tool.call(&good)).unwrap(), "booked");
}
