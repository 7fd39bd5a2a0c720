//! How likely a text is as a reply.

use serde::Serialize;

use crate::sampling::TokenLogprob;

/// How likely a text is, token by token.
///
/// ```
/// use alloquy_core::report::TextScore;
/// use alloquy_core::sampling::TokenLogprob;
///
/// let tokens = vec![TokenLogprob::new(1, -0.5), TokenLogprob::new(2, -1.5)];
/// let score = TextScore::new("so be it", tokens);
/// assert_eq!((score.total(), score.mean()), (-2.0, Some(-1.0)));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TextScore {
    /// The text.
    pub text: String,
    /// Its tokens, each with its log-probability after the tokens before it.
    pub tokens: Vec<TokenLogprob>,
}

impl TextScore {
    /// Creates the score of a text from its tokens.
    pub fn new(text: impl Into<String>, tokens: Vec<TokenLogprob>) -> Self {
        Self { text: text.into(), tokens }
    }

    /// Returns the natural logarithm of the text's probability.
    pub fn total(&self) -> f64 {
        self.tokens.iter().map(|token| f64::from(token.logprob)).sum()
    }

    /// Returns the mean over the tokens, which does not favour short texts; `None` for a text without tokens.
    pub fn mean(&self) -> Option<f64> {
        (!self.tokens.is_empty()).then(|| self.total() / self.tokens.len() as f64)
    }
}
