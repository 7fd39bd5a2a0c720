//! Tools from functions of a Rust type: the type is the schema, and reads the arguments.

use std::fmt;
use std::marker::PhantomData;

use async_trait::async_trait;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Tool;
use crate::excerpt::excerpt;
use crate::preface::ToolSpec;
use crate::{Error, ErrorKind, Result};

/// A tool whose arguments are a Rust type.
///
/// The documentation of the type's fields is what the model reads of them. Arguments that do not fit are an error that
/// says where.
///
/// ```
/// use alloquy_core::{Result, Tool, TypedTool};
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
pub struct TypedTool<A, F> {
    spec: ToolSpec,
    function: F,
    arguments: PhantomData<fn(A)>,
}

impl<A, F, W, R> TypedTool<A, F>
where
    A: DeserializeOwned + JsonSchema,
    F: Fn(A) -> W,
    W: Future<Output = Result<R>>,
{
    /// Creates a tool that runs `function`.
    pub fn new(name: impl Into<String>, description: impl Into<String>, function: F) -> Self {
        let spec = ToolSpec::new(name, description, parameters::<A>());
        Self { spec, function, arguments: PhantomData }
    }
}

#[async_trait]
impl<A, F, W, R> Tool for TypedTool<A, F>
where
    A: DeserializeOwned + Send,
    F: Fn(A) -> W + Send + Sync,
    W: Future<Output = Result<R>> + Send,
    R: Serialize + Send,
{
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(&self, arguments: &Value) -> Result<Value> {
        let name = &self.spec.name;
        let arguments = A::deserialize(arguments).map_err(|error| {
            // The model wrote the value that is quoted, and reads this.
            let error = excerpt(&error.to_string()).into_owned();
            Error::new(ErrorKind::Tool, format!("the arguments of {name:?} do not fit: {error}"))
        })?;
        let answer = (self.function)(arguments).await?;
        serde_json::to_value(answer).map_err(|source| {
            Error::new(ErrorKind::Tool, format!("the answer of {name:?} is no JSON")).with_source(source)
        })
    }
}

impl<A, F> fmt::Debug for TypedTool<A, F> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TypedTool").field("spec", &self.spec).finish_non_exhaustive()
    }
}

/// The schema of a type as models are shown them: no references where there is a way around, no names of Rust.
fn parameters<A: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<A>();
    RecursiveTransform(without_rust_names).transform(&mut schema);
    schema.to_value()
}

/// Takes off the type's name, and the width of numbers, which no standard defines.
fn without_rust_names(schema: &mut schemars::Schema) {
    schema.remove("title");
    if schema.get("type").is_some_and(is_number) {
        schema.remove("format");
    }
}

fn is_number(kind: &Value) -> bool {
    let number = |kind: &Value| matches!(kind.as_str(), Some("integer" | "number"));
    number(kind) || kind.as_array().is_some_and(|kinds| kinds.iter().any(number))
}
