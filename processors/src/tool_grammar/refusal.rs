//! Makes the error for a schema that a call's grammar cannot enforce.

use alloquy_core::{Error, ErrorKind};

/// Returns the error for `what`, a part of a schema.
pub(crate) fn unsupported(what: &str) -> Error {
    let message =
        format!("{what} in the schema of an argument cannot be enforced in a call as this family writes it");
    Error::new(ErrorKind::Unsupported, message)
}
