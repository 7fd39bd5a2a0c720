//! How long a request's prompt is, as whoever shortens requests asks. Knows no template and no tokenizer.

use crate::Result;
use crate::chat_model::Request;
use crate::media::Digest;

/// Counts how many units the prompt of a request has; media count as many as the positions that they take.
///
/// The `LanguageModel` of alloquy-inference does; so does every closure of the same shape.
///
/// ```
/// use alloquy_core::prompt::PromptLength;
/// use alloquy_core::{Message, Preface, Request, Result};
///
/// fn messages(request: &Request) -> Result<usize> {
///     Ok(request.path.len())
/// }
///
/// let request = Request::new(Preface::default(), vec![Message::user("Hi")]);
/// assert_eq!(messages.units(&request)?, 1);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub trait PromptLength: Send + Sync {
    /// Counts the units of the request's prompt.
    ///
    /// # Errors
    /// Those of making the prompt.
    fn units(&self, request: &Request) -> Result<usize>;

    /// Returns what tells the model, its template and its processor from others that count otherwise; `None` where that cannot
    /// be said, and then no reply remembers where the history of its prompt began.
    fn identity(&self) -> Option<Digest> {
        None
    }
}

impl<F: Fn(&Request) -> Result<usize> + Send + Sync> PromptLength for F {
    fn units(&self, request: &Request) -> Result<usize> {
        self(request)
    }
}
