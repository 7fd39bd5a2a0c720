//! The modes of a terminal: how it was, and how a keyboard reads it.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::AsFd as _;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::termios::{
    FlushArg, InputFlags, LocalFlags, SetArg, SpecialCharacterIndices, Termios, cfmakeraw, tcflush,
    tcgetattr, tcsetattr,
};

use crate::screen;

/// What becomes of typed keys that nobody has read when the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    /// Whoever reads the terminal next has them.
    Left,
    /// They are forgotten: lines that were meant for a chat are no commands for a shell.
    Dropped,
}

/// How a terminal was before it was taken.
#[derive(Clone, Debug)]
pub(super) struct Modes(Termios);

/// The keys that act at once while nobody edits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys {
    pub(super) interrupt: Option<char>,
    pub(super) suspend: Option<char>,
    quit: Option<char>,
    end: Option<char>,
}

impl Keys {
    /// Says whether a key acts at once.
    pub(super) fn act(&self, key: char) -> bool {
        [self.interrupt, self.suspend, self.quit].contains(&Some(key))
    }
}

impl Modes {
    pub(super) fn of(terminal: &File) -> io::Result<Self> {
        Ok(Self(tcgetattr(terminal)?))
    }

    /// The keys of this terminal.
    pub(super) fn keys(&self) -> Keys {
        use SpecialCharacterIndices::{VEOF, VINTR, VQUIT, VSUSP};
        let key = |index: SpecialCharacterIndices| {
            // Zero is no key: it is turned off.
            self.0.control_chars.get(index as usize).filter(|key| **key != 0).map(|key| char::from(*key))
        };
        Keys { interrupt: key(VINTR), suspend: key(VSUSP), quit: key(VQUIT), end: key(VEOF) }
    }

    /// The mode of the pseudo-terminal: bytes pass as they are.
    pub(super) fn raw(&self) -> Termios {
        let mut raw = self.0.clone();
        cfmakeraw(&mut raw);
        raw
    }

    /// Every key is a byte, none is shown or acts by itself; output is as it was.
    fn typing(&self) -> Termios {
        let mut typing = self.0.clone();
        typing.input_flags &= !(InputFlags::BRKINT
            | InputFlags::ICRNL
            | InputFlags::INPCK
            | InputFlags::ISTRIP
            | InputFlags::IXON);
        typing.local_flags &=
            !(LocalFlags::ECHO | LocalFlags::ICANON | LocalFlags::IEXTEN | LocalFlags::ISIG);
        for (index, value) in [(SpecialCharacterIndices::VMIN, 1), (SpecialCharacterIndices::VTIME, 0)] {
            if let Some(character) = typing.control_chars.get_mut(index as usize) {
                *character = value;
            }
        }
        typing
    }

    /// Takes a terminal over and returns the lines that were typed into it before, as they are typed from now on: in its usual
    /// mode Enter has become a line feed.
    ///
    /// From the first step on Enter is no line feed any more, so that every one there is ends a line of before.
    pub(super) fn enter(&self, terminal: &File) -> io::Result<Vec<u8>> {
        let mut first = self.0.clone();
        first.input_flags &= !InputFlags::ICRNL;
        tcsetattr(terminal, SetArg::TCSANOW, &first)?;
        let mut typed = Vec::new();
        if self.0.local_flags.contains(LocalFlags::ICANON) {
            while is_readable(terminal)? {
                let mut line = [0; 4096];
                let read = (&*terminal).read(&mut line)?;
                let line = line.get(..read).unwrap_or_default();
                if line.is_empty() {
                    // The end of the file, which a person has typed.
                    typed.extend(self.keys().end.map(|key| key as u8));
                }
                typed.extend(line.iter().map(|byte| if *byte == b'\n' { b'\r' } else { *byte }));
            }
        }
        self.resume(terminal)?;
        Ok(typed)
    }

    /// Takes a terminal over again, after the program was stopped.
    pub(super) fn resume(&self, terminal: &File) -> io::Result<()> {
        tcsetattr(terminal, SetArg::TCSANOW, &self.typing())?;
        screen::bracket_pastes(true);
        Ok(())
    }

    /// Puts a terminal back. Nothing can be done where it is gone.
    pub(super) fn leave(&self, terminal: &File, unread: Unread) {
        screen::bracket_pastes(false);
        if unread == Unread::Dropped {
            let _ = tcflush(terminal, FlushArg::TCIFLUSH);
        }
        let _ = tcsetattr(terminal, SetArg::TCSADRAIN, &self.0);
    }
}

fn is_readable(terminal: &File) -> io::Result<bool> {
    let mut waiting = [PollFd::new(terminal.as_fd(), PollFlags::POLLIN)];
    Ok(poll(&mut waiting, PollTimeout::ZERO)? > 0)
}
