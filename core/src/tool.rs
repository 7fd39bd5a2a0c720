//! Tools that a model may call.

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

pub use approval::{ApprovalDecision, ToolApproval};
pub use context::ToolContext;
pub use depth::RESULT_DEPTH;
pub(crate) use depth::must_be_shallow;
pub use timer::Timer;
pub use toolbox::{Toolbox, Tools};
#[cfg(feature = "schemars")]
pub use typed::TypedTool;

/// A tool that a model may call.
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
/// The description is always the same. Arguments are what the model wrote: those that do not fit are an error, never a
/// panic. Several calls may run concurrently. Dropping a call's future ends the call and leaves the tool usable.
/// `laws::tool` checks this contract.
#[async_trait]
pub trait Tool: Send + Sync + fmt::Debug {
    /// Describes the tool for the model.
    fn spec(&self) -> ToolSpec;

    /// Runs the tool. A string is returned to the model as text, any other value as JSON.
    ///
    /// # Errors
    /// What the model should read about a failure; the conversation continues.
    async fn call(&self, arguments: &Value) -> Result<Value>;

    /// Runs the tool with the context of the turn. The provided method ignores the context.
    ///
    /// # Errors
    /// As [`Tool::call`].
    async fn call_with(&self, arguments: &Value, context: &ToolContext) -> Result<Value> {
        let _ = context;
        self.call(arguments).await
    }
}

// Every method is computed, also one that the trait gets later.
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

/// A source whose tools change over time, such as a server.
///
/// A turn reads the tools once, when it starts, and keeps them.
///
/// ```
/// use alloquy_core::Tool;
/// use alloquy_core::tool::{ToolProvider, Toolbox};
/// use std::sync::{Arc, Mutex};
///
/// /// The tools of the plugins that are loaded.
/// #[derive(Debug, Default)]
/// struct Plugins(Mutex<Vec<Arc<dyn Tool>>>);
///
/// impl ToolProvider for Plugins {
///     fn tools(&self) -> Vec<Arc<dyn Tool>> {
///         self.0.lock().map(|tools| tools.clone()).unwrap_or_default()
///     }
/// }
///
/// let plugins = Arc::new(Plugins::default());
/// let toolbox = Toolbox::default().source(Arc::clone(&plugins));
/// assert_eq!(toolbox.now()?.specs().count(), 0);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub trait ToolProvider: Send + Sync + fmt::Debug {
    /// Returns the present tools, always in the same order.
    fn tools(&self) -> Vec<Arc<dyn Tool>>;
}

// Every method is computed, also one that the trait gets later.
#[deny(clippy::missing_trait_methods)]
impl<T: ToolProvider + ?Sized> ToolProvider for Arc<T> {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        (**self).tools()
    }
}
