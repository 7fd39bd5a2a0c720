//! The text of a question: its words, the files that are named, and what is piped in.

use std::path::{Path, PathBuf};

use alloquy::core::{Error, ErrorKind, Result};
use clap::Args;

use crate::file;
use crate::piped::Input;

/// The name of standard input among files.
const STDIN: &str = "-";

/// Files whose texts follow the words of a question.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct FileArguments {
    /// Add the text of this file to the question; - is standard input; may be repeated
    #[arg(short, long = "file", value_name = "FILE", env = "ALLOQUY_FILE")]
    files: Vec<PathBuf>,
}

impl FileArguments {
    /// Returns whether none is named.
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Joins the words of a question, the files, and what is piped in, with an empty line between them. Empty ones are left out.
    pub(crate) fn joined(&self, words: &[String], input: &mut Input) -> Result<String> {
        let mut parts = vec![words.join(" ")];
        for path in &self.files {
            parts.push(read(path, input)?);
        }
        parts.extend(input.piped()?);
        Ok(paragraphs(&parts))
    }
}

fn read(path: &Path, input: &mut Input) -> Result<String> {
    if path == Path::new(STDIN) {
        return input.text();
    }
    file::any_text(path).map_err(|source| match source.kind() {
        std::io::ErrorKind::InvalidData => {
            let message = format!(
                "file {path:?} is not a text in UTF-8; --image and --audio send images and audio clips"
            );
            Error::new(ErrorKind::Invalid, message)
        }
        _ => Error::new(ErrorKind::Invalid, format!("file {path:?} cannot be read")).with_source(source),
    })
}

fn paragraphs(parts: &[String]) -> String {
    let mut joined = String::new();
    for part in parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty()) {
        if !joined.is_empty() {
            joined += "\n\n";
        }
        joined += part;
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_paragraphs_and_empty_ones_are_left_out() {
        let joined = |parts: &[&str]| paragraphs(&parts.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(joined(&["Why?", "a\nb\n", "c"]), "Why?\n\na\nb\n\nc");
        assert_eq!(joined(&["", "Why?\n"]), "Why?");
        assert_eq!(joined(&["Why?", " \n"]), "Why?");
        assert_eq!(joined(&[" ", "\n"]), "");
    }
}
