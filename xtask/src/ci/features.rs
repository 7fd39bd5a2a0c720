//! Checks each feature alone, to find code that compiles only with another feature. The list comes from cargo.

use std::collections::BTreeSet;

use cargo_metadata::Package;

use super::verdict::{Tests, Verdict};
use crate::{Error, Result, command, metadata};

/// Continues after a failure, so that one run names every feature that does not compile alone.
pub(super) fn features(_: &mut Tests) -> Result<Verdict> {
    let metadata = metadata()?;
    let packages = metadata.workspace_packages().into_iter();
    let failures: Vec<_> = packages.flat_map(alone).filter_map(Result::err).collect();
    for failure in &failures {
        println!("{failure}");
    }
    match failures.len() {
        0 => Ok(Verdict::Passed),
        several => Err(Error::new(format!("{several} choices of features do not build, see above"))),
    }
}

/// Checks `package`, if it has features, without any, and with each one.
fn alone(package: &Package) -> Vec<Result> {
    let features = package.features.keys().filter(|feature| *feature != "default");
    let with_each = features.map(|feature| match downloaded_by(package, feature) {
        Some(enabled) => {
            println!("skipped: feature {feature} of {} downloads a binary ({enabled})", package.name);
            Ok(())
        }
        None => lint(package, &["--features", feature]),
    });
    let without = (!package.features.is_empty()).then(|| lint(package, &[]));
    without.into_iter().chain(with_each).collect()
}

/// Runs clippy instead of check: code that is unused without another feature is a warning, and warnings are denied.
fn lint(package: &Package, features: &[&str]) -> Result {
    let mut arguments = vec!["clippy", "--quiet", "--package", &package.name, "--no-default-features"];
    arguments.extend(features);
    arguments.extend(["--", "-D", "warnings"]);
    command::run(&mut command::cargo(&arguments))
}

/// Returns the feature that `feature` enables, directly or through others of the package, and that downloads something.
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
