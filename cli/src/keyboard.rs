//! The keyboard of a chat: what is typed at any time is kept in order until somebody asks for it.
//!
//! A line editor alone loses what arrives while it does not edit: the terminal is in its usual mode then, where Enter is a
//! line feed, and the editor's own buffer ends with each line. So a thread reads the terminal all the time, in a mode in which
//! every key is a byte, and the editor reads a pseudo-terminal that this thread writes to. While an answer is written, the
//! thread keeps what is typed, but for Ctrl-C, Ctrl-Z and Ctrl-\, which act at once; a question that a person has to decide
//! on is answered by what is typed after it was put, and by nothing that was typed before.

mod bytes;
mod modes;
mod pump;
mod signals;
mod terminal;

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::pty::openpty;
use nix::sys::termios::{FlushArg, tcflush};
use nix::unistd::dup2_stdin;

use crate::interrupts::Interrupts;

use modes::Modes;
use pump::Pump;
use signals::Watch;
use terminal::{Shared, Taker, in_use};

pub(crate) use modes::Unread;
pub(crate) use terminal::{REDRAW, restore};

/// A terminal that is read all the time, until this is dropped.
#[derive(Debug)]
pub(crate) struct Keyboard {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    _watch: Watch,
}

impl Keyboard {
    /// Takes the terminal that is standard input. What was typed before is kept too.
    pub(crate) fn take(interrupts: &Interrupts) -> io::Result<Self> {
        let terminal = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let modes = Modes::of(&terminal)?;
        let editor = openpty(None, &modes.raw())?;
        fcntl(&editor.master, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
        let (wake, woken) = UnixStream::pair()?;
        woken.set_nonblocking(true)?;
        let (modes, taker, redraw) = (Mutex::new(modes), Mutex::new(Taker::Nobody), AtomicBool::new(false));
        let shared = Arc::new(Shared { terminal, modes, taker, wake, redraw });
        let watch = Watch::start(Arc::clone(&shared))?;
        *in_use() = Some(Arc::clone(&shared));
        let typed = shared.take_over()?;
        dup2_stdin(&editor.slave)?;
        let pump = Pump::new(Arc::clone(&shared), editor.master, woken, interrupts.clone(), &typed);
        let thread = std::thread::Builder::new().name("keyboard".to_owned()).spawn(move || pump.run())?;
        Ok(Self { shared, thread: Some(thread), _watch: watch })
    }

    /// Runs what reads lines of standard input: it is given what was typed, and what is being typed.
    pub(crate) fn edit<T>(&self, edit: impl FnOnce() -> T) -> T {
        self.shared.give_to(Taker::Editor);
        let edited = edit();
        self.shared.give_to(Taker::Nobody);
        edited
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        restore(Unread::Left);
        // Without a thread or a terminal there is nothing to put back, here and below.
        let _ = self.shared.wake.shutdown(std::net::Shutdown::Both);
        let _ = self.thread.take().map(JoinHandle::join);
        let _ = dup2_stdin(&self.shared.terminal);
    }
}

/// Puts a question and returns the next line that is typed, `None` where no keyboard has taken the terminal; then nothing was put.
/// The line is shown as it is typed. What was typed before is kept for the editor, and what still lies in the terminal is, too.
pub(crate) fn answer(put: impl FnOnce()) -> Option<String> {
    let shared = in_use().clone()?;
    let (sender, settled) = channel();
    shared.give_to(Taker::Settling(sender));
    // Where the terminal is gone, so is the sender.
    let _ = settled.recv();
    put();
    let (sender, receiver) = channel();
    shared.give_to(Taker::Question(sender));
    let answer = receiver.recv().unwrap_or_default();
    shared.give_to(Taker::Nobody);
    Some(answer)
}

/// Forgets what was typed into standard input, where it is a terminal: it is no answer to what is asked now.
pub(crate) fn forget_typed() {
    // No terminal, nothing typed.
    let _ = tcflush(io::stdin(), FlushArg::TCIFLUSH);
}
