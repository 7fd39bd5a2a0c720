//! ChatML: text between markers, or the plain list of roles and texts that such text means.

use alloquy_core::{Content, Message, Result, Role};
use serde_json::Value;

use super::Transcript;
use super::fields::{Fields, list};
use super::place::{Place, quoted};
use super::{further, layout, plain};

const START: &str = "<|im_start|>";
const END: &str = "<|im_end|>";

/// Reads marked text, or a list of `{role, content}` or `{from, value}`.
pub(super) fn read(document: &Value) -> Result<Transcript> {
    let root = Place::root("messages");
    match document {
        Value::String(text) => read_text(text),
        _ => {
            let mut messages = Vec::new();
            for (index, message) in list(document, &root)?.iter().enumerate() {
                messages.push(read_message(message, &root.index(index))?);
            }
            Ok(Transcript::new(messages))
        }
    }
}

fn read_message(value: &Value, place: &Place<'_>) -> Result<Message> {
    let mut fields = Fields::of(value, place)?;
    let (role, text) = if fields.has("from") {
        (sharegpt_role(fields.need_str("from")?), fields.need_str("value")?)
    } else {
        (fields.need_str("role")?, fields.need_str("content")?)
    };
    let role = known_role(role, place)?;
    let name = fields.take_str("name")?.map(str::to_owned);
    Ok(Message { name, extra: fields.rest(), ..Message::new(role, vec![Content::Text(text.to_owned())]) })
}

/// Returns the role of a speaker in ShareGPT's dumps.
fn sharegpt_role(from: &str) -> &str {
    match from {
        "human" => "user",
        "gpt" => "assistant",
        other => other,
    }
}

fn known_role(name: &str, place: &Place<'_>) -> Result<Role> {
    name.parse().map_err(|_| place.field("role").unknown("role", name, &Role::ALL.map(Role::as_str)))
}

/// Reads messages one after another. The last one may lack its final line break, and nothing else.
fn read_text(text: &str) -> Result<Transcript> {
    let root = Place::root("messages");
    let mut messages = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let place = root.index(messages.len());
        let (message, after) = read_marked(rest, &place)?;
        messages.push(message);
        rest = match after.strip_prefix('\n') {
            Some(next) => next,
            None if after.is_empty() => after,
            None => {
                return Err(place.invalid(format_args!("a line break follows {END}, not {}", quoted(after))));
            }
        };
    }
    Ok(Transcript::new(messages))
}

fn read_marked<'a>(text: &'a str, place: &Place<'_>) -> Result<(Message, &'a str)> {
    let Some(marked) = text.strip_prefix(START) else {
        return Err(place.invalid(format_args!("a message begins with {START}, not {}", quoted(text))));
    };
    let Some((header, body)) = marked.split_once('\n') else {
        return Err(place.invalid("the line with the role has no end"));
    };
    if let Some(marker) = marker_in(header) {
        return Err(place.invalid(format_args!("{marker} is in the line with the role")));
    }
    let (role, name) = match header.split_once(" name=") {
        Some((role, name)) => (role, Some(name.to_owned())),
        None => (header, None),
    };
    let role = known_role(role, place)?;
    let Some((content, after)) = body.split_once(END) else {
        return Err(place.invalid(format_args!("the message is not closed by {END}")));
    };
    if content.contains(START) {
        return Err(place.invalid(format_args!("{START} is inside a message")));
    }
    Ok((Message { name, ..Message::new(role, vec![Content::Text(content.to_owned())]) }, after))
}

/// Writes marked text.
pub(super) fn write(transcript: &Transcript) -> Result<String> {
    plain::messages_only(transcript)?;
    let root = Place::root("messages");
    let mut text = String::new();
    for (index, message) in transcript.messages.iter().enumerate() {
        text += &write_marked(message, &root.index(index))?;
    }
    Ok(text)
}

fn write_marked(message: &Message, place: &Place<'_>) -> Result<String> {
    let [part] = message.parts.as_slice() else {
        let sentence = format!("a message is one text, and this one has {} parts", message.parts.len());
        return Err(place.field("parts").unsupported(sentence));
    };
    let part_place = place.field("parts");
    let Content::Text(text) = &part.content else {
        return Err(layout::inexpressible(&part.content, &part_place.index(0)));
    };
    further::none(&part.extra, &part_place.index(0))?;
    if let Some(field) = plain::extra(message).keys().next() {
        return Err(place.field("extra").field(field).unsupported("the dialect has no further fields"));
    }
    check_unmarked(text, &part_place.index(0))?;
    let name = match &message.name {
        Some(name) => header_name(name, place)?,
        None => String::new(),
    };
    Ok(format!("{START}{}{name}\n{text}{END}\n", message.role))
}

fn header_name(name: &str, place: &Place<'_>) -> Result<String> {
    let place = place.field("name");
    check_unmarked(name, &place)?;
    if name.contains(['\n', '\r']) {
        return Err(place.unsupported(format_args!("the name {} has a line break", quoted(name))));
    }
    Ok(format!(" name={name}"))
}

/// Refuses text with a marker in it, which would read as another message.
fn check_unmarked(text: &str, place: &Place<'_>) -> Result<()> {
    match marker_in(text) {
        Some(marker) => Err(place.unsupported(format_args!("the text has the marker {marker} in it"))),
        None => Ok(()),
    }
}

fn marker_in(text: &str) -> Option<&'static str> {
    [START, END].into_iter().find(|marker| text.contains(marker))
}
