//! What the reading of a document begins with: JSON of its text, and what is counted while it is read. Knows no dialect.

use alloquy_core::{Error, ErrorKind, Result};
use serde_json::Value;

use super::calls::Calls;
use super::media::{Intake, MediaRules};

/// What a reading carries along.
pub(super) struct Reader<'a> {
    pub(super) media: Intake<'a>,
    pub(super) calls: Calls,
}

impl<'a> Reader<'a> {
    /// A reading that has found nothing yet.
    pub(super) fn new(rules: &'a MediaRules<'a>) -> Self {
        Self { media: Intake::new(rules), calls: Calls::default() }
    }
}

pub(super) fn json(text: &str) -> Result<Value> {
    serde_json::from_str(text)
        .map_err(|source| Error::new(ErrorKind::Invalid, "the document is not JSON").with_source(source))
}
