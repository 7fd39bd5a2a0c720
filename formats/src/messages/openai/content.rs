//! The content of an OpenAI message: nothing, a string, or parts.

use alloquy_core::media::MediaKind;
use alloquy_core::{Content, Part, Result};
use serde_json::{Map, Value, json};

use crate::messages::fields::{Fields, string};
use crate::messages::further::{self, Shape};
use crate::messages::layout::{self, Layout};
use crate::messages::media::Outgoing;
use crate::messages::place::Place;
use crate::messages::reader::Reader;

const KNOWN: [&str; 9] = [
    "text",
    "refusal",
    "image_url",
    "input_audio",
    "audio_url",
    "video_url",
    // As Hugging Face templates have them.
    "image",
    "audio",
    "video",
];

const TEXT: Shape = Shape::flat(&["type", "text"]);
const REFUSAL: Shape = Shape::flat(&["type", "refusal"]);
const IMAGE: Shape = Shape::nested(&["type", "image_url"], "image_url", &["url"]);
const VIDEO: Shape = Shape::nested(&["type", "video_url"], "video_url", &["url"]);
const AUDIO: Shape = Shape::nested(&["type", "input_audio"], "input_audio", &["data", "format"]);

/// The content of a message, and whether it is a refusal of the model.
pub(super) struct ReadContent {
    pub(super) parts: Vec<Part>,
    pub(super) refused: bool,
}

/// Takes `content` and `refusal`.
pub(super) fn read(
    fields: &mut Fields<'_>,
    place: &Place<'_>,
    reader: &mut Reader<'_>,
) -> Result<ReadContent> {
    let content = fields.take("content");
    let Some(refusal) = fields.take_str("refusal")? else {
        return content.map_or(Ok(ReadContent { parts: Vec::new(), refused: false }), |content| {
            read_content(content, &place.field("content"), reader)
        });
    };
    if content.is_some() {
        return Err(place.field("refusal").unsupported("a message has a refusal beside its content"));
    }
    Ok(ReadContent { parts: vec![Content::Text(refusal.to_owned()).into()], refused: true })
}

fn read_content(value: &Value, place: &Place<'_>, reader: &mut Reader<'_>) -> Result<ReadContent> {
    let items = match value {
        Value::String(text) => {
            return Ok(ReadContent { parts: vec![Content::Text(text.clone()).into()], refused: false });
        }
        Value::Array(items) => items,
        other => return Err(place.expected("a string or a list of parts", other)),
    };
    if let Some(at) = items.iter().position(is_refusal) {
        return read_refusal(items, &place.index(at));
    }
    let mut parts = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        parts.push(read_part(item, &place.index(index), reader)?);
    }
    Ok(ReadContent { parts, refused: false })
}

fn is_refusal(item: &Value) -> bool {
    item.get("type").and_then(Value::as_str) == Some("refusal")
}

fn read_refusal(items: &[Value], place: &Place<'_>) -> Result<ReadContent> {
    let [item] = items else {
        return Err(place.unsupported("a message has a refusal beside its content"));
    };
    let mut fields = Fields::of(item, place)?;
    fields.take("type");
    let text = Content::Text(fields.need_str("refusal")?.to_owned());
    Ok(ReadContent { parts: vec![further::beside(text.into(), fields.rest())], refused: true })
}

fn read_part(item: &Value, place: &Place<'_>, reader: &mut Reader<'_>) -> Result<Part> {
    if let Value::String(text) = item {
        return Ok(Content::Text(text.clone()).into());
    }
    let mut fields = Fields::of(item, place)?;
    let part = match fields.need_str("type")? {
        "text" => Content::Text(fields.need_str("text")?.to_owned()).into(),
        "image_url" => read_url(MediaKind::Image, "image_url", &mut fields, place, reader)?,
        "audio_url" => read_url(MediaKind::Audio, "audio_url", &mut fields, place, reader)?,
        "video_url" => read_url(MediaKind::Video, "video_url", &mut fields, place, reader)?,
        "input_audio" => read_audio(fields.need("input_audio")?, &place.field("input_audio"), reader)?,
        "image" => read_named(MediaKind::Image, &mut fields, place, reader)?.into(),
        "audio" => read_named(MediaKind::Audio, &mut fields, place, reader)?.into(),
        "video" => read_named(MediaKind::Video, &mut fields, place, reader)?.into(),
        other => return Err(place.field("type").unknown("type of part", other, &KNOWN)),
    };
    Ok(further::beside(part, fields.rest()))
}

/// Reads `{url}`, or the URL as a bare string.
fn read_url(
    kind: MediaKind,
    name: &'static str,
    fields: &mut Fields<'_>,
    place: &Place<'_>,
    reader: &mut Reader<'_>,
) -> Result<Part> {
    let value = fields.need(name)?;
    let place = place.field(name);
    if let Value::String(url) = value {
        return reader.media.address(kind, url, &place).map(Part::from);
    }
    let mut fields = Fields::of(value, &place)?;
    let part = reader.media.address(kind, fields.need_str("url")?, &place.field("url"))?;
    Ok(further::inside(part, name, fields.rest()))
}

/// Reads `{type: "image", url}`, as Hugging Face templates have it.
fn read_named(
    kind: MediaKind,
    fields: &mut Fields<'_>,
    place: &Place<'_>,
    reader: &mut Reader<'_>,
) -> Result<Content> {
    match fields.take_any(&["url", "path"])? {
        Some((name, value)) => {
            let place = place.field(name);
            reader.media.address(kind, string(value, &place)?, &place)
        }
        None => {
            Err(place.invalid(format_args!("the {kind} is missing: it has neither \"url\" nor \"path\"")))
        }
    }
}

fn read_audio(value: &Value, place: &Place<'_>, reader: &mut Reader<'_>) -> Result<Part> {
    let mut fields = Fields::of(value, place)?;
    let data = fields.need_str("data")?;
    let format = fields.need_str("format")?;
    // The registered type, which the first bytes indicate as well.
    let subtype = if format == "mp3" { "mpeg" } else { format };
    let part = reader.media.base64(MediaKind::Audio, &format!("audio/{subtype}"), data, place)?;
    Ok(further::inside(part, "input_audio", fields.rest()))
}

/// Reads the content of an answer: a string, or text parts, which are joined. One text may have further fields.
pub(super) fn read_text(value: &Value, place: &Place<'_>) -> Result<(String, Map<String, Value>)> {
    let items = match value {
        Value::String(text) => return Ok((text.clone(), Map::new())),
        Value::Array(items) => items,
        other => return Err(place.expected("a string or a list of text parts", other)),
    };
    let mut joined = String::new();
    for (index, item) in items.iter().enumerate() {
        let place = place.index(index);
        let (text, further) = read_text_part(item, &place)?;
        match further.keys().next() {
            Some(name) if items.len() > 1 => {
                let sentence = "the texts of an answer are joined, which leaves no place for this field";
                return Err(place.field(name).unsupported(sentence));
            }
            Some(_) => return Ok((text.to_owned(), further)),
            None => joined.push_str(text),
        }
    }
    Ok((joined, Map::new()))
}

fn read_text_part<'a>(item: &'a Value, place: &Place<'_>) -> Result<(&'a str, Map<String, Value>)> {
    if let Value::String(text) = item {
        return Ok((text, Map::new()));
    }
    let value = item.as_object().ok_or_else(|| place.expected("a string or an object", item))?;
    match value.get("type").and_then(Value::as_str) {
        Some("text") => {}
        other => {
            return Err(place.field("type").unknown("type of part", other.unwrap_or_default(), &["text"]));
        }
    }
    let mut fields = Fields::of(item, place)?;
    fields.take("type");
    fields.need("text")?;
    let text = string(item.get("text").unwrap_or(&Value::Null), &place.field("text"))?;
    Ok((text, fields.rest()))
}

/// Writes the content of an answer: a string, or one text part where there are further fields.
pub(super) fn write_text(text: String, extra: &Map<String, Value>, place: &Place<'_>) -> Result<Value> {
    if extra.is_empty() {
        return Ok(text.into());
    }
    Ok(vec![TEXT.add(json!({"type": "text", "text": text}), extra, place)?].into())
}

/// Writes a refusal as a part.
pub(super) fn write_refusal(text: &str, extra: &Map<String, Value>, place: &Place<'_>) -> Result<Value> {
    REFUSAL.add(json!({"type": "refusal", "refusal": text}), extra, place)
}

/// Writes no content as null, one text as a string, anything else as parts.
pub(super) fn write(layout: &Layout<'_>, place: &Place<'_>) -> Result<Value> {
    match (layout.content, layout::bare_text(layout.content)) {
        ([], _) => Ok(Value::Null),
        (_, Some(text)) => Ok(text.into()),
        (parts, None) => {
            let place = place.field("parts");
            let mut items = Vec::with_capacity(parts.len());
            for (index, part) in (layout.start..).zip(parts) {
                items.push(write_part(part, &place.index(index))?);
            }
            Ok(items.into())
        }
    }
}

fn write_part(Part { content, extra, .. }: &Part, place: &Place<'_>) -> Result<Value> {
    match content {
        Content::Text(text) => TEXT.add(json!({"type": "text", "text": text}), extra, place),
        Content::Image(media) => {
            let url = Outgoing::of(MediaKind::Image, media, place)?.data_uri();
            IMAGE.add(json!({"type": "image_url", "image_url": {"url": url}}), extra, place)
        }
        Content::Audio(media) => {
            let audio = write_audio(&Outgoing::of(MediaKind::Audio, media, place)?, place)?;
            AUDIO.add(audio, extra, place)
        }
        Content::Video(frames) => {
            let url = Outgoing::video(frames, place)?.data_uri();
            VIDEO.add(json!({"type": "video_url", "video_url": {"url": url}}), extra, place)
        }
        _ => Err(layout::inexpressible(content, place)),
    }
}

/// Writes audio. The API names the two formats that it accepts `wav` and `mp3`; others keep the name of their MIME type.
fn write_audio(audio: &Outgoing<'_>, place: &Place<'_>) -> Result<Value> {
    let format = match audio.media_type.trim_start_matches("audio/") {
        "mpeg" => "mp3",
        "x-wav" | "wave" | "vnd.wave" => "wav",
        parameters if parameters.contains(';') => {
            let sentence =
                format!("the MIME type {:?} has parameters, which have no place", audio.media_type);
            return Err(place.unsupported(sentence));
        }
        other => other,
    };
    Ok(json!({"type": "input_audio", "input_audio": {"data": audio.base64(), "format": format}}))
}
