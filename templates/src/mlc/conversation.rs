//! A conversation in a conversation template's two voices, and the prompt it becomes.

use alloquy_core::{Ending, Error, ErrorKind, Result, TemplateInput};
use serde_json::Value;

use super::conv_config::ConvConfig;
use crate::completion::text_of;

/// A conversation as this kind of template sees it.
pub(super) struct Conversation {
    system: String,
    messages: Vec<Spoken>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Speaker {
    User,
    Assistant,
}

struct Spoken {
    speaker: Speaker,
    /// The role's name as it is printed.
    name: String,
    text: String,
}

impl Conversation {
    pub(super) fn read(config: &ConvConfig, input: &TemplateInput) -> Result<Self> {
        refuse("tools", input.tools.as_deref())?;
        refuse("documents", input.documents.as_deref())?;
        let mut conversation = Self { system: config.system.clone(), messages: earlier(config) };
        for (position, message) in input.messages.iter().enumerate() {
            match message.get("role").and_then(Value::as_str) {
                Some("system") if position == 0 => conversation.system = text_of(message)?,
                Some("user") => conversation.messages.push(spoken(config, Speaker::User, text_of(message)?)),
                Some("assistant") => {
                    conversation.messages.push(spoken(config, Speaker::Assistant, text_of(message)?));
                }
                role => return Err(misplaced(role, position)),
            }
        }
        Ok(conversation)
    }

    pub(super) fn with_roles(&self, config: &ConvConfig, ending: Ending) -> String {
        let mut prompt = String::new();
        if !self.system.is_empty() {
            prompt.extend([self.system.as_str(), config.separator(0)]);
        }
        let whole = match ending {
            Ending::Continue => self.messages.len().saturating_sub(1),
            Ending::Answer | Ending::Closed => self.messages.len(),
        };
        for (position, message) in self.messages.iter().enumerate() {
            prompt.extend([message.name.as_str(), &config.role_msg_sep, &message.text]);
            prompt.push_str(if position < whole { config.separator(position) } else { "" });
        }
        if ending == Ending::Answer {
            let [_, assistant] = &config.roles;
            prompt.extend([assistant.as_str(), &config.role_empty_sep]);
        }
        prompt
    }

    /// The user's last text, and what a reply to it says already.
    pub(super) fn plain(&self) -> String {
        let last = self.messages.iter().rposition(|message| message.speaker == Speaker::User).unwrap_or(0);
        self.messages.iter().skip(last).map(|message| message.text.as_str()).collect()
    }
}

/// The messages that stand before every conversation.
fn earlier(config: &ConvConfig) -> Vec<Spoken> {
    let [user, _] = &config.roles;
    let kept = config.offset.unwrap_or(config.messages.len());
    let spoken = config.messages.iter().take(kept).map(|(name, text)| Spoken {
        speaker: if name == user { Speaker::User } else { Speaker::Assistant },
        name: name.clone(),
        text: text.clone(),
    });
    spoken.collect()
}

fn spoken(config: &ConvConfig, speaker: Speaker, text: String) -> Spoken {
    let [user, assistant] = &config.roles;
    let name = match speaker {
        Speaker::User => user,
        Speaker::Assistant => assistant,
    };
    Spoken { speaker, name: name.clone(), text }
}

fn refuse(what: &str, list: Option<&[Value]>) -> Result<()> {
    match list.unwrap_or_default() {
        [] => Ok(()),
        _ => Err(Error::new(
            ErrorKind::Unsupported,
            format!("a conversation template has no place for {what}"),
        )),
    }
}

fn misplaced(role: Option<&str>, position: usize) -> Error {
    let role = role.unwrap_or_default();
    let message = format!(
        "message {position} has role {role:?}, a conversation template knows \"user\", \"assistant\" and, at the beginning, \"system\""
    );
    Error::new(ErrorKind::Unsupported, message)
}
