//! The contents of the Gemini API: roles `user` and `model`, and parts of one field each.

use alloquy_core::media::MediaKind;
use alloquy_core::message::{ToolCall, ToolResult};
use alloquy_core::{Content, Media, Message, Part, Result, Role, ToolSpec};
use serde_json::{Map, Value, json};

use super::fields::{Fields, append, list};
use super::further::{self, Shape};
use super::layout;
use super::media::{MediaReference, Outgoing};
use super::place::{Place, quoted};
use super::reader::Reader;
use super::{Transcript, tools};

const ROLES: [&str; 5] = ["user", "model", "system", "tool", "function"];
const CONTENT: [&str; 3] = ["role", "parts", "name"];
const DOCUMENT: [&str; 4] = ["contents", "systemInstruction", "system_instruction", "tools"];
const PARTS: [&str; 5] = ["text", INLINE, "fileData", CALL, RESPONSE];
const INLINE: &str = "inlineData";
const CALL: &str = "functionCall";
const RESPONSE: &str = "functionResponse";

/// Every name that says what a part is, in both spellings.
const PART: &[&str] = &[
    "thought",
    "text",
    INLINE,
    "inline_data",
    "fileData",
    "file_data",
    CALL,
    "function_call",
    RESPONSE,
    "function_response",
];
const TEXT_PART: Shape = Shape::flat(PART);
const INLINE_PART: Shape = Shape::nested(PART, INLINE, &["mimeType", "mime_type", "data"]);
const CALL_PART: Shape = Shape::nested(PART, CALL, &["id", "name", "args"]);
const RESPONSE_PART: Shape = Shape::nested(PART, RESPONSE, &["id", "name", "response"]);

/// Reads a list of contents, or a request with `contents`, `systemInstruction` and `tools`.
pub(super) fn read(document: &Value, reader: &mut Reader<'_>) -> Result<Transcript> {
    if document.is_array() {
        return Ok(Transcript::new(read_contents(document, reader)?));
    }
    let root = Place::root("document");
    let mut fields = Fields::of(document, &root)?;
    let mut messages = Vec::new();
    if let Some((name, value)) = fields.take_any(&["systemInstruction", "system_instruction"])? {
        let message = read_content(value, &Place::root(name), reader)?;
        messages.push(Message { role: Role::System, ..message });
    }
    messages.extend(read_contents(fields.need("contents")?, reader)?);
    let tools = fields.take("tools").map(read_tools).transpose()?.unwrap_or_default();
    Ok(Transcript { messages, tools, extra: fields.rest() })
}

fn read_tools(value: &Value) -> Result<Vec<ToolSpec>> {
    let root = Place::root("tools");
    let mut specs = Vec::new();
    for (index, tool) in list(value, &root)?.iter().enumerate() {
        let place = root.index(index);
        let mut fields = Fields::of(tool, &place)?;
        let declarations = fields.take_any(&["functionDeclarations", "function_declarations"])?;
        fields.finish()?;
        if let Some((name, declarations)) = declarations {
            let place = place.field(name);
            for (index, declaration) in list(declarations, &place)?.iter().enumerate() {
                specs.push(tools::read_bare(declaration, &place.index(index))?);
            }
        }
    }
    Ok(specs)
}

fn read_contents(value: &Value, reader: &mut Reader<'_>) -> Result<Vec<Message>> {
    let root = Place::root("contents");
    let mut messages = Vec::new();
    for (index, content) in list(value, &root)?.iter().enumerate() {
        messages.push(read_content(content, &root.index(index), reader)?);
    }
    Ok(messages)
}

/// Reads `{role, parts}`. Without a role it is the user's; a message of nothing but answers is the tools'.
pub(super) fn read_content(value: &Value, place: &Place<'_>, reader: &mut Reader<'_>) -> Result<Message> {
    let mut fields = Fields::of(value, place)?;
    let role = match fields.take_str("role")?.unwrap_or("user") {
        "user" => Role::User,
        "model" => Role::Assistant,
        "system" => Role::System,
        "tool" | "function" => Role::Tool,
        other => return Err(place.field("role").unknown("role", other, &ROLES)),
    };
    let parts_place = place.field("parts");
    let mut parts = Vec::new();
    for (index, part) in list(fields.need("parts")?, &parts_place)?.iter().enumerate() {
        parts.push(read_part(part, &parts_place.index(index), reader)?);
    }
    let role = if role == Role::User && only_results(&parts) { Role::Tool } else { role };
    let name = fields.take_str("name")?.map(str::to_owned);
    Ok(Message { name, extra: fields.rest(), ..Message::new(role, parts) })
}

fn only_results(parts: &[Part]) -> bool {
    !parts.is_empty() && parts.iter().all(|part| matches!(part.content, Content::ToolResult(_)))
}

fn read_part(value: &Value, place: &Place<'_>, reader: &mut Reader<'_>) -> Result<Part> {
    let mut fields = Fields::of(value, place)?;
    let thought = fields.take_flag("thought")?;
    let data = fields.take_any(&["text", INLINE, "inline_data", "fileData", "file_data"])?;
    let call = fields.take_any(&[CALL, "function_call", RESPONSE, "function_response"])?;
    let Some((name, value)) = data.xor(call) else {
        return Err(place.invalid(format_args!("a part has one of: {}", PARTS.join(", "))));
    };
    let place = place.field(name);
    let part = match name {
        "text" => {
            let part = if thought { Content::Thinking } else { Content::Text };
            part(super::fields::string(value, &place)?.to_owned()).into()
        }
        _ if thought => return Err(place.unsupported("only text can be a thinking block")),
        INLINE | "inline_data" => read_inline(value, &place, reader)?,
        "fileData" | "file_data" => read_file(value, &place, reader)?,
        CALL | "function_call" => read_call(value, &place, reader)?,
        _ => read_response(value, &place, reader)?,
    };
    Ok(further::beside(part, fields.rest()))
}

fn read_inline(value: &Value, place: &Place<'_>, reader: &mut Reader<'_>) -> Result<Part> {
    let mut fields = Fields::of(value, place)?;
    let (kind, media_type) = take_kind(&mut fields, place)?;
    let data = fields.need_str("data")?;
    let part = reader.media.base64(kind, media_type, data, &place.field("data"))?;
    Ok(further::inside(part, INLINE, fields.rest()))
}

fn read_file(value: &Value, place: &Place<'_>, reader: &mut Reader<'_>) -> Result<Part> {
    let mut fields = Fields::of(value, place)?;
    let (kind, _) = take_kind(&mut fields, place)?;
    let Some((name, uri)) = fields.take_any(&["fileUri", "file_uri"])? else {
        return Err(place.invalid("lacks the field \"fileUri\""));
    };
    let place = place.field(name);
    let part =
        reader.media.fetched(kind, MediaReference::Url(super::fields::string(uri, &place)?), &place)?;
    // It is written with its bytes.
    Ok(further::inside(part, INLINE, fields.rest()))
}

fn take_kind<'a>(fields: &mut Fields<'a>, place: &Place<'_>) -> Result<(MediaKind, &'a str)> {
    let Some((name, value)) = fields.take_any(&["mimeType", "mime_type"])? else {
        return Err(place.invalid("lacks the field \"mimeType\""));
    };
    let place = place.field(name);
    let media_type = super::fields::string(value, &place)?;
    let kind = MediaKind::of_type(&media_type.to_ascii_lowercase()).ok_or_else(|| {
        place.unsupported(format_args!("{} is no MIME type of an image, audio or video", quoted(media_type)))
    })?;
    Ok((kind, media_type))
}

fn read_call(value: &Value, place: &Place<'_>, reader: &mut Reader<'_>) -> Result<Part> {
    let mut fields = Fields::of(value, place)?;
    let id = fields.take_str("id")?;
    let name = fields.need_str("name")?;
    let arguments = match fields.take("args") {
        None => Value::Object(Map::new()),
        Some(arguments @ Value::Object(_)) => arguments.clone(),
        Some(other) => return Err(place.field("args").expected("an object", other)),
    };
    let call = ToolCall::new(reader.calls.call(id, name), name, arguments);
    Ok(further::inside(Content::ToolCall(call), CALL, fields.rest()))
}

fn read_response(value: &Value, place: &Place<'_>, reader: &mut Reader<'_>) -> Result<Part> {
    let mut fields = Fields::of(value, place)?;
    let id = fields.take_str("id")?;
    let name = fields.need_str("name")?;
    let (content, is_error) = match fields.take("response") {
        None => (Value::Null, false),
        Some(response) => open_response(response),
    };
    let (id, _) = reader.calls.answer(id, Some(name));
    let mut result = ToolResult::new(id, name, content);
    result.is_error = is_error;
    Ok(further::inside(Content::ToolResult(result), RESPONSE, fields.rest()))
}

/// The API's convention: an object whose one key is `output` or `error` holds the answer or the failure.
fn open_response(response: &Value) -> (Value, bool) {
    match response.as_object().and_then(|fields| fields.iter().next().filter(|_| fields.len() == 1)) {
        Some((key, output)) if key == "output" => (output.clone(), false),
        Some((key, error)) if key == "error" => (error.clone(), true),
        _ => (response.clone(), false),
    }
}

/// Writes a request: `systemInstruction`, `contents` and, when there are any, `tools`.
pub(super) fn write(transcript: &Transcript) -> Result<Value> {
    let root = Place::root("messages");
    let mut document = Map::new();
    let mut contents = Vec::new();
    for (index, message) in transcript.messages.iter().enumerate() {
        let content = write_content(message, index, &root.index(index))?;
        if message.role == Role::System {
            document.insert("systemInstruction".into(), content);
        } else {
            contents.push(content);
        }
    }
    document.insert("contents".into(), contents.into());
    if !transcript.tools.is_empty() {
        document.insert("tools".into(), write_tools(&transcript.tools)?);
    }
    append(&mut document, &transcript.extra, &DOCUMENT, &Place::root("extra"))?;
    Ok(Value::Object(document))
}

fn write_tools(tools: &[ToolSpec]) -> Result<Value> {
    let root = Place::root("tools");
    let mut declarations = Vec::with_capacity(tools.len());
    for (index, tool) in tools.iter().enumerate() {
        declarations.push(tools::write_bare(tool, &root.index(index))?);
    }
    Ok(json!([{"functionDeclarations": declarations}]))
}

fn write_content(message: &Message, index: usize, place: &Place<'_>) -> Result<Value> {
    let role = write_role(message, index, place)?;
    let parts_place = place.field("parts");
    let mut parts = Vec::with_capacity(message.parts.len());
    for (index, part) in message.parts.iter().enumerate() {
        parts.push(write_part(part, &parts_place.index(index))?);
    }
    let mut object = Map::new();
    if let Some(role) = role {
        object.insert("role".into(), role.into());
    }
    object.insert("parts".into(), parts.into());
    if let Some(name) = &message.name {
        object.insert("name".into(), name.clone().into());
    }
    append(&mut object, &message.extra, &CONTENT, &place.field("extra"))?;
    Ok(Value::Object(object))
}

/// Returns the role as the API has it: `user` or `model`, `user` for answers, none for the system.
fn write_role(message: &Message, index: usize, place: &Place<'_>) -> Result<Option<&'static str>> {
    match message.role {
        Role::System if index > 0 => {
            Err(place.field("role").unsupported("only the first message can be the system's"))
        }
        Role::System => Ok(None),
        Role::Assistant => Ok(Some("model")),
        Role::Tool => layout::results(message, place).map(|_| Some("user")),
        Role::User if only_results(&message.parts) => {
            Err(place.field("role").unsupported("a message of nothing but tools' results is the tools'"))
        }
        Role::User => Ok(Some("user")),
    }
}

fn write_part(Part { content, extra, .. }: &Part, place: &Place<'_>) -> Result<Value> {
    let (written, shape) = match content {
        Content::Text(text) => (json!({"text": text}), TEXT_PART),
        Content::Thinking(text) => (json!({"text": text, "thought": true}), TEXT_PART),
        Content::Image(media) => (write_media(MediaKind::Image, media, place)?, INLINE_PART),
        Content::Audio(media) => (write_media(MediaKind::Audio, media, place)?, INLINE_PART),
        Content::Video(frames) => (write_inline(&Outgoing::video(frames, place)?), INLINE_PART),
        Content::ToolCall(call) => (write_call(call, place)?, CALL_PART),
        Content::ToolResult(result) => (write_response(result), RESPONSE_PART),
        _ => return Err(layout::inexpressible(content, place)),
    };
    shape.add(written, extra, place)
}

fn write_media(kind: MediaKind, media: &Media, place: &Place<'_>) -> Result<Value> {
    Outgoing::of(kind, media, place).map(|media| write_inline(&media))
}

fn write_inline(media: &Outgoing<'_>) -> Value {
    json!({INLINE: {"mimeType": media.media_type, "data": media.base64()}})
}

fn write_call(call: &ToolCall, place: &Place<'_>) -> Result<Value> {
    if !call.arguments.is_object() {
        return Err(place.field("arguments").unsupported("the arguments are not an object"));
    }
    Ok(json!({CALL: {"id": call.id, "name": call.name, "args": call.arguments}}))
}

fn write_response(result: &ToolResult) -> Value {
    let content = &result.content;
    let response = if result.is_error {
        json!({"error": content})
    } else if content.is_object() && open_response(content) == (content.clone(), false) {
        content.clone()
    } else {
        json!({"output": content})
    };
    json!({RESPONSE: {"id": result.id, "name": result.name, "response": response}})
}
