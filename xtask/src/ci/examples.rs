//! Runs every example without arguments; each must print something. The list comes from cargo.

use std::collections::BTreeSet;
use std::process::Command;

use cargo_metadata::{Metadata, Package};

use super::verdict::{Tests, Verdict};
use crate::{Error, Result, command, metadata, root};

/// Builds all examples together. One by one, each would select other features of shared crates, and build them again.
pub(super) fn examples(_: &mut Tests) -> Result<Verdict> {
    let metadata = metadata()?;
    let features: Vec<_> = required_features(&metadata).into_iter().collect();
    let features = features.join(",");
    command::run(&mut command::cargo(&["build", "--workspace", "--examples", "--features", &features]))?;
    let folder = metadata.target_directory.join("debug/examples");
    let mut names = BTreeSet::new();
    for package in metadata.workspace_packages() {
        for name in examples_of(package) {
            if !names.insert(name) {
                return Err(Error::new(format!("two examples are called {name}: one overwrites the other")));
            }
            run(package, name, Command::new(folder.join(name)).current_dir(root()))?;
        }
    }
    Ok(Verdict::Passed)
}

fn examples_of(package: &Package) -> impl Iterator<Item = &str> {
    package.targets.iter().filter(|target| target.is_example()).map(|target| target.name.as_str())
}

/// The features that examples need, as `package/feature`.
fn required_features(metadata: &Metadata) -> BTreeSet<String> {
    let mut features = BTreeSet::new();
    for package in metadata.workspace_packages() {
        for example in package.targets.iter().filter(|target| target.is_example()) {
            features.extend(example.required_features.iter().map(|name| format!("{}/{name}", package.name)));
        }
    }
    features
}

fn run(package: &Package, name: &str, example: &mut Command) -> Result {
    let (printed, ended) = command::tee(example)?;
    ended?;
    if printed.trim().is_empty() {
        return Err(Error::new(format!("example {name} of {} printed nothing", package.name)));
    }
    Ok(())
}
