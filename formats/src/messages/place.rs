//! Places in a document, and the errors that name them. Knows no dialect.

use std::fmt;

use alloquy_core::{Error, ErrorKind};
use serde_json::Value;

/// The most characters of a value that an error quotes: enough to recognize it, too few to leak an image.
const QUOTED: usize = 48;

/// A path such as `messages[2].content[1].image_url`, built while descending and printed only in an error.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    parent: Option<&'a Place<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Field(&'a str),
    Index(usize),
}

impl<'a> Place<'a> {
    pub(super) fn root(name: &'a str) -> Self {
        Self { parent: None, step: Step::Field(name) }
    }

    pub(super) fn field(&'a self, name: &'a str) -> Place<'a> {
        Self { parent: Some(self), step: Step::Field(name) }
    }

    pub(super) fn index(&'a self, index: usize) -> Place<'a> {
        Self { parent: Some(self), step: Step::Index(index) }
    }

    pub(super) fn invalid(&self, sentence: impl fmt::Display) -> Error {
        Error::new(ErrorKind::Invalid, format!("{self}: {sentence}"))
    }

    pub(super) fn unsupported(&self, sentence: impl fmt::Display) -> Error {
        Error::new(ErrorKind::Unsupported, format!("{self}: {sentence}"))
    }

    pub(super) fn expected(&self, wanted: &str, found: &Value) -> Error {
        self.invalid(format_args!("expected {wanted}, found {}", kind(found)))
    }

    /// Creates the error of an unknown name where a closed list of names is valid.
    pub(super) fn unknown(&self, what: &str, name: &str, known: &[&str]) -> Error {
        self.invalid(format_args!("unknown {what} {}, one of: {}", quoted(name), known.join(", ")))
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.parent, self.step) {
            (None, Step::Field(name)) => formatter.write_str(name),
            (None, Step::Index(index)) => write!(formatter, "[{index}]"),
            // The name comes from the document, and may be as long as the document.
            (Some(parent), Step::Field(name)) if name.len() > QUOTED => {
                write!(formatter, "{parent}.{}", quoted(name))
            }
            (Some(parent), Step::Field(name)) => write!(formatter, "{parent}.{name}"),
            (Some(parent), Step::Index(index)) => write!(formatter, "{parent}[{index}]"),
        }
    }
}

/// Quotes `text`, shortened when it is long.
pub(super) fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{:?}…", text.split_at(end).0),
        None => format!("{text:?}"),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
