//! Runs a command: prints it first, and passes its output on to the terminal.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, ExitStatus, Stdio};

use crate::{Error, Result, root};

/// Returns a call of cargo with `arguments`, in the root of the workspace.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    // The cargo that runs this program, where one does.
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    command
}

/// Returns a call of the shell, in the root of the workspace.
pub(crate) fn shell(line: &str) -> Command {
    let mut command = Command::new("bash");
    command.args(["-euo", "pipefail", "-c", line]).current_dir(root());
    command
}

/// Prints a command and runs it.
pub(crate) fn run(command: &mut Command) -> Result {
    announce(command);
    let status = command_status(command)?;
    ended(command, status)
}

/// Prints a command, runs it, and returns its output on stdout, which is also printed.
///
/// The exit status is returned separately, because the output of a failed test run matters too.
pub(crate) fn tee(command: &mut Command) -> Result<(String, Result)> {
    announce(command);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut printed = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        let mut lines = BufReader::new(stdout);
        let mut start = 0;
        while lines.read_until(b'\n', &mut printed)? > 0 {
            let mut terminal = std::io::stdout().lock();
            terminal.write_all(printed.get(start..).unwrap_or_default())?;
            terminal.flush()?;
            start = printed.len();
        }
    }
    let status = child.wait()?;
    Ok((String::from_utf8_lossy(&printed).into_owned(), ended(command, status)))
}

fn command_status(command: &mut Command) -> Result<ExitStatus> {
    let program = command.get_program().to_string_lossy().into_owned();
    command
        .stdin(Stdio::null())
        .status()
        .map_err(|error| Error::new(format!("{program:?} does not start: {error}")))
}

fn ended(command: &Command, status: ExitStatus) -> Result {
    if status.success() {
        Ok(())
    } else {
        Err(Error::new(format!("`{}` ended with {status}", shown(command))))
    }
}

fn announce(command: &Command) {
    println!("$ {}", shown(command));
}

/// Returns the command as it would be typed.
fn shown(command: &Command) -> String {
    let program = command.get_program().to_string_lossy().into_owned();
    let name = program.rsplit(['/', '\\']).next().unwrap_or(&program).to_owned();
    let arguments = command.get_args().map(|argument| argument.to_string_lossy());
    if name == "bash" {
        return arguments.last().unwrap_or_default().into_owned();
    }
    let set = command.get_envs().filter_map(|(name, value)| {
        let value = value?.to_string_lossy();
        Some(format!("{}={}", name.to_string_lossy(), quoted(&value)))
    });
    let words = set.chain([name]).chain(arguments.map(|argument| quoted(&argument)));
    words.collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    if word.contains(char::is_whitespace) { format!("'{word}'") } else { word.to_owned() }
}
