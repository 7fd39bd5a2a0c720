//! When replies have drafts.

/// When replies have drafts, from [`PromptLookup`](crate::PromptLookup) or a [`DraftModel`](crate::DraftModel).
///
/// Tokens are the same in any case. What differs is how long they take.
///
/// ```
/// use alloquy_inference::{Drafting, GeneratorOptions};
///
/// let options = GeneratorOptions { drafting: Drafting::Always, ..GeneratorOptions::default() };
/// assert_ne!(options.drafting, Drafting::default());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Drafting {
    /// As long as they save time. Their cost, their gain and how many of their tokens are accepted are measured. Drafts are as
    /// long as is expected to be fastest. When they have made a reply up to 3 % slower, the rest of it has none, and its report
    /// says so ([`Warning::DraftsStopped`](alloquy_core::report::Warning::DraftsStopped)).
    #[default]
    Measured,
    /// Always, as long as they may be: for tests, and for measurements of your own.
    Always,
}
