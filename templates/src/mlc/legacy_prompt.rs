//! Writes a conversation with the two roles of `conv_config` as the parts of a prompt.

use alloquy_core::template::{PromptEnd, TemplateInput};
use alloquy_core::{Error, ErrorKind, Result};
use serde_json::Value;

use super::legacy::{ConvConfig, Style};
use super::part::{Part, PartKind};
use crate::completion::text_of;

/// Returns the parts of a conversation's prompt without the front.
pub(super) fn parts(config: &ConvConfig, input: &TemplateInput) -> Result<Vec<Part>> {
    let conversation = Conversation::read(config, input)?;
    Ok(match config.separator_style {
        Style::Roles => conversation.with_roles(config, input.ending),
        Style::Plain(_) => conversation.plain(),
    })
}

/// A conversation with the template's own messages.
struct Conversation {
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
    fn read(config: &ConvConfig, input: &TemplateInput) -> Result<Self> {
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

    fn with_roles(&self, config: &ConvConfig, ending: PromptEnd) -> Vec<Part> {
        let mut parts = Vec::new();
        if !self.system.is_empty() {
            parts.push(part(PartKind::System, [&self.system, config.separator(0)]));
        }
        let whole = match ending {
            PromptEnd::Continuation => self.messages.len().saturating_sub(1),
            PromptEnd::Generation | PromptEnd::Closed => self.messages.len(),
        };
        for (position, message) in self.messages.iter().enumerate() {
            let separator = if position < whole { config.separator(position) } else { "" };
            let texts = [&message.name, &config.role_msg_sep, &message.text, separator];
            parts.push(part(message.kind(), texts));
        }
        if ending == PromptEnd::Generation {
            let [_, assistant] = &config.roles;
            parts.push(part(PartKind::Header, [assistant.as_str(), &config.role_empty_sep]));
        }
        parts
    }

    /// Returns the user's last text, and the start of a reply to it.
    fn plain(&self) -> Vec<Part> {
        let last = self.messages.iter().rposition(|message| message.speaker == Speaker::User).unwrap_or(0);
        self.messages.iter().skip(last).map(|message| part(message.kind(), [message.text.as_str()])).collect()
    }
}

impl Spoken {
    fn kind(&self) -> PartKind {
        match self.speaker {
            Speaker::User => PartKind::User,
            Speaker::Assistant => PartKind::Assistant,
        }
    }
}

fn part<const N: usize>(kind: PartKind, texts: [&str; N]) -> Part {
    Part { kind, text: texts.concat() }
}

/// Returns the messages at the start of every conversation.
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

fn misplaced(role: Option<&str>, position: usize) -> Error {
    let role = role.unwrap_or_default();
    let message = format!(
        "message {position} has role {role:?}, a conversation template knows \"user\", \"assistant\" and, at the beginning, \"system\""
    );
    Error::new(ErrorKind::Unsupported, message)
}
