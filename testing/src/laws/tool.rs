//! What every tool must do.
//!
//! ```
//! use alloquy_core::{Result, Tool, ToolSpec};
//! use alloquy_testing::laws;
//! use serde_json::{Value, json};
//!
//! #[derive(Debug)]
//! struct Echo;
//!
//! #[async_trait::async_trait]
//! impl Tool for Echo {
//!     fn spec(&self) -> ToolSpec {
//!         ToolSpec::new("echo", "Repeats", json!({"type": "object"}))
//!     }
//!     async fn call(&self, arguments: &Value) -> Result<Value> {
//!         Ok(arguments.clone())
//!     }
//! }
//! laws::tool::all(&Echo, &json!({"text": "Hello"}));
//! ```

use alloquy_core::Tool;
use futures::FutureExt;
use serde_json::{Value, json};

/// Runs every law. The tool must answer a call with `arguments`.
///
/// # Panics
/// When a law is broken.
pub fn all(tool: &dyn Tool, arguments: &Value) {
    the_description_stays_the_same(tool);
    models_can_use_the_description(tool);
    unfit_arguments_do_no_harm(tool, arguments);
    calls_run_at_once(tool, arguments);
    a_dropped_call_does_no_harm(tool, arguments);
}

/// The description is the same each time, so that prompts stay the same.
///
/// # Panics
/// When the law is broken.
pub fn the_description_stays_the_same(tool: &dyn Tool) {
    assert_eq!(tool.spec(), tool.spec(), "the description of a tool changes");
}

/// The name is one word, and the parameters are the schema of an object.
///
/// # Panics
/// When the law is broken.
pub fn models_can_use_the_description(tool: &dyn Tool) {
    let spec = tool.spec();
    let is_word = !spec.name.is_empty() && !spec.name.contains(char::is_whitespace);
    assert!(is_word, "the name {:?} is not one word", spec.name);
    let kind = spec.parameters.get("type").and_then(Value::as_str);
    assert_eq!(kind, Some("object"), "the parameters of {:?} are not those of an object", spec.name);
}

/// With any arguments the tool answers or returns an error, and it answers the next call.
///
/// # Panics
/// When the law is broken.
pub fn unfit_arguments_do_no_harm(tool: &dyn Tool, arguments: &Value) {
    for unfit in [json!(null), json!("text"), json!(-0.5), json!([{}]), json!({"\u{0}": {"deep": [null]}})] {
        // The tool may answer or fail.
        let _ = pollster::block_on(tool.call(&unfit));
    }
    answers(tool, arguments);
}

/// Calls may run concurrently.
///
/// # Panics
/// When the law is broken.
pub fn calls_run_at_once(tool: &dyn Tool, arguments: &Value) {
    let calls = (0..4).map(|_| tool.call(arguments));
    for answer in pollster::block_on(futures::future::join_all(calls)) {
        assert!(answer.is_ok(), "of concurrent calls of {:?} one failed: {answer:?}", tool.spec().name);
    }
}

/// A call that is dropped leaves the tool usable.
///
/// # Panics
/// When the law is broken.
pub fn a_dropped_call_does_no_harm(tool: &dyn Tool, arguments: &Value) {
    // The call may complete in this one poll or be dropped in the middle.
    let _ = tool.call(arguments).now_or_never();
    answers(tool, arguments);
}

fn answers(tool: &dyn Tool, arguments: &Value) {
    let answer = pollster::block_on(tool.call(arguments));
    assert!(answer.is_ok(), "{:?} does not answer {arguments}: {answer:?}", tool.spec().name);
}
