//! The sources of lines: a person at a terminal, or a pipe.

use std::io::{self, BufRead, BufReader, Stdin};
use std::path::{Path, PathBuf};

use alloquy::core::{Error, ErrorKind};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{
    Cmd, CompletionType, ConditionalEventHandler, Config, Editor, Event, EventContext, EventHandler,
    KeyEvent, Modifiers, Movement, RepeatCount,
};

use super::completion::Completion;
use super::quoted::{MARKS, is_open};
use crate::failure::Failure;
use crate::keyboard::{Keyboard, REDRAW};
use crate::notes::Notes;

/// How many lines are remembered.
const REMEMBERED: usize = 1000;

/// What is shown where a line begins, and where a line of a longer message does.
const PROMPT: &str = "> ";
const CONTINUATION: &str = "... ";

/// Gives lines, one at a time.
pub(crate) trait Lines {
    /// Returns the next line, or several lines that are one message; `None` when there are no more. What is typed may be completed.
    fn next(&mut self, completion: Completion) -> Result<Option<String>, Failure>;
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

impl Piped {
    fn line(&mut self) -> Result<Option<String>, Failure> {
        let mut line = String::new();
        let read = self.0.read_line(&mut line).map_err(|source| {
            Error::new(ErrorKind::Invalid, "standard input cannot be read").with_source(source)
        })?;
        Ok((read > 0).then_some(line))
    }
}

impl Lines for Piped {
    fn next(&mut self, _: Completion) -> Result<Option<String>, Failure> {
        let Some(mut text) = self.line()? else { return Ok(None) };
        while is_open(&text) {
            let Some(line) = self.line()? else {
                let message = format!("the message that begins with {MARKS} has no end: {MARKS} ends it");
                return Err(Error::new(ErrorKind::Invalid, message).into());
            };
            text += &line;
        }
        Ok(Some(text))
    }
}

/// Lines that a person types, with arrow keys and a history.
pub(crate) struct Typed {
    editor: Editor<Completion, FileHistory>,
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
        let config = config.bracketed_paste(keyboard.is_none());
        let config = config.completion_type(CompletionType::List).completion_show_all_if_ambiguous(true);
        let mut editor = Editor::with_config(config.build()).map_err(unusable)?;
        editor.bind_sequence(KeyEvent::ctrl('C'), EventHandler::Conditional(Box::new(ClearOrLeave)));
        editor.bind_sequence(KeyEvent::ctrl('J'), EventHandler::Simple(Cmd::Newline));
        let tab = EventHandler::Conditional(Box::new(CompleteOrInsert));
        editor.bind_sequence(KeyEvent::new('\t', Modifiers::NONE), tab);
        editor.bind_sequence(KeyEvent::new(REDRAW, Modifiers::NONE), EventHandler::Simple(Cmd::Repaint));
        let mut typed = Self { editor, keyboard, file, notes };
        if let Some(file) = typed.file.clone().filter(|file| file.exists()) {
            let loaded = typed.editor.load_history(&file);
            typed.forgive(&file, loaded);
        }
        Ok(typed)
    }

    /// Remembers a text at once, so that a crash forgets nothing.
    fn remember(&mut self, text: &str) {
        let added = self.editor.add_history_entry(text);
        if !matches!(added, Ok(true)) {
            // It repeats the last one.
            return;
        }
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

/// What a person has typed at a prompt.
enum TypedLine {
    Text(String),
    /// Ctrl-C on an empty line.
    Dropped,
    /// Ctrl-D on an empty line, or the terminal is gone.
    End,
}

impl Typed {
    fn read(&mut self, prompt: &str) -> Result<TypedLine, Failure> {
        let line = match &self.keyboard {
            Some(keyboard) => keyboard.edit(|| self.editor.readline(prompt)),
            None => self.editor.readline(prompt),
        };
        match line {
            Ok(line) => Ok(TypedLine::Text(line)),
            Err(ReadlineError::Eof) => Ok(TypedLine::End),
            Err(ReadlineError::Interrupted) => Ok(TypedLine::Dropped),
            // The terminal is gone.
            Err(ReadlineError::Io(_)) if self.keyboard.is_some() => Ok(TypedLine::End),
            Err(error) => Err(unusable(error)),
        }
    }

    /// Reads the lines that complete a message; `None` where the person has dropped it.
    fn complete(&mut self, mut text: String) -> Result<Option<String>, Failure> {
        while is_open(&text) {
            let TypedLine::Text(line) = self.read(CONTINUATION)? else { return Ok(None) };
            text = format!("{text}\n{line}");
        }
        Ok(Some(text))
    }
}

impl Lines for Typed {
    fn next(&mut self, completion: Completion) -> Result<Option<String>, Failure> {
        self.editor.set_helper(Some(completion));
        loop {
            let TypedLine::Text(line) = self.read(PROMPT)? else { return Ok(None) };
            if let Some(text) = self.complete(line)? {
                self.remember(&text);
                return Ok(Some(text));
            }
            self.notes.say("the message is dropped");
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

/// Tab completes commands; in a message it is a tab, which pasted text has.
struct CompleteOrInsert;

impl ConditionalEventHandler for CompleteOrInsert {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, context: &EventContext<'_>) -> Option<Cmd> {
        let line = context.line();
        let is_command = line.starts_with('/') && !line.starts_with("//") && !line.contains('\n');
        Some(if is_command { Cmd::Complete } else { Cmd::Insert(1, "\t".to_owned()) })
    }
}
