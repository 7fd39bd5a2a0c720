//! The limits of the caches that a generator keeps.

/// The limits of the caches that a generator keeps for later prompts, on every branch and conversation.
///
/// ```
/// use alloquy_inference::CacheBudget;
///
/// let budget = CacheBudget { bytes: 8 << 30, ..CacheBudget::default() };
/// assert_eq!(budget.sessions, 32);
/// ```
///
/// ### Why two numbers?
/// A KV cache costs memory, so bytes are limited. A model that does not report its bytes is limited by the number alone. The
/// number also limits the time of a search, which compares a prompt with each session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheBudget {
    /// The largest number of KV caches, at least one.
    pub sessions: usize,
    /// The most bytes that they take together, as far as sessions report it
    /// ([`Session::bytes`](alloquy_engine::Session::bytes)). One is kept however large it is, and those in use are never
    /// dropped.
    pub bytes: usize,
}

impl Default for CacheBudget {
    /// 32 sessions and 2 GiB.
    fn default() -> Self {
        Self { sessions: 32, bytes: 2 << 30 }
    }
}

impl From<usize> for CacheBudget {
    /// As many sessions as given, and the default for the rest.
    fn from(sessions: usize) -> Self {
        Self { sessions, ..Self::default() }
    }
}
