//! Checks licences, bans and sources of dependencies. Advisories need a database from the network, and may fail without
//! a change in the repository, so they are a separate job.

use std::process::Command;

use super::verdict::{Tests, Verdict};
use crate::{Result, command};

pub(super) fn deny(_: &mut Tests) -> Result<Verdict> {
    if !is_installed() {
        println!("cargo-deny is missing and will be built now; this takes some minutes");
        command::run(without_slow_optimisations(&mut command::cargo(&[
            "install",
            "cargo-deny",
            "--locked",
        ])))?;
    }
    command::run(&mut command::cargo(&[
        "deny",
        "--log-level",
        "error",
        "check",
        "licenses",
        "bans",
        "sources",
    ]))?;
    Ok(Verdict::Passed)
}

fn is_installed() -> bool {
    let version = command::cargo(&["deny", "--version"]).output();
    version.is_ok_and(|output| output.status.success())
}

/// It runs for a second; building it as for a release would take many minutes.
fn without_slow_optimisations(install: &mut Command) -> &mut Command {
    let settings = [("LTO", "off"), ("CODEGEN_UNITS", "16"), ("OPT_LEVEL", "1")];
    install.envs(settings.map(|(name, value)| (format!("CARGO_PROFILE_RELEASE_{name}"), value)))
}
