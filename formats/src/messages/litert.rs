//! The messages of LiteRT-LM: `content` as a string or items, thinking and other channels in `channels`, answers as items.

use alloquy_core::media::MediaKind;
use alloquy_core::message::{ChannelText, Malformed};
use alloquy_core::{Content, Error, Media, Message, Part, Result, Role};
use serde_json::{Map, Value, json};

use super::fields::{Fields, append, list, string};
use super::further::{self, Shape};
use super::layout::{self, Layout, Placed};
use super::media::{MediaReference, Outgoing};
use super::place::Place;
use super::reader::Reader;
use super::{Transcript, calls, gemini, tools};

mod answer;

const ROLES: [&str; 5] = ["system", "user", "assistant", "model", "tool"];
const ITEMS: [&str; 5] = ["text", "image", "audio", "tool_response", "response"];
const TEXT: Shape = Shape::flat(&["type", "text", "error"]);
const MEDIA: Shape = Shape::flat(&["type", "path", "blob", "mime_type"]);
const MESSAGE: [&str; 6] = ["role", "content", "parts", "name", "channels", "tool_calls"];

/// The channel that thinking blocks are written to.
const THOUGHT: &str = "thought";
/// The channels that are read as a thinking block: model files name them differently.
const THINKING: [&str; 4] = [THOUGHT, "thinking", "reasoning", "reasoning_content"];

/// Reads one message, a list of them, or a preface with `messages`, `tools` and `extra_context`.
pub(super) fn read(document: &Value, reader: &mut Reader<'_>) -> Result<Transcript> {
    if document.is_array() {
        return Ok(Transcript::new(read_messages(document, reader)?));
    }
    let root = Place::root("document");
    let fields = Fields::of(document, &root)?;
    if fields.has("contents") {
        return gemini::read(document, reader);
    }
    if fields.has("role") || fields.has("parts") {
        return Ok(Transcript::new(vec![read_message(document, &Place::root("message"), reader)?]));
    }
    read_preface(fields, reader)
}

fn read_preface(mut fields: Fields<'_>, reader: &mut Reader<'_>) -> Result<Transcript> {
    let mut transcript = Transcript::default();
    if let Some(messages) = fields.take("messages") {
        transcript.messages = read_messages(messages, reader)?;
    }
    if let Some(tools) = fields.take("tools") {
        transcript.tools = tools::read(tools, &Place::root("tools"))?;
    }
    if let Some(context) = fields.take("extra_context") {
        transcript.extra = Fields::of(context, &Place::root("extra_context"))?.rest();
    }
    fields.finish()?;
    Ok(transcript)
}

fn read_messages(value: &Value, reader: &mut Reader<'_>) -> Result<Vec<Message>> {
    let root = Place::root("messages");
    let mut messages = Vec::new();
    for (index, message) in list(value, &root)?.iter().enumerate() {
        messages.push(read_message(message, &root.index(index), reader)?);
    }
    Ok(messages)
}

fn read_message(value: &Value, place: &Place<'_>, reader: &mut Reader<'_>) -> Result<Message> {
    let mut fields = Fields::of(value, place)?;
    if fields.has("parts") {
        return gemini::read_content(value, place, reader);
    }
    let role = match fields.need_str("role")? {
        "system" => Role::System,
        "user" => Role::User,
        "assistant" | "model" => Role::Assistant,
        "tool" => Role::Tool,
        other => return Err(place.field("role").unknown("role", other, &ROLES)),
    };
    let (thought_and_texts, channels) = read_channels(&mut fields, place)?;
    let mut message = Message::new(role, thought_and_texts);
    if let Some(content) = fields.take("content") {
        message.parts.extend(read_content(content, role, &place.field("content"), reader)?);
    }
    if let Some(value) = fields.take("tool_calls") {
        let place = place.field("tool_calls");
        message.parts.extend(calls::read(value, &place, &mut reader.calls, Value::clone)?);
    }
    message.name = fields.take_str("name")?.map(str::to_owned);
    message.extra = fields.rest();
    if !channels.is_empty() {
        message.extra.insert("channels".into(), Value::Object(channels));
    }
    Ok(message)
}

/// Reads the thinking block, then the other channels of text. Returns the channels that hold no text as they are.
fn read_channels(fields: &mut Fields<'_>, place: &Place<'_>) -> Result<(Vec<Content>, Map<String, Value>)> {
    let Some(value) = fields.take("channels") else { return Ok((Vec::new(), Map::new())) };
    let place = place.field("channels");
    let mut channels = Fields::of(value, &place)?;
    let mut contents = Vec::new();
    if let Some((name, text)) = channels.take_any(&THINKING)? {
        contents.push(Content::Thinking(string(text, &place.field(name))?.to_owned()));
    }
    let mut others = Map::new();
    for (name, value) in channels.rest() {
        if let Value::String(text) = value {
            contents.push(Content::Channel(ChannelText { name, text }));
        } else {
            others.insert(name, value);
        }
    }
    Ok((contents, others))
}

fn read_content(value: &Value, role: Role, place: &Place<'_>, reader: &mut Reader<'_>) -> Result<Vec<Part>> {
    match (value, role) {
        (Value::Array(items), _) => items
            .iter()
            .enumerate()
            .map(|(index, item)| read_item(item, role, &place.index(index), reader))
            .collect(),
        (Value::String(text), Role::Tool) => Ok(vec![answer::of_text(text, &mut reader.calls).into()]),
        (Value::String(text), _) => Ok(vec![Content::Text(text.clone()).into()]),
        (Value::Object(_), Role::Tool) => Ok(vec![answer::read(value, place, &mut reader.calls)?]),
        (other, _) => Err(place.expected("a string or a list of items", other)),
    }
}

fn read_item(item: &Value, role: Role, place: &Place<'_>, reader: &mut Reader<'_>) -> Result<Part> {
    match (item, role) {
        (Value::String(text), Role::Tool) => return Ok(answer::of_text(text, &mut reader.calls).into()),
        (Value::String(text), _) => return Ok(Content::Text(text.clone()).into()),
        _ => {}
    }
    let mut fields = Fields::of(item, place)?;
    if role == Role::Tool && !fields.has("type") {
        return answer::read(item, place, &mut reader.calls);
    }
    let part = match fields.need_str("type")? {
        "text" => read_text(&mut fields, role, reader)?,
        "image" => read_media(MediaKind::Image, &mut fields, place, reader)?,
        "audio" => read_media(MediaKind::Audio, &mut fields, place, reader)?,
        "video" => return Err(no_videos(place)),
        "tool_response" | "response" => return answer::read(item, place, &mut reader.calls),
        other => return Err(place.field("type").unknown("type of item", other, &ITEMS)),
    };
    Ok(further::beside(part.into(), fields.rest()))
}

/// LiteRT-LM has no videos, under whatever name.
fn no_videos(place: &Place<'_>) -> Error {
    let sentence = "the dialect has no videos, only images (\"image\") and audio clips (\"audio\"); aki has videos, as lists \
                    of images";
    place.field("type").unsupported(sentence)
}

/// Reads text. LiteRT-LM puts a call that it could not parse into a text with an `error`.
fn read_text(fields: &mut Fields<'_>, role: Role, reader: &mut Reader<'_>) -> Result<Content> {
    let text = fields.need_str("text")?;
    match fields.take_str("error")? {
        Some(reason) => Ok(Content::Malformed(Malformed { raw: text.to_owned(), reason: reason.to_owned() })),
        None if role == Role::Tool => Ok(answer::of_text(text, &mut reader.calls)),
        None => Ok(Content::Text(text.to_owned())),
    }
}

fn read_media(
    kind: MediaKind,
    fields: &mut Fields<'_>,
    place: &Place<'_>,
    reader: &mut Reader<'_>,
) -> Result<Content> {
    let Some((name, value)) = fields.take_any(&["path", "blob"])? else {
        return Err(
            place.invalid(format_args!("the {kind} is missing: it has neither \"path\" nor \"blob\""))
        );
    };
    let place = place.field(name);
    let text = string(value, &place)?;
    if name == "path" {
        return reader.media.fetched(kind, MediaReference::Path(text), &place);
    }
    match fields.take_str("mime_type")? {
        Some(media_type) => reader.media.base64(kind, media_type, text, &place),
        None => reader.media.blob(kind, text, &place),
    }
}

/// Writes a preface: `messages` and, when there are any, `tools` and `extra_context`.
pub(super) fn write(transcript: &Transcript) -> Result<Value> {
    let root = Place::root("messages");
    let mut messages = Vec::with_capacity(transcript.messages.len());
    for (index, message) in transcript.messages.iter().enumerate() {
        messages.push(write_message(message, &root.index(index))?);
    }
    let mut document = Map::from_iter([("messages".to_owned(), Value::Array(messages))]);
    if !transcript.tools.is_empty() {
        document.insert("tools".into(), tools::write(&transcript.tools, &Place::root("tools"))?);
    }
    if !transcript.extra.is_empty() {
        document.insert("extra_context".into(), transcript.extra.clone().into());
    }
    Ok(Value::Object(document))
}

fn write_message(message: &Message, place: &Place<'_>) -> Result<Value> {
    let mut layout = Layout::of(message, place)?;
    let channels = take_channels(&mut layout);
    let mut extra = message.extra.clone();
    let mut object = Map::from_iter([("role".to_owned(), message.role.as_str().into())]);
    if let Some(content) = write_content(message.role, &layout, place)? {
        object.insert("content".into(), content);
    }
    let mut written = write_channels(layout.thought, &channels, place)?;
    add_others(&mut written, extra.shift_remove("channels").as_ref(), place)?;
    if !written.is_empty() {
        object.insert("channels".into(), Value::Object(written));
    }
    if !layout.calls.is_empty() {
        let calls = layout.calls.iter().map(|call| calls::write(call, &call.content.arguments, place));
        object.insert("tool_calls".into(), calls.collect::<Result<_>>()?);
    }
    if let Some(name) = &message.name {
        object.insert("name".into(), name.clone().into());
    }
    append(&mut object, &extra, &MESSAGE, &place.field("extra"))?;
    Ok(Value::Object(object))
}

/// Takes the channels between the thinking block and the content; elsewhere the dialect has no place for them.
fn take_channels<'a>(layout: &mut Layout<'a>) -> Vec<Placed<'a, ChannelText>> {
    let mut channels = Vec::new();
    while let [Part { content: Content::Channel(channel), extra, .. }, rest @ ..] = layout.content {
        channels.push(Placed { index: layout.start, content: channel, extra });
        layout.content = rest;
        layout.start += 1;
    }
    channels
}

fn write_channels(
    thought: Option<&str>,
    channels: &[Placed<'_, ChannelText>],
    place: &Place<'_>,
) -> Result<Map<String, Value>> {
    let parts = place.field("parts");
    let mut written = Map::new();
    if let Some(thought) = thought {
        written.insert(THOUGHT.to_owned(), thought.into());
    }
    for channel in channels {
        let place = parts.index(channel.index);
        let name = &channel.content.name;
        further::none(channel.extra, &place)?;
        if THINKING.contains(&name.as_str()) {
            return Err(place.unsupported(format_args!("the channel {name:?} is the dialect's for thinking")));
        }
        if written.contains_key(name) {
            return Err(place.unsupported(format_args!("the dialect has one channel {name:?} a message")));
        }
        written.insert(name.clone(), channel.content.text.clone().into());
    }
    Ok(written)
}

/// Adds the channels that hold something other than text; they stay as they came.
fn add_others(channels: &mut Map<String, Value>, others: Option<&Value>, place: &Place<'_>) -> Result<()> {
    let extra = place.field("extra");
    let place = extra.field("channels");
    match others {
        Some(Value::Object(others)) if others.values().any(Value::is_string) => {
            Err(place.unsupported("channels of text are parts"))
        }
        Some(Value::Object(others)) if !others.is_empty() => append(channels, others, &THINKING, &place),
        Some(_) => Err(place.unsupported("channels are an object of one or more")),
        None => Ok(()),
    }
}

/// Writes no content as no field, one text as a string, anything else as items.
fn write_content(role: Role, layout: &Layout<'_>, place: &Place<'_>) -> Result<Option<Value>> {
    match (layout.content, layout::bare_text(layout.content)) {
        ([], _) => Ok(None),
        (_, Some(text)) if role != Role::Tool => Ok(Some(text.into())),
        (parts, _) => {
            let place = place.field("parts");
            let mut items = Vec::with_capacity(parts.len());
            for (index, part) in (layout.start..).zip(parts) {
                items.push(write_item(part, role, &place.index(index))?);
            }
            Ok(Some(items.into()))
        }
    }
}

fn write_item(Part { content, extra, .. }: &Part, role: Role, place: &Place<'_>) -> Result<Value> {
    match content {
        Content::Text(text) if role != Role::Tool => {
            TEXT.add(json!({"type": "text", "text": text}), extra, place)
        }
        Content::Malformed(Malformed { raw, reason }) => {
            TEXT.add(json!({"type": "text", "text": raw, "error": reason}), extra, place)
        }
        Content::Image(media) => MEDIA.add(write_media(MediaKind::Image, media, place)?, extra, place),
        Content::Audio(media) => MEDIA.add(write_media(MediaKind::Audio, media, place)?, extra, place),
        Content::ToolResult(result) => answer::write(result, extra, place),
        _ => Err(layout::inexpressible(content, place)),
    }
}

fn write_media(kind: MediaKind, media: &Media, place: &Place<'_>) -> Result<Value> {
    let media = Outgoing::of(kind, media, place)?;
    let mut item = Map::from_iter([
        ("type".to_owned(), kind.as_str().into()),
        ("blob".to_owned(), media.base64().into()),
    ]);
    if !media.has_evident_type() {
        item.insert("mime_type".into(), media.media_type.into());
    }
    Ok(Value::Object(item))
}
