//! Messages between LiteRT-LM's JSON and ours.

use alloquy_core::media::MediaKind;
use alloquy_core::message::ToolCall;
use alloquy_core::{Content, Media, Message, Preface, Result, ToolSpec};
use alloquy_formats::messages::{self, Dialect, MediaReference, MediaRules};
use serde_json::{Map, Value, json};

/// Reads a message, or a list of them.
pub(crate) fn read(document: &Value) -> Result<Vec<Message>> {
    let document = named_files(document);
    let document = if document.is_object() { Value::from(vec![document]) } else { document };
    Ok(transcript(&document)?.messages)
}

/// Reads what stands before the first message.
pub(crate) fn preface(document: &Value) -> Result<Preface> {
    let document = named_files(document);
    if document.is_null() {
        return Ok(Preface::default());
    }
    let read = transcript(&document)?;
    let preface = Preface { messages: read.messages, tools: read.tools, ..Preface::default() };
    Ok(with_extra(preface, read.extra))
}

/// Sets variables of the template.
pub(crate) fn with_extra(mut preface: Preface, extra: Map<String, Value>) -> Preface {
    preface.arguments.extra.extend(extra);
    preface
}

/// Reads tools.
pub(crate) fn tools(document: &Value) -> Result<Vec<ToolSpec>> {
    Ok(preface(&json!({"tools": document}))?.tools)
}

fn transcript(document: &Value) -> Result<messages::Transcript> {
    let rules = MediaRules { source: &file, ..MediaRules::default() };
    messages::read(Dialect::LiteRt, document, &rules)
}

/// The rows' images and audio clips are not among the cases: their names stand for their bytes.
fn file(kind: MediaKind, reference: MediaReference<'_>) -> Result<Media> {
    Ok(Media::new(format!("{kind}/x-test"), reference.to_string().into_bytes()))
}

/// Rows write a file of theirs as `{"$file": name}`.
fn named_files(document: &Value) -> Value {
    match document {
        Value::Object(fields) => match fields.get("$file") {
            Some(name) => name.clone(),
            None => fields.iter().map(|(key, value)| (key.clone(), named_files(value))).collect(),
        },
        Value::Array(items) => items.iter().map(named_files).collect(),
        other => other.clone(),
    }
}

/// Writes a reply as LiteRT-LM does: content in items, then the channels, then the calls, which have no ids. A thinking block
/// or another channel does not part the text around it.
pub(crate) fn reply(message: &Message) -> Value {
    let is_channel = |part: &&Content| matches!(part, Content::Thinking(_) | Content::Channel(_));
    let said: Vec<&Content> =
        message.parts.iter().map(|part| &part.content).filter(|part| !is_channel(part)).collect();
    let joins =
        |left: &&Content, right: &&Content| matches!((left, right), (Content::Text(_), Content::Text(_)));
    let content: Vec<Value> = said.chunk_by(joins).filter_map(item).collect();
    let mut fields = Map::new();
    fields.insert("role".to_owned(), message.role.as_str().into());
    if !content.is_empty() {
        fields.insert("content".to_owned(), content.into());
    }
    let thought = message.thinking().map(|thought| ("thought".to_owned(), thought.into()));
    let others =
        message.channels().filter_map(|said| Some((said.name.clone(), message.channel(&said.name)?.into())));
    let channels: Map<String, Value> = thought.into_iter().chain(others).collect();
    if !channels.is_empty() {
        fields.insert("channels".to_owned(), channels.into());
    }
    let calls: Vec<Value> = message.tool_calls().map(call).collect();
    if !calls.is_empty() {
        fields.insert("tool_calls".to_owned(), calls.into());
    }
    fields.into()
}

/// Writes one part, or several texts as one.
fn item(parts: &[&Content]) -> Option<Value> {
    match parts.first()? {
        Content::Text(_) => {
            let text: String = parts.iter().filter_map(|part| part.as_text()).collect();
            Some(json!({"type": "text", "text": text}))
        }
        Content::Malformed(malformed) => {
            Some(json!({"type": "text", "text": malformed.raw, "error": malformed.reason}))
        }
        _ => None,
    }
}

pub(crate) fn call(call: &ToolCall) -> Value {
    json!({"type": "function", "function": {"name": call.name, "arguments": call.arguments}})
}

/// Says whether a message holds something that could not be read.
pub(crate) fn unreadable(message: &Message) -> Option<&str> {
    message.parts.iter().find_map(|part| match &part.content {
        Content::Malformed(malformed) => Some(malformed.reason.as_str()),
        _ => None,
    })
}
