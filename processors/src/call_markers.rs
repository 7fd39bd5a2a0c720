//! Defines the markers around tool calls.

use alloquy_core::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

use crate::calls::{CallSyntax, JSON};

/// The texts around tool calls, and how the calls are written between them.
///
/// ```
/// use alloquy_processors::{CallMarkers, CallSyntax};
///
/// let markers: CallMarkers = serde_json::from_str(r#"{"start": "<call>", "end": "</call>", "syntax": "deepseek"}"#)?;
/// assert_eq!(markers, CallMarkers::new("<call>", "</call>").written_as(CallSyntax::DeepSeek));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct CallMarkers {
    /// The text that begins the calls.
    pub start: String,
    /// The text that ends the calls. In a [`Family`](crate::Family), it may be empty if the calls end by themselves.
    pub end: String,
    /// How the calls are written. The default in a [`DataProcessorConfig`](crate::DataProcessorConfig) is the family's way;
    /// in a [`Family`](crate::Family), it is JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syntax: Option<CallSyntax>,
    /// A text that must follow `start` and belongs to the calls, such as the bracket of a list.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub followed_by: String,
}

impl CallMarkers {
    /// Creates the markers of calls that are written in the default way.
    pub fn new(start: impl Into<String>, end: impl Into<String>) -> Self {
        Self { start: start.into(), end: end.into(), syntax: None, followed_by: String::new() }
    }

    /// Sets how the calls are written.
    #[must_use]
    pub fn written_as(mut self, syntax: CallSyntax) -> Self {
        self.syntax = Some(syntax);
        self
    }

    /// Sets a text that must follow the start and belongs to the calls.
    #[must_use]
    pub fn followed_by(mut self, text: impl Into<String>) -> Self {
        self.followed_by = text.into();
        self
    }

    /// Checks the markers of a family.
    pub(crate) fn check(&self) -> Result<()> {
        let syntax = self.syntax.as_ref().unwrap_or(&JSON);
        syntax.check().map_err(invalid)?;
        if self.start.trim().is_empty() {
            let start = &self.start;
            return Err(invalid(format!("the start of calls, {start:?}, is empty or white space")));
        }
        if self.end.trim().is_empty() && !(self.end.is_empty() && syntax.ends_by_itself()) {
            let start = &self.start;
            let end = &self.end;
            return Err(invalid(format!(
                "the end of the calls that begin with {start:?}, {end:?}, is empty or white space: calls that are written this way do \
                 not end by themselves"
            )));
        }
        Ok(())
    }
}

/// Returns the error for an invalid family or configuration.
pub(crate) fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Invalid, message)
}
