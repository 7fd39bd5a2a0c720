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

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::pty::openpty;
use nix::sys::termios::{FlushArg, tcflush};
use nix::unistd::dup2_stdin;

use crate::interrupts::Interrupts;

use modes::Modes;
use pump::Pump;
use signals::Watch;

/// The key by which the editor draws its line again; no keyboard has it.
pub(crate) const REDRAW: char = '\u{1e}';

/// Who takes what is typed.
#[derive(Debug)]
enum Taker {
    /// The line editor.
    Editor,
    /// Nobody yet: it is kept.
    Nobody,
    /// Nobody yet, and whoever is about to put a question is told when all is kept that was typed before.
    Settling(Sender<()>),
    /// A question, which gets one line of what is typed from now on.
    Question(Sender<String>),
    /// The terminal is gone, or the keyboard is.
    Gone,
}

/// What the threads of a keyboard share.
#[derive(Debug)]
struct Shared {
    /// The terminal itself; standard input is the pseudo-terminal meanwhile.
    terminal: File,
    modes: Mutex<Modes>,
    taker: Mutex<Taker>,
    /// A byte written here makes the thread look at what has changed.
    wake: UnixStream,
    /// What the editor shows is to be drawn again.
    redraw: AtomicBool,
}

/// The keyboard in use: whatever ends the program puts the terminal back through it.
static IN_USE: Mutex<Option<Arc<Shared>>> = Mutex::new(None);

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

/// What becomes of typed keys that nobody has read when the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    /// Whoever reads the terminal next has them.
    Left,
    /// They are forgotten: lines that were meant for a chat are no commands for a shell.
    Dropped,
}

/// Puts the terminal back as it was, where a keyboard has taken it.
pub(crate) fn restore(unread: Unread) {
    if let Some(shared) = in_use().take() {
        shared.modes().leave(&shared.terminal, unread);
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

impl Shared {
    /// Sets the terminal's mode, and returns the lines that were typed before.
    fn take_over(&self) -> io::Result<Vec<u8>> {
        self.modes().enter(&self.terminal)
    }

    fn give_to(&self, taker: Taker) {
        let mut current = self.taker();
        if !matches!(*current, Taker::Gone) {
            *current = taker;
        }
        drop(current);
        self.wake();
    }

    /// Draws what the editor shows again.
    fn redraw(&self) {
        self.redraw.store(true, Ordering::Relaxed);
        self.wake();
    }

    fn wake(&self) {
        // The thread is gone only when the keyboard is.
        let _ = io::Write::write(&mut &self.wake, b".");
    }

    fn taker(&self) -> MutexGuard<'_, Taker> {
        self.taker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn modes(&self) -> MutexGuard<'_, Modes> {
        self.modes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn in_use() -> MutexGuard<'static, Option<Arc<Shared>>> {
    // An option is whole whatever happened to the thread that held the lock.
    IN_USE.lock().unwrap_or_else(PoisonError::into_inner)
}
