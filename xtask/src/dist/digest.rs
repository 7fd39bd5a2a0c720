//! Digests of files.

use std::fs;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::Result;

/// Returns the SHA-256 digest of a file, in hexadecimal digits.
pub(super) fn sha256(path: &Path) -> Result<String> {
    let digest = Sha256::digest(fs::read(path)?);
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}
