//! The modes of a terminal: the original one, and the one in which a keyboard reads it.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::AsFd as _;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::termios::{
    FlushArg, InputFlags, LocalFlags, SetArg, SpecialCharacterIndices, Termios, cfmakeraw, tcflush,
    tcgetattr, tcsetattr,
};

use crate::screen;

/// What happens to typed keys that are unread when the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    /// The next reader of the terminal gets them.
    Left,
    /// They are discarded: lines that were meant for a chat are no commands for a shell.
    Dropped,
}

/// The original mode of a terminal.
#[derive(Clone, Debug)]
pub(super) struct Modes(Termios);

/// The keys that act at once while no editor reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys {
    pub(super) interrupt: Option<char>,
    pub(super) suspend: Option<char>,
    quit: Option<char>,
    end: Option<char>,
}

impl Keys {
    /// Returns whether a key acts at once.
    pub(super) fn act(&self, key: char) -> bool {
        [self.interrupt, self.suspend, self.quit].contains(&Some(key))
    }
}

impl Modes {
    pub(super) fn of(terminal: &File) -> io::Result<Self> {
        Ok(Self(tcgetattr(terminal)?))
    }

    /// Returns the keys of this terminal.
    pub(super) fn keys(&self) -> Keys {
        Keys {
            interrupt: self.key(SpecialCharacterIndices::VINTR),
            suspend: self.key(SpecialCharacterIndices::VSUSP),
            quit: self.key(SpecialCharacterIndices::VQUIT),
            end: self.key(SpecialCharacterIndices::VEOF),
        }
    }

    /// Returns a key; `None` where it is turned off, which is a zero.
    fn key(&self, index: SpecialCharacterIndices) -> Option<char> {
        let key = *self.0.control_chars.get(index as usize)?;
        if key == 0 { None } else { Some(char::from(key)) }
    }

    /// Returns the mode of the pseudo-terminal: bytes pass as they are.
    pub(super) fn raw(&self) -> Termios {
        let mut raw = self.0.clone();
        cfmakeraw(&mut raw);
        raw
    }

    /// Returns the mode for reading keys: each is a byte, none is echoed or acts by itself. Output is unchanged.
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

    /// Sets the mode and returns the lines that were typed before, with carriage returns at their ends.
    ///
    /// In its usual mode the terminal turns Enter into a line feed. The first step ends that, so that every line feed in the
    /// buffer is the end of an earlier line.
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
                    // The person has typed the end of the file.
                    typed.extend(self.keys().end.map(|key| key as u8));
                }
                typed.extend(line.iter().map(|byte| if *byte == b'\n' { b'\r' } else { *byte }));
            }
        }
        self.resume(terminal)?;
        Ok(typed)
    }

    /// Sets the mode again, after the program was suspended.
    pub(super) fn resume(&self, terminal: &File) -> io::Result<()> {
        tcsetattr(terminal, SetArg::TCSANOW, &self.typing())?;
        screen::bracket_pastes(true);
        Ok(())
    }

    /// Restores the original mode. Nothing can be done where the terminal is gone.
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
