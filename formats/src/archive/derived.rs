//! Derives what a document lacks: the name of a conversation, and times in milliseconds.

use std::time::{SystemTime, UNIX_EPOCH};

use alloquy_core::media::Digest;
use alloquy_core::{ConversationId, Result};

/// Derives the name of a conversation whose document has no valid one: the same text gives the same name.
pub(super) fn name_of(text: &[u8]) -> Result<ConversationId> {
    let digest = Digest::of(text).to_string();
    format!("import-{}", digest.get(..16).unwrap_or(&digest)).parse()
}

/// Returns a time as stores and documents have it: milliseconds since 1970, 0 before.
pub(super) fn milliseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
