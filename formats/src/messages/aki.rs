//! The AKI chat context: a list of roles and contents, media as data URIs, no tools.

use alloquy_core::media::MediaKind;
use alloquy_core::{Content, Media, Message, Part, Result, Role};
use serde_json::{Map, Value, json};

use super::fields::{Fields, append, list, string};
use super::further::{self, Shape};
use super::layout;
use super::media::Outgoing;
use super::place::Place;
use super::reader::{Reader, json};
use super::{Transcript, plain};

const ROLES: [&str; 3] = ["system", "user", "assistant"];
const ITEMS: [&str; 4] = ["text", "image", "audio", "video"];
const ITEM: Shape = Shape::flat(&["type", "text", "image", "audio", "video"]);
const MESSAGE: [&str; 3] = ["role", "content", "name"];

/// Reads the list, or the JSON string in which it travels.
pub(super) fn read(document: &Value, reader: &mut Reader<'_>) -> Result<Transcript> {
    let root = Place::root("messages");
    let travelled = match document {
        Value::String(text) => Some(json(text)?),
        _ => None,
    };
    let mut messages = Vec::new();
    for (index, message) in list(travelled.as_ref().unwrap_or(document), &root)?.iter().enumerate() {
        messages.push(read_message(message, &root.index(index), reader)?);
    }
    Ok(Transcript::new(messages))
}

fn read_message(value: &Value, place: &Place<'_>, reader: &mut Reader<'_>) -> Result<Message> {
    let mut fields = Fields::of(value, place)?;
    let role = match fields.need_str("role")? {
        "system" => Role::System,
        "user" => Role::User,
        "assistant" => Role::Assistant,
        other => return Err(place.field("role").unknown("role", other, &ROLES)),
    };
    let parts = read_content(fields.need("content")?, &place.field("content"), reader)?;
    let name = fields.take_str("name")?.map(str::to_owned);
    Ok(Message { name, extra: fields.rest(), ..Message::new(role, parts) })
}

fn read_content(value: &Value, place: &Place<'_>, reader: &mut Reader<'_>) -> Result<Vec<Part>> {
    match value {
        Value::String(text) => Ok(vec![Content::Text(text.clone()).into()]),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, item)| read_item(item, &place.index(index), reader))
            .collect(),
        other => Err(place.expected("a string or a list of items", other)),
    }
}

/// Reads `{text}`, `{image}`, `{audio}` or `{video}`, or a text as a bare string. A `type` beside the field names it too.
fn read_item(item: &Value, place: &Place<'_>, reader: &mut Reader<'_>) -> Result<Part> {
    if let Value::String(text) = item {
        return Ok(Content::Text(text.clone()).into());
    }
    let mut fields = Fields::of(item, place)?;
    let named = fields.take_str("type")?;
    let keys: Vec<_> = ITEMS.into_iter().filter(|name| fields.has(name)).collect();
    let [name] = keys.as_slice() else {
        return Err(place.invalid(format_args!("an item has one of: {}", ITEMS.join(", "))));
    };
    if let Some(named) = named
        && named != *name
    {
        return Err(place.field("type").unknown("type of item", named, &[name]));
    }
    let place = place.field(name);
    let value = fields.need(name)?;
    if let ("video", Value::Array(frames)) = (*name, value) {
        let video = read_frames(frames, &place, reader)?;
        return Ok(further::beside(video.into(), fields.rest()));
    }
    let text = string(value, &place)?;
    let part = match MediaKind::ALL.into_iter().find(|kind| kind.as_str() == *name) {
        Some(kind) => reader.media.address(kind, text, &place)?,
        None => Content::Text(text.to_owned()),
    };
    Ok(further::beside(part.into(), fields.rest()))
}

/// Reads a video as the list of its images.
fn read_frames(frames: &[Value], place: &Place<'_>, reader: &mut Reader<'_>) -> Result<Content> {
    if frames.is_empty() {
        return Err(place.invalid("a video has one image or more"));
    }
    reader.media.allow(MediaKind::Video, place)?;
    let mut images = Vec::with_capacity(frames.len());
    for (index, frame) in frames.iter().enumerate() {
        let place = place.index(index);
        images.push(reader.media.frame(string(frame, &place)?, &place)?);
    }
    Ok(Content::Video(images))
}

/// Writes the list.
pub(super) fn write(transcript: &Transcript) -> Result<Value> {
    plain::messages_only(transcript)?;
    let root = Place::root("messages");
    let mut messages = Vec::new();
    for (index, message) in transcript.messages.iter().enumerate() {
        messages.push(write_message(message, &root.index(index))?);
    }
    Ok(messages.into())
}

fn write_message(message: &Message, place: &Place<'_>) -> Result<Value> {
    if message.role == Role::Tool {
        return Err(place.field("role").unsupported("the dialect has no tools"));
    }
    let mut object = Map::from_iter([("role".to_owned(), message.role.as_str().into())]);
    object.insert("content".into(), write_content(&message.parts, &place.field("parts"))?);
    if let Some(name) = &message.name {
        object.insert("name".into(), name.clone().into());
    }
    append(&mut object, &plain::extra(message), &MESSAGE, &place.field("extra"))?;
    Ok(Value::Object(object))
}

fn write_content(parts: &[Part], place: &Place<'_>) -> Result<Value> {
    match layout::bare_text(parts) {
        Some(text) => Ok(text.into()),
        None => parts.iter().enumerate().map(|(index, part)| write_item(part, &place.index(index))).collect(),
    }
}

/// Writes a video that is one file as that, and another as the list of its images.
fn write_video(frames: &[Media], place: &Place<'_>) -> Result<Value> {
    match frames {
        [video] if MediaKind::of(video) == Some(MediaKind::Video) => {
            Ok(Outgoing::of(MediaKind::Video, video, place)?.data_uri().into())
        }
        [] => Err(place.unsupported("a video without images cannot be written")),
        frames => {
            let mut addresses = Vec::with_capacity(frames.len());
            for frame in frames {
                addresses.push(Outgoing::of(MediaKind::Image, frame, place)?.data_uri());
            }
            Ok(addresses.into())
        }
    }
}

fn write_item(Part { content, extra, .. }: &Part, place: &Place<'_>) -> Result<Value> {
    let written = match content {
        Content::Text(text) => json!({"text": text}),
        Content::Image(media) => json!({"image": Outgoing::of(MediaKind::Image, media, place)?.data_uri()}),
        Content::Audio(media) => json!({"audio": Outgoing::of(MediaKind::Audio, media, place)?.data_uri()}),
        Content::Video(frames) => json!({"video": write_video(frames, place)?}),
        _ => return Err(layout::inexpressible(content, place)),
    };
    ITEM.add(written, extra, place)
}
