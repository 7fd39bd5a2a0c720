//! The state of reading a document: its media and its calls so far. Knows no dialect.

use alloquy_core::{Error, ErrorKind, Result};
use serde_json::Value;

use super::calls::Calls;
use super::media::{Intake, MediaRules};

/// The state that every part of a reader shares.
pub(super) struct Reader<'a> {
    pub(super) media: Intake<'a>,
    pub(super) calls: Calls,
}

impl<'a> Reader<'a> {
    /// Creates the state at the start of a document.
    pub(super) fn new(rules: &'a MediaRules<'a>) -> Self {
        Self { media: Intake::new(rules), calls: Calls::default() }
    }
}

pub(super) fn json(text: &str) -> Result<Value> {
    serde_json::from_str(text)
        .map_err(|source| Error::new(ErrorKind::Invalid, "the document is not JSON").with_source(source))
}
