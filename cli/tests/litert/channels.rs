//! Channels: named stretches of a reply. Ours have one name, thinking, and the markers of a family.

use alloquy_core::{Delta, Ending, Preface};
use serde_json::{Map, Value, json};

use crate::families::{self, Family, read, source};
use crate::outcome::Outcome;
use crate::row::Row;

/// A channel as rows write it: an object, or a list of name, start and end.
fn channel(value: &Value) -> (&str, &str, &str) {
    let field = |index: usize, name: &str| value.get(index).or(value.get(name)).and_then(Value::as_str);
    let [name, start, end] = [(0, "channel_name"), (1, "start"), (2, "end")];
    let text = |(index, name)| field(index, name).unwrap_or_default();
    (text(name), text(start), text(end))
}

/// The family that has these channels, as far as the text writes them.
fn family(channels: &[Value], text: &str) -> Result<Option<(Family, String)>, String> {
    let used: Vec<_> = channels.iter().map(channel).filter(|(_, start, _)| text.contains(start)).collect();
    match (used.as_slice(), channels.first().map(channel)) {
        ([], None) => Ok(None),
        ([], Some(one)) | (&[one], _) => {
            let (name, start, end) = one;
            let found = families::all().find(|family| families::thinks(family, start, end));
            let missing = || format!("no family has a channel between {start:?} and {end:?}");
            Ok(Some((found.ok_or_else(missing)?, name.to_owned())))
        }
        _ => Err("has several channels, and a family has one: what the model thinks".to_owned()),
    }
}

pub(crate) fn extract(row: &Row) -> Outcome {
    let texts = row.input["responses"]["texts"].as_array().map(Vec::as_slice).unwrap_or_default();
    if texts.len() > 1 {
        return Outcome::skipped("a reply is one text here, and cannot be several");
    }
    let text: String = texts.iter().filter_map(Value::as_str).collect();
    let channels = row.input["channels"].as_array().map(Vec::as_slice).unwrap_or_default();
    let open = channels.iter().map(channel).find(|(name, ..)| row.input["open_channel_name"] == *name);
    let rendered = open.map(|(_, start, _)| start).unwrap_or_default();
    let (family, name) = match family(channels, &format!("{rendered}{text}")) {
        Ok(Some(found)) => found,
        Ok(None) => return Outcome::skipped("names no channel"),
        Err(reason) => return Outcome::Skipped(reason),
    };
    let message = read(&family, rendered, &Preface::default(), [text.as_str()]);
    let thoughts: Map<String, Value> =
        message.thinking().map(|thought| (name, thought.into())).into_iter().collect();
    let left = if message.text().is_empty() { json!([]) } else { message.text().into() };
    Outcome::compared(row.expected.clone(), json!({"channels": thoughts, "remaining_text": left}))
}

/// Which channel a prompt leaves open: the one that the next word of the reply belongs to.
pub(crate) fn open(row: &Row) -> Outcome {
    let prompt = row.input[0].as_str().unwrap_or_default();
    let channels = row.input[1].as_array().map(Vec::as_slice).unwrap_or_default();
    let (family, name) = match family(channels, prompt) {
        Ok(Some(found)) => found,
        Ok(None) => return Outcome::compared(row.expected.clone(), Value::Null),
        Err(reason) => return Outcome::Skipped(reason),
    };
    let preface = Preface::default();
    let mut parser = family.reply_parser(prompt, source(&preface, &[], Ending::Answer));
    let mut deltas = parser.push("word");
    deltas.extend(parser.finish().0);
    let thinks = matches!(deltas.first(), Some(Delta::Thinking(_)));
    Outcome::compared(row.expected.clone(), thinks.then_some(name))
}
