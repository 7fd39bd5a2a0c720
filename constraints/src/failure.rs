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
const UNSUPPORTED: [&str; 6] = [
    "Unimplemented",
    "Unknown format",
    "not supported",
    "unsupported",
    "Unknown specification",
    "look-around",
];

/// Words of sentences on limits.
const TOO_LARGE: [&str; 6] = ["fuel", "too large", "too big", "too complex", "limit", "level exceeded"];

/// Sentences on settings that this crate does not have, and what to say instead.
const INSTEAD: [(&str, &str); 2] = [
    ("oneOf constraints", "\"oneOf\" is unsupported where its schemas may overlap: use \"anyOf\""),
    (
        "Only absolute $ref",
        "a \"$ref\" is unsupported unless it points into its own schema, as in \"#/$defs/name\"",
    ),
];

pub(crate) fn of(stage: Stage, error: &anyhow::Error) -> Error {
    let said = one_line(&format!("{error:#}"));
    let instead = INSTEAD.iter().find(|(words, _)| said.contains(words));
    let said = instead.map_or(said.as_str(), |(_, instead)| instead);
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

/// Errors in regular expressions draw the place; the first line and the verdict are enough for a sentence.
fn one_line(said: &str) -> String {
    let said = said.replace("<non-verbose/>", "");
    let mut lines = said.trim().lines();
    let first = lines.next().unwrap_or_default().trim().to_owned();
    match lines.find_map(|line| line.trim().strip_prefix("error: ")) {
        Some(verdict) => format!("{first} {verdict}"),
        None => first,
    }
}
