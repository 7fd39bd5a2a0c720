//! Prints help and errors of arguments: clap's texts, without control characters in the quoted arguments.

use std::io::Write as _;
use std::process::ExitCode;

use clap::error::ContextValue;

use crate::screen;
use crate::visible::{bounded, is_hostile};

/// The code for arguments that are wrong.
pub(crate) const WRONG_ARGUMENTS: u8 = 2;

/// Prints help, a version or an error, and returns the exit code.
pub(crate) fn report(error: &clap::Error) -> ExitCode {
    let code = ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(WRONG_ARGUMENTS));
    if echoes_what_it_should_not(error) {
        // Colors are escape sequences, so such an error is printed without them.
        let text = bounded(&error.render().to_string());
        let _ = writeln!(screen::err(), "{}", text.trim_end());
    } else {
        // Standard error may be closed, here and above; the exit code says the same.
        let _ = error.print();
    }
    code
}

/// Returns whether an error quotes control characters, or a text that is too long to read.
fn echoes_what_it_should_not(error: &clap::Error) -> bool {
    let quotes_it = error.context().any(|(_, value)| match value {
        ContextValue::String(text) => is_unfit(text),
        ContextValue::Strings(texts) => texts.iter().any(|text| is_unfit(text)),
        _ => false,
    });
    let cause = std::error::Error::source(error).map(ToString::to_string);
    quotes_it || cause.is_some_and(|cause| is_unfit(&cause))
}

fn is_unfit(text: &str) -> bool {
    is_hostile(text) || bounded(text).len() != text.len()
}

#[cfg(test)]
mod tests {
    use clap::{Arg, Command};

    use super::*;

    fn refused(value: &str) -> clap::Error {
        let parser = |text: &str| Err::<String, _>(format!("{text} is no number"));
        let command = Command::new("test").arg(Arg::new("n").long("n").value_parser(parser));
        command.try_get_matches_from(["test", "--n", value]).unwrap_err()
    }

    #[test]
    fn only_what_is_harmless_is_echoed_in_colour() {
        assert!(!echoes_what_it_should_not(&refused("many")));
        assert!(echoes_what_it_should_not(&refused("a\u{1b}[2J")));
        assert!(echoes_what_it_should_not(&refused("a\u{9b}2J")));
        assert!(echoes_what_it_should_not(&refused("a\u{202e}b")));
        assert!(echoes_what_it_should_not(&refused(&"a".repeat(10_000))));
    }
}
