//! Builds the page of the server from `web/`, and finds what is committed but is not what the sources give.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Error, Finding, Result, command, metadata, report, root};

/// Where the built files are committed.
const PAGE: &str = "server/page";

/// Where the packages are installed, in the folder of the sources.
const PACKAGES: &str = "node_modules";

/// Builds the page of `alloquy serve` from web/ into server/page, with Node.
#[derive(Debug, Default, clap::Args)]
pub struct Web {
    /// Builds elsewhere, and names what differs from the committed files.
    #[arg(long)]
    check: bool,
}

impl Web {
    /// Builds the page, or compares it. Returns why nothing was done, where there is no Node.
    ///
    /// # Errors
    /// When a command fails, or, of a comparison, when a file differs.
    pub fn run(&self) -> Result<Option<&'static str>> {
        if let Some(reason) = missing() {
            return Ok(Some(reason));
        }
        if self.check {
            let sources = copied()?;
            compared(&sources)?;
            return Ok(None);
        }
        let sources = root().join("web");
        command::run(npm(&sources).args(["ci", "--no-audit", "--no-fund"]))?;
        command::run(npm(&sources).args(["run", "build"]))?;
        println!("{PAGE} is built: commit it with its sources");
        Ok(None)
    }

    /// Checks the sources with their own tools, runs their unit tests, and compares what they give with the committed files. Returns why
    /// nothing was done, where there is no Node.
    ///
    /// # Errors
    /// When one of them fails.
    pub(crate) fn check_all() -> Result<Option<&'static str>> {
        if let Some(reason) = missing() {
            return Ok(Some(reason));
        }
        let sources = copied()?;
        for script in ["lint", "check", "test"] {
            command::run(npm(&sources).args(["run", "--if-present", script]))?;
        }
        compared(&sources)?;
        Ok(None)
    }
}

/// Returns why the page cannot be built here.
fn missing() -> Option<&'static str> {
    if !root().join("web/package.json").is_file() {
        return Some("there is no web/ with the sources of the page");
    }
    let asked = Command::new("npm").arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).status();
    match asked {
        Ok(status) if status.success() => None,
        _ => Some("npm is missing, so the page is not built: install Node"),
    }
}

/// Returns a call of npm in a folder.
fn npm(folder: &Path) -> Command {
    let mut command = Command::new("npm");
    command.current_dir(folder).env("CI", "true");
    command
}

/// Copies the sources below the folder of cargo's outputs, with their packages installed, and returns where they are. What is built there
/// is beside them, as in the repository, and nothing is written in the repository itself.
fn copied() -> Result<PathBuf> {
    let folder = metadata()?.target_directory.into_std_path_buf().join("web");
    let sources = folder.join("web");
    fs::create_dir_all(&sources)?;
    for entry in fs::read_dir(&sources)? {
        let path = entry?.path();
        if path.file_name().is_none_or(|name| name != PACKAGES) {
            remove(&path)?;
        }
    }
    copy(&root().join("web"), &sources)?;
    install(&sources)?;
    Ok(sources)
}

/// Installs the packages, unless they are those that were installed last.
fn install(sources: &Path) -> Result {
    let wanted = fs::read(sources.join("package-lock.json"))?;
    let installed = sources.join(PACKAGES).join(".installed.json");
    if fs::read(&installed).is_ok_and(|present| present == wanted) {
        return Ok(());
    }
    command::run(npm(sources).args(["ci", "--no-audit", "--no-fund"]))?;
    fs::write(&installed, wanted)?;
    Ok(())
}

/// Builds the page beside copied sources, and compares it with the committed one.
fn compared(sources: &Path) -> Result {
    let built = sources.with_file_name("server").join("page");
    if built.exists() {
        fs::remove_dir_all(&built)?;
    }
    fs::create_dir_all(&built)?;
    command::run(npm(sources).args(["run", "build"]))?;
    report("web", &page_differences(&root().join(PAGE), &built)?)
}

/// Compares the committed files of the page with built ones.
///
/// # Errors
/// When a folder cannot be read.
pub fn page_differences(committed: &Path, built: &Path) -> Result<Vec<Finding>> {
    let committed = contents(committed)?;
    let built = contents(built)?;
    if built.is_empty() {
        return Err(Error::new("the build of the page has written no files beside web/, in server/page"));
    }
    let mut findings = Vec::new();
    for (name, content) in &built {
        let sentence = match committed.get(name) {
            Some(present) if present == content => continue,
            Some(_) => "it is not what web/ gives: run `cargo xtask web`, and commit it",
            None => "web/ gives it, and it is not committed: run `cargo xtask web`",
        };
        findings.push(Finding::new(format!("{PAGE}/{name}"), 1, sentence));
    }
    for name in committed.keys().filter(|name| !built.contains_key(*name)) {
        findings.push(Finding::new(format!("{PAGE}/{name}"), 1, "web/ does not give it: remove it"));
    }
    Ok(findings)
}

/// Returns the contents of the files of a folder by their names, with `/` between folders.
fn contents(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            for (inner, content) in contents(&path)? {
                all.insert(format!("{name}/{inner}"), content);
            }
        } else {
            all.insert(name, fs::read(&path)?);
        }
    }
    Ok(all)
}

/// Copies the files of a folder, without installed packages.
fn copy(from: &Path, to: &Path) -> Result {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let path = entry.path();
        let copy = to.join(entry.file_name());
        if path.is_dir() {
            if entry.file_name() != PACKAGES {
                fs::create_dir_all(&copy)?;
                self::copy(&path, &copy)?;
            }
        } else {
            fs::copy(&path, &copy)?;
        }
    }
    Ok(())
}

fn remove(path: &Path) -> Result {
    if path.is_dir() {
        fs::remove_dir_all(path)?;
    } else {
        fs::remove_file(path)?;
    }
    Ok(())
}
