//! File names of conversations and owners, which differ on every file system, also on those that ignore case.

use alloquy_core::ConversationId;
use alloquy_core::media::Digest;

/// The extension of logs.
pub(super) const LOG: &str = "jsonl";

/// The folder with the logs of an owner.
pub(super) const CONVERSATIONS: &str = "conversations";

/// Some file systems allow 143 bytes at most. This leaves room for an extension.
const LONGEST: usize = 120;

/// How much of a longer name precedes its digest, for people to read.
const KEPT: usize = 48;

/// Names the log of a conversation.
pub(super) fn log_name(id: &ConversationId) -> String {
    format!("{}.{LOG}", file_name(id.as_str()))
}

/// Names a file after an id.
///
/// Lower-case letters, digits, `-` and `_` stay as they are. Every other byte becomes `%` and two lower-case digits, so ids
/// that differ only in case get different names: `Tea` is `%54ea`. The name of a device gets the prefix `+`. A long name is
/// truncated and ends with `~` and the digest of the id.
pub(super) fn file_name(id: &str) -> String {
    let bytes = id.as_bytes();
    let escaped: String = bytes.iter().map(|&byte| escape(byte)).collect();
    match escaped.len() {
        0..=LONGEST if is_device(&escaped) => format!("+{escaped}"),
        0..=LONGEST => escaped,
        _ => format!("{escaped:.KEPT$}~{}", Digest::of(bytes)),
    }
}

fn escape(byte: u8) -> String {
    match byte {
        b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => char::from(byte).to_string(),
        other => format!("%{other:02x}"),
    }
}

/// Returns whether Windows opens a device under a name, whatever its extension: `con`, `com1`.
fn is_device(name: &str) -> bool {
    if matches!(name, "con" | "prn" | "aux" | "nul") {
        return true;
    }
    let number = name.strip_prefix("com").or_else(|| name.strip_prefix("lpt"));
    number.is_some_and(|number| matches!(number.as_bytes(), [b'0'..=b'9']))
}
