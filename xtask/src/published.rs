//! The packages that are published: all members but those whose manifest has `publish = false`.

use std::process::Command;

use cargo_metadata::{Metadata, Package};

use crate::{command, root};

/// Returns the packages that are published, sorted by name.
pub(crate) fn published(metadata: &Metadata) -> Vec<&Package> {
    let mut packages = metadata.workspace_packages();
    packages.retain(|package| is_published(package));
    packages.sort_by(|first, second| first.name.cmp(&second.name));
    packages
}

/// `publish = false` is an empty list of registries.
fn is_published(package: &Package) -> bool {
    package.publish.as_ref().is_none_or(|registries| !registries.is_empty())
}

/// Makes a call of cargo on all published packages.
pub(crate) fn cargo_for_published(arguments: &[&str], metadata: &Metadata) -> Command {
    let mut cargo = command::cargo(arguments);
    cargo.arg("--workspace");
    for package in metadata.workspace_packages() {
        if !is_published(package) {
            cargo.args(["--exclude", &package.name]);
        }
    }
    cargo
}

/// Has cargo call a rustdoc that accepts unstable options and features.
///
/// `RUSTC_BOOTSTRAP` for the whole of cargo would do as well, but build scripts of dependencies look at it, so that cargo would
/// build most dependencies again.
pub(crate) fn with_unstable_rustdoc(cargo: &mut Command) -> &mut Command {
    cargo.env("RUSTDOC", root().join(".ci/rustdoc"))
}
