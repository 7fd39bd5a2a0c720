//! The command of a chat for prompts of a library.

use std::sync::Arc;

use alloquy::core::prompt_library::{PromptLibrary, PromptName};
use alloquy::core::{Error, ErrorKind, Result};
use serde_json::json;

use super::session::Repl;
use crate::arguments::values;
use crate::failure::Failure;
use crate::media;
use crate::prompts::NamedPrompt;

impl Repl {
    /// Lists the prompts of the library.
    pub(super) fn list_prompts(&mut self) -> Result<(), Failure> {
        let names: Vec<_> = self.library()?.names().iter().map(PromptName::to_string).collect();
        let mut text = String::new();
        for name in &names {
            text += &format!("{name}\n");
        }
        if names.is_empty() {
            self.notes.say("the library has no prompt");
        }
        self.printer.show("prompts", &text, json!({"names": names}))?;
        Ok(())
    }

    /// Sends a prompt, or begins a conversation with it if it is a system prompt.
    pub(super) async fn send_prompt(&mut self, name: &str, typed: &[String]) -> Result<(), Failure> {
        let name: PromptName = name.parse()?;
        let values = values(typed.iter().map(String::as_str))?;
        let prompt = NamedPrompt { library: self.library()?, name, values };
        if let Some(preface) = prompt.preface(self.notes)? {
            return self.begin_with(preface).await;
        }
        // What cannot be filled in begins no conversation.
        let filled = prompt.filled(&self.current, self.notes).await?;
        let chat = self.current.begin(&filled.text()).await?;
        let attached = std::mem::take(&mut self.attached);
        let messages =
            if attached.is_empty() { Vec::new() } else { vec![media::said(attached, String::new())] };
        let request = self.with_settings(prompt.request(messages));
        self.answer(chat.send(request)).await
    }

    /// Returns the library of prompts.
    pub(super) fn library(&self) -> Result<Arc<dyn PromptLibrary>> {
        let library = self.answerer.as_ref().and_then(|answerer| answerer.opener.prompts.clone());
        library.ok_or_else(|| {
            let message = "no folder of prompts is set: start the chat with --prompts FOLDER";
            Error::new(ErrorKind::Invalid, message)
        })
    }
}
