//! Licences, bans and sources of dependencies. Advisories need a database from the network, and fail on days when
//! nobody changed anything, so they are a check of their own and not one of these.

use super::{Tests, Verdict};
use crate::{Result, command};

pub(super) fn deny(_: &mut Tests) -> Result<Verdict> {
    if !is_installed() {
        println!("cargo-deny is missing and will be built now; this takes some minutes");
        command::run(&mut command::cargo(&["install", "cargo-deny", "--locked"]))?;
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
