//! The loop of a chat: each line of the keyboard or of a pipe is a message or a command.

mod command;
mod lines;

use std::path::Path;

use alloquy::Model;
use alloquy::core::media::MediaKind;
use alloquy::core::output::OutputConstraints;
use alloquy::core::report::FinishReason;
use alloquy::core::{Conversation, Error, ErrorKind, NodeId, Part, Role, SamplingOptions, Turn, TurnRequest};
use serde_json::json;

use crate::commands::goto::place;
use crate::current::Current;
use crate::failure::{self, Failure, finished};
use crate::interrupts::Interrupts;
use crate::media;
use crate::notes::Notes;
use crate::printer::{Printer, take};
use command::{Command, Line};

pub(crate) use lines::{Lines, Piped, Typed};

/// What an error means for the lines that follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterError {
    /// A person reads it and continues.
    Continue,
    /// The chat ends: the next lines of a script depend on the ones before.
    End,
}

/// A conversation, the source of its lines and the printer of its answers.
pub(crate) struct Repl<'a> {
    pub(crate) current: Current<'a>,
    pub(crate) lines: Box<dyn Lines>,
    pub(crate) printer: Box<dyn Printer>,
    pub(crate) interrupts: Interrupts,
    pub(crate) notes: Notes,
    pub(crate) after_error: AfterError,
    pub(crate) sampling: SamplingOptions,
    /// The constraints of every answer.
    pub(crate) constraints: OutputConstraints,
    /// Images and audio clips for the next message.
    pub(crate) attached: Vec<Part>,
    /// The model, where it runs on this machine: it checks whether it accepts attached media.
    pub(crate) model: Option<Model>,
}

/// Whether there is a next line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Read,
    Leave,
}

impl Repl<'_> {
    /// Takes lines until there are no more, or `/exit`.
    pub(crate) async fn run(&mut self) -> Result<(), Failure> {
        while let Some(line) = self.lines.next()? {
            if self.after_error == AfterError::Continue {
                // A person may press Ctrl-C before the answer starts, and means the answer.
                self.interrupts.expect();
            }
            let taken = self.take(&line).await;
            self.interrupts.disarm();
            match taken {
                Ok(Next::Read) => {}
                Ok(Next::Leave) => break,
                Err(Failure::Error(error)) if self.after_error == AfterError::Continue => {
                    failure::print_in_chat(&error);
                    self.printer.error(&error)?;
                }
                Err(failure) => return Err(failure),
            }
        }
        Ok(())
    }

    async fn take(&mut self, line: &str) -> Result<Next, Failure> {
        match Line::read(line)? {
            Line::Nothing => {}
            Line::Say(text) => {
                let chat = self.current.begin(&text).await?;
                let request = self.message(text);
                self.answer(chat.send(request)).await?;
            }
            Line::Command(Command::Exit) => return Ok(Next::Leave),
            Line::Command(command) => self.execute(command).await?,
        }
        Ok(Next::Read)
    }

    async fn execute(&mut self, command: Command) -> Result<(), Failure> {
        match command {
            Command::Help => self.printer.show("help", &command::help(), command::names())?,
            Command::Exit => {}
            Command::Image(file) => self.attach(MediaKind::Image, &file)?,
            Command::Audio(file) => self.attach(MediaKind::Audio, &file)?,
            command => {
                let chat = self.current.chat()?;
                self.execute_in(&chat, command).await?;
            }
        }
        Ok(())
    }

    /// Executes a command that needs a conversation.
    async fn execute_in(&mut self, chat: &Conversation, command: Command) -> Result<(), Failure> {
        match command {
            Command::Undo => {
                let before = chat.undo().await?;
                self.say_where(chat, before).await?;
            }
            Command::Retry => self.answer(chat.regenerate(self.with_settings(Vec::new()))).await?,
            Command::Edit(text) => {
                let question = last_question(chat).await?;
                let request = self.message(text);
                self.answer(chat.edit(question, request)).await?;
            }
            Command::Branch => self.branch(chat).await?,
            Command::Tree => self.tree(chat).await?,
            Command::Switch(address) => {
                let node = chat.resolve(&address).await?;
                chat.goto(node).await?;
                self.say_where(chat, node).await?;
            }
            Command::History => self.history(chat).await?,
            Command::Image(_) | Command::Audio(_) | Command::Help | Command::Exit => {}
        }
        Ok(())
    }

    /// Reads a file for the next message.
    fn attach(&mut self, kind: MediaKind, file: &str) -> Result<(), Failure> {
        let part = media::attached(kind, Path::new(file))?;
        if let Some(model) = &self.model {
            media::check(model, &[part.clone().into()])?;
        }
        if let Some(media) = part.shown() {
            self.notes.say(format_args!("{file} goes with your next message ({})", media.media_type()));
            let value = json!({"kind": kind.as_str(), "type": media.media_type(), "digest": media.digest()});
            self.printer.show("attached", "", value)?;
        }
        self.attached.push(part.into());
        Ok(())
    }

    /// Returns a message of the attached media and a text, with the settings of this run.
    fn message(&mut self, text: String) -> TurnRequest {
        let message = media::said(std::mem::take(&mut self.attached), text);
        self.with_settings(message)
    }

    /// Adds the settings of this run, which win over those of the conversation.
    fn with_settings(&self, request: impl Into<TurnRequest>) -> TurnRequest {
        request.into().sampling(self.sampling.clone()).output(self.constraints.clone())
    }

    /// Prints an answer while it is generated. Ctrl-C interrupts it and keeps what was generated.
    async fn answer(&mut self, turn: Turn) -> Result<(), Failure> {
        self.interrupts.end_with(turn.stop_signal());
        let taken = take(turn, &mut *self.printer).await;
        self.interrupts.disarm();
        let was_interrupted = match taken {
            Err(Failure::Interrupted) => {
                self.notes.say("interrupted before the first word");
                true
            }
            taken => finished(&taken?.reply)? == FinishReason::Cancelled,
        };
        if was_interrupted && self.after_error == AfterError::End {
            return Err(Failure::Interrupted);
        }
        Ok(())
    }

    async fn branch(&mut self, chat: &Conversation) -> Result<(), Failure> {
        let copy = chat.fork().await?;
        self.notes.say(format_args!(
            "continuing in a copy, conversation {}; the original is {}",
            copy.id(),
            chat.id()
        ));
        let head = copy.head().await?;
        self.printer.show("head", "", json!({"conversation": copy.id(), "head": head}))?;
        self.current.replace(copy);
        Ok(())
    }

    async fn tree(&mut self, chat: &Conversation) -> Result<(), Failure> {
        let head = chat.head().await?;
        let tree = chat.tree().await?;
        let nodes: Vec<_> = tree.walk().map(|(_, node)| node).collect();
        self.printer.show("tree", &chat.draw().await?, json!({"head": head, "nodes": nodes}))?;
        Ok(())
    }

    async fn history(&mut self, chat: &Conversation) -> Result<(), Failure> {
        let history = chat.history().await?;
        let mut text = String::new();
        for node in &history {
            text += &format!("{}: {}\n", node.message.role, node.message.text());
        }
        self.printer.show("history", &text, json!({"nodes": history}))?;
        Ok(())
    }

    async fn say_where(&mut self, chat: &Conversation, node: Option<NodeId>) -> Result<(), Failure> {
        self.printer.show("head", "", json!({"conversation": chat.id(), "head": node}))?;
        self.notes.say(place(chat, node).await?);
        Ok(())
    }
}

async fn last_question(chat: &Conversation) -> Result<NodeId, Failure> {
    let history = chat.history().await?;
    match history.iter().rfind(|node| node.message.role == Role::User) {
        Some(question) => Ok(question.id),
        None => Err(Error::new(ErrorKind::Invalid, "there is no question to edit").into()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Arc;

    use alloquy::core::{Manager, Preface};
    use alloquy_testing::EchoModel;

    use super::*;
    use crate::notes::Output;
    use crate::printer::{LineEnd, Text};
    use crate::screen::Screen;
    use crate::visible::Rule;

    struct Scripted(VecDeque<&'static str>);

    impl Lines for Scripted {
        fn next(&mut self) -> Result<Option<String>, Failure> {
            Ok(self.0.pop_front().map(str::to_owned))
        }
    }

    /// Writes into a buffer that outlives the printer.
    #[derive(Clone, Default)]
    struct Shared(Arc<std::sync::Mutex<Vec<u8>>>);

    impl std::io::Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn printed(script: impl IntoIterator<Item = &'static str>) -> (String, Result<(), Failure>) {
        let notes = Notes::new(&Output { quiet: true, ..Output::default() });
        let manager = Manager::new(EchoModel);
        let out = Shared::default();
        let ended = pollster::block_on(async {
            let current = Current::open(&manager, None, Preface::default(), notes).await?;
            let lines = Box::new(Scripted(script.into_iter().collect()));
            let printer = Text::new(
                Screen::new(out.clone(), Rule::Prose),
                Screen::new(std::io::sink(), Rule::Line),
                notes,
                LineEnd::Always,
            );
            let printer = Box::new(printer);
            let interrupts = Interrupts::default();
            let after_error = AfterError::End;
            let sampling = SamplingOptions::default();
            let constraints = OutputConstraints::default();
            let attached = Vec::new();
            let mut repl = Repl {
                current,
                lines,
                printer,
                interrupts,
                notes,
                after_error,
                sampling,
                constraints,
                attached,
                model: None,
            };
            repl.run().await
        });
        let bytes = out.0.lock().unwrap().clone();
        (String::from_utf8(bytes).unwrap(), ended)
    }

    #[test]
    fn going_back_leaves_branches() {
        let script = [
            "One",
            "Two",
            "/undo",
            "/edit Uno",
            "/retry",
            "/switch 0.0",
            "Three",
            "/tree",
            "/branch",
            "/history",
            "/tree",
        ];
        let (out, ended) = printed(script);
        ended.unwrap();
        insta::assert_snapshot!(out);
    }

    #[test]
    fn what_is_attached_goes_with_the_next_question_alone() {
        let folder = tempfile::TempDir::new().unwrap();
        let file = folder.path().join("cat.gif");
        std::fs::write(&file, b"GIF89a and so on").unwrap();
        let image: &'static str = format!("/image {}", file.display()).leak();
        let (out, ended) = printed([image, "One", "Two", "/tree"]);
        ended.unwrap();
        let shown: Vec<_> = out.lines().filter(|line| line.contains("(image)")).collect();
        assert_eq!(shown.len(), 1, "{out}");
        let (_, ended) = printed(["/image nowhere.png"]);
        assert!(matches!(ended, Err(Failure::Error(error)) if error.is_not_found()));
    }

    #[test]
    fn nothing_is_read_after_exit_or_an_error() {
        assert_eq!(printed(["One", "/exit", "Two"]).0, "One\n");
        let (out, ended) = printed(["/tree", "One"]);
        assert!(matches!(ended, Err(Failure::Error(error)) if error.to_string() == "nothing was said yet"));
        assert_eq!(out, "");
    }
}
