//! The messages that items are. They are written as messages of Chat Completions and read from there, with the same rules for media.

use alloquy_core::{Content, Error, Message, Role};
use alloquy_formats::messages::{self, Dialect};
use serde_json::{Map, Value, json};

use super::{
    Calls, GivenCall, GivenItem, GivenMessage, GivenOutput, GivenPart, GivenReasoning, GivenRole, OutputPart,
    ReasoningPart, References, SummaryPart, no_request, typed,
};
use crate::error::{ApiError, ApiResult};
use crate::items::Namespaces;
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
        // The item of each message, for the places of errors.
        let mut origins = Vec::with_capacity(items.len());
        let mut images = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let place = format!("{place}[{index}]");
            item.note_call(&mut calls);
            // The results of one reply follow it without a message between them.
            if !item.is_result() {
                push_images(&mut images, &mut chat, &mut origins);
            }
            chat.extend(item.chat_messages(&place, &calls)?);
            origins.resize(chat.len(), Origin { item: index, images: Vec::new() });
            if let Self::FunctionCallOutput(output) = item {
                images.extend(output.images(index, &place)?);
            }
        }
        push_images(&mut images, &mut chat, &mut origins);
        let document = Map::from_iter([("messages".to_owned(), Value::Array(chat))]);
        let read = messages::read(Dialect::OpenAi, &Value::Object(document), &media.rules());
        let read = read.map_err(|error| at_item(&error, place, &origins))?;
        Ok(joined(with_references(read.messages, references)))
    }

    /// Adds the call of an item to those that later items may answer.
    fn note_call(&self, calls: &mut Calls) {
        match self {
            Self::FunctionCall(call) => calls.insert(call.call_id.clone(), call.function()),
            Self::McpApprovalRequest(request) => {
                calls.insert(request.id.clone(), request.name.clone());
                calls.insert_request(request.id.clone(), request.id.clone());
            }
            _ => {}
        }
    }

    /// Returns whether the item answers a call.
    fn is_result(&self) -> bool {
        matches!(self, Self::FunctionCallOutput(_) | Self::McpApprovalResponse(_))
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

    /// Returns the item as messages of Chat Completions, which are read with the rules for media.
    fn chat_messages(&self, place: &str, calls: &Calls) -> ApiResult<Vec<Value>> {
        Ok(match self {
            // What a server offers now is what counts.
            Self::McpListTools(_) => Vec::new(),
            Self::McpCall(call) => {
                let result = chat_result(&call.id, &call.name, &call.result());
                vec![chat_call(&call.id, &call.name, &call.arguments, place)?, result]
            }
            one => vec![one.chat_message(place, calls)?],
        })
    }

    fn chat_message(&self, place: &str, calls: &Calls) -> ApiResult<Value> {
        Ok(match self {
            Self::Message(message) => {
                json!({"role": message.role, "content": message.chat_content(place)?})
            }
            Self::Reasoning(reasoning) => {
                json!({"role": "assistant", "content": null, "reasoning_content": reasoning.text()})
            }
            Self::FunctionCall(call) => chat_call(&call.call_id, &call.function(), &call.arguments, place)?,
            Self::McpApprovalRequest(request) => {
                chat_call(&request.id, &request.name, &request.arguments, place)?
            }
            Self::FunctionCallOutput(output) => {
                let id = &output.call_id;
                let Some(name) = calls.name(id) else {
                    let place = format!("{place}.call_id");
                    let message = format!("{place}: no call {id:?} precedes this output");
                    return Err(ApiError::invalid(place, message));
                };
                chat_result(id, name, &output.text(place)?)
            }
            // The result comes in its place once the call has run.
            Self::McpApprovalResponse(response) => {
                let request = &response.approval_request_id;
                let call = calls.requests.get(request);
                match call.and_then(|id| Some((id, calls.name(id)?))) {
                    Some((id, name)) => chat_result(id, name, ""),
                    None => return Err(no_request(&format!("{place}.approval_request_id"), request)),
                }
            }
            Self::Compaction(compaction) => {
                json!({"role": "assistant", "content": compaction.summary(place)?})
            }
            // The stored message comes in its place once all are read.
            Self::ItemReference(reference) => json!({"role": "user", "content": "", "name": reference.id}),
            Self::McpListTools(_) | Self::McpCall(_) => Value::Null,
        })
    }
}

fn chat_result(id: &str, name: &str, text: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "name": name, "content": text})
}

fn chat_call(id: &str, name: &str, arguments: &str, place: &str) -> ApiResult<Value> {
    if !arguments.trim().is_empty() && serde_json::from_str::<Value>(arguments).is_err() {
        let place = format!("{place}.arguments");
        return Err(ApiError::invalid(place.clone(), format!("{place}: expected the text of JSON")));
    }
    let function = json!({"name": name, "arguments": arguments});
    let call = json!({"id": id, "type": "function", "function": function});
    Ok(json!({"role": "assistant", "content": null, "tool_calls": [call]}))
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
    /// Returns the name by which the model knows the function.
    fn function(&self) -> String {
        match &self.namespace {
            Some(namespace) => Namespaces::joined(namespace, &self.name),
            None => self.name.clone(),
        }
    }
}

/// The images of the output of a function. A result has no media here: they follow the results in a message of the user.
struct OutputImages {
    parts: Vec<Value>,
    origin: Origin,
}

impl GivenOutput {
    fn parts(&self, place: &str) -> ApiResult<Vec<OutputPart>> {
        match &self.output {
            Value::String(text) => Ok(vec![OutputPart::InputText { text: text.clone() }]),
            Value::Array(parts) => {
                let mut read = Vec::with_capacity(parts.len());
                for (index, part) in parts.iter().enumerate() {
                    read.push(typed(part, &format!("{place}.output[{index}]"))?);
                }
                Ok(read)
            }
            _ => {
                let place = format!("{place}.output");
                let message = format!("{place}: expected a text or a list of texts and images");
                Err(ApiError::invalid(place, message))
            }
        }
    }

    fn text(&self, place: &str) -> ApiResult<String> {
        let mut joined = String::new();
        for part in self.parts(place)? {
            if let OutputPart::InputText { text } = part {
                joined.push_str(&text);
            }
        }
        Ok(joined)
    }

    /// Returns the images, if there are some. `item` is the number of this item.
    fn images(&self, item: usize, place: &str) -> ApiResult<Option<OutputImages>> {
        if self.output.is_string() {
            return Ok(None);
        }
        let mut parts = Vec::new();
        let mut origin = Origin { item, images: Vec::new() };
        for (index, part) in self.parts(place)?.into_iter().enumerate() {
            if let OutputPart::InputImage { image_url, .. } = part {
                parts.push(json!({"type": "image_url", "image_url": {"url": image_url}}));
                origin.images.push(index);
            }
        }
        Ok((!parts.is_empty()).then_some(OutputImages { parts, origin }))
    }
}

/// Adds the images of outputs, each output's in a message.
fn push_images(images: &mut Vec<OutputImages>, chat: &mut Vec<Value>, origins: &mut Vec<Origin>) {
    for OutputImages { parts, origin } in images.drain(..) {
        chat.push(json!({"role": "user", "content": parts}));
        origins.push(origin);
    }
}

/// Where a message is from.
#[derive(Clone, Debug)]
struct Origin {
    /// The number of the item.
    item: usize,
    /// The places of its images, for those of an output.
    images: Vec<usize>,
}

impl Origin {
    /// Returns the rest of a place in a message as that in the item.
    fn rest(&self, rest: &str) -> Option<String> {
        if self.images.is_empty() {
            return Some(rest.to_owned());
        }
        let (number, rest) = rest.strip_prefix(".content[")?.split_once(']')?;
        let place = self.images.get(number.parse::<usize>().ok()?)?;
        Some(format!(".output[{place}]{rest}"))
    }
}

/// Returns the error of a message with the place of its item. `origins` are the items of the messages.
fn at_item(error: &Error, place: &str, origins: &[Origin]) -> ApiError {
    // The address of an image is an object in a message, and a text in an item.
    let message = format!("{error:#}").replacen(".image_url.url", ".image_url", 1);
    let former = "messages[";
    let place_of = |rest: &str| {
        let (number, rest) = rest.split_once(']')?;
        let origin = origins.get(number.parse::<usize>().ok()?)?;
        let rest = origin.rest(rest)?;
        Some(format!("{former}{}]{rest}", origin.item))
    };
    let message = message.strip_prefix(former).and_then(place_of).unwrap_or(message);
    renamed(&Error::new(error.kind(), message), former, &format!("{place}["))
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
