//! The file name of a conversation or an owner: one for each on every file system, also those that ignore case.

use alloquy_core::ConversationId;
use alloquy_core::media::Digest;

/// The ending of logs.
pub(super) const LOG: &str = "jsonl";

/// Where the logs of an owner stand.
pub(super) const CONVERSATIONS: &str = "conversations";

/// Some file systems end at 143 bytes; this leaves room for an ending.
const LONGEST: usize = 120;

/// How much of a longer name stays in front of its digest, for people to read.
const KEPT: usize = 48;

/// Names the log of a conversation.
pub(super) fn log_name(id: &ConversationId) -> String {
    format!("{}.{LOG}", file_name(id.as_str()))
}

/// Names a file after an id.
///
/// Lower-case letters, digits, `-` and `_` stand for themselves, every other byte is `%` and two lower-case digits,
/// so names that differ in case alone differ in bytes. A device's name gets a `+` in front; a long name is cut, and
/// told apart by `~` and the digest of the id.
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

/// Windows opens a device under these names, whatever their ending.
fn is_device(name: &str) -> bool {
    let numbered = |device: &str| matches!(name.strip_prefix(device).map(str::as_bytes), Some([b'0'..=b'9']));
    matches!(name, "con" | "prn" | "aux" | "nul") || numbered("com") || numbered("lpt")
}
