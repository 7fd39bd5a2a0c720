//! The sources of lines: a person at a terminal, or a pipe.

use std::io::{self, BufRead, BufReader, Stdin};
use std::path::{Path, PathBuf};

use alloquy::core::{Error, ErrorKind};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{
    Cmd, ConditionalEventHandler, Config, Editor, Event, EventContext, EventHandler, KeyEvent, Modifiers,
    Movement, RepeatCount,
};

use crate::failure::Failure;
use crate::keyboard::{Keyboard, REDRAW};
use crate::notes::Notes;

/// How many lines are remembered.
const REMEMBERED: usize = 1000;

/// Gives lines, one at a time.
pub(crate) trait Lines {
    /// Returns the next line, or `None` when there are no more.
    fn next(&mut self) -> Result<Option<String>, Failure>;
}

/// Lines of a pipe or a file.
#[derive(Debug)]
pub(crate) struct Piped(BufReader<Stdin>);

impl Piped {
    /// Reads standard input.
    pub(crate) fn stdin() -> Self {
        Self(BufReader::new(io::stdin()))
    }
}

impl Lines for Piped {
    fn next(&mut self) -> Result<Option<String>, Failure> {
        let mut line = String::new();
        let read = self.0.read_line(&mut line).map_err(|source| {
            Error::new(ErrorKind::Invalid, "standard input cannot be read").with_source(source)
        })?;
        Ok((read > 0).then_some(line))
    }
}

/// Lines that a person types, with arrow keys and a history.
pub(crate) struct Typed {
    editor: Editor<(), FileHistory>,
    /// What is typed; `None` where the editor reads the terminal itself.
    keyboard: Option<Keyboard>,
    /// Where lines are remembered; `None` is nowhere.
    file: Option<PathBuf>,
    notes: Notes,
}

impl Typed {
    /// Reads from the terminal, remembering lines in `file`.
    pub(crate) fn terminal(
        file: Option<PathBuf>,
        keyboard: Option<Keyboard>,
        notes: Notes,
    ) -> Result<Self, Failure> {
        let config = Config::builder().max_history_size(REMEMBERED).map_err(unusable)?;
        // The keyboard asks the terminal to mark what is pasted, also while no editor reads.
        let config = config.auto_add_history(true).bracketed_paste(keyboard.is_none()).build();
        let mut editor = Editor::with_config(config).map_err(unusable)?;
        editor.bind_sequence(KeyEvent::ctrl('C'), EventHandler::Conditional(Box::new(ClearOrLeave)));
        editor.bind_sequence(KeyEvent::ctrl('J'), EventHandler::Simple(Cmd::Newline));
        // There is nothing to complete, and pasted text has tabs.
        let tab = EventHandler::Simple(Cmd::Insert(1, "\t".to_owned()));
        editor.bind_sequence(KeyEvent::new('\t', Modifiers::NONE), tab);
        editor.bind_sequence(KeyEvent::new(REDRAW, Modifiers::NONE), EventHandler::Simple(Cmd::Repaint));
        let mut typed = Self { editor, keyboard, file, notes };
        if let Some(file) = typed.file.clone().filter(|file| file.exists()) {
            let loaded = typed.editor.load_history(&file);
            typed.forgive(&file, loaded);
        }
        Ok(typed)
    }

    /// Remembers the last line at once, so that a crash forgets nothing.
    fn remember(&mut self) {
        let Some(file) = self.file.clone() else {
            return;
        };
        let folder =
            file.parent().map_or(Ok(()), crate::file::make_private_folder).map_err(ReadlineError::Io);
        let kept = folder.and_then(|()| self.editor.append_history(&file));
        self.forgive(&file, kept);
    }

    /// Notes once that the history cannot be saved; the conversation continues.
    fn forgive(&mut self, file: &Path, kept: Result<(), ReadlineError>) {
        if let Err(error) = kept {
            self.notes.say(format_args!("lines are not remembered: {}: {error}", file.display()));
            self.file = None;
        }
    }
}

impl Lines for Typed {
    fn next(&mut self) -> Result<Option<String>, Failure> {
        let line = match &self.keyboard {
            Some(keyboard) => keyboard.edit(|| self.editor.readline("> ")),
            None => self.editor.readline("> "),
        };
        match line {
            Ok(line) => {
                self.remember();
                Ok(Some(line))
            }
            Err(ReadlineError::Eof | ReadlineError::Interrupted) => Ok(None),
            // The terminal is gone.
            Err(ReadlineError::Io(_)) if self.keyboard.is_some() => Ok(None),
            Err(error) => Err(unusable(error)),
        }
    }
}

fn unusable(source: ReadlineError) -> Failure {
    Error::new(ErrorKind::Unsupported, "the terminal cannot be read").with_source(source).into()
}

/// Ctrl-C clears the line, or leaves when there is nothing in it.
struct ClearOrLeave;

impl ConditionalEventHandler for ClearOrLeave {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, context: &EventContext<'_>) -> Option<Cmd> {
        if context.line().is_empty() { Some(Cmd::Interrupt) } else { Some(Cmd::Kill(Movement::WholeBuffer)) }
    }
}
