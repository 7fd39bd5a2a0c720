//! Turns messages and tools into the input of chat templates, in Hugging Face's form.

use std::ops::Range;

use alloquy_core::message::{ToolCall, ToolResult};
use alloquy_core::processor::ProcessorInput;
use alloquy_core::template::TemplateInput;
use alloquy_core::{Content, Error, ErrorKind, Message, Part, Result, Role, ToolSpec};
use serde_json::{Map, Value, json};

use crate::{calls, history};

/// Turns a conversation into the input of a template.
///
/// - Visible thinking blocks are joined in the field `reasoning_content`. Other channels are in `channels`, an object of texts by name.
/// - The unreadable parts of a reply stay in its text.
/// - A message of several tool results becomes one message for each result.
/// - The host's template variables pass through.
/// - Further fields of a part go into the part's object. They are dropped where the part has no object: in a content that is
///   one text, in a thinking block and in a tool result.
///
/// # Errors
/// [`ErrorKind::Unsupported`] for a part that its role cannot have, [`ErrorKind::Invalid`] for an unknown field
/// that would overwrite a known one.
pub(crate) fn template_input(source: ProcessorInput<'_>) -> Result<TemplateInput> {
    let messages: Result<Vec<_>> =
        history::messages(source).map(|message| template_messages(&message)).collect();
    let tools: Result<Vec<_>> = source.preface.tools.iter().map(function).collect();
    Ok(TemplateInput {
        messages: messages?.concat(),
        tools: Some(tools?).filter(|tools| !tools.is_empty()),
        ending: source.ending,
        extra: history::variables(source),
        ..TemplateInput::default()
    })
}

fn template_messages(message: &Message) -> Result<Vec<Value>> {
    for part in &message.parts {
        if !may_have(message.role, &part.content) {
            return Err(misplaced(message.role, &part.content));
        }
    }
    if message.tool_results().next().is_none() {
        return Ok(vec![spoken(message)?]);
    }
    for part in &message.parts {
        if !matches!(part.content, Content::ToolResult(_)) {
            let message = format!("a message of tool results cannot have {}", kind(&part.content));
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
    }
    message.tool_results().map(|result| answer(message, result)).collect()
}

fn may_have(role: Role, part: &Content) -> bool {
    match part {
        Content::Text(_) | Content::Image(_) | Content::Audio(_) | Content::Video(_) => true,
        Content::Thinking(_) | Content::Channel(_) | Content::ToolCall(_) | Content::Malformed(_) => {
            role == Role::Assistant
        }
        Content::ToolResult(_) => role == Role::Tool,
        _ => false,
    }
}

fn misplaced(role: Role, part: &Content) -> Error {
    let message = format!("a message of role {role} cannot have {}", kind(part));
    Error::new(ErrorKind::Unsupported, message)
}

fn kind(part: &Content) -> &'static str {
    match part {
        Content::Text(_) => "text",
        Content::Thinking(_) => "thinking",
        Content::Channel(_) => "a channel",
        Content::Image(_) => "an image",
        Content::Audio(_) => "an audio clip",
        Content::Video(_) => "a video",
        Content::ToolCall(_) => "a tool call",
        Content::ToolResult(_) => "a tool result",
        Content::Malformed(_) => "an unreadable part",
        _ => "a part of an unknown kind",
    }
}

/// Returns a message of any role but that of a tool.
fn spoken(message: &Message) -> Result<Value> {
    let mut fields = Map::new();
    fields.insert("role".to_owned(), message.role.as_str().into());
    fields.extend(message.name.clone().map(|name| ("name".to_owned(), name.into())));
    fields.insert("content".to_owned(), content(message)?);
    fields.extend(message.thinking().map(|thinking| ("reasoning_content".to_owned(), thinking.into())));
    let channels = channels(message);
    if !channels.is_empty() {
        fields.insert("channels".to_owned(), channels.into());
    }
    let calls: Vec<_> = message.parts.iter().filter_map(call).collect::<Result<_>>()?;
    if !calls.is_empty() {
        fields.insert("tool_calls".to_owned(), calls.into());
    }
    with_extra(fields, &message.extra)
}

/// Returns the text of each channel, joined, by name. Most templates read none of it.
fn channels(message: &Message) -> Map<String, Value> {
    let mut channels = Map::new();
    for said in message.channels() {
        if let Some(text) = message.channel(&said.name) {
            channels.insert(said.name.clone(), text.into());
        }
    }
    channels
}

/// An item of a message's content: a text of one or more parts, or a medium.
pub(crate) enum Item<'m> {
    Text(JoinedText<'m>),
    Medium(&'static str, &'m Map<String, Value>),
}

/// A text of several parts, which a template reads as one.
#[derive(Default)]
pub(crate) struct JoinedText<'m> {
    pub(crate) text: String,
    /// The range of each part's text.
    pub(crate) pieces: Vec<(Range<usize>, &'m Part)>,
    /// The further fields of the only part. A part with such fields is not joined to others.
    extra: Option<&'m Map<String, Value>>,
}

impl<'m> JoinedText<'m> {
    fn push(&mut self, part: &'m Part, text: &str) {
        let start = self.text.len();
        self.text.push_str(text);
        self.pieces.push((start..self.text.len(), part));
    }
}

/// Returns the items of a message's content.
///
/// Adjacent texts are joined, as in [`Message::text`]. A content without media is exactly one text, which may be empty. In a
/// content with media, a text with further fields is an item of its own.
pub(crate) fn items(message: &Message) -> Vec<Item<'_>> {
    let has_media = message.parts.iter().any(|part| kind_of_medium(part).is_some());
    let mut items = Vec::new();
    if !has_media {
        items.push(Item::Text(JoinedText::default()));
    }
    for part in &message.parts {
        let text = match &part.content {
            Content::Text(text) => text,
            Content::Malformed(malformed) => &malformed.raw,
            _ => {
                if let Some(kind) = kind_of_medium(part) {
                    items.push(Item::Medium(kind, &part.extra));
                }
                continue;
            }
        };
        let extra = Some(&part.extra).filter(|extra| has_media && !extra.is_empty());
        match items.last_mut() {
            Some(Item::Text(last)) if extra.is_none() && last.extra.is_none() => last.push(part, text),
            _ => {
                let mut new = JoinedText { extra, ..JoinedText::default() };
                new.push(part, text);
                items.push(Item::Text(new));
            }
        }
    }
    items
}

/// Returns the content: a string for text alone, as most templates expect it; a list of parts in their order with media.
fn content(message: &Message) -> Result<Value> {
    let items = items(message);
    if let [Item::Text(only)] = items.as_slice() {
        return Ok(only.text.as_str().into());
    }
    let mut content = Vec::new();
    for item in items {
        content.push(match item {
            Item::Medium(kind, extra) => with_extra(typed(kind), extra)?,
            Item::Text(JoinedText { text, extra, .. }) => {
                let mut fields = typed("text");
                fields.insert("text".to_owned(), text.into());
                with_extra(fields, extra.unwrap_or(&Map::new()))?
            }
        });
    }
    Ok(content.into())
}

fn typed(kind: &str) -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), kind.into())])
}

fn kind_of_medium(part: &Part) -> Option<&'static str> {
    match part.content {
        Content::Image(_) => Some("image"),
        Content::Audio(_) => Some("audio"),
        Content::Video(_) => Some("video"),
        _ => None,
    }
}

/// Returns the call of a part; `None` if the part is no call. The part's further fields go into the call's object, and those under
/// `function` into the function's.
fn call(part: &Part) -> Option<Result<Value>> {
    match &part.content {
        Content::ToolCall(call) => Some(call_fields(call, &part.extra)),
        _ => None,
    }
}

fn call_fields(call: &ToolCall, extra: &Map<String, Value>) -> Result<Value> {
    let mut extra = extra.clone();
    let inside = match extra.get("function") {
        Some(Value::Object(inside)) => inside.clone(),
        _ => Map::new(),
    };
    if !inside.is_empty() {
        extra.shift_remove("function");
    }
    let mut function = Map::new();
    function.insert("name".to_owned(), call.name.as_str().into());
    function.insert("arguments".to_owned(), with_object(&call.arguments));
    let mut fields = typed("function");
    fields.insert("id".to_owned(), call.id.as_str().into());
    fields.insert("function".to_owned(), with_extra(function, &inside)?);
    with_extra(fields, &extra)
}

/// Parses arguments that are the text of a JSON object. Templates would parse them too, but the escapes of a text can hide a
/// control token from the search: `"<\u007cim_end|>"`.
fn with_object(arguments: &Value) -> Value {
    let parsed = arguments.as_str().and_then(calls::object);
    parsed.map_or_else(|| arguments.clone(), Value::Object)
}

/// Returns the message of one tool result.
fn answer(message: &Message, result: &ToolResult) -> Result<Value> {
    let mut fields = Map::new();
    fields.insert("role".to_owned(), message.role.as_str().into());
    fields.insert("tool_call_id".to_owned(), result.id.as_str().into());
    fields.insert("name".to_owned(), result.name.as_str().into());
    fields.insert("content".to_owned(), result.text().into());
    if let Some(name) = message.name.as_ref().filter(|name| **name != result.name) {
        return Err(twice("name", &name.as_str().into()));
    }
    with_extra(fields, &message.extra)
}

fn function(tool: &ToolSpec) -> Result<Value> {
    let mut fields = Map::new();
    fields.insert("name".to_owned(), tool.name.as_str().into());
    fields.insert("description".to_owned(), tool.description.as_str().into());
    if !tool.parameters.is_null() {
        fields.insert("parameters".to_owned(), in_small_letters(&tool.parameters));
    }
    Ok(json!({"type": "function", "function": with_extra(fields, &tool.extra)?}))
}

/// Writes the types of a schema in small letters, as in JSON Schema. Gemini's function declarations have `"STRING"`.
fn in_small_letters(schema: &Value) -> Value {
    const TYPES: [&str; 7] = ["STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"];
    match schema {
        Value::Object(fields) => {
            let mut written = Map::new();
            for (key, value) in fields {
                let value = match value.as_str() {
                    Some(kind) if key == "type" && TYPES.contains(&kind) => kind.to_lowercase().into(),
                    _ => in_small_letters(value),
                };
                written.insert(key.clone(), value);
            }
            written.into()
        }
        Value::Array(values) => values.iter().map(in_small_letters).collect(),
        other => other.clone(),
    }
}

/// Adds further fields to an object, none of which may overwrite a field.
fn with_extra(mut fields: Map<String, Value>, extra: &Map<String, Value>) -> Result<Value> {
    for (key, value) in extra {
        if fields.contains_key(key) {
            return Err(twice(key, value));
        }
        let value = if key == "tool_calls" { with_objects(value) } else { value.clone() };
        fields.insert(key.clone(), value);
    }
    Ok(Value::Object(fields))
}

/// Parses the arguments of calls in an unknown field `tool_calls`, which a template reads like other calls.
fn with_objects(calls: &Value) -> Value {
    let mut calls = calls.clone();
    for call in calls.as_array_mut().into_iter().flatten() {
        let is_nested = call.get("function").is_some_and(Value::is_object);
        let call = if is_nested { call.get_mut("function") } else { Some(call) };
        if let Some(arguments) = call.and_then(|call| call.get_mut("arguments")) {
            *arguments = with_object(arguments);
        }
    }
    calls
}

fn twice(key: &str, value: &Value) -> Error {
    Error::new(ErrorKind::Invalid, format!("the field {key:?} is known already, and cannot be {value} too"))
}
