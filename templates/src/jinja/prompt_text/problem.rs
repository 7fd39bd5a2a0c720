//! The errors of prompt texts.

use alloquy_core::{Error, ErrorKind};

use super::super::fault::Fault;

/// Returns the error of a text that is no valid prompt.
pub(super) fn invalid(line: usize, what: &str) -> Error {
    Error::new(ErrorKind::Invalid, format!("line {line} of the prompt: {what}"))
}

/// Converts an error of the engine. `kind` is that of an error in the text itself.
pub(super) fn of_fault(fault: Fault, kind: ErrorKind) -> Error {
    let message = match &fault {
        Fault::Steps(steps) => {
            format!("the prompt took more than {steps} steps: shorten its loops or its values")
        }
        Fault::Output(bytes) => format!("the prompt wrote more than {bytes} bytes: shorten its values"),
        Fault::Depth { line } => {
            format!("line {line} of the prompt: code nests too deeply, split it with `{{% set %}}`")
        }
        Fault::Tag { line, tag } => {
            format!(
                "line {line} of the prompt: unknown tag `{tag}`, the tags are those of Jinja2 without extensions"
            )
        }
        Fault::Engine { place, what, .. } => {
            let place = place.replacen("the chat template", "the prompt", 1);
            let place = place.replacen("chat template", "the prompt", 1);
            format!("{place}{what}")
        }
        other => other.to_string().replacen("the chat template", "the prompt", 1),
    };
    let error = Error::new(kind, message);
    match fault {
        Fault::Engine { source, .. } => error.with_source(source),
        _ => error,
    }
}
