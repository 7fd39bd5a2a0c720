//! Options of an engine's thread: the size of the cache, the number of concurrent generations, and speculative decoding.

use super::cache_budget::CacheBudget;
use super::drafting::Drafting;
use super::lookup::PromptLookup;

/// Options of a [`Generator`](crate::Generator).
///
/// A number converts to that many sessions, all of which may be in use at once. A [`CacheBudget`] converts to the default with
/// that budget.
///
/// ```
/// use alloquy_inference::{GeneratorOptions, PromptLookup};
///
/// // For one conversation on one device. A reply has the whole engine, so it may have drafts.
/// let options = GeneratorOptions { max_concurrent: 1, lookup: Some(PromptLookup::default()), ..Default::default() };
/// assert_eq!(GeneratorOptions::from(8).max_concurrent, 8);
/// # assert_eq!(options.cache.sessions, 32);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GeneratorOptions {
    /// The budget of the cache for later prompts.
    pub cache: CacheBudget,
    /// The number of concurrent generations, at least one and at most the number of sessions. Others are queued.
    ///
    /// Each takes the memory of a session until it ends. With more of them, each step takes longer.
    pub max_concurrent: usize,
    /// Speculative decoding by prompt lookup; off unless set.
    pub lookup: Option<PromptLookup>,
    /// When replies have drafts, of [`GeneratorOptions::lookup`] or of a [`DraftModel`](crate::DraftModel).
    pub drafting: Drafting,
}

impl Default for GeneratorOptions {
    /// Four generations in the default budget, without speculative decoding.
    fn default() -> Self {
        Self { cache: CacheBudget::default(), max_concurrent: 4, lookup: None, drafting: Drafting::default() }
    }
}

impl From<CacheBudget> for GeneratorOptions {
    fn from(budget: CacheBudget) -> Self {
        Self { cache: budget, ..Self::default() }
    }
}

impl From<usize> for GeneratorOptions {
    fn from(sessions: usize) -> Self {
        Self { cache: sessions.into(), max_concurrent: sessions, ..Self::default() }
    }
}
