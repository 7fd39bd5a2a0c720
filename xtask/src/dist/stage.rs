//! The files of a release, collected in one folder: archives and packages are made from it.

use std::env::consts::EXE_SUFFIX;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use alloquy_onnx_runtime::{Gpu, Locator, Wheel};

use super::digest::sha256;
use super::licences;
use crate::{Error, Result, root};

/// The shells with completions, and the names that their files must have.
const COMPLETIONS: [(&str, &str); 5] = [
    ("bash", "alloquy"),
    ("elvish", "alloquy.elv"),
    ("fish", "alloquy.fish"),
    ("powershell", "_alloquy.ps1"),
    ("zsh", "_alloquy"),
];

/// The files of a release.
#[derive(Debug)]
pub(super) struct Stage {
    /// The folder that holds them: `release/dist` in the target folder, where the manifest of the Debian package expects it.
    pub(super) folder: PathBuf,
    /// The machine, as compilers name it.
    pub(super) target: String,
    /// The version of the program.
    pub(super) version: &'static str,
    /// The time that files have: that of the commit, in seconds since 1970. The same commit gives the same archive.
    pub(super) epoch: u64,
}

impl Stage {
    /// Collects the files. The program has been built already.
    pub(super) fn fill(target_folder: &Path, target: &str) -> Result<Self> {
        let release = target_folder.join("release");
        let folder = release.join("dist");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(folder.join("licenses"))?;
        let stage =
            Self { folder, target: target.to_owned(), version: env!("CARGO_PKG_VERSION"), epoch: epoch()? };
        copy(&release.join(program()), &stage.folder.join(program()))?;
        stage.add_runtime()?;
        stage.add_manual()?;
        for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
            copy(&root().join(name), &stage.folder.join(name))?;
        }
        copy(&root().join("cli/dist/README.txt"), &stage.folder.join("README.txt"))?;
        fs::write(stage.folder.join("licenses/crates.txt"), licences::of_crates(target)?)?;
        Ok(stage)
    }

    /// Adds man pages and completions, which the program itself prints.
    fn add_manual(&self) -> Result {
        let folder = self.folder.join("completions");
        fs::create_dir_all(&folder)?;
        for (shell, file) in COMPLETIONS {
            fs::write(folder.join(file), self.printed(&["completions", shell])?)?;
        }
        let pages = self.folder.join("man");
        self.printed(&["man", "--dir", &pages.to_string_lossy()])?;
        Ok(())
    }

    /// Runs the program, and returns what it prints.
    fn printed(&self, arguments: &[&str]) -> Result<Vec<u8>> {
        let mut command = Command::new(self.folder.join(program()));
        command.args(arguments).env("SOURCE_DATE_EPOCH", self.epoch.to_string());
        let output = command.output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(Error::new(format!("`alloquy {}` failed: {said}", arguments.join(" "))));
        }
        Ok(output.stdout)
    }

    /// Returns the name of the archive's only folder.
    pub(super) fn name(&self) -> String {
        format!("alloquy-{}-{}", self.version, self.target)
    }

    /// Adds the pinned library of ONNX Runtime and its licences. The search finds it because it is beside the program.
    fn add_runtime(&self) -> Result {
        let wheel = Wheel::pinned(Gpu::None)?;
        let library = Locator::new().install(|event| println!("{event}"))?.path;
        let found = sha256(&library)?;
        if found != wheel.library.sha256 {
            return Err(Error::new(format!(
                "{} has the digest {found}, not the pinned {}",
                library.display(),
                wheel.library.sha256
            )));
        }
        copy(&library, &self.folder.join(wheel.library.name))?;
        for (name, to) in [
            ("LICENSE", "onnxruntime-LICENSE.txt"),
            ("ThirdPartyNotices.txt", "onnxruntime-ThirdPartyNotices.txt"),
        ] {
            copy(&library.with_file_name(name), &self.folder.join("licenses").join(to))?;
        }
        Ok(())
    }
}

/// Returns the name of the program's file.
pub(super) fn program() -> String {
    format!("alloquy{EXE_SUFFIX}")
}

/// Returns the time of the commit, or of the variable with which builds are made reproducible.
fn epoch() -> Result<u64> {
    let text = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text,
        Err(_) => {
            let mut git = Command::new("git");
            let output = git.args(["log", "-1", "--format=%ct"]).current_dir(root()).output()?;
            String::from_utf8_lossy(&output.stdout).into_owned()
        }
    };
    let unknown =
        format!("the time of the commit is unknown ({text:?}); set SOURCE_DATE_EPOCH to seconds since 1970");
    text.trim().parse().map_err(|_| Error::new(unknown))
}

fn copy(from: &Path, to: &Path) -> Result {
    match fs::copy(from, to) {
        Ok(_) => Ok(()),
        Err(error) => {
            Err(Error::new(format!("{} cannot be copied to {}: {error}", from.display(), to.display())))
        }
    }
}
