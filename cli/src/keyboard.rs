//! The keyboard of a chat: keeps in order whatever is typed, until it is read.
//!
//! A line editor alone loses what arrives while it does not edit. The terminal is in its usual mode then, where Enter is a
//! line feed, and the editor drops its own buffer with each line. So a thread reads the terminal all the time, in a mode in
//! which every key is a byte, and the editor reads a pseudo-terminal that this thread writes to.
//!
//! While an answer is generated, the thread keeps what is typed, except for Ctrl-C, Ctrl-Z and Ctrl-\, which act at once. A
//! question to the person, such as whether a tool may run, is answered only by what is typed after it is shown.

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
        let shared = Arc::new(Shared {
            terminal,
            modes: Mutex::new(modes),
            taker: Mutex::new(Taker::None),
            wake,
            redraw: AtomicBool::new(false),
        });
        let watch = Watch::start(Arc::clone(&shared))?;
        *in_use() = Some(Arc::clone(&shared));
        let typed = shared.take_over()?;
        dup2_stdin(&editor.slave)?;
        let pump = Pump::new(Arc::clone(&shared), editor.master, woken, interrupts.clone(), &typed);
        let thread = std::thread::Builder::new().name("keyboard".to_owned()).spawn(move || pump.run())?;
        Ok(Self { shared, thread: Some(thread), _watch: watch })
    }

    /// Runs an editor that reads standard input: it gets what was typed before, and what is typed now.
    pub(crate) fn edit<T>(&self, edit: impl FnOnce() -> T) -> T {
        self.shared.give_to(Taker::Editor);
        let edited = edit();
        self.shared.give_to(Taker::None);
        edited
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        restore(Unread::Left);
        // Without a thread or a terminal there is nothing to restore, here and below.
        let _ = self.shared.wake.shutdown(std::net::Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let _ = dup2_stdin(&self.shared.terminal);
    }
}

/// Returns whether a keyboard has taken the terminal, so that [`answer`] reads it.
pub(crate) fn is_taken() -> bool {
    in_use().is_some()
}

/// Shows a question and returns the next line that is typed, which is echoed; `None` for Ctrl-C and where the terminal is
/// gone.
///
/// Without a keyboard the question is not shown. What was typed before is kept for the editor, also what is still in the
/// terminal's buffer.
pub(crate) fn answer(show: impl FnOnce()) -> Option<String> {
    let shared = in_use().clone()?;
    let (sender, settled) = channel();
    shared.give_to(Taker::Settling(sender));
    // Where the terminal is gone, so is the sender.
    let _ = settled.recv();
    show();
    let (sender, receiver) = channel();
    shared.give_to(Taker::Question(sender));
    let answer = receiver.recv().ok();
    shared.give_to(Taker::None);
    answer
}

/// Discards what was typed into standard input, where it is a terminal: it is no answer to the next question.
pub(crate) fn forget_typed() {
    // Fails where standard input is no terminal: then nothing was typed.
    let _ = tcflush(io::stdin(), FlushArg::TCIFLUSH);
}
