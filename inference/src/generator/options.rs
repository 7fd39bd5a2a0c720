//! How an engine's thread works: what is kept, how many generations advance together, and guesses.

use super::lookup::PromptLookup;
use super::slots::CacheBudget;

/// How an engine's thread works.
///
/// A number of sessions stands for that many, each of which may be in use at the same time; a [`CacheBudget`] leaves the
/// rest as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GeneratorOptions {
    /// How much is kept for prompts to come.
    pub cache: CacheBudget,
    /// How many generations advance together, at least one and no more than there may be sessions; others wait. Each takes
    /// the memory of a session until it ends, and the more there are, the longer is each of their steps.
    pub max_concurrent: usize,
    /// How replies are guessed ahead; not at all unless set.
    pub lookup: Option<PromptLookup>,
}

impl Default for GeneratorOptions {
    /// Four generations in sessions of the usual budget, without guesses.
    fn default() -> Self {
        Self { cache: CacheBudget::default(), max_concurrent: 4, lookup: None }
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
