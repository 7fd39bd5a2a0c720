//! What is kept for prompts to come.

/// What a decoder keeps, and what became of the prompts since it was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheStatistics {
    /// How many sessions there are, those in use included.
    pub sessions: usize,
    /// How many bytes they take together, as far as they say so.
    pub bytes: usize,
    /// How many prompts found nothing that they could go on from.
    pub opened: usize,
    /// How many went on in a session, cut back where it held more.
    pub continued: usize,
    /// How many went on in a copy, because what it was copied from is worth keeping.
    pub forked: usize,
    /// How many bytes sessions have copied to go on ([`Session::copied`](crate::Session::copied)), as far as they say so;
    /// without those whose call failed.
    pub copied: usize,
    /// How many sessions were dropped because others needed the room.
    pub evicted: usize,
    /// Units of all prompts that were held already.
    pub reused: usize,
    /// Units of all prompts that had to be computed.
    pub forwarded: usize,
}
