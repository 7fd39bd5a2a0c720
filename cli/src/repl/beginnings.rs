//! The commands of a chat that begin another conversation, or delete this one.

use alloquy::core::{ConversationManager as _, Error, ErrorKind, Message, Preface, Role};
use serde_json::json;

use super::command::Consent;
use super::session::{AfterError, Repl};
use super::typed_path::typed_path;
use crate::arguments::instructions;
use crate::failure::Failure;
use crate::{asking, screen};

impl Repl {
    /// Begins a new conversation with the same system prompt. The former one stays.
    pub(super) async fn begin_new(&mut self) -> Result<(), Failure> {
        let preface = self.current.preface().await?;
        self.restart(preface).await
    }

    /// Begins a new conversation on an empty screen.
    pub(super) async fn clear(&mut self) -> Result<(), Failure> {
        if self.after_error == AfterError::Continue {
            screen::clear();
        }
        self.begin_new().await
    }

    async fn restart(&mut self, preface: Preface) -> Result<(), Failure> {
        let former = self.current.chat().ok().map(|chat| chat.id().clone());
        self.keep_computed().await;
        self.current.restart(preface);
        match &former {
            Some(id) => self.notes.say(format_args!(
                "this is a new conversation; the former one is stored: alloquy chat --conversation {id}"
            )),
            None => self.notes.say("this is a new conversation: nothing was said yet"),
        }
        self.printer.show("new", "", json!({"former": former}))?;
        Ok(())
    }

    /// Shows the system prompt.
    pub(super) async fn show_system(&mut self) -> Result<(), Failure> {
        let preface = self.current.preface().await?;
        let mut text = String::new();
        for message in preface.messages.iter().filter(|message| message.role == Role::System) {
            text += &format!("{}\n", message.text());
        }
        if text.is_empty() {
            self.notes.say("there is no system prompt; /system TEXT sets one");
        }
        let value = if text.is_empty() { None } else { Some(text.trim_end()) };
        self.printer.show("system", &text, json!({ "text": value }))?;
        Ok(())
    }

    /// Sets the system prompt that a person typed.
    pub(super) async fn set_system(&mut self, typed: &str) -> Result<(), Failure> {
        let text = instructions(typed, typed_path)?;
        let preface = if text.is_empty() { Preface::default() } else { Preface::system(text.as_str()) };
        self.begin_with(preface).await
    }

    /// Sets the system prompt, of a new conversation where something was said: a conversation keeps its own.
    pub(super) async fn begin_with(&mut self, preface: Preface) -> Result<(), Failure> {
        let texts: Vec<_> = preface.messages.iter().map(Message::text).collect();
        let text = if texts.is_empty() { None } else { Some(texts.join("\n\n")) };
        if !self.current.set_preface(preface.clone()) {
            self.restart(preface).await?;
        }
        self.notes.say(match text {
            None => "this conversation has no system prompt",
            Some(_) => "the system prompt is set for this conversation",
        });
        self.printer.show("system", "", json!({"text": text}))?;
        Ok(())
    }

    /// Deletes this conversation, if the person agrees.
    pub(super) async fn delete(&mut self, consent: Consent) -> Result<(), Failure> {
        let chat = self.current.chat()?;
        let id = chat.id().clone();
        let count = chat.nodes().await?.len();
        if consent == Consent::Missing {
            if self.after_error == AfterError::End {
                let message = "/delete asks at a terminal alone: write /delete yes";
                return Err(Error::new(ErrorKind::Invalid, message).into());
            }
            let asked = format!("delete this conversation, {id}, with its {count} messages? [y/N] ");
            if !is_yes(asking::ask(&asked)) {
                self.notes.say("it is not deleted");
                return Ok(());
            }
        }
        let preface = self.current.preface().await?;
        self.current.manager().delete(&id).await?;
        if let Some(answerer) = &self.answerer {
            answerer.opener.forget_computed(&id)?;
        }
        self.current.restart(preface);
        self.notes.say(format_args!("deleted conversation {id}; the next message begins a new one"));
        self.printer.show("deleted", "", json!({ "conversation": id }))?;
        Ok(())
    }
}

/// Returns whether an answer is a clear yes.
fn is_yes(answer: Option<String>) -> bool {
    answer.is_some_and(|line| ["y", "yes"].contains(&line.trim().to_lowercase().as_str()))
}
