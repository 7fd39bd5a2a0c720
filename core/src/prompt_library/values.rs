//! The values that a prompt is filled in with.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::message::Source;
use crate::tree::Node;
use crate::{Error, ErrorKind, Result};

/// The entry of a reply's metadata that names it as an output: [`Values::or_outputs`] reads it.
pub const OUTPUT_KEY: &str = "output";

/// The values that a prompt is filled in with, by name, each with its source.
///
/// ```
/// use alloquy_core::Source;
/// use alloquy_core::prompt_library::Values;
/// use serde::Serialize;
///
/// #[derive(Serialize)]
/// struct Trip {
///     city: &'static str,
///     days: u32,
/// }
///
/// let values = Values::of(&Trip { city: "Lisbon", days: 3 })?;
/// assert_eq!(values.get("days").unwrap().value, 3);
/// assert_eq!(values.get("city").unwrap().source, Some(Source::Value("city".into())));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values {
    entries: BTreeMap<String, PromptValue>,
}

/// A value, and where it comes from.
///
/// [`Values`] contains them.
#[derive(Clone, Debug, PartialEq)]
pub struct PromptValue {
    /// The value.
    pub value: Value,
    /// Where it comes from; `None` for a default that the author of the prompt wrote.
    pub source: Option<Source>,
}

impl Values {
    /// Returns no values.
    pub fn new() -> Self {
        Self::default()
    }

    /// Converts a struct or a map: each field is a value under its name.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when it does not serialise to an object.
    pub fn of<T: Serialize + ?Sized>(fields: &T) -> Result<Self> {
        let value = serde_json::to_value(fields).map_err(|source| {
            let message = format!("the values of a prompt cannot be serialised: {source}");
            Error::new(ErrorKind::Invalid, message).with_source(source)
        })?;
        match value {
            Value::Object(fields) => Ok(fields.into()),
            other => {
                let message =
                    format!("the values of a prompt are {other}, expected an object with their names");
                Err(Error::new(ErrorKind::Invalid, message))
            }
        }
    }

    /// Sets a value that a user or the host supplied.
    #[must_use]
    pub fn set(self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        let name = name.into();
        let source = Source::Value(name.clone());
        self.set_from(name, value, source)
    }

    /// Sets a value with its source, such as a document that was retrieved.
    #[must_use]
    pub fn set_from(mut self, name: impl Into<String>, value: impl Into<Value>, source: Source) -> Self {
        self.entries.insert(name.into(), PromptValue { value: value.into(), source: Some(source) });
        self
    }

    /// Adds the defaults of a prompt for names that have no value. The prompt's author wrote them.
    #[must_use]
    pub fn or_defaults(mut self, defaults: &Map<String, Value>) -> Self {
        for (name, value) in defaults {
            let default = PromptValue { value: value.clone(), source: None };
            self.entries.entry(name.clone()).or_insert(default);
        }
        self
    }

    /// Adds the values of `others` for names that have no value here.
    #[must_use]
    pub fn or(mut self, others: Self) -> Self {
        for (name, value) in others.entries {
            self.entries.entry(name).or_insert(value);
        }
        self
    }

    /// Adds the named outputs on a path: the text of each reply whose metadata has an entry `output`, under that name.
    /// Of two outputs with one name, the later one counts. Values that are already set stay.
    ///
    /// ```
    /// use alloquy_core::prompt_library::Values;
    /// use alloquy_core::{Message, Node, Source};
    ///
    /// let mut reply = Node::new(None, Message::assistant("A storm."));
    /// reply.metadata.insert("output".into(), "plot".into());
    /// let values = Values::new().or_outputs(&[reply.clone()]);
    /// let plot = values.get("plot").unwrap();
    /// assert_eq!(plot.value, "A storm.");
    /// assert_eq!(plot.source, Some(Source::Output { name: "plot".into(), node: reply.id }));
    /// ```
    #[must_use]
    pub fn or_outputs(mut self, path: &[Node]) -> Self {
        for node in path.iter().rev() {
            let Some(name) = node.metadata.get(OUTPUT_KEY).and_then(Value::as_str) else { continue };
            let source = Source::Output { name: name.to_owned(), node: node.id };
            let output = PromptValue { value: Value::from(node.message.text()), source: Some(source) };
            self.entries.entry(name.to_owned()).or_insert(output);
        }
        self
    }

    /// Returns the value of this name.
    pub fn get(&self, name: &str) -> Option<&PromptValue> {
        self.entries.get(name)
    }

    /// Returns the values with their names, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &PromptValue)> {
        self.entries.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl From<Map<String, Value>> for Values {
    fn from(fields: Map<String, Value>) -> Self {
        let mut values = Self::new();
        for (name, value) in fields {
            values = values.set(name, value);
        }
        values
    }
}
