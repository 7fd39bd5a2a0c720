//! Environments of Python that benchmarks need, each made on first use.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Error, Result, command};

/// Prints the path of ONNX Runtime's library in an environment, so that ours is run with the same.
const LIBRARY: &str = "import onnxruntime, pathlib; folder = pathlib.Path(onnxruntime.__file__).parent / 'capi'; \
                       print(*[file for name in ('libonnxruntime.so.*', 'libonnxruntime.*.dylib', 'onnxruntime.dll') \
                       for file in folder.glob(name)])";

/// Returns the Python of an environment that has the packages of some files of `scripts`. The variable names another Python.
pub(super) fn environment(
    environment: &Path,
    scripts: &Path,
    requirements: &[&str],
    variable: &str,
) -> Result<PathBuf> {
    if let Some(python) = std::env::var_os(variable) {
        return Ok(python.into());
    }
    let python = environment.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    if !python.exists() {
        if let Some(folder) = environment.parent() {
            std::fs::create_dir_all(folder)?;
        }
        command::run(Command::new("python3").args(["-m", "venv"]).arg(environment))?;
    }
    for name in requirements {
        install(&python, environment, &scripts.join(name))?;
    }
    Ok(python)
}

/// Installs the packages of a file, unless it was done; the environment keeps the text of the file for that.
fn install(python: &Path, environment: &Path, requirements: &Path) -> Result {
    let wanted = std::fs::read_to_string(requirements)?;
    let remembered = environment.join(requirements.file_name().unwrap_or_default());
    if std::fs::read_to_string(&remembered).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    command::run(Command::new(python).args(["-m", "pip", "install", "--requirement"]).arg(requirements))?;
    std::fs::write(remembered, wanted)?;
    Ok(())
}

/// Returns the path of the ONNX Runtime library of an environment.
pub(super) fn library(python: &Path) -> Result<String> {
    let printed = printed(Command::new(python).args(["-c", LIBRARY]))?;
    match printed.split_whitespace().next() {
        Some(library) => Ok(library.to_owned()),
        None => Err(Error::new(format!("{} has no library of ONNX Runtime", python.display()))),
    }
}

/// Runs a command and returns what it printed.
pub(super) fn printed(command: &mut Command) -> Result<String> {
    let (text, ended) = command::tee(command)?;
    ended.map(|()| text)
}
