//! The thread that reads a terminal all the time and passes what is typed to its current taker.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::bytes::Cleaner;
use super::modes::Keys;
use super::terminal::{REDRAW, Shared, Taker};
use crate::interrupts::Interrupts;
use crate::screen;

/// How many bytes are kept; what is typed beyond waits in the terminal.
const KEPT: usize = 1 << 20;

/// How often the terminal is read before a question is shown: more than it holds, but not for ever.
const SETTLED: usize = 64;

/// How many bytes are written to the editor at once.
const PIECE: usize = 1024;

/// Reads a terminal until its keyboard is dropped.
pub(super) struct Pump {
    shared: Arc<Shared>,
    /// The end of the pseudo-terminal that is written to; the editor reads the other one.
    editor: File,
    woken: UnixStream,
    interrupts: Interrupts,
    keys: Keys,
    cleaner: Cleaner,
    kept: VecDeque<u8>,
    /// The answer to a question, as far as it is typed.
    answer: String,
}

/// Which of the sources are ready.
#[derive(Clone, Copy, Debug)]
struct Ready {
    typed: bool,
    woken: bool,
    editor: bool,
}

/// Whether the thread continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Wait,
    End,
}

impl Pump {
    pub(super) fn new(
        shared: Arc<Shared>,
        editor: OwnedFd,
        woken: UnixStream,
        interrupts: Interrupts,
        typed: &[u8],
    ) -> Self {
        let keys = shared.modes().keys();
        let mut cleaner = Cleaner::default();
        let kept = cleaner.clean(typed).into_bytes().into();
        let editor = File::from(editor);
        Self { shared, editor, woken, interrupts, keys, cleaner, kept, answer: String::new() }
    }

    /// Runs until the keyboard is dropped or the terminal is gone; the editor reads the end of its input then.
    pub(super) fn run(mut self) {
        while matches!(self.step(), Ok(Next::Wait)) {}
        *self.shared.taker() = Taker::Gone;
    }

    fn step(&mut self) -> io::Result<Next> {
        let ready = self.wait()?;
        if ready.woken {
            if self.is_dropped()? {
                return Ok(Next::End);
            }
            self.redraw();
            if matches!(*self.shared.taker(), Taker::Settling(_)) {
                return self.settle();
            }
        }
        if ready.typed && self.read()? == Next::End {
            return Ok(Next::End);
        }
        if ready.editor {
            self.forward()?;
        }
        Ok(Next::Wait)
    }

    fn read(&mut self) -> io::Result<Next> {
        let mut bytes = [0; 4096];
        let read = (&self.shared.terminal).read(&mut bytes)?;
        if read == 0 {
            return Ok(Next::End);
        }
        self.take(bytes.get(..read).unwrap_or_default());
        Ok(Next::Wait)
    }

    /// Keeps what is in the terminal's buffer, and reports that to the thread that is about to show a question: none of it is
    /// an answer.
    fn settle(&mut self) -> io::Result<Next> {
        for _ in 0..SETTLED {
            let mut waiting = [PollFd::new(self.shared.terminal.as_fd(), PollFlags::POLLIN)];
            if !matches!(poll(&mut waiting, PollTimeout::ZERO), Ok(1..)) {
                break;
            }
            if self.read()? == Next::End {
                return Ok(Next::End);
            }
        }
        let mut taker = self.shared.taker();
        if let Taker::Settling(sender) = &*taker {
            // The thread that asked may have ended meanwhile.
            let _ = sender.send(());
            *taker = Taker::None;
        }
        Ok(Next::Wait)
    }

    fn wait(&self) -> io::Result<Ready> {
        let taker = self.shared.taker();
        let is_wanted = matches!(*taker, Taker::Editor) && !self.kept.is_empty();
        // An answer is read even when the buffer is full.
        let is_read = self.kept.len() < KEPT || matches!(*taker, Taker::Question(_));
        drop(taker);
        let typed = if is_read { PollFlags::POLLIN } else { PollFlags::empty() };
        let editor = if is_wanted { PollFlags::POLLOUT } else { PollFlags::empty() };
        let mut waiting = [
            PollFd::new(self.shared.terminal.as_fd(), typed),
            PollFd::new(self.woken.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.editor.as_fd(), editor),
        ];
        match poll(&mut waiting, PollTimeout::NONE) {
            Ok(_) => {}
            Err(Errno::EINTR) => return Ok(Ready { typed: false, woken: false, editor: false }),
            Err(error) => return Err(error.into()),
        }
        let [typed, woken, editor] = waiting.map(|one| one.any().unwrap_or(true));
        Ok(Ready { typed, woken, editor: editor && is_wanted })
    }

    /// Makes the editor redraw its line, where that was requested.
    fn redraw(&mut self) {
        let is_requested = self.shared.redraw.swap(false, Ordering::Relaxed);
        if is_requested && matches!(*self.shared.taker(), Taker::Editor) {
            self.kept.extend(REDRAW.to_string().bytes());
        }
    }

    /// Reads the bytes that woke the thread, and says whether the other end is closed.
    fn is_dropped(&self) -> io::Result<bool> {
        let mut bytes = [0; 64];
        match (&self.woken).read(&mut bytes) {
            Ok(read) => Ok(read == 0),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        for character in self.cleaner.clean(bytes).chars() {
            let taker = self.shared.taker();
            match &*taker {
                Taker::None | Taker::Settling(_) if self.keys.act(character) => {
                    drop(taker);
                    self.act(character);
                }
                Taker::Editor if self.keys.suspend == Some(character) => {
                    drop(taker);
                    self.act(character);
                }
                Taker::Question(_) => {
                    drop(taker);
                    self.answer(character);
                }
                Taker::Editor | Taker::None | Taker::Settling(_) | Taker::Gone => {
                    drop(taker);
                    self.kept.extend(character.to_string().bytes());
                }
            }
        }
    }

    /// Executes a key that acts at once.
    fn act(&mut self, key: char) {
        if self.keys.interrupt == Some(key) {
            self.interrupts.interrupt();
            return;
        }
        let signal = if self.keys.suspend == Some(key) { Signal::SIGTSTP } else { Signal::SIGQUIT };
        // To every process of the job, as the terminal does it.
        let _ = kill(Pid::from_raw(0), signal);
    }

    /// Adds a character to the answer of a question, and echoes it.
    fn answer(&mut self, character: char) {
        let is_interrupt = self.keys.interrupt == Some(character);
        match character {
            '\r' | '\n' => self.answered(),
            '\u{8}' | '\u{7f}' => {
                if self.answer.pop().is_some() {
                    screen::rub_out();
                }
            }
            _ if is_interrupt => {
                self.answer.clear();
                // Without its sender the question has no answer, which is not an empty one.
                *self.shared.taker() = Taker::None;
                let _ = writeln!(screen::err());
                self.interrupts.interrupt();
            }
            character if character.is_control() => {}
            character => {
                self.answer.push(character);
                // Standard error may be closed, here and below.
                let _ = write!(screen::err(), "{character}");
            }
        }
    }

    fn answered(&mut self) {
        let _ = writeln!(screen::err());
        let answer = std::mem::take(&mut self.answer);
        let mut taker = self.shared.taker();
        if let Taker::Question(sender) = &*taker {
            // The thread that asked may have ended meanwhile.
            let _ = sender.send(answer);
            *taker = Taker::None;
        }
    }

    /// Writes as much to the editor as it accepts without waiting.
    fn forward(&mut self) -> io::Result<()> {
        let (first, _) = self.kept.as_slices();
        let piece = first.get(..PIECE).unwrap_or(first);
        let written = self.editor.write(piece)?;
        self.kept.drain(..written);
        Ok(())
    }
}
