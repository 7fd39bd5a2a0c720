//! Tools: what a model may ask the host to do.

mod approval;
mod context;
mod depth;
mod timer;
mod toolbox;
#[cfg(feature = "schemars")]
mod typed;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use crate::Result;
use crate::preface::ToolSpec;

pub use approval::{Approval, Verdict};
pub use context::ToolContext;
pub use depth::RESULT_DEPTH;
pub(crate) use depth::must_be_shallow;
pub use timer::Timer;
pub use toolbox::{Toolbox, Tools};
#[cfg(feature = "schemars")]
pub use typed::TypedTool;

/// Something that a model may ask for.
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
///
/// # Contract
/// The description is the same each time. Arguments are whatever the model wrote: those that do not fit are an
/// error, never a panic. Several calls may run at once. Dropping a call's future ends it and leaves the tool usable.
/// `laws::tool` checks it.
#[async_trait]
pub trait Tool: Send + Sync + fmt::Debug {
    /// Describes the tool for the model.
    fn spec(&self) -> ToolSpec;

    /// Runs the tool. A string in the answer is text, anything else is JSON.
    ///
    /// # Errors
    /// What the model should read about a failure; the conversation goes on.
    async fn call(&self, arguments: &Value) -> Result<Value>;

    /// Runs the tool with what it may know of the turn; unless it is written, that is left aside.
    ///
    /// # Errors
    /// As [`Tool::call`].
    async fn call_with(&self, arguments: &Value, context: &ToolContext) -> Result<Value> {
        let _ = context;
        self.call(arguments).await
    }
}

// A method that is provided later is passed on too.
#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl<T: Tool + ?Sized> Tool for Arc<T> {
    fn spec(&self) -> ToolSpec {
        (**self).spec()
    }

    async fn call(&self, arguments: &Value) -> Result<Value> {
        (**self).call(arguments).await
    }

    async fn call_with(&self, arguments: &Value, context: &ToolContext) -> Result<Value> {
        (**self).call_with(arguments, context).await
    }
}

/// Where tools come from that come and go, such as a server.
///
/// A turn asks once, when it starts, and keeps to what it was told.
pub trait ToolSource: Send + Sync + fmt::Debug {
    /// Returns the tools that there are now, always in the same order.
    fn tools(&self) -> Vec<Arc<dyn Tool>>;
}

// A method that is provided later is passed on too.
#[deny(clippy::missing_trait_methods)]
impl<T: ToolSource + ?Sized> ToolSource for Arc<T> {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        (**self).tools()
    }
}
