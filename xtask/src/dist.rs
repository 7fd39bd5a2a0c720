//! Builds what people download, and tries it: an archive for this machine, and a Debian package.

mod archive;
mod debian;
mod digest;
mod licences;
mod stage;
mod trial;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use self::digest::sha256;
use self::stage::Stage;
use crate::{Error, Result, command, metadata};

/// Builds the program and packs it with the library of ONNX Runtime, its licences, man pages and completions. The archive is
/// unpacked and tried before the command ends. Nothing is published.
#[derive(Debug, Default, clap::Args)]
pub struct Dist {
    /// Also makes a Debian package; `cargo install cargo-deb --locked` installs the tool for it.
    #[arg(long)]
    deb: bool,
    /// Packs the program that was built last, without building it.
    #[arg(long)]
    no_build: bool,
    /// Fails if this machine is another one.
    #[arg(long, value_name = "TRIPLE")]
    target: Option<String>,
    /// The folder for the results, instead of `dist` in the target folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// The machines for which archives are built, as compilers name them. `.github/workflows/release.yml` has one job for each.
pub(crate) const TARGETS: [&str; 4] = [
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "aarch64-apple-darwin",
    "x86_64-pc-windows-msvc",
];

impl Dist {
    /// Builds, packs and tries, and prints what was made.
    ///
    /// # Errors
    /// When this machine is none of those for which archives are built, something does not build, or what was packed does not run.
    pub fn run(&self) -> Result {
        let target = host()?;
        if self.target.as_ref().is_some_and(|wanted| *wanted != target) {
            return Err(Error::new(format!("this machine is {target}, not {:?}", self.target)));
        }
        if !TARGETS.contains(&target.as_str()) {
            return Err(Error::new(format!(
                "no archive is built for {target}, only for {}",
                TARGETS.join(", ")
            )));
        }
        if !self.no_build {
            let arguments = ["build", "--release", "--locked", "--package", "alloquy-cli"];
            command::run(&mut command::cargo(&arguments))?;
        }
        let metadata = metadata()?;
        let target_folder = metadata.target_directory.as_std_path();
        let stage = Stage::fill(target_folder, &target)?;
        let out = self.out.clone().unwrap_or_else(|| target_folder.join("dist"));
        fs::create_dir_all(&out)?;
        let archive = archive::pack(&stage, &out)?;
        trial::of_archive(&archive, &stage)?;
        finished(&archive)?;
        if self.deb {
            finished(&debian::package(&stage, &out)?)?;
        }
        Ok(())
    }
}

/// Returns the machine for which the compiler builds.
fn host() -> Result<String> {
    let output = Command::new("rustc").arg("-vV").output()?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let line = printed.lines().find_map(|line| line.strip_prefix("host: "));
    line.map(str::to_owned).ok_or_else(|| Error::new("rustc does not report its host"))
}

/// Writes the digest of a file beside it, and prints both.
fn finished(path: &Path) -> Result {
    let digest = sha256(path)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    fs::write(path.with_file_name(format!("{name}.sha256")), format!("{digest}  {name}\n"))?;
    println!("{} ({} bytes, SHA-256 {digest})", path.display(), fs::metadata(path)?.len());
    Ok(())
}
