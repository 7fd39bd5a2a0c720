//! Checks each feature alone, to find code that compiles only with another feature. The list comes from cargo.

use std::collections::BTreeSet;

use cargo_metadata::{Metadata, Package};

use super::verdict::{Tests, Verdict};
use crate::{Error, File, Result, Tree, command, metadata, root};

/// Continues after a failure, so that one run names every feature that does not compile alone.
pub(super) fn features(_: &mut Tests) -> Result<Verdict> {
    let workspace = Workspace { metadata: metadata()?, tree: Tree::read(&root())? };
    let packages = workspace.metadata.workspace_packages().into_iter();
    let failures: Vec<_> =
        packages.flat_map(|package| workspace.alone(package)).filter_map(Result::err).collect();
    for failure in &failures {
        println!("{failure}");
    }
    match failures.len() {
        0 => Ok(Verdict::Passed),
        several => Err(Error::new(format!("{several} choices of features do not build, see above"))),
    }
}

/// The packages and their files.
struct Workspace {
    metadata: Metadata,
    tree: Tree,
}

impl Workspace {
    /// Checks `package`, if it has features, without any, and with each one that changes its code.
    fn alone(&self, package: &Package) -> Vec<Result> {
        let mut results = Vec::new();
        if !package.features.is_empty() {
            results.push(lint(package, &[]));
        }
        for feature in package.features.keys().filter(|feature| *feature != "default") {
            if let Some(enabled) = downloaded_by(package, feature) {
                println!("skipped: feature {feature} of {} downloads a binary ({enabled})", package.name);
            } else if self.is_passed_on(package, feature) {
                println!("skipped: feature {feature} of {} is one of its dependencies alone", package.name);
            } else {
                results.push(lint(package, &["--features", feature]));
            }
        }
        results
    }

    /// Whether the feature leaves the package's own code as it is, and only enables features that are checked elsewhere: of this
    /// package, or of others in the workspace.
    fn is_passed_on(&self, package: &Package, feature: &str) -> bool {
        let mut enables = package.features.get(feature).into_iter().flatten();
        let are_checked_elsewhere = enables.all(|enabled| match enabled.split_once('/') {
            Some((dependency, _)) => self.is_member(dependency.trim_end_matches('?')),
            None => !enabled.starts_with("dep:"),
        });
        let condition = format!("feature = \"{feature}\"");
        are_checked_elsewhere && !self.files_of(package).any(|file| file.text.contains(&condition))
    }

    fn is_member(&self, name: &str) -> bool {
        self.metadata.workspace_packages().iter().any(|package| package.name == name)
    }

    fn files_of<'a>(&'a self, package: &'a Package) -> impl Iterator<Item = &'a File> {
        let folder = package.manifest_path.parent().and_then(|folder| folder.strip_prefix(root()).ok());
        let prefix = folder.map(|folder| format!("{folder}/"));
        let is_inside =
            move |file: &&File| prefix.as_ref().is_some_and(|prefix| file.path.starts_with(prefix));
        self.tree.files.iter().filter(is_inside).filter(|file| file.path.ends_with(".rs"))
    }
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
