//! The events of a response in their order: it is created, then each item is added, filled and done, then it has ended.

mod mcp;

use alloquy_core::message::ToolCall;
use alloquy_core::{ConversationId, Delta, Node, NodeId, TurnEvent, TurnReply};
use serde_json::{Map, Value, json};

use super::host_calls::HostCalls;
use super::object::{Ending, HeadPlace, Sources, Status};
use super::settings::Settings;
use crate::call_arguments;
use crate::error::ApiError;
use crate::items::{Item, ItemContent, ItemId, MARK, Namespaces, ResponseId};
use crate::logprobs;
use crate::models::OpenedModel;
use crate::streaming::Frame;

/// An event: its name, which is its type as well, and its data.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Event {
    pub(super) name: &'static str,
    pub(super) data: Value,
}

impl Event {
    /// Returns the event as it is sent.
    pub(super) fn frame(&self) -> Frame {
        Frame::named(self.name, &self.data)
    }

    /// Raises the number of the event, unless it is high enough.
    pub(super) fn number_at_least(&mut self, least: u64) {
        let own = self.data.get("sequence_number").and_then(Value::as_u64);
        if let (Some(own), Value::Object(fields)) = (own, &mut self.data) {
            fields.insert("sequence_number".to_owned(), own.max(least).into());
        }
    }
}

/// Writes the events of one response.
#[derive(Debug)]
pub(super) struct EventWriter {
    settings: Settings,
    conversation: ConversationId,
    /// The tools of the client: the calls of others are answered here.
    tools: Vec<String>,
    namespaces: Namespaces,
    /// The model, if log-probabilities are wanted.
    logprobs: Option<OpenedModel>,
    /// The last message that is answered.
    question: Option<NodeId>,
    is_begun: bool,
    /// The number of the next event.
    sequence: u64,
    /// How many items were added.
    items: usize,
    open: Option<OpenItem>,
    /// The calls of the host's tools.
    host: HostCalls,
    /// Whether the next piece belongs to a further reply of the model.
    is_next_reply: bool,
}

/// The item that is being written.
#[derive(Debug)]
struct OpenItem {
    kind: OpenKind,
    index: usize,
    id: ItemId,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OpenKind {
    Text,
    Thinking,
}

impl OpenKind {
    fn prefix(self) -> &'static str {
        match self {
            Self::Text => "msg",
            Self::Thinking => "rs",
        }
    }

    fn item(self, id: &ItemId, text: &str, status: &str) -> Item {
        match self {
            Self::Text => Item::text(id, text, status),
            Self::Thinking => Item::thinking(id, text, status),
        }
    }

    fn part(self, text: &str) -> ItemContent {
        match self {
            Self::Text => ItemContent::output(text),
            Self::Thinking => ItemContent::ReasoningText { text: text.to_owned() },
        }
    }
}

impl EventWriter {
    pub(super) fn new(settings: Settings, conversation: ConversationId, tools: Vec<String>) -> Self {
        let namespaces = Namespaces::of_tools(&settings.tools);
        Self {
            settings,
            conversation,
            tools,
            namespaces,
            logprobs: None,
            question: None,
            is_begun: false,
            sequence: 0,
            items: 0,
            open: None,
            host: HostCalls::default(),
            is_next_reply: false,
        }
    }

    /// Adds the log-probabilities of the tokens of a model.
    pub(super) fn set_logprobs(&mut self, model: OpenedModel) {
        self.logprobs = Some(model);
    }

    /// Returns the id of the response, once it is known.
    pub(super) fn id(&self) -> Option<ResponseId> {
        Some(ResponseId { conversation: self.conversation.clone(), node: self.question? })
    }

    /// Returns the events with which a response to a message begins.
    pub(super) fn begin(&mut self, question: NodeId) -> Vec<Event> {
        let mut events = self.create(question);
        events.extend(self.start());
        events
    }

    /// Returns the events of a response that is created, and waits where it is one of the background.
    pub(super) fn create(&mut self, question: NodeId) -> Vec<Event> {
        if self.is_begun {
            return Vec::new();
        }
        self.is_begun = true;
        self.question = Some(question);
        let is_queued = self.settings.background;
        let status = if is_queued { Status::Queued } else { Status::InProgress };
        let mut events = vec![self.of_response("response.created", question, status)];
        if is_queued {
            events.push(self.of_response("response.queued", question, status));
        }
        events
    }

    /// Returns the events of a response on which a model works.
    pub(super) fn start(&mut self) -> Vec<Event> {
        let Some(question) = self.question else { return Vec::new() };
        let mut events = vec![self.of_response("response.in_progress", question, Status::InProgress)];
        events.extend(self.lists());
        events
    }

    /// Returns the events of an event of the turn.
    pub(super) fn event(&mut self, event: TurnEvent) -> Vec<Event> {
        match event {
            TurnEvent::Node(node) if node.reply.is_some() => {
                self.is_next_reply = true;
                Vec::new()
            }
            TurnEvent::Node(node) => {
                // The last one before the first piece is the message that is answered. Results of tools that run here have no mark.
                self.host.note(&node);
                if !self.is_begun && node.metadata.contains_key(MARK) {
                    self.question = Some(node.id);
                }
                Vec::new()
            }
            TurnEvent::Delta(delta) => {
                let mut events = self.begun();
                events.extend(self.delta(delta));
                events
            }
            TurnEvent::ToolResult(result) => self.host_result(&result),
            TurnEvent::Finished(reply) => {
                let mut events = self.begun();
                events.extend(self.finish(&reply));
                events
            }
            _ => Vec::new(),
        }
    }

    /// Returns the events of a failure, which are the last ones.
    pub(super) fn error(&mut self, error: &ApiError) -> Vec<Event> {
        let Some(question) = self.question.filter(|_| self.is_begun) else {
            let mut data = match error.body().get("error") {
                Some(Value::Object(fields)) => fields.clone(),
                _ => Map::new(),
            };
            data.shift_remove("type");
            return vec![self.numbered("error", data)];
        };
        self.end(question, &[], Ending::failed(error), None)
    }

    /// Returns the events of the end of a stored response, with its texts in one piece each. `given` are the messages of its request.
    pub(super) fn replay(
        &mut self,
        given: &[Node],
        nodes: &[Node],
        ending: Ending,
        head: HeadPlace,
    ) -> Vec<Event> {
        let Some(question) = self.question else { return Vec::new() };
        given.iter().for_each(|node| self.host.note(node));
        let approved = self.host.approved_calls();
        let sources = self.sources(question, nodes, None).approved(&approved);
        let mut events = Vec::new();
        for item in sources.ended(ending.clone()).output() {
            events.extend(self.whole_item(item));
        }
        events.extend(self.end(question, nodes, ending, Some(head)));
        events
    }

    fn begun(&mut self) -> Vec<Event> {
        match self.question {
            Some(question) if !self.is_begun => self.begin(question),
            _ => Vec::new(),
        }
    }

    fn delta(&mut self, delta: Delta) -> Vec<Event> {
        match delta {
            Delta::Text(text) => self.piece(OpenKind::Text, &text),
            // What could not be read as a call is shown as the model wrote it.
            Delta::Malformed(malformed) => self.piece(OpenKind::Text, &malformed.raw),
            Delta::Thinking(text) => self.piece(OpenKind::Thinking, &text),
            Delta::ToolCall(call) => match self.host_call(&call) {
                Some(events) => events,
                None if self.tools.contains(&call.name) => self.call(&call),
                None => Vec::new(),
            },
            // A call is written once it is whole, since a part of one may turn out to be none.
            _ => Vec::new(),
        }
    }

    fn piece(&mut self, kind: OpenKind, text: &str) -> Vec<Event> {
        let is_open = self.open.as_ref().is_some_and(|open| open.kind == kind) && !self.is_next_reply;
        if text.is_empty() && !is_open {
            return Vec::new();
        }
        let mut events = Vec::new();
        if !is_open {
            events.extend(self.close("completed", &[]));
            events.extend(self.open(kind));
        }
        self.is_next_reply = false;
        let Some(open) = &mut self.open else { return events };
        open.text.push_str(text);
        let place = place(open);
        events.push(match kind {
            OpenKind::Text => {
                let data = json!({"delta": text, "logprobs": []});
                self.placed("response.output_text.delta", place, data)
            }
            OpenKind::Thinking => self.placed("response.reasoning_text.delta", place, json!({"delta": text})),
        });
        events
    }

    fn open(&mut self, kind: OpenKind) -> Vec<Event> {
        let Some(id) = self.next_id() else { return Vec::new() };
        let open = OpenItem { kind, index: id.1, id: id.0, text: String::new() };
        let mut item = json!(kind.item(&open.id, "", "in_progress"));
        if let Value::Object(fields) = &mut item {
            fields.insert("content".to_owned(), json!([]));
        }
        let place = place(&open);
        let index = open.index;
        self.open = Some(open);
        vec![
            self.item_added(index, &item),
            self.placed("response.content_part.added", place, json!({"part": kind.part("")})),
        ]
    }

    /// Ends the item that is being written.
    fn close(&mut self, status: &str, tokens: &[Value]) -> Vec<Event> {
        let Some(open) = self.open.take() else { return Vec::new() };
        let at = place(&open);
        let mut part = open.kind.part(&open.text);
        if let ItemContent::OutputText { logprobs, .. } = &mut part {
            *logprobs = tokens.to_vec();
        }
        let mut item = json!(open.kind.item(&open.id, &open.text, status));
        if let Value::Object(fields) = &mut item {
            fields.insert("content".to_owned(), json!([part]));
        }
        let done = match open.kind {
            OpenKind::Text => {
                let data = json!({"text": open.text, "logprobs": tokens});
                self.placed("response.output_text.done", at.clone(), data)
            }
            OpenKind::Thinking => {
                self.placed("response.reasoning_text.done", at.clone(), json!({"text": open.text}))
            }
        };
        vec![
            done,
            self.placed("response.content_part.done", at, json!({"part": part})),
            self.item_done(open.index, &item),
        ]
    }

    fn call(&mut self, call: &ToolCall) -> Vec<Event> {
        let mut events = self.close("completed", &[]);
        self.is_next_reply = false;
        let Some((id, index)) = self.next_id() else { return events };
        let item = json!(Item::call(&id, call, &self.namespaces, "completed"));
        events.extend(self.call_item(&id.with_prefix("fc"), index, &item, &call_arguments::text_of(call)));
        events
    }

    fn call_item(&mut self, id: &str, index: usize, item: &Value, arguments: &str) -> Vec<Event> {
        let mut added = item.clone();
        if let Value::Object(fields) = &mut added {
            fields.insert("arguments".to_owned(), "".into());
            fields.insert("status".to_owned(), "in_progress".into());
        }
        let delta = json!({"item_id": id, "output_index": index, "delta": arguments});
        let name = item.get("name").cloned().unwrap_or_default();
        let done = json!({"item_id": id, "output_index": index, "name": name, "arguments": arguments});
        vec![
            self.item_added(index, &added),
            self.numbered("response.function_call_arguments.delta", object(delta)),
            self.numbered("response.function_call_arguments.done", object(done)),
            self.item_done(index, item),
        ]
    }

    /// Returns the events of an item that is known as a whole.
    fn whole_item(&mut self, item: &Item) -> Vec<Event> {
        let mut events = self.close("completed", &[]);
        let (kind, content, status) = match item {
            Item::Message { content, status, .. } => (OpenKind::Text, content, status),
            Item::Reasoning { content, status, .. } => (OpenKind::Thinking, content, status),
            Item::FunctionCall { id, arguments, .. } => {
                let index = self.next_index();
                events.extend(self.call_item(id, index, &json!(item), arguments));
                return events;
            }
            Item::Mcp(item) => {
                events.extend(self.whole_mcp(item));
                return events;
            }
            Item::FunctionCallOutput { .. } | Item::Compaction { .. } => return events,
        };
        events.extend(self.open(kind));
        for part in content {
            if let ItemContent::OutputText { text, .. } | ItemContent::ReasoningText { text } = part {
                events.extend(self.piece(kind, text));
            }
        }
        events.extend(self.close(status, &[]));
        events
    }

    fn finish(&mut self, reply: &TurnReply) -> Vec<Event> {
        let Some(question) = self.question.or(reply.answers) else { return Vec::new() };
        let mut events = Vec::new();
        if !self.is_begun {
            events.extend(self.begin(question));
        }
        let ending = Ending::of(&self.settings, &reply.nodes);
        let tokens = match &self.logprobs {
            Some(model) => logprobs::tokens(&reply.reply.logprobs, model),
            None => Vec::new(),
        };
        let is_whole = ending.status == Status::Completed;
        events.extend(self.close(if is_whole { "completed" } else { "incomplete" }, &tokens));
        events.extend(self.close_calls());
        let head = HeadPlace::after(reply.head, reply.last);
        let approved = self.host.approved_calls();
        let mut response =
            self.sources(question, &reply.nodes, Some(head)).approved(&approved).ended(ending.clone());
        if self.logprobs.is_some() {
            response.add_logprobs(&tokens);
        }
        let data = Map::from_iter([("response".to_owned(), response.json())]);
        events.push(self.numbered(ending.status.last_event(), data));
        events
    }

    /// Returns the events of the end.
    pub(super) fn end(
        &mut self,
        question: NodeId,
        nodes: &[Node],
        ending: Ending,
        head: Option<HeadPlace>,
    ) -> Vec<Event> {
        let mut events = self.close("incomplete", &[]);
        events.extend(self.close_calls());
        let name = ending.status.last_event();
        let approved = self.host.approved_calls();
        let response = self.sources(question, nodes, head).approved(&approved).ended(ending).json();
        events.push(self.numbered(name, Map::from_iter([("response".to_owned(), response)])));
        events
    }

    fn sources<'a>(&'a self, question: NodeId, nodes: &'a [Node], head: Option<HeadPlace>) -> Sources<'a> {
        Sources::new(&self.settings, &self.conversation, question, nodes, head)
    }

    fn of_response(&mut self, name: &'static str, question: NodeId, status: Status) -> Event {
        let response = self.sources(question, &[], None).running(status).json();
        self.numbered(name, Map::from_iter([("response".to_owned(), response)]))
    }

    fn item_added(&mut self, index: usize, item: &Value) -> Event {
        let data = json!({"output_index": index, "item": item});
        self.numbered("response.output_item.added", object(data))
    }

    fn item_done(&mut self, index: usize, item: &Value) -> Event {
        let data = json!({"output_index": index, "item": item});
        self.numbered("response.output_item.done", object(data))
    }

    /// Returns an event of the content of an item.
    fn placed(&mut self, name: &'static str, place: Map<String, Value>, data: Value) -> Event {
        let mut fields = place;
        fields.extend(object(data));
        self.numbered(name, fields)
    }

    /// Returns an event with its type and its number.
    fn numbered(&mut self, name: &'static str, data: Map<String, Value>) -> Event {
        let mut fields = Map::from_iter([("type".to_owned(), name.into())]);
        fields.extend(data);
        fields.insert("sequence_number".to_owned(), self.sequence.into());
        self.sequence += 1;
        Event { name, data: fields.into() }
    }

    /// Returns the id and the place of the next item.
    fn next_id(&mut self) -> Option<(ItemId, usize)> {
        let question = self.question?;
        let index = self.next_index();
        Some((ItemId::generated(&self.conversation, question, index), index))
    }

    /// Returns the place of the next item.
    fn next_index(&mut self) -> usize {
        let index = self.items;
        self.items += 1;
        index
    }
}

/// Returns where the text of an item is.
fn place(open: &OpenItem) -> Map<String, Value> {
    let id = open.id.with_prefix(open.kind.prefix());
    object(json!({"item_id": id, "output_index": open.index, "content_index": 0}))
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
