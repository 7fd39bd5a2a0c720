//! The messages that items are. They are written as messages of Chat Completions and read from there, with the same rules for media.

use alloquy_core::{Content, Error, Message, Role};
use alloquy_formats::messages::{self, Dialect};
use serde_json::{Map, Value, json};

use super::{
    Calls, GivenCall, GivenItem, GivenMessage, GivenOutput, GivenPart, GivenReasoning, GivenRole, OutputPart,
    ReasoningPart, References, SummaryPart, typed,
};
use crate::error::{ApiError, ApiResult};
use crate::media_policy::MediaPolicy;
use crate::turn_options::renamed;

impl GivenItem {
    /// Returns the messages of items. `calls` are those of the stored messages before them, and `references` what is named.
    ///
    /// # Errors
    /// 400 with the place of an item that is no message, such as one with a damaged image.
    pub(crate) fn messages(
        items: &[Self],
        place: &str,
        calls: &Calls,
        references: &References,
        media: &MediaPolicy,
    ) -> ApiResult<Vec<Message>> {
        let mut calls = calls.clone();
        let mut chat = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            if let Self::FunctionCall(call) = item {
                calls.insert(call.call_id.clone(), call.name.clone());
            }
            chat.push(item.chat_message(&format!("{place}[{index}]"), &calls)?);
        }
        let document = Map::from_iter([("messages".to_owned(), Value::Array(chat))]);
        let read = messages::read(Dialect::OpenAi, &Value::Object(document), &media.rules());
        let read = read.map_err(|error| at_item(&error, place))?;
        Ok(joined(with_references(read.messages, references)))
    }

    /// Returns the ids of the items that are named, with their places.
    pub(crate) fn references<'a>(
        items: &'a [Self],
        place: &'a str,
    ) -> impl Iterator<Item = (String, &'a str)> {
        items.iter().enumerate().filter_map(move |(index, item)| match item {
            Self::ItemReference(reference) => Some((format!("{place}[{index}].id"), reference.id.as_str())),
            _ => None,
        })
    }

    /// Returns the ids of the calls whose results are here, but not the calls themselves.
    pub(crate) fn answered_elsewhere(items: &[Self]) -> Vec<&str> {
        let mut called = Vec::new();
        let mut answered = Vec::new();
        for item in items {
            match item {
                Self::FunctionCall(call) => called.push(call.call_id.as_str()),
                Self::FunctionCallOutput(output) if !called.contains(&output.call_id.as_str()) => {
                    answered.push(output.call_id.as_str());
                }
                _ => {}
            }
        }
        answered
    }

    /// Returns the item as a message of Chat Completions, which is read with the rules for media.
    fn chat_message(&self, place: &str, calls: &Calls) -> ApiResult<Value> {
        Ok(match self {
            Self::Message(message) => {
                json!({"role": message.role, "content": message.chat_content(place)?})
            }
            Self::Reasoning(reasoning) => {
                json!({"role": "assistant", "content": null, "reasoning_content": reasoning.text()})
            }
            Self::FunctionCall(call) => {
                call.check(place)?;
                let function = json!({"name": call.name, "arguments": call.arguments});
                let call = json!({"id": call.call_id, "type": "function", "function": function});
                json!({"role": "assistant", "content": null, "tool_calls": [call]})
            }
            Self::FunctionCallOutput(output) => {
                let id = &output.call_id;
                let Some(name) = calls.get(id) else {
                    let place = format!("{place}.call_id");
                    let message = format!("{place}: no call {id:?} precedes this output");
                    return Err(ApiError::invalid(place, message));
                };
                json!({"role": "tool", "tool_call_id": id, "name": name, "content": output.text(place)?})
            }
            // The stored message comes in its place once all are read.
            Self::ItemReference(reference) => json!({"role": "user", "content": "", "name": reference.id}),
        })
    }
}

impl GivenMessage {
    fn chat_content(&self, place: &str) -> ApiResult<Value> {
        let Value::Array(parts) = &self.content else { return Ok(self.content.clone()) };
        let mut content = Vec::with_capacity(parts.len());
        for (index, part) in parts.iter().enumerate() {
            let place = format!("{place}.content[{index}]");
            let part: GivenPart = typed(part, &place)?;
            content.push(part.chat_part(self.role, &place)?);
        }
        Ok(content.into())
    }
}

impl GivenPart {
    fn chat_part(self, role: GivenRole, place: &str) -> ApiResult<Value> {
        let is_output = matches!(self, Self::OutputText { .. } | Self::Refusal { .. });
        if is_output != (role == GivenRole::Assistant) {
            let place = format!("{place}.type");
            let expected = if is_output { "input_text" } else { "output_text" };
            let message = format!("{place}: a message of this role has parts such as {expected:?}");
            return Err(ApiError::invalid(place, message));
        }
        Ok(match self {
            Self::InputText { text } | Self::OutputText { text, .. } => json!({"type": "text", "text": text}),
            Self::Refusal { refusal } => json!({"type": "refusal", "refusal": refusal}),
            Self::InputImage { image_url, .. } => {
                json!({"type": "image_url", "image_url": {"url": image_url}})
            }
            Self::InputAudio { input_audio } => json!({"type": "input_audio", "input_audio": input_audio}),
        })
    }
}

impl GivenReasoning {
    /// Returns what was thought: the text, or else its summary.
    fn text(&self) -> String {
        if self.content.is_empty() {
            let texts = self.summary.iter().map(|SummaryPart::SummaryText { text }| text.as_str());
            return texts.collect::<Vec<_>>().join("\n");
        }
        self.content.iter().map(|ReasoningPart::ReasoningText { text }| text.as_str()).collect()
    }
}

impl GivenCall {
    fn check(&self, place: &str) -> ApiResult<()> {
        if self.arguments.trim().is_empty() || serde_json::from_str::<Value>(&self.arguments).is_ok() {
            return Ok(());
        }
        let place = format!("{place}.arguments");
        Err(ApiError::invalid(place.clone(), format!("{place}: expected the text of JSON")))
    }
}

impl GivenOutput {
    fn text(&self, place: &str) -> ApiResult<String> {
        match &self.output {
            Value::String(text) => Ok(text.clone()),
            Value::Array(parts) => {
                let mut joined = String::new();
                for (index, part) in parts.iter().enumerate() {
                    let OutputPart::InputText { text } = typed(part, &format!("{place}.output[{index}]"))?;
                    joined.push_str(&text);
                }
                Ok(joined)
            }
            _ => {
                let place = format!("{place}.output");
                let message = format!("{place}: expected a text or a list of texts");
                Err(ApiError::invalid(place, message))
            }
        }
    }
}

/// Returns the error of a message with the place of its item.
fn at_item(error: &Error, place: &str) -> ApiError {
    // The address of an image is an object in a message, and a text in an item.
    let message = format!("{error:#}").replacen(".image_url.url", ".image_url", 1);
    renamed(&Error::new(error.kind(), message), "messages[", &format!("{place}["))
}

/// Puts stored messages in the places of what names them. Several items of one message name it once.
fn with_references(messages: Vec<Message>, references: &References) -> Vec<Message> {
    let mut read = Vec::with_capacity(messages.len());
    let mut last = None;
    for message in messages {
        // Messages that are given have no names.
        let named = message.name.as_ref().and_then(|name| references.get(name));
        match named {
            Some((node, _)) if last == Some(*node) => {}
            Some((_, stored)) => read.push(stored.clone()),
            None => read.push(message),
        }
        last = named.map(|(node, _)| *node);
    }
    read
}

/// Joins the items of one reply to one message: what was thought, the text, the calls.
fn joined(messages: Vec<Message>) -> Vec<Message> {
    let mut joined: Vec<Message> = Vec::with_capacity(messages.len());
    for message in messages {
        match joined.last_mut() {
            Some(last) if is_continued(last, &message) => last.parts.extend(message.parts),
            _ => joined.push(message),
        }
    }
    // Reasoning without a text says nothing.
    joined.retain(|message| message.role != Role::Assistant || !message.parts.is_empty());
    joined
}

/// Returns whether a message continues the reply before it: a reply has one text, and is thought about first.
fn is_continued(last: &Message, next: &Message) -> bool {
    if last.role != Role::Assistant || next.role != Role::Assistant || !next.extra.is_empty() {
        return false;
    }
    let is_thought = next.parts.iter().any(|part| matches!(part.content, Content::Thinking(_)));
    let is_thinking = last.parts.iter().all(|part| matches!(part.content, Content::Thinking(_)));
    let has_text = last.parts.iter().any(|part| part.as_text().is_some());
    let is_text = next.parts.iter().any(|part| part.as_text().is_some());
    if is_thought { is_thinking } else { !(has_text && is_text) }
}
