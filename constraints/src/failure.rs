//! Turns failures of `llguidance` into errors. Its failures are sentences, so the kind of an error is read from their words.

use alloquy_core::{Error, ErrorKind};

/// What was being done when it failed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stage {
    /// A vocabulary was being prepared.
    Vocabulary,
    /// A grammar was being compiled.
    Grammar,
    /// A reply was being generated.
    Reply,
}

/// Words of sentences about what is not implemented.
const UNSUPPORTED: [&str; 6] = [
    "Unimplemented",
    "Unknown format",
    "not supported",
    "unsupported",
    "Unknown specification",
    "look-around",
];

/// Words of sentences about limits.
const TOO_LARGE: [&str; 6] = ["fuel", "too large", "too big", "too complex", "limit", "level exceeded"];

/// Words of sentences that recommend settings which this crate does not have, each with the sentence to report instead.
const INSTEAD: [(&str, &str); 2] = [
    ("oneOf constraints", "\"oneOf\" is unsupported where its schemas may overlap: use \"anyOf\""),
    (
        "Only absolute $ref",
        "a \"$ref\" is unsupported unless it points into its own schema, as in \"#/$defs/name\"",
    ),
];

/// Returns the error for a failure.
pub(crate) fn of(stage: Stage, error: &anyhow::Error) -> Error {
    let said = one_line(&format!("{error:#}"));
    let instead = INSTEAD.iter().find(|(words, _)| said.contains(words));
    let said = instead.map_or(said.as_str(), |(_, instead)| instead);
    let (kind, sentence) = match stage {
        Stage::Vocabulary => (ErrorKind::Unsupported, "the vocabulary cannot be used for constraints"),
        Stage::Reply if said.contains("NoExtension") => {
            (ErrorKind::Unsupported, "no token of the vocabulary continues the reply's grammar")
        }
        Stage::Reply => (ErrorKind::Unsupported, "the reply's grammar cannot be enforced any longer"),
        Stage::Grammar if has_one_of(said, &UNSUPPORTED) => {
            (ErrorKind::Unsupported, "the grammar cannot be enforced")
        }
        Stage::Grammar if has_one_of(said, &TOO_LARGE) => {
            (ErrorKind::Unsupported, "the grammar is beyond the limits")
        }
        Stage::Grammar => (ErrorKind::Invalid, "the grammar is not valid"),
    };
    Error::new(kind, format!("{sentence}: {said}"))
}

fn has_one_of(said: &str, words: &[&str]) -> bool {
    words.iter().any(|word| said.contains(word))
}

/// Shortens a failure to one line: its first line, and the verdict where one follows.
///
/// An error in a regular expression draws the pattern and marks the place over several lines, and ends in
/// `error: unclosed group`.
fn one_line(said: &str) -> String {
    let said = said.replace("<non-verbose/>", "");
    let mut lines = said.trim().lines();
    let first = lines.next().unwrap_or_default().trim().to_owned();
    match lines.find_map(|line| line.trim().strip_prefix("error: ")) {
        Some(verdict) => format!("{first} {verdict}"),
        None => first,
    }
}
