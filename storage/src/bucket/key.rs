//! The keys of objects.

use alloquy_core::media::Digest;
use alloquy_core::{ConversationId, NodeId, Owner};
use object_store::path::Path;

/// How long a part of a key may be, which in a folder is a file name.
const LONGEST: usize = 120;

/// How much of a longer name precedes its digest, for people to read.
const KEPT: usize = 48;

/// The keys of one owner's objects.
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

    /// The prefix of the entries of a conversation.
    pub(super) fn log(&self, conversation: &str) -> Path {
        self.at(&format!("log/{conversation}"))
    }

    pub(super) fn entry(&self, conversation: &str, number: u64) -> Path {
        self.at(&format!("log/{conversation}/{number:020}"))
    }

    /// The prefix of the marks of all conversations.
    pub(super) fn marks(&self) -> Path {
        self.at("index")
    }

    /// The mark of an entry: where it exists, the entry may exist.
    pub(super) fn mark(&self, conversation: &str, number: u64) -> Path {
        self.at(&format!("index/{conversation}/{number:020}"))
    }

    pub(super) fn blobs(&self) -> Path {
        self.at("blobs")
    }

    pub(super) fn blob(&self, digest: Digest) -> Path {
        self.at(&format!("blobs/{digest}"))
    }

    /// The bytes of a blob. Each put writes an object of its own, so that an older one can be removed safely.
    pub(super) fn bytes(&self, digest: Digest, put: NodeId) -> Path {
        self.at(&format!("blobs/{digest}/{put}"))
    }

    pub(super) fn uses(&self) -> Path {
        self.at("uses")
    }

    pub(super) fn uses_of(&self, digest: Digest, conversation: &str) -> Path {
        self.at(&format!("uses/{digest}/{conversation}"))
    }

    /// The mark that an entry of a conversation refers to a blob.
    pub(super) fn usage(&self, digest: Digest, conversation: &str, number: u64) -> Path {
        self.at(&format!("uses/{digest}/{conversation}/{number:020}"))
    }
}

/// Returns the last part of a key as a number.
pub(super) fn number(key: &Path) -> Option<u64> {
    key.filename()?.parse().ok()
}

/// Returns the part of a key before the last one.
pub(super) fn folder(key: &Path) -> Option<String> {
    key.parts().rev().nth(1).map(|part| part.as_ref().to_owned())
}

/// Names a conversation or an owner within a key.
pub(super) fn conversation(id: &ConversationId) -> String {
    name(id.as_str())
}

/// Escapes an id: lower-case letters, digits, `-` and `_` stay, every other byte becomes `=` and two digits. A long name is
/// truncated and ends with `+` and the digest of the id.
fn name(id: &str) -> String {
    let escaped: String = id.bytes().map(escape).collect();
    if escaped.len() > LONGEST {
        return format!("{escaped:.KEPT$}+{}", Digest::of(id.as_bytes()));
    }
    escaped
}

fn escape(byte: u8) -> String {
    match byte {
        b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => char::from(byte).to_string(),
        other => format!("={other:02x}"),
    }
}
