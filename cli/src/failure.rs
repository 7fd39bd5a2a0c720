//! Failures of commands: one sentence, and what to do next.

use std::io::{self, Write as _};

use alloquy::core::report::FinishReason;
use alloquy::core::{Error, ErrorKind, Reply};

use crate::screen;
use crate::visible::bounded;

/// The code for an answer that Ctrl-C ended: 128 and the number of the signal, as shells count.
pub(crate) const INTERRUPTED: u8 = 130;

/// Why a command did not succeed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something went wrong.
    Error(Error),
    /// The arguments make no sense together.
    Arguments(Error),
    /// Standard output could not be written.
    Output(io::Error),
    /// Ctrl-C ended it.
    Interrupted,
    /// Problems were found and printed already.
    Problems,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        // Only Ctrl-C cancels here.
        if error.is_cancelled() { Failure::Interrupted } else { Failure::Error(error) }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Output(error)
    }
}

/// Returns why an answer ended, unless it ended in a failure.
pub(crate) fn finished(reply: &Reply) -> Result<FinishReason, Failure> {
    match &reply.error {
        Some(error) => Err(Error::new(ErrorKind::Backend, error).into()),
        None => Ok(reply.finish),
    }
}

/// Prints an error with its causes on one line, and below it what to do next.
pub(crate) fn print(error: &Error) {
    print_with(error, advice_for(error));
}

/// Prints an error of a chat that continues.
pub(crate) fn print_in_chat(error: &Error) {
    let advice = match error.kind() {
        ErrorKind::ContextOverflow => {
            Some("shorten the message, go back with /undo, or begin a new conversation with /new")
        }
        _ => advice_for(error),
    };
    print_with(error, advice);
}

fn print_with(error: &Error, advice: Option<&str>) {
    let help = advice.map(|advice| format!("  help: {advice}\n")).unwrap_or_default();
    // Standard error may be closed; the exit code says the same.
    let _ = write!(screen::err(), "error: {}\n{help}", one_line(error));
}

/// Returns an error with its causes on one line. Causes often repeat the text before them: each is printed once. The middle
/// of a very long error is left out.
pub(crate) fn one_line(error: &Error) -> String {
    let mut sentence = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let text = error.to_string();
        let gist = text.rsplit(": ").next().unwrap_or(&text);
        if !sentence.contains(gist) {
            sentence = format!("{sentence}: {text}");
        }
        cause = error.source();
    }
    bounded(&sentence.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Returns what to do next after this error.
pub(crate) fn advice_for(error: &Error) -> Option<&'static str> {
    if is_disk_full(error) {
        return Some(
            "free some space on this disk, or name another store with --store URL; what was stored before is kept",
        );
    }
    advice(error.kind())
}

/// Returns whether a full disk or an exhausted quota is among the causes of an error.
fn is_disk_full(error: &Error) -> bool {
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
        let is_full = matches!(kind, Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded));
        // The words of SQLite, whose error has another type.
        if is_full || error.to_string().contains("database or disk is full") {
            return true;
        }
        cause = error.source();
    }
    false
}

/// Returns what to do next after an error of this kind.
fn advice(kind: ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::Backend => Some("`alloquy doctor` shows what is missing and what to do about it"),
        ErrorKind::ContextOverflow => Some(
            "shorten the question; --context-policy drop leaves the oldest messages of a long conversation out",
        ),
        ErrorKind::Corrupt => {
            Some("nothing was changed; put back a copy, or name another store with --store URL")
        }
        ErrorKind::Model => {
            Some("check the folder or fetch the model again; `alloquy models` lists those that are here")
        }
        ErrorKind::Store => {
            Some("check the path and its permissions, or name another store with --store URL")
        }
        ErrorKind::Template => {
            Some("name another template with --template FILE or --template NAME, or use `alloquy complete`")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_needs_space_and_no_permissions() {
        let full = io::Error::from(io::ErrorKind::StorageFull);
        let causes = [full, io::Error::other("database or disk is full")];
        for cause in causes {
            let error = Error::new(ErrorKind::Store, "cannot write").with_source(cause);
            assert!(advice_for(&error).unwrap().contains("space"), "{error:#}");
        }
        let refused = io::Error::from(io::ErrorKind::PermissionDenied);
        let error = Error::new(ErrorKind::Store, "cannot write").with_source(refused);
        assert!(advice_for(&error).unwrap().contains("permissions"));
    }

    #[test]
    fn causes_are_said_once_and_on_one_line() {
        let cause = io::Error::other("disk\n  is full");
        let error = Error::new(ErrorKind::Store, "could not append").with_source(cause);
        assert_eq!(one_line(&error), "could not append: disk is full");
        let repeated =
            Error::new(ErrorKind::Store, "could not append: gone").with_source(io::Error::other("gone"));
        assert_eq!(one_line(&repeated), "could not append: gone");
    }
}
