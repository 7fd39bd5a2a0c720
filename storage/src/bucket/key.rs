//! What objects are called. Knows names, not what is in them.

use alloquy_core::media::Digest;
use alloquy_core::{ConversationId, NodeId, Owner};
use object_store::path::Path;

/// A part of a key of an object may be about as long as a file name.
const LONGEST: usize = 120;

/// How much of a longer name stays in front of its digest, for people to read.
const KEPT: usize = 48;

/// The keys of what one owner has.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    root: String,
}

impl Keys {
    pub(super) fn of(prefix: &str, owner: &Owner) -> Self {
        let prefix = prefix.trim_matches('/');
        let slash = if prefix.is_empty() { "" } else { "/" };
        Self { root: format!("{prefix}{slash}{}", name(owner.as_str())) }
    }

    fn at(&self, rest: &str) -> Path {
        Path::from(format!("{}/{rest}", self.root))
    }

    /// Where the entries of a conversation stand.
    pub(super) fn log(&self, conversation: &str) -> Path {
        self.at(&format!("log/{conversation}"))
    }

    pub(super) fn entry(&self, conversation: &str, number: u64) -> Path {
        self.at(&format!("log/{conversation}/{number:020}"))
    }

    /// Where the marks of all conversations stand.
    pub(super) fn marks(&self) -> Path {
        self.at("index")
    }

    /// The mark that says that there may be an entry.
    pub(super) fn mark(&self, conversation: &str, number: u64) -> Path {
        self.at(&format!("index/{conversation}/{number:020}"))
    }

    pub(super) fn blobs(&self) -> Path {
        self.at("blobs")
    }

    pub(super) fn blob(&self, digest: Digest) -> Path {
        self.at(&format!("blobs/{digest}"))
    }

    /// Each time that bytes are put they are an object of their own, so that removing an older one harms nobody.
    pub(super) fn bytes(&self, digest: Digest, put: NodeId) -> Path {
        self.at(&format!("blobs/{digest}/{put}"))
    }

    pub(super) fn uses(&self) -> Path {
        self.at("uses")
    }

    pub(super) fn uses_of(&self, digest: Digest, conversation: &str) -> Path {
        self.at(&format!("uses/{digest}/{conversation}"))
    }

    /// Says that an entry of a conversation refers to a blob.
    pub(super) fn usage(&self, digest: Digest, conversation: &str, number: u64) -> Path {
        self.at(&format!("uses/{digest}/{conversation}/{number:020}"))
    }
}

/// The last part of a key, a number.
pub(super) fn number(key: &Path) -> Option<u64> {
    key.filename()?.parse().ok()
}

/// The part of a key before its last one.
pub(super) fn folder(key: &Path) -> Option<String> {
    key.parts().rev().nth(1).map(|part| part.as_ref().to_owned())
}

/// Names a conversation or an owner within a key.
pub(super) fn conversation(id: &ConversationId) -> String {
    name(id.as_str())
}

/// Lower-case letters, digits, `-` and `_` stand for themselves, every other byte is `=` and two digits; a long name is
/// cut, and told apart by `+` and the digest of the whole.
fn name(id: &str) -> String {
    let escaped: String = id.bytes().map(escape).collect();
    match escaped.len() {
        0..=LONGEST => escaped,
        _ => format!("{escaped:.KEPT$}+{}", Digest::of(id.as_bytes())),
    }
}

fn escape(byte: u8) -> String {
    match byte {
        b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => char::from(byte).to_string(),
        other => format!("={other:02x}"),
    }
}
