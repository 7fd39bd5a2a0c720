//! How many tokens a reply took.

use serde::{Deserialize, Serialize};

/// How many tokens a reply took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
