//! A program that was started, with the processes of its group. All of them end with the connection.

use std::io;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};

/// A running program. Dropping it ends the program and every process of its group.
#[derive(Debug)]
pub(crate) struct Process {
    /// `None` only while it is dropped.
    child: Option<Child>,
}

/// The standard streams of a program.
pub(crate) struct Streams {
    pub(crate) input: ChildStdin,
    pub(crate) output: ChildStdout,
    pub(crate) errors: ChildStderr,
}

impl Process {
    /// Starts a program in a process group of its own: its children end with it, and Ctrl-C at the terminal reaches the host
    /// only.
    pub(crate) fn start(mut command: Command) -> io::Result<(Self, Streams)> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn()?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let process = Self { child: Some(child) };
        match streams {
            (Some(input), Some(output), Some(errors)) => Ok((process, Streams { input, output, errors })),
            _ => Err(io::Error::other("a program has no standard streams")),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        end(&mut child);
        // The program has been killed. A thread waits for it, so that it does not become a zombie and the host is not blocked.
        let reaper = std::thread::Builder::new().name("mcp-reaper".to_owned());
        if let Err(error) = reaper.spawn(move || child.wait()) {
            tracing::warn!(%error, "a program that was ended could not be waited for");
        }
    }
}

/// Ends a program and its group. The group's id cannot have been reused, because the program has not been waited for.
#[cfg(unix)]
fn end(child: &mut Child) {
    use rustix::process::{Pid, Signal, kill_process_group};
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let ended = group.map(|group| kill_process_group(group, Signal::KILL));
    if !matches!(ended, Some(Ok(()))) {
        // The group could not be killed, perhaps because it has ended; killing the program may fail for the same reason.
        let _ = child.kill();
    }
}

#[cfg(not(unix))]
fn end(child: &mut Child) {
    // This fails only when the program has ended already.
    let _ = child.kill();
}
