//! Where the workspace is, and what cargo says of it.

use std::path::{Path, PathBuf};

use cargo_metadata::{CargoOpt, Metadata, MetadataCommand};

use crate::Result;

/// Returns the root of the workspace.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// Asks cargo for every member and everything they import, with every feature on.
///
/// # Errors
/// What cargo says.
pub fn metadata() -> Result<Metadata> {
    let mut command = MetadataCommand::new();
    command.current_dir(root()).features(CargoOpt::AllFeatures).other_options(vec!["--locked".to_owned()]);
    Ok(command.exec()?)
}
