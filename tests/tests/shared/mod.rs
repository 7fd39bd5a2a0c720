//! The folder of models and cases that does not live in the repository.

use std::path::{Path, PathBuf};

/// Returns a file or folder of the shared folder, or `None`, said aloud, where it is absent.
pub(crate) fn find(path: &str) -> Option<PathBuf> {
    let workspace = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let shared = std::env::var_os("ALLOQUY_SHARED").unwrap_or_else(|| "../shared".into());
    let found = workspace.join(shared).join(path);
    if !found.exists() {
        eprintln!("Skipping: {} does not exist, set ALLOQUY_SHARED", found.display());
        return None;
    }
    Some(found)
}
