//! Asks the machine's Python for its `onnxruntime`, and downloads a wheel with its `pip`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::error::{LocateError, Result, io_error};
use crate::gpu::Gpu;
use crate::library::library_in;
use crate::wheel::{OLDEST, Wheel};

const COMMANDS: [&str; 2] = ["python3", "python"];

/// Prints the version and the folder of an installed package without importing it. The current folder is removed from the
/// module path first: a module that is there by chance must not run.
const ASK: &str = r#"
import sys
sys.path = [entry for entry in sys.path if entry]
import importlib.metadata as metadata, importlib.util as util
found = util.find_spec("onnxruntime")
for name in ("onnxruntime", "onnxruntime-gpu", "onnxruntime-directml") if found else ():
    try:
        print(metadata.version(name))
        print(found.submodule_search_locations[0])
        break
    except metadata.PackageNotFoundError:
        pass
"#;

/// Returns the library of an installed Python package that is new enough.
pub(crate) fn installed_library(gpu: Gpu) -> Option<PathBuf> {
    COMMANDS.iter().find_map(|command| ask(command, gpu))
}

fn ask(command: &str, gpu: Gpu) -> Option<PathBuf> {
    let output = python(command).args(["-c", ASK]).output().ok()?;
    let printed = String::from_utf8(output.stdout).ok()?;
    let (version, package) = printed.trim_end().split_once('\n')?;
    if !is_new_enough(version) {
        return None;
    }
    let capi = Path::new(package.trim_end()).join("capi");
    library_in(&capi, gpu).filter(|path| path.is_absolute())
}

fn is_new_enough(version: &str) -> bool {
    let mut numbers = version.trim().split('.').map_while(|number| number.parse().ok());
    matches!((numbers.next(), numbers.next()), (Some(major), Some(minor)) if (major, minor) >= OLDEST)
}

fn python(command: &str) -> Command {
    let mut python = Command::new(command);
    python.stdin(Stdio::null());
    python
}

/// Downloads `wheel`, which must have `digest`, into the empty folder `into` and returns its path.
pub(crate) fn download(wheel: &Wheel, digest: &str, into: &Path) -> Result<PathBuf> {
    let requirements = into.join("requirements.txt");
    let line = format!("{}=={} --hash=sha256:{digest}\n", wheel.package, wheel.version);
    std::fs::write(&requirements, line).map_err(io_error("write", &requirements))?;
    let (command, output) = run_pip(wheel, into)?;
    if output.status.success()
        && let Some(path) = wheel_in(into)?
    {
        return Ok(path);
    }
    Err(LocateError::Pip { python: command.to_owned(), wheel: wheel.name(), said: last_words(&output) })
}

fn run_pip(wheel: &Wheel, into: &Path) -> Result<(&'static str, Output)> {
    for command in COMMANDS {
        let mut pip = python(command);
        pip.args(["-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--require-hashes"]);
        pip.args(["--python-version", "3.11", "--implementation", "cp", "--platform", wheel.platform]);
        pip.args(["--quiet", "--disable-pip-version-check", "--no-cache-dir", "--dest", "."]);
        pip.args(["-r", "requirements.txt"]);
        // pip sends the version of `rustc` to the index; rustup would make a folder in the home folder to answer that.
        pip.env("RUSTUP_HOME", into);
        // `-m` puts the current folder on the module path, so pip runs in a folder that holds nothing else.
        match pip.current_dir(into).output() {
            Ok(output) => return Ok((command, output)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(io_error("run", Path::new(command))(error)),
        }
    }
    Err(without_python(wheel))
}

/// Ends with an error if there is no `pip`. The current folder is no part of the module path, as above.
const FIND_PIP: &str = r#"
import sys
sys.path = [entry for entry in sys.path if entry]
import importlib.util as util
sys.exit(0 if util.find_spec("pip") else 1)
"#;

/// Returns an error if no Python could fetch `wheel`: the first one that runs is the one that would.
pub(crate) fn require(wheel: &Wheel) -> Result<()> {
    for command in COMMANDS {
        match python(command).args(["-c", FIND_PIP]).output() {
            Ok(output) if output.status.success() => return Ok(()),
            Ok(_) => return Err(LocateError::NoPip { wheel: wheel.name(), python: command.to_owned() }),
            Err(_) => {}
        }
    }
    Err(without_python(wheel))
}

fn without_python(wheel: &Wheel) -> LocateError {
    let tried = COMMANDS.iter().map(|command| (*command).to_owned()).collect();
    LocateError::NoPython { wheel: wheel.name(), tried }
}

fn wheel_in(folder: &Path) -> Result<Option<PathBuf>> {
    let entries = std::fs::read_dir(folder).map_err(io_error("list", folder))?;
    let mut paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    Ok(paths.find(|path| path.extension() == Some(OsStr::new("whl"))))
}

/// Returns the last lines that a program printed: the reason for a failure is at the end.
fn last_words(output: &Output) -> String {
    let printed = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<_> = printed.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    match lines.get(lines.len().saturating_sub(4)..) {
        Some(last) if !last.is_empty() => last.join(" / "),
        _ => format!("it printed nothing and ended with {}", output.status),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        assert!(is_new_enough("1.23.0") && is_new_enough("1.31.1") && is_new_enough("2.0"));
        assert!(!is_new_enough("1.9.9") && !is_new_enough("") && !is_new_enough("new"));
    }
}
