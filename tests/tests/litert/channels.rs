//! Channels: named sections of a reply, as a row's configuration sets them.

use alloquy_core::template::PromptEnd;
use alloquy_core::{Content, Delta, Message, Preface};
use serde_json::{Map, Value, json};

use crate::families::{self, read, source};
use crate::outcome::Outcome;
use crate::row::Row;

/// What a reply says in each channel, under the names that the row has for them.
fn said(message: &Message, channels: &[Value]) -> Map<String, Value> {
    let mut said: Map<String, Value> = Map::new();
    for part in &message.parts {
        let (name, text) = match &part.content {
            Content::Thinking(text) => (families::name_of_thinking(channels), text),
            Content::Channel(channel) => (channel.name.clone(), &channel.text),
            _ => continue,
        };
        let before = said.get(&name).and_then(Value::as_str).unwrap_or_default();
        let all = format!("{before}{text}");
        said.insert(name, all.into());
    }
    said
}

pub(crate) fn extract(row: &Row) -> Outcome {
    let texts = row.input["responses"]["texts"].as_array().map(Vec::as_slice).unwrap_or_default();
    if texts.len() > 1 {
        return Outcome::skipped("a reply is one text here, and cannot be several");
    }
    let text: String = texts.iter().filter_map(Value::as_str).collect();
    let channels = row.input["channels"].as_array().map(Vec::as_slice).unwrap_or_default();
    let open =
        channels.iter().map(families::channel).find(|(name, ..)| row.input["open_channel_name"] == *name);
    let rendered = open.map(|(_, start, _)| start).unwrap_or_default();
    let family = match families::configured("generic", "", channels) {
        Ok(family) => family,
        Err(reason) => return Outcome::Skipped(reason),
    };
    let message = read(&family, rendered, &Preface::default(), [text.as_str()]);
    let left = if message.text().is_empty() { json!([]) } else { message.text().into() };
    let found = json!({"channels": said(&message, channels), "remaining_text": left});
    Outcome::compared(row.expected.clone(), found)
}

/// Which channel a prompt leaves open: the one that the next word of the reply belongs to.
pub(crate) fn open(row: &Row) -> Outcome {
    let prompt = row.input[0].as_str().unwrap_or_default();
    let channels = row.input[1].as_array().map(Vec::as_slice).unwrap_or_default();
    let family = match families::configured("generic", "", channels) {
        Ok(family) => family,
        Err(reason) => return Outcome::Skipped(reason),
    };
    let preface = Preface::default();
    let mut parser = family.reply_parser(prompt, source(&preface, &[], PromptEnd::Generation));
    let mut deltas = parser.push("word");
    deltas.extend(parser.finish().0);
    let name = deltas.first().and_then(|delta| match delta {
        Delta::Thinking(_) => Some(families::name_of_thinking(channels)),
        Delta::Channel(said) => Some(said.name.clone()),
        _ => None,
    });
    Outcome::compared(row.expected.clone(), name)
}
