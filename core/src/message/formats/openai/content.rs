//! The content of an OpenAI message: nothing, a string, or parts.

use serde_json::{Value, json};

use crate::message::formats::Reader;
use crate::message::formats::fields::{Fields, string};
use crate::message::formats::layout::{self, Layout};
use crate::message::formats::media::{MediaKind, Outgoing};
use crate::message::formats::place::Place;
use crate::{Part, Result};

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

/// What a message says, or that the model refused.
pub(super) struct Content {
    pub(super) parts: Vec<Part>,
    pub(super) refused: bool,
}

/// Takes `content` and `refusal`.
pub(super) fn read(fields: &mut Fields<'_>, place: &Place<'_>, reader: &mut Reader<'_>) -> Result<Content> {
    let content = fields.take("content");
    let Some(refusal) = fields.take_str("refusal")? else {
        return content.map_or(Ok(Content { parts: Vec::new(), refused: false }), |content| {
            read_content(content, &place.field("content"), reader)
        });
    };
    if content.is_some() {
        return Err(place.field("refusal").unsupported("a message has a refusal beside its content"));
    }
    Ok(Content { parts: vec![Part::Text(refusal.to_owned())], refused: true })
}

fn read_content(value: &Value, place: &Place<'_>, reader: &mut Reader<'_>) -> Result<Content> {
    let items = match value {
        Value::String(text) => {
            return Ok(Content { parts: vec![Part::Text(text.clone())], refused: false });
        }
        Value::Array(items) => items,
        other => return Err(place.expected("a string or a list of parts", other)),
    };
    if let Some(at) = items.iter().position(is_refusal) {
        return read_refusal(items, &place.index(at));
    }
    let one = |(index, item)| read_part(item, &place.index(index), reader);
    Ok(Content { parts: items.iter().enumerate().map(one).collect::<Result<_>>()?, refused: false })
}

fn is_refusal(item: &Value) -> bool {
    item.get("type").and_then(Value::as_str) == Some("refusal")
}

fn read_refusal(items: &[Value], place: &Place<'_>) -> Result<Content> {
    let [item] = items else {
        return Err(place.unsupported("a message has a refusal beside its content"));
    };
    let mut fields = Fields::of(item, place)?;
    fields.take("type");
    let text = fields.need_str("refusal")?;
    fields.finish()?;
    Ok(Content { parts: vec![Part::Text(text.to_owned())], refused: true })
}

fn read_part(item: &Value, place: &Place<'_>, reader: &mut Reader<'_>) -> Result<Part> {
    let mut fields = Fields::of(item, place)?;
    let part = match fields.need_str("type")? {
        "text" => Part::Text(fields.need_str("text")?.to_owned()),
        "image_url" => {
            read_url(MediaKind::Image, fields.need("image_url")?, &place.field("image_url"), reader)?
        }
        "audio_url" => {
            read_url(MediaKind::Audio, fields.need("audio_url")?, &place.field("audio_url"), reader)?
        }
        "video_url" => {
            read_url(MediaKind::Video, fields.need("video_url")?, &place.field("video_url"), reader)?
        }
        "input_audio" => read_audio(fields.need("input_audio")?, &place.field("input_audio"), reader)?,
        "image" => read_named(MediaKind::Image, &mut fields, place, reader)?,
        "audio" => read_named(MediaKind::Audio, &mut fields, place, reader)?,
        "video" => read_named(MediaKind::Video, &mut fields, place, reader)?,
        other => return Err(place.field("type").unknown("type of part", other, &KNOWN)),
    };
    fields.finish()?;
    Ok(part)
}

/// Reads `{url}`, or the URL as a bare string. The detail `auto` is the default and says nothing.
fn read_url(kind: MediaKind, value: &Value, place: &Place<'_>, reader: &mut Reader<'_>) -> Result<Part> {
    if let Value::String(url) = value {
        return reader.media.address(kind, url, place);
    }
    let mut fields = Fields::of(value, place)?;
    let url = fields.need_str("url")?;
    if value.get("detail").is_some_and(|detail| detail == "auto") {
        fields.take("detail");
    }
    fields.finish()?;
    reader.media.address(kind, url, &place.field("url"))
}

/// Reads `{type: "image", url}`, as Hugging Face templates have it.
fn read_named(
    kind: MediaKind,
    fields: &mut Fields<'_>,
    place: &Place<'_>,
    reader: &mut Reader<'_>,
) -> Result<Part> {
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
    let (data, format) = (fields.need_str("data")?, fields.need_str("format")?);
    fields.finish()?;
    // The registered type, which is also what the bytes give away.
    let subtype = if format == "mp3" { "mpeg" } else { format };
    reader.media.base64(MediaKind::Audio, &format!("audio/{subtype}"), data, place)
}

/// Reads the content of an answer: a string, or text parts, which are joined.
pub(super) fn read_text(value: &Value, place: &Place<'_>) -> Result<String> {
    let items = match value {
        Value::String(text) => return Ok(text.clone()),
        Value::Array(items) => items,
        other => return Err(place.expected("a string or a list of text parts", other)),
    };
    items.iter().enumerate().map(|(index, item)| read_text_part(item, &place.index(index))).collect()
}

fn read_text_part<'a>(item: &'a Value, place: &Place<'_>) -> Result<&'a str> {
    let value = item.as_object().ok_or_else(|| place.expected("an object", item))?;
    match value.get("type").and_then(Value::as_str) {
        Some("text") => {}
        other => {
            return Err(place.field("type").unknown("type of part", other.unwrap_or_default(), &["text"]));
        }
    }
    let mut fields = Fields::of(item, place)?;
    fields.take("type");
    fields.need("text")?;
    fields.finish()?;
    string(item.get("text").unwrap_or(&Value::Null), &place.field("text"))
}

/// Writes no content as null, one text as a string, anything else as parts.
pub(super) fn write(layout: &Layout<'_>, place: &Place<'_>) -> Result<Value> {
    match layout.content {
        [] => Ok(Value::Null),
        [Part::Text(text)] => Ok(text.clone().into()),
        parts => {
            let place = place.field("parts");
            let one = |(index, part)| write_part(part, &place.index(layout.start + index));
            parts.iter().enumerate().map(one).collect()
        }
    }
}

fn write_part(part: &Part, place: &Place<'_>) -> Result<Value> {
    match part {
        Part::Text(text) => Ok(json!({"type": "text", "text": text})),
        Part::Image(media) => {
            let url = Outgoing::of(MediaKind::Image, media, place)?.data_uri();
            Ok(json!({"type": "image_url", "image_url": {"url": url}}))
        }
        Part::Audio(media) => write_audio(&Outgoing::of(MediaKind::Audio, media, place)?, place),
        Part::Video(frames) => {
            let url = Outgoing::film(frames, place)?.data_uri();
            Ok(json!({"type": "video_url", "video_url": {"url": url}}))
        }
        Part::Thinking(_) | Part::ToolCall(_) | Part::ToolResult(_) | Part::Malformed(_) => {
            Err(layout::inexpressible(part, place))
        }
    }
}

/// The API names the two formats it takes `wav` and `mp3`; the others keep the name of their MIME type.
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
