//! Tries an archive as a person would: unpacks it and asks a question, with nothing of this machine but the system.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::archive;
use super::stage::{Stage, program};
use crate::{Error, Result};

/// A question that the built-in model answers, and its answer.
const QUESTION: (&str, &str) = ("What is 127 + 48?", "175");

/// Unpacks an archive and runs the program in it.
pub(super) fn of_archive(archive: &Path, stage: &Stage) -> Result {
    let trial = Trial::new(&stage.folder.with_file_name("dist-trial"))?;
    archive::unpack(archive, &trial.folder)?;
    let unpacked = trial.folder.join(stage.name());
    trial.expect(&unpacked, &["--version"], stage.version)?;
    let (question, answer) = QUESTION;
    trial.expect(&unpacked, &["ask", question], answer)?;
    // The library is the one beside the program.
    trial.expect(&unpacked, &["doctor"], &unpacked.display().to_string())?;
    fs::remove_dir_all(&trial.folder)?;
    Ok(())
}

/// Returns a call of the program without the settings of this machine's user, and without downloads.
fn isolated(program: &Path, home: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(home).env_clear().env("ALLOQUY_OFFLINE", "1");
    for name in ["HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"] {
        command.env(name, home);
    }
    // Programs for Windows do not start without it.
    if let Some(system) = std::env::var_os("SystemRoot") {
        command.env("SystemRoot", system);
    }
    command
}

/// A folder in which a program is tried, with an empty home folder.
struct Trial {
    folder: PathBuf,
    home: PathBuf,
}

impl Trial {
    fn new(folder: &Path) -> Result<Self> {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        let home = folder.join("home");
        fs::create_dir_all(&home)?;
        Ok(Self { folder: folder.to_owned(), home })
    }

    /// Runs the program, and fails unless it prints a text.
    fn expect(&self, unpacked: &Path, arguments: &[&str], text: &str) -> Result {
        let output = isolated(&unpacked.join(program()), &self.home).args(arguments).output()?;
        let printed = String::from_utf8_lossy(&output.stdout);
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status.success() && printed.contains(text) {
            println!("alloquy {}: {}", arguments.join(" "), printed.trim_end());
            return Ok(());
        }
        let arguments = arguments.join(" ");
        let status = output.status;
        Err(Error::new(format!(
            "`alloquy {arguments}` of the archive ended with {status} and did not print {text:?}\n{printed}{said}"
        )))
    }
}
