//! Every example runs, without arguments, and prints something. The list comes from cargo.

use cargo_metadata::{Package, Target};

use super::verdict::{Tests, Verdict};
use crate::{Error, Result, command, metadata};

pub(super) fn examples(_: &mut Tests) -> Result<Verdict> {
    let metadata = metadata()?;
    for package in metadata.workspace_packages() {
        for example in package.targets.iter().filter(|target| target.is_example()) {
            run(package, example)?;
        }
    }
    Ok(Verdict::Passed)
}

fn run(package: &Package, example: &Target) -> Result {
    let features = example.required_features.join(",");
    let arguments =
        ["run", "--quiet", "--package", &package.name, "--example", &example.name, "--features", &features];
    let (printed, ended) = command::tee(&mut command::cargo(&arguments))?;
    ended?;
    match printed.trim() {
        "" => Err(Error::new(format!("example {} of {} printed nothing", example.name, package.name))),
        _ => Ok(()),
    }
}
