//! The chat format of OpenAI's API, with what servers and Hugging Face templates add to it.

use alloquy_core::message::ToolResult;
use alloquy_core::{Content, Message, Part, Result, Role};
use serde_json::{Map, Value, json};

use super::fields::{Fields, append, list};
use super::layout::{self, Layout, Placed};
use super::place::{Place, quoted};
use super::plain::OPENAI_ROLE;
use super::reader::Reader;
use super::{Transcript, arguments, calls, tools};

mod content;

/// Marks a message whose text is the model's refusal; its value is `true`.
const REFUSAL: &str = "refusal";

const ROLES: [&str; 6] = ["system", "developer", "user", "assistant", "tool", "function"];
const SPOKEN: [&str; 9] = [
    "role",
    "content",
    "name",
    REFUSAL,
    "reasoning_content",
    "reasoning",
    "tool_calls",
    "function_call",
    OPENAI_ROLE,
];
const ANSWER: [&str; 5] = ["role", "content", "name", "tool_call_id", "is_error"];
const DOCUMENT: [&str; 3] = ["messages", "tools", "functions"];

/// Reads a list of messages, or a request with `messages` and `tools`.
pub(super) fn read(document: &Value, reader: &mut Reader<'_>) -> Result<Transcript> {
    let root = Place::root("document");
    if document.is_array() {
        return Ok(Transcript::new(read_messages(document, reader)?));
    }
    let mut fields = Fields::of(document, &root)?;
    let messages = read_messages(fields.need("messages")?, reader)?;
    let tools = match fields.take_any(&["tools", "functions"])? {
        Some((name, tools)) => tools::read(tools, &Place::root(name))?,
        None => Vec::new(),
    };
    Ok(Transcript { messages, tools, extra: fields.rest() })
}

fn read_messages(value: &Value, reader: &mut Reader<'_>) -> Result<Vec<Message>> {
    let root = Place::root("messages");
    let mut messages = Vec::new();
    for (index, value) in list(value, &root)?.iter().enumerate() {
        push(&mut messages, read_message(value, &root.index(index), reader)?);
    }
    Ok(messages)
}

/// Adds a message. Answers in a row are one message of the tools, unless one of them carries more than answers.
fn push(messages: &mut Vec<Message>, message: Message) {
    match messages.last_mut() {
        Some(last) if is_plain_answer(last) && is_plain_answer(&message) => last.parts.extend(message.parts),
        _ => messages.push(message),
    }
}

fn is_plain_answer(message: &Message) -> bool {
    message.role == Role::Tool && message.extra.is_empty()
}

fn read_message(value: &Value, place: &Place<'_>, reader: &mut Reader<'_>) -> Result<Message> {
    let mut fields = Fields::of(value, place)?;
    match fields.need_str("role")? {
        "system" => read_spoken(Role::System, fields, place, reader),
        "user" => read_spoken(Role::User, fields, place, reader),
        "assistant" => read_spoken(Role::Assistant, fields, place, reader),
        "developer" => {
            let mut message = read_spoken(Role::System, fields, place, reader)?;
            message.extra.insert(OPENAI_ROLE.into(), "developer".into());
            Ok(message)
        }
        "tool" => read_answer(fields, place, reader),
        "function" => read_legacy_answer(fields, place, reader),
        other => Err(place.field("role").unknown("role", other, &ROLES)),
    }
}

fn read_spoken(
    role: Role,
    mut fields: Fields<'_>,
    place: &Place<'_>,
    reader: &mut Reader<'_>,
) -> Result<Message> {
    if fields.take(OPENAI_ROLE).is_some() {
        return Err(place.field(OPENAI_ROLE).unsupported("the name of this field is taken"));
    }
    let mut message = Message::new(role, Vec::from_iter(read_thought(&mut fields, place)?));
    let content = content::read(&mut fields, place, reader)?;
    message.parts.extend(content.parts);
    message.parts.extend(read_calls(&mut fields, place, reader)?);
    message.name = fields.take_str("name")?.map(str::to_owned);
    message.extra = fields.rest();
    if content.refused {
        message.extra.insert(REFUSAL.into(), true.into());
    }
    Ok(message)
}

/// Reads the thinking block under either of its names; some servers send both, with the same text.
fn read_thought(fields: &mut Fields<'_>, place: &Place<'_>) -> Result<Option<Content>> {
    let long = fields.take_str("reasoning_content")?;
    let short = fields.take_str("reasoning")?;
    if long.is_some() && short.is_some() && long != short {
        let sentence = "\"reasoning\" and \"reasoning_content\" differ";
        return Err(place.field("reasoning").invalid(sentence));
    }
    Ok(long.or(short).map(|thought| Content::Thinking(thought.to_owned())))
}

fn read_calls(fields: &mut Fields<'_>, place: &Place<'_>, reader: &mut Reader<'_>) -> Result<Vec<Part>> {
    match fields.take_any(&["tool_calls", "function_call"])? {
        None => Ok(Vec::new()),
        Some((name @ "tool_calls", value)) => {
            calls::read(value, &place.field(name), &mut reader.calls, arguments::read)
        }
        Some((name, value)) => {
            let place = place.field(name);
            calls::read_function(value, None, &place, &mut reader.calls, arguments::read)
                .map(|call| vec![call])
        }
    }
}

fn read_answer(mut fields: Fields<'_>, place: &Place<'_>, reader: &mut Reader<'_>) -> Result<Message> {
    let given = fields.need_str("tool_call_id")?;
    let (id, name) = reader.calls.answer(Some(given), fields.take_str("name")?);
    let Some(name) = name else {
        let sentence = format!("no call {} precedes this answer, and it has no \"name\"", quoted(given));
        return Err(place.field("tool_call_id").invalid(sentence));
    };
    finish_answer(id, name, fields, place)
}

/// Reads an answer of the role `function`, which has a name and no id.
fn read_legacy_answer(mut fields: Fields<'_>, place: &Place<'_>, reader: &mut Reader<'_>) -> Result<Message> {
    let name = fields.need_str("name")?;
    let (id, _) = reader.calls.answer(None, Some(name));
    finish_answer(id, name.to_owned(), fields, place)
}

fn finish_answer(id: String, name: String, mut fields: Fields<'_>, place: &Place<'_>) -> Result<Message> {
    let (content, further) = content::read_text(fields.need("content")?, &place.field("content"))?;
    let is_error = fields.take_flag("is_error")?;
    let mut result = ToolResult::new(id, name, content);
    result.is_error = is_error;
    let part = Part { extra: further, ..Part::from(Content::ToolResult(result)) };
    Ok(Message { extra: fields.rest(), ..Message::new(Role::Tool, vec![part]) })
}

/// Writes a request with `messages` and, when there are any, `tools`.
pub(super) fn write(transcript: &Transcript) -> Result<Value> {
    let root = Place::root("messages");
    let mut messages = Vec::new();
    for (index, message) in transcript.messages.iter().enumerate() {
        write_message(message, &root.index(index), &mut messages)?;
    }
    let mut document = Map::from_iter([("messages".to_owned(), Value::Array(messages))]);
    if !transcript.tools.is_empty() {
        document.insert("tools".into(), tools::write(&transcript.tools, &Place::root("tools"))?);
    }
    append(&mut document, &transcript.extra, &DOCUMENT, &Place::root("extra"))?;
    Ok(Value::Object(document))
}

fn write_message(message: &Message, place: &Place<'_>, messages: &mut Vec<Value>) -> Result<()> {
    if message.role == Role::Tool {
        return write_answers(message, place, messages);
    }
    let layout = Layout::of(message, place)?;
    let mut extra = message.extra.clone();
    let mut object = Map::new();
    object.insert("role".into(), role(message.role, extra.shift_remove(OPENAI_ROLE), place)?.into());
    if let Some(thought) = layout.thought {
        object.insert("reasoning_content".into(), thought.into());
    }
    match extra.shift_remove(REFUSAL) {
        Some(mark) => write_refusal(&mark, &layout, &mut object, place)?,
        None => {
            object.insert("content".into(), content::write(&layout, place)?);
        }
    }
    if !layout.calls.is_empty() {
        object.insert("tool_calls".into(), write_calls(&layout, place)?);
    }
    if let Some(name) = &message.name {
        object.insert("name".into(), name.clone().into());
    }
    append(&mut object, &extra, &SPOKEN, &place.field("extra"))?;
    messages.push(Value::Object(object));
    Ok(())
}

fn role(role: Role, mark: Option<Value>, place: &Place<'_>) -> Result<&'static str> {
    match mark {
        None => Ok(role.as_str()),
        Some(Value::String(name)) if name == "developer" && role == Role::System => Ok("developer"),
        Some(_) => {
            let sentence = "only a system message has another role here: \"developer\"";
            Err(place.field("extra").field(OPENAI_ROLE).unsupported(sentence))
        }
    }
}

fn write_refusal(
    mark: &Value,
    layout: &Layout<'_>,
    object: &mut Map<String, Value>,
    place: &Place<'_>,
) -> Result<()> {
    let (Value::Bool(true), [Part { content: Content::Text(text), extra, .. }]) = (mark, layout.content)
    else {
        let sentence = "a refusal is true, in a message of one text";
        return Err(place.field("extra").field(REFUSAL).unsupported(sentence));
    };
    if extra.is_empty() {
        object.insert("content".into(), Value::Null);
        object.insert(REFUSAL.into(), text.clone().into());
        return Ok(());
    }
    let part = content::write_refusal(text, extra, &place.field("parts").index(layout.start))?;
    object.insert("content".into(), vec![part].into());
    Ok(())
}

fn write_calls(layout: &Layout<'_>, place: &Place<'_>) -> Result<Value> {
    let parts = place.field("parts");
    let mut calls = Vec::with_capacity(layout.calls.len());
    for call in &layout.calls {
        let place_of_call = parts.index(call.index);
        let arguments = arguments::write(&call.content.arguments, &place_of_call.field("arguments"))?;
        calls.push(calls::write(call, &arguments, place)?);
    }
    Ok(calls.into())
}

fn write_answers(message: &Message, place: &Place<'_>, messages: &mut Vec<Value>) -> Result<()> {
    let results = layout::results(message, place)?;
    if message.name.is_some() {
        return Err(place.field("name").unsupported("an answer's name is that of its tool"));
    }
    if results.len() > 1 && !message.extra.is_empty() {
        let sentence = "several answers are several messages, which have no fields in common";
        return Err(place.field("extra").unsupported(sentence));
    }
    for Placed { index, content: result, extra } in results {
        let content = content::write_text(result.text(), extra, &place.field("parts").index(index))?;
        let mut answer =
            json!({"role": "tool", "tool_call_id": result.id, "name": result.name, "content": content});
        if let Value::Object(object) = &mut answer {
            if result.is_error {
                object.insert("is_error".into(), true.into());
            }
            append(object, &message.extra, &ANSWER, &place.field("extra"))?;
        }
        messages.push(answer);
    }
    Ok(())
}
