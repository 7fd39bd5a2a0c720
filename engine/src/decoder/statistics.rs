//! What a decoder keeps for later prompts.

/// What a decoder keeps for later prompts, and how much of the prompts so far was reused.
///
/// ```
/// use alloquy_engine::decoder::CacheStatistics;
///
/// let mut statistics = CacheStatistics::default();
/// statistics.cached = 300;
/// statistics.computed = 100;
/// let share = statistics.cached as f64 / (statistics.cached + statistics.computed) as f64;
/// assert_eq!(share, 0.75);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheStatistics {
    /// How many sessions there are, those in use included.
    pub sessions: usize,
    /// How many bytes they take together, as far as they report it.
    pub bytes: usize,
    /// How many prompts shared no prefix with any session.
    pub opened: usize,
    /// How many continued in a session, which was cut back if it held more.
    pub continued: usize,
    /// How many continued in a copy of a session, whose tail was kept.
    pub forked: usize,
    /// How many bytes sessions have copied inside ([`Session::copied`](crate::Session::copied)), as far as they report it.
    /// Sessions whose call failed are not counted.
    pub copied: usize,
    /// How many sessions were dropped to make room for others.
    pub evicted: usize,
    /// How many units of all prompts were held already.
    pub cached: usize,
    /// How many units of all prompts were computed.
    pub computed: usize,
}
