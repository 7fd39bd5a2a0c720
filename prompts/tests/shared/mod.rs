//! The folder of conformance cases that does not live in the repository.

use std::path::PathBuf;

use serde_json::Value;

/// Returns a file of the shared folder, or `None`, said aloud, where the folder is absent.
pub(crate) fn find(path: &str) -> Option<PathBuf> {
    let root = std::env::var_os("ALLOQUY_SHARED")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared")), PathBuf::from);
    let found = root.join(path);
    if !found.exists() {
        eprintln!("Skipping: {} does not exist, set ALLOQUY_SHARED", found.display());
        return None;
    }
    Some(found)
}

/// Reads a JSON file of the shared folder.
#[allow(dead_code, reason = "not every test program reads one")]
pub(crate) fn json(path: &str) -> Option<Value> {
    let text = std::fs::read_to_string(find(path)?).unwrap();
    Some(serde_json::from_str(&text).unwrap())
}
