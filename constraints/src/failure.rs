//! What a failure of `llguidance` means to the caller. It gives sentences; their words are all there is to tell by.

use alloquy_core::{Error, ErrorKind};

/// When it failed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stage {
    /// While a vocabulary was prepared.
    Vocabulary,
    /// While a grammar was compiled.
    Grammar,
    /// While a reply was written.
    Reply,
}

/// Words of sentences on what is not implemented.
const UNSUPPORTED: [&str; 7] = [
    "Unimplemented",
    "Unknown format",
    "not supported",
    "unsupported",
    "Only absolute $ref",
    "Unknown specification",
    "look-around",
];

/// Words of sentences on limits.
const TOO_LARGE: [&str; 6] = ["fuel", "too large", "too big", "too complex", "limit", "level exceeded"];

pub(crate) fn of(stage: Stage, error: &anyhow::Error) -> Error {
    let said = format!("{error:#}").replace("<non-verbose/>", "");
    let said = said.trim();
    let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
    let (kind, sentence) = match stage {
        Stage::Vocabulary => (ErrorKind::Unsupported, "the vocabulary cannot be used for constraints"),
        Stage::Reply if said.contains("NoExtension") => {
            (ErrorKind::Unsupported, "no token of the vocabulary goes on in the reply's form")
        }
        Stage::Reply => (ErrorKind::Unsupported, "the reply's form cannot be kept any longer"),
        Stage::Grammar if has(&UNSUPPORTED) => (ErrorKind::Unsupported, "the grammar cannot be enforced"),
        Stage::Grammar if has(&TOO_LARGE) => (ErrorKind::Unsupported, "the grammar is beyond the limits"),
        Stage::Grammar => (ErrorKind::Invalid, "the grammar is not valid"),
    };
    Error::new(kind, format!("{sentence}: {said}"))
}
