//! How likely a text is as a continuation.

use serde::Serialize;

use crate::sampling::Logprob;

/// How likely a text is.
///
/// ```
/// use alloquy_core::report::Score;
/// use alloquy_core::sampling::Logprob;
///
/// let tokens = vec![Logprob::new(1, -0.5), Logprob::new(2, -1.5)];
/// let score = Score::new("so be it", tokens);
/// assert_eq!((score.total(), score.mean()), (-2.0, Some(-1.0)));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Score {
    /// The text.
    pub text: String,
    /// Its tokens, each with its log-probability behind all that stands before it.
    pub tokens: Vec<Logprob>,
}

impl Score {
    /// Creates the score of a text of these tokens.
    pub fn new(text: impl Into<String>, tokens: Vec<Logprob>) -> Self {
        Self { text: text.into(), tokens }
    }

    /// Returns the natural logarithm of the text's probability.
    pub fn total(&self) -> f64 {
        self.tokens.iter().map(|token| f64::from(token.logprob)).sum()
    }

    /// Returns the mean over the tokens, which does not favour short texts; `None` for a text without any.
    pub fn mean(&self) -> Option<f64> {
        (!self.tokens.is_empty()).then(|| self.total() / self.tokens.len() as f64)
    }
}
