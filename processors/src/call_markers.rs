//! What is around tool calls, and how they are written. Knows no family.

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
    /// The text that begins them.
    pub start: String,
    /// The text that ends them; empty in a [`Family`](crate::Family) where the calls themselves tell.
    pub end: String,
    /// How the calls are written. Unless set, as the family's are, of a
    /// [`DataProcessorConfig`](crate::DataProcessorConfig); as JSON, of a [`Family`](crate::Family).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syntax: Option<CallSyntax>,
    /// A text that has to follow `start`, and belongs to the calls: the bracket of a list.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub followed_by: String,
}

impl CallMarkers {
    /// Creates the texts around calls that are written as the family's.
    pub fn new(start: impl Into<String>, end: impl Into<String>) -> Self {
        Self { start: start.into(), end: end.into(), syntax: None, followed_by: String::new() }
    }

    /// Sets how the calls are written.
    #[must_use]
    pub fn written_as(mut self, syntax: CallSyntax) -> Self {
        self.syntax = Some(syntax);
        self
    }

    /// Sets a text that has to follow the start, and belongs to the calls.
    #[must_use]
    pub fn followed_by(mut self, text: impl Into<String>) -> Self {
        self.followed_by = text.into();
        self
    }

    /// Says what makes no sense in a family.
    pub(crate) fn check(&self) -> Result<()> {
        let syntax = self.syntax.as_ref().unwrap_or(&JSON);
        syntax.check().map_err(invalid)?;
        if self.start.trim().is_empty() {
            let start = &self.start;
            return Err(invalid(format!("the start of calls, {start:?}, is empty or white space")));
        }
        if self.end.trim().is_empty() && !(self.end.is_empty() && syntax.ends_by_itself()) {
            let (start, end) = (&self.start, &self.end);
            return Err(invalid(format!(
                "the end of the calls that begin with {start:?}, {end:?}, is empty or white space: calls that are written so do \
                 not end by themselves"
            )));
        }
        Ok(())
    }
}

/// Returns the error for what makes no sense in a family or a configuration.
pub(crate) fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Invalid, message)
}
