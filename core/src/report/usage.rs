//! How many tokens a reply took.

use serde::{Deserialize, Serialize};

/// How many tokens a reply took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Usage {
    /// Positions of the prompt: its tokens, and what its media take.
    pub prompt: usize,
    /// Positions of the prompt that a session held already.
    #[serde(default)]
    pub reused: usize,
    /// Tokens of the reply, the one that ended it included.
    #[serde(alias = "reply")]
    pub generated: usize,
    /// Tokens of the reply that settled nothing but thinking; the marks around it count with what follows them.
    #[serde(default)]
    pub thinking: usize,
    /// Positions that are left of the context behind prompt and reply; `None` where a server does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remaining: Option<usize>,
}

impl Usage {
    /// Creates the usage of a reply whose prompt was not cached, as far as is known.
    ///
    /// ```
    /// use alloquy_core::report::Usage;
    ///
    /// let mut usage = Usage::new(12, 5);
    /// usage.reused = 4;
    /// assert_eq!((usage.prompt, usage.generated, usage.remaining), (12, 5, None));
    /// ```
    pub fn new(prompt: usize, generated: usize) -> Self {
        Self { prompt, generated, ..Self::default() }
    }
}
