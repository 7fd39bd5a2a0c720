//! Grammars that a reply must match, and the traits of matchers, which enforce them token by token.

mod matcher;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use matcher::{GrammarCompiler, GrammarEngine, GrammarMatcher, MatcherState};

/// A grammar that a whole reply must match.
///
/// ```
/// use alloquy_core::grammar::Grammar;
/// use serde_json::json;
///
/// let answer = Grammar::choice(["yes", "no"]);
/// let person = Grammar::JsonSchema(json!({"type": "object", "properties": {"age": {"type": "integer"}}}));
/// assert_eq!(serde_json::to_value(&answer)?, json!({"choice": ["yes", "no"]}));
/// # let _ = person;
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Grammar {
    /// A JSON value that a JSON Schema accepts.
    JsonSchema(Value),
    /// A text that a regular expression matches from end to end.
    Regex(String),
    /// A text that a grammar in Lark's notation derives from its rule `start`.
    Lark(String),
    /// One of these texts.
    Choice(Vec<String>),
    /// What any of these grammars allows.
    AnyOf(Vec<Grammar>),
    /// A grammar in Lark's notation that refers to other grammars as `@name`.
    Composed {
        /// The grammar that refers to the others.
        lark: String,
        /// The others, by name.
        parts: BTreeMap<String, Grammar>,
    },
}

impl Grammar {
    /// Allows the JSON of a Rust type. The schema contains the documentation of its fields, but not its Rust names.
    ///
    /// ```
    /// use alloquy_core::grammar::Grammar;
    /// use schemars::JsonSchema;
    /// use serde_json::json;
    ///
    /// #[derive(JsonSchema)]
    /// struct Person {
    ///     /// In years.
    ///     age: u8,
    /// }
    ///
    /// let Grammar::JsonSchema(schema) = Grammar::of::<Person>() else { unreachable!() };
    /// let age = json!({"description": "In years.", "type": "integer", "minimum": 0, "maximum": 255});
    /// assert_eq!(schema, json!({"type": "object", "properties": {"age": age}, "required": ["age"]}));
    /// ```
    #[cfg(feature = "schemars")]
    pub fn of<T: schemars::JsonSchema>() -> Self {
        Self::JsonSchema(crate::schema::schema_of::<T>())
    }

    /// Allows one of several texts.
    pub fn choice<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self::Choice(texts.into_iter().map(Into::into).collect())
    }
}
