//! How many tokens a reply took.

use serde::{Deserialize, Serialize};

/// How many tokens a reply took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Usage {
    /// Positions of the prompt: its tokens, and those of its media.
    pub prompt: usize,
    /// Positions of the prompt that were cached.
    #[serde(default, alias = "reused")]
    pub cached: usize,
    /// Tokens of the reply, including the end token.
    #[serde(alias = "reply")]
    pub generated: usize,
    /// Tokens of the reply that are thinking. The markers around it count as part of what follows them.
    #[serde(default)]
    pub thinking: usize,
    /// Positions of the context that are free after the prompt and the reply; `None` where a server does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remaining: Option<usize>,
}

impl Usage {
    /// Creates the usage of a reply; nothing is known of its cache.
    ///
    /// ```
    /// use alloquy_core::report::Usage;
    ///
    /// let mut usage = Usage::new(12, 5);
    /// usage.cached = 4;
    /// assert_eq!((usage.prompt, usage.generated, usage.remaining), (12, 5, None));
    /// ```
    pub fn new(prompt: usize, generated: usize) -> Self {
        Self { prompt, generated, ..Self::default() }
    }
}
