//! The loop of a chat: each line of the keyboard or of a pipe is a message or a command.

mod beginnings;
mod choices;
mod command;
mod completion;
mod lines;
mod notes;
mod places;
mod prompts;
mod quoted;
mod saving;
mod session;
mod settings;
mod typed_path;

use alloquy::core::media::MediaKind;
use alloquy::core::report::FinishReason;
use alloquy::core::{Conversation, Error, ErrorKind, NodeId, Role, Turn, TurnRequest};
use serde_json::json;

use crate::failure::{self, Failure, finished};
use crate::media;
use crate::printer::take;
use command::{Command, Line};
use typed_path::typed_path;

pub(crate) use lines::{Lines, Piped, Typed};
pub(crate) use session::{AfterError, Answerer, Repl};
pub(crate) use settings::ChatSettings;

/// Whether there is a next line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Read,
    Leave,
}

impl Repl {
    /// Takes lines until there are no more, or `/exit`.
    pub(crate) async fn run(&mut self) -> Result<(), Failure> {
        loop {
            let chat = self.current.chat().ok();
            let Some(line) = self.lines.next(chat.as_ref())? else { break };
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
            Command::New => self.begin_new().await?,
            Command::Clear => self.clear().await?,
            Command::Delete(consent) => self.delete(consent).await?,
            Command::System(None) => self.show_system().await?,
            Command::System(Some(text)) => self.set_system(&text).await?,
            Command::Model(None) => self.show_model()?,
            Command::Model(Some(name)) => self.change_model(&name).await?,
            Command::Prompt(None) => self.list_prompts()?,
            Command::Prompt(Some((name, values))) => self.send_prompt(&name, &values).await?,
            Command::Notes => self.list_notes().await?,
            Command::Remember(text) => self.remember(&text).await?,
            Command::Forget(id) => self.forget(&id).await?,
            Command::Set(None) => self.list_settings().await?,
            Command::Set(Some((name, value))) => self.set(&name, &value)?,
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
            Command::Undo => self.undo(chat).await,
            Command::Retry => self.retry(chat).await,
            Command::Edit(text) => {
                let question = last_question(chat).await?;
                let request = self.message(text);
                self.answer(chat.edit(question, request)).await
            }
            Command::History => self.history(chat).await,
            Command::Tree => self.tree(chat).await,
            Command::Goto(address) => self.goto(chat, &address).await,
            Command::Branches => self.branches(chat).await,
            Command::Diff(left, right) => self.diff(chat, &left, &right).await,
            Command::Label(address, label) => self.label(chat, &address, label.as_deref()).await,
            Command::Bookmark(set) => self.bookmark(chat, set).await,
            Command::Fork(name) => self.fork(chat, name.as_deref()).await,
            Command::Save(argument) => self.save(chat, &argument).await,
            _ => Ok(()),
        }
    }

    /// Reads a file for the next message.
    fn attach(&mut self, kind: MediaKind, file: &str) -> Result<(), Failure> {
        let part = media::attached(kind, &typed_path(file))?;
        if let Some(answerer) = &self.answerer {
            media::check(&answerer.model, &[part.clone().into()])?;
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
        request.into().sampling(self.sampling()).output(self.constraints.clone())
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
            taken => {
                let reply = taken?.reply;
                self.show_sources(&reply)?;
                finished(&reply)? == FinishReason::Cancelled
            }
        };
        self.is_changed = false;
        if was_interrupted && self.after_error == AfterError::End {
            return Err(Failure::Interrupted);
        }
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

    use alloquy::core::output::OutputConstraints;
    use alloquy::core::{Manager, Preface};
    use alloquy_testing::EchoModel;

    use super::*;
    use crate::current::Current;
    use crate::interrupts::Interrupts;
    use crate::notes::{Notes, Output};
    use crate::printer::{LineEnd, Text};
    use crate::screen::Screen;
    use crate::visible::Rule;

    struct Scripted(VecDeque<&'static str>);

    impl Lines for Scripted {
        fn next(&mut self, _: Option<&Conversation>) -> Result<Option<String>, Failure> {
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
            let mut repl = Repl {
                current,
                lines,
                printer,
                interrupts: Interrupts::default(),
                notes,
                after_error: AfterError::End,
                begun: ChatSettings::default(),
                settings: ChatSettings::default(),
                is_changed: false,
                constraints: OutputConstraints::default(),
                attached: Vec::new(),
                answerer: None,
                saved: Vec::new(),
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
