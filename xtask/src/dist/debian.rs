//! The Debian package. `[package.metadata.deb]` of `cli/Cargo.toml` describes it, and cargo-deb makes it.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::{Compression, GzBuilder};

use super::stage::Stage;
use crate::{Error, Result, command};

/// Makes the package in `out` from the files of a release, and returns its path.
pub(super) fn package(stage: &Stage, out: &Path) -> Result<PathBuf> {
    if !command::cargo(&["deb", "--version"]).output().is_ok_and(|output| output.status.success()) {
        return Err(Error::new("cargo-deb is not installed; `cargo install cargo-deb --locked` installs it"));
    }
    let folder = stage.folder.join("debian");
    fs::create_dir_all(&folder)?;
    let file = File::create(folder.join("changelog.Debian.gz"))?;
    let mut compressed = GzBuilder::new().mtime(0).write(file, Compression::best());
    compressed.write_all(changelog(stage)?.as_bytes())?;
    compressed.finish()?;
    let path = out.join(format!("alloquy_{}_{}.deb", stage.version, architecture(&stage.target)?));
    let mut cargo =
        command::cargo(&["deb", "--package", "alloquy-cli", "--no-build", "--no-strip", "--output"]);
    cargo.arg(&path).env("SOURCE_DATE_EPOCH", stage.epoch.to_string());
    command::run(&mut cargo)?;
    Ok(path)
}

/// Returns the name that Debian has for a machine.
fn architecture(target: &str) -> Result<&'static str> {
    match target {
        "x86_64-unknown-linux-gnu" => Ok("amd64"),
        "aarch64-unknown-linux-gnu" => Ok("arm64"),
        _ => Err(Error::new(format!("Debian packages are made on Linux, not for {target}"))),
    }
}

/// Returns Debian's list of changes. It names the version and refers to the list of the project, which the package has as `NEWS`.
fn changelog(stage: &Stage) -> Result<String> {
    let mut date = Command::new("date");
    let output = date.args(["--utc", "--rfc-email", &format!("--date=@{}", stage.epoch)]).output()?;
    let date = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let version = stage.version;
    Ok(format!(
        "alloquy ({version}-1) unstable; urgency=medium\n\n  * Version {version}: see NEWS.gz in this folder.\n\n \
         -- The Alloquy developers <alloquy@project.invalid>  {date}\n"
    ))
}
