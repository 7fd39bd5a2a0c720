//! Signals that end or suspend the program: the terminal is restored first.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use signal_hook::consts::{SIGCONT, SIGHUP, SIGQUIT, SIGTERM, SIGTSTP};
use signal_hook::iterator::{Handle, Signals};
use signal_hook::low_level::emulate_default_handler;

use super::modes::Unread;
use super::terminal::{Shared, restore};

/// Watches for signals until it is dropped.
#[derive(Debug)]
pub(super) struct Watch {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    pub(super) fn start(shared: Arc<Shared>) -> io::Result<Self> {
        let mut signals = Signals::new([SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT])?;
        let handle = signals.handle();
        let thread = std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            for signal in signals.forever() {
                handle_signal(signal, &shared);
            }
        })?;
        Ok(Self { handle, thread: Some(thread) })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn handle_signal(signal: i32, shared: &Shared) {
    match signal {
        SIGTSTP => {
            shared.modes().leave(&shared.terminal, Unread::Left);
            // Returns when the program is resumed, for which SIGCONT arrives as well.
            let _ = emulate_default_handler(SIGTSTP);
        }
        SIGCONT => {
            // A terminal that is gone is noticed where it is read.
            let _ = shared.modes().resume(&shared.terminal);
            shared.redraw();
        }
        fatal => {
            restore(Unread::Dropped);
            let _ = emulate_default_handler(fatal);
        }
    }
}
