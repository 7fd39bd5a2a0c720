//! A text with variables that is part of a prompt.

use std::fmt::Debug;

use super::{RenderedPrompt, Values};
use crate::Result;

/// A text with variables that is part of a prompt, such as the query of a [`PromptRetrieval`](super::PromptRetrieval).
///
/// The `PromptText` of `alloquy-templates` is one.
///
/// ```
/// use std::sync::Arc;
///
/// use alloquy_core::Result;
/// use alloquy_core::prompt_library::{PromptRetrieval, RenderedPrompt, TextTemplate, Values};
///
/// /// A text without variables.
/// #[derive(Debug)]
/// struct Fixed(&'static str);
///
/// impl TextTemplate for Fixed {
///     fn template(&self) -> &str {
///         self.0
///     }
///     fn render(&self, _values: &Values) -> Result<RenderedPrompt> {
///         let mut rendered = RenderedPrompt::default();
///         rendered.push(self.0, None);
///         Ok(rendered)
///     }
/// }
///
/// let retrieval = PromptRetrieval::new("docs", "DOCS", Arc::new(Fixed("opening hours")));
/// assert_eq!(retrieval.query.template(), "opening hours");
/// ```
pub trait TextTemplate: Send + Sync + Debug {
    /// Returns the text as its author wrote it.
    fn template(&self) -> &str;

    /// Renders it. No value is read as a template.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for a template that fails.
    fn render(&self, values: &Values) -> Result<RenderedPrompt>;
}
