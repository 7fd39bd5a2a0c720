//! What is counted, and where.

use clap::ValueEnum;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Count {
    /// Closures that are given a name.
    Closures,
    /// Several names bound at once to a tuple that is written out.
    Tuples,
    /// Matches on a boolean.
    Matches,
    /// Words that are not the field's.
    Words,
    /// Sentences of more than 30 words.
    Sentences,
}

/// A place that is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Which count it belongs to.
    pub count: Count,
    /// The file, relative to the root.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// What is there, or what would be better.
    pub text: String,
}
