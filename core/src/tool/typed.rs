//! Tools from functions whose arguments are a Rust type, which also gives the schema.

use std::fmt;

use async_trait::async_trait;
use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Tool, ToolContext};
use crate::error::excerpt;
use crate::preface::ToolSpec;
use crate::schema::schema_of;
use crate::{Error, ErrorKind, Result};

/// A tool whose arguments are a Rust type.
///
/// The model reads the documentation of the type's fields. Arguments that do not fit are an error that names the place.
///
/// ```
/// use alloquy_core::{Result, Tool};
/// use alloquy_core::tool::TypedTool;
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use serde_json::json;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Add {
///     /// The first number.
///     a: i64,
///     /// The second number.
///     b: i64,
/// }
///
/// let add = TypedTool::new("add", "Adds two integers", |Add { a, b }| async move { Ok(a + b) });
/// assert_eq!(add.spec().parameters["properties"]["a"]["type"], "integer");
/// # pollster::block_on(async {
/// assert_eq!(add.call(&json!({"a": 1, "b": 2})).await?, 3);
/// let error = add.call(&json!({"a": 1})).await.unwrap_err();
/// assert_eq!(error.to_string(), "the arguments of \"add\" do not fit: missing field `b`");
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub struct TypedTool<A> {
    spec: ToolSpec,
    function: Box<Function<A>>,
}

/// The function of a tool, from its arguments and its context to its answer.
type Function<A> = dyn Fn(A, ToolContext) -> BoxFuture<'static, Result<Value>> + Send + Sync;

impl<A: DeserializeOwned + JsonSchema + Send + 'static> TypedTool<A> {
    /// Creates a tool that runs `function`.
    pub fn new<W, R>(
        name: impl Into<String>,
        description: impl Into<String>,
        function: impl Fn(A) -> W + Send + Sync + 'static,
    ) -> Self
    where
        W: Future<Output = Result<R>> + Send + 'static,
        R: Serialize,
    {
        Self::with_context(name, description, move |arguments, _| function(arguments))
    }

    /// Creates a tool that runs `function` with the context of the turn: the host's data and the conversation.
    ///
    /// ```
    /// use alloquy_core::Tool;
    /// use alloquy_core::tool::{ToolContext, TypedTool};
    /// use alloquy_core::turn::TurnData;
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    /// use serde_json::json;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Nothing {}
    ///
    /// struct User(&'static str);
    ///
    /// let who = TypedTool::with_context("who_am_i", "Says who asks", |_: Nothing, context: ToolContext| async move {
    ///     let user = context.turn_data.get::<User>();
    ///     Ok(user.map_or("unknown", |user| user.0))
    /// }); let context = ToolContext::new(TurnData::default().with(User("ann")));
    /// assert_eq!(pollster::block_on(who.call_with(&json!({}), &context))?, "ann");
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub fn with_context<W, R>(
        name: impl Into<String>,
        description: impl Into<String>,
        function: impl Fn(A, ToolContext) -> W + Send + Sync + 'static,
    ) -> Self
    where
        W: Future<Output = Result<R>> + Send + 'static,
        R: Serialize,
    {
        let spec = ToolSpec::new(name, description, schema_of::<A>());
        let name = spec.name.clone();
        Self {
            spec,
            function: Box::new(move |arguments, context| {
                let name = name.clone();
                let answer = function(arguments, context);
                async move { as_json(&name, answer.await?) }.boxed()
            }),
        }
    }
}

fn as_json(name: &str, answer: impl Serialize) -> Result<Value> {
    serde_json::to_value(answer).map_err(|source| {
        Error::new(ErrorKind::Tool, format!("the answer of {name:?} cannot be written as JSON"))
            .with_source(source)
    })
}

#[async_trait]
impl<A: DeserializeOwned + Send + 'static> Tool for TypedTool<A> {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(&self, arguments: &Value) -> Result<Value> {
        self.call_with(arguments, &ToolContext::default()).await
    }

    async fn call_with(&self, arguments: &Value, context: &ToolContext) -> Result<Value> {
        let name = &self.spec.name;
        let arguments = A::deserialize(arguments).map_err(|error| {
            // The error quotes a value that the model wrote, which may be long.
            let error = excerpt(&error.to_string()).into_owned();
            Error::new(ErrorKind::Tool, format!("the arguments of {name:?} do not fit: {error}"))
        })?;
        (self.function)(arguments, context.clone()).await
    }
}

impl<A> fmt::Debug for TypedTool<A> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TypedTool").field("spec", &self.spec).finish_non_exhaustive()
    }
}
