//! A place in the tree and a sentence about it.

use std::fmt;

use crate::{Error, Result};

/// Something to put right.
///
/// ```
/// let finding = xtask::Finding::new("core/src/lib.rs", 3, "trailing whitespace");
/// assert_eq!(finding.to_string(), "core/src/lib.rs:3: trailing whitespace");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The file, relative to the root, with `/` between folders.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, and what would be right.
    pub sentence: String,
}

impl Finding {
    /// Creates a finding.
    pub fn new(path: impl Into<String>, line: usize, sentence: impl Into<String>) -> Self {
        Self { path: path.into(), line, sentence: sentence.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}", self.path, self.line, self.sentence)
    }
}

/// Prints what `chore` found.
///
/// # Errors
/// When it found anything.
pub fn report(chore: &str, findings: &[Finding]) -> Result {
    for finding in findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => {
            println!("{chore}: nothing to put right");
            Ok(())
        }
        1 => Err(Error::new(format!("{chore}: 1 finding"))),
        several => Err(Error::new(format!("{chore}: {several} findings"))),
    }
}
