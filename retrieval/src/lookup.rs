//! What to look for.

use std::num::NonZeroUsize;

use alloquy_core::query::Filter;

/// What to look for: a text, how many passages, and conditions on their metadata.
///
/// ```
/// use alloquy_core::query::Filter;
/// use alloquy_retrieval::Lookup;
///
/// let lookup = Lookup::new("Where is tea grown?").limit(3).filter(Filter::equals("language", "en"));
/// assert_eq!((lookup.limit.get(), lookup.filters.len()), (3, 1));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Lookup {
    /// The text, such as a question. An empty text finds nothing.
    pub text: String,
    /// The largest number of passages.
    pub limit: NonZeroUsize,
    /// Conditions on the metadata of passages; all must hold. They apply before the limit.
    pub filters: Vec<Filter>,
    /// The lowest score of a passage, on the scale of the retriever. Scores of two retrievers cannot be compared.
    pub min_score: Option<f64>,
}

impl Lookup {
    /// How many passages a lookup finds if it sets no limit.
    pub const LIMIT: NonZeroUsize = NonZeroUsize::MIN.saturating_add(4);

    /// Creates a lookup of at most [`Lookup::LIMIT`] passages.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), limit: Self::LIMIT, filters: Vec::new(), min_score: None }
    }

    /// Sets the largest number of passages. Zero counts as one.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = NonZeroUsize::new(limit).unwrap_or(NonZeroUsize::MIN);
        self
    }

    /// Adds a condition on the metadata.
    #[must_use]
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filters.push(filter);
        self
    }

    /// Sets the lowest score of a passage.
    #[must_use]
    pub fn min_score(mut self, score: f64) -> Self {
        self.min_score = Some(score);
        self
    }
}
