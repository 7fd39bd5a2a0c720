//! Breaking changes against an earlier state, found by cargo-semver-checks.

use crate::published::cargo_for_published;
use crate::{Error, Result, command, metadata};

/// Finds breaking changes that the version numbers do not announce.
///
/// It compares with the last release, or with a revision of git.
#[derive(Debug, clap::Args)]
pub struct Semver {
    /// A revision of git to compare with, instead of the last release.
    #[arg(long, value_name = "REV")]
    baseline_rev: Option<String>,
    /// The packages to check, instead of all that are published.
    #[arg(long = "package", short, value_name = "NAME")]
    packages: Vec<String>,
}

impl Semver {
    /// Runs cargo-semver-checks.
    ///
    /// # Errors
    /// When it is not installed, or finds a breaking change.
    pub fn run(&self) -> Result {
        if !is_installed() {
            return Err(Error::new(
                "cargo-semver-checks is not installed; `cargo install cargo-semver-checks --locked` installs it",
            ));
        }
        let mut check = if self.packages.is_empty() {
            cargo_for_published(&["semver-checks", "check-release"], &metadata()?)
        } else {
            command::cargo(&["semver-checks", "check-release"])
        };
        for package in &self.packages {
            check.args(["--package", package]);
        }
        if let Some(revision) = &self.baseline_rev {
            check.args(["--baseline-rev", revision]);
        }
        command::run(&mut check)
    }
}

fn is_installed() -> bool {
    let version = command::cargo(&["semver-checks", "--version"]).output();
    version.is_ok_and(|output| output.status.success())
}
