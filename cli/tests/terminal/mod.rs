//! A program at a pseudo-terminal: what is typed goes in, what is shown comes out.
#![allow(dead_code)] // each test file uses its part

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nix::pty::{Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::sys::termios::{Termios, tcgetattr};
use nix::unistd::Pid;

/// How long anything may take on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(120);

/// A program and the terminal that it sits at.
pub(crate) struct Terminal {
    child: Child,
    keys: File,
    /// The program's end, kept so that its modes can be read when the program is gone.
    screen: OwnedFd,
    shown: Arc<Mutex<Vec<u8>>>,
    /// How the terminal was before the program began.
    pub(crate) modes: Termios,
}

impl Terminal {
    /// Starts a program at a wide terminal, in a process group of its own.
    pub(crate) fn start(command: Command) -> Self {
        Self::start_with(command, 200)
    }

    /// Starts a program at a terminal of this width.
    pub(crate) fn start_with(mut command: Command, columns: u16) -> Self {
        let size = Winsize { ws_row: 40, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let ends = openpty(&size, None).unwrap();
        let end = || ends.slave.try_clone().unwrap();
        command.stdin(end()).stdout(end()).stderr(end());
        command.env("TERM", "xterm-256color").env("NO_COLOR", "1").process_group(0);
        let modes = tcgetattr(&ends.slave).unwrap();
        let child = command.spawn().unwrap();
        // It holds the program's end, and would never read the last of it.
        drop(command);
        let keys = File::from(ends.master);
        let shown = Arc::new(Mutex::new(Vec::new()));
        let mut from = keys.try_clone().unwrap();
        let into = Arc::clone(&shown);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = from.read(&mut bytes) {
                into.lock().unwrap().extend_from_slice(&bytes[..read]);
            }
        });
        Self { child, keys, screen: ends.slave, shown, modes }
    }

    /// Types bytes, in one write.
    pub(crate) fn type_in(&mut self, bytes: impl AsRef<[u8]>) {
        self.keys.write_all(bytes.as_ref()).unwrap();
    }

    /// Everything that was shown, byte for byte.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.shown.lock().unwrap().clone()
    }

    /// What was shown, without escape sequences.
    pub(crate) fn text(&self) -> String {
        without_sequences(&String::from_utf8_lossy(&self.bytes()))
    }

    /// Waits until there are so many of a text.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, count: usize, text: &str) {
        let begun = Instant::now();
        while self.text().matches(text).count() < count {
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "{ended:?} before {count} × {text:?}:\n{}", self.text());
            assert!(begun.elapsed() < PATIENCE, "{text:?} is not there {count} times:\n{}", self.text());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until the program reads every key: it asks for pastes to be marked then.
    pub(crate) fn wait_until_taken(&self) {
        let begun = Instant::now();
        while !self.bytes().windows(8).any(|bytes| bytes == b"\x1b[?2004h") {
            assert!(begun.elapsed() < PATIENCE, "{}", self.text());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Sends a signal to the program alone.
    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).unwrap();
    }

    /// The state of the program, as Linux has it: `T` is stopped.
    pub(crate) fn state(&self) -> char {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        stat.rsplit(')').next().unwrap().trim().chars().next().unwrap()
    }

    /// The modes of the terminal now.
    pub(crate) fn modes_now(&self) -> Termios {
        tcgetattr(&self.screen).unwrap()
    }

    /// Waits until the program ends.
    #[track_caller]
    pub(crate) fn end(&mut self) -> ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                // What it wrote last is on its way.
                std::thread::sleep(Duration::from_millis(50));
                return status;
            }
            if begun.elapsed() > PATIENCE {
                self.child.kill().unwrap();
                panic!("it does not end:\n{}", self.text());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It has ended, or the test has failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Takes control sequences out that begin with ESC [.
pub(crate) fn without_sequences(text: &str) -> String {
    let mut pieces = text.split("\u{1b}[");
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find(|character: char| ('@'..='~').contains(&character));
        plain += end.map_or("", |end| &piece[end + 1..]);
    }
    plain.replace('\r', "")
}
