//! The trait that counts the units of a request's prompt, for policies that shorten requests.

use crate::Result;
use crate::chat_model::Request;
use crate::media::Digest;

/// Counts the units of a request's prompt; media count as the positions that they take.
///
/// The `LanguageModel` of alloquy-inference implements it, and so does every function of the same signature.
///
/// ```
/// use alloquy_core::prompt::PromptCounter;
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
pub trait PromptCounter: Send + Sync {
    /// Counts the units of the request's prompt.
    ///
    /// # Errors
    /// Those of making the prompt.
    fn units(&self, request: &Request) -> Result<usize>;

    /// Returns a digest of the model, its template and its processor, which differs for others that count differently.
    /// With `None`, no reply remembers where the history in its prompt began.
    fn identity(&self) -> Option<Digest> {
        None
    }
}

impl<F: Fn(&Request) -> Result<usize> + Send + Sync> PromptCounter for F {
    fn units(&self, request: &Request) -> Result<usize> {
        self(request)
    }
}
