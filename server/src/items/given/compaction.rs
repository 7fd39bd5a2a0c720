//! The item of a compaction: a summary of what it replaces.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::{ApiError, ApiResult};

/// How the content of a compaction begins, which one of another provider does not.
pub(crate) const SUMMARY_PREFIX: &str = "alloquy-summary-1.";

/// A compaction that `/v1/responses/compact` has made.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GivenCompaction {
    #[serde(rename = "type")]
    _kind: CompactionKind,
    encrypted_content: String,
    #[serde(default, rename = "id")]
    _id: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum CompactionKind {
    Compaction,
}

impl GivenCompaction {
    /// Returns the summary.
    ///
    /// # Errors
    /// 400 for content that this server has not written.
    pub(super) fn summary(&self, place: &str) -> ApiResult<String> {
        let written = self.encrypted_content.strip_prefix(SUMMARY_PREFIX);
        let bytes = written.and_then(|text| URL_SAFE_NO_PAD.decode(text).ok());
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok()).filter(|text| !text.is_empty());
        text.ok_or_else(|| {
            let place = format!("{place}.encrypted_content");
            let message = format!(
                "{place}: expected what /v1/responses/compact of this server has answered, unchanged"
            );
            ApiError::invalid(place, message)
        })
    }
}
