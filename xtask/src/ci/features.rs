//! Each feature alone: what compiles only beside another feature fails here. The list comes from cargo.

use std::collections::BTreeSet;

use cargo_metadata::Package;

use super::{Tests, Verdict};
use crate::{Result, command, metadata};

pub(super) fn features(_: &mut Tests) -> Result<Verdict> {
    let metadata = metadata()?;
    let packages = metadata.workspace_packages().into_iter();
    for package in packages.filter(|package| !package.features.is_empty()) {
        alone(package)?;
    }
    Ok(Verdict::Passed)
}

/// Checks `package` without features, and with each one.
fn alone(package: &Package) -> Result {
    lint(package, &[])?;
    for feature in package.features.keys().filter(|feature| *feature != "default") {
        match downloaded_by(package, feature) {
            Some(enabled) => {
                println!("skipped: feature {feature} of {} downloads a binary ({enabled})", package.name);
            }
            None => lint(package, &["--features", feature])?,
        }
    }
    Ok(())
}

/// Clippy, not check: what is unused without another feature is a warning, and warnings are denied.
fn lint(package: &Package, features: &[&str]) -> Result {
    let mut arguments = vec!["clippy", "--quiet", "--package", &package.name, "--no-default-features"];
    arguments.extend(features);
    arguments.extend(["--", "-D", "warnings"]);
    command::run(&mut command::cargo(&arguments))
}

/// What `feature` turns on, directly or through others of the package, that says it downloads something.
fn downloaded_by<'a>(package: &'a Package, feature: &'a str) -> Option<&'a str> {
    let mut seen = BTreeSet::new();
    let mut pending = vec![feature];
    while let Some(enabled) = pending.pop() {
        if enabled.contains("download") {
            return Some(enabled);
        }
        if seen.insert(enabled) {
            pending.extend(package.features.get(enabled).into_iter().flatten().map(String::as_str));
        }
    }
    None
}
