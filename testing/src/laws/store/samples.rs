//! Records and nodes that the laws store: chains, nodes of a given time, and a message of every kind.

use std::time::{Duration, SystemTime};

use alloquy_core::media::Digest;
use alloquy_core::message::{ChannelText, Malformed, ToolCall, ToolResult};
use alloquy_core::report::{CacheReport, FinishReason, ReplyFacts, Usage, Warning};
use alloquy_core::store::ConversationRecord;
use alloquy_core::tree::NodeStatus;
use alloquy_core::{Content, Media, Message, Node, NodeId, Part, Preface, Role, ToolSpec};
use serde_json::{Map, Value, json};

use super::outcomes::{must, name};

pub(super) fn chain(parent: Option<NodeId>, length: usize) -> Vec<Node> {
    let mut parent = parent;
    let mut nodes = Vec::with_capacity(length);
    for number in 0..length {
        let node = Node::new(parent, Message::user(format!("message {number}")));
        parent = Some(node.id);
        nodes.push(node);
    }
    nodes
}

pub(super) fn moment(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + seconds)
}

/// Returns a first message whose id has the time `moment(seconds)`.
pub(super) fn node_of(seconds: u64) -> Node {
    let milliseconds = (1_700_000_000 + seconds) * 1000;
    let high = milliseconds >> 16;
    let low = milliseconds & 0xFFFF;
    let id = must("a node id", format!("{high:08x}-{low:04x}-7000-8000-000000000000").parse());
    Node::new(None, Message::user("then")).with_id(id)
}

pub(super) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        other => panic!("{other} is not an object"),
    }
}

pub(super) fn rich_record() -> ConversationRecord {
    let tool = ToolSpec::new("clock", "Returns the time", json!({"type": "object", "properties": {}}));
    let preface = Preface::system("Sei knapp. 🦀\u{2028}\0")
        .message(Message::new(Role::User, Vec::<Content>::new()))
        .tool(ToolSpec { extra: object(json!({"strict": true, "a": null})), ..tool })
        .extra("zeta", json!({"b": 1, "a": [2, {}]}))
        .extra("alpha", false);
    let mut record = ConversationRecord::new(name("rich / \u{e9} ../.."), preface);
    record.sampling.temperature = Some(0.3);
    record.sampling.logit_bias = [(7, -0.1), (40_000, 2.5)].into();
    record.sampling.stop = vec!["\u{1F980}\n".to_owned()];
    record.sampling.stop_tokens = vec![vec![0, u32::MAX]];
    record.metadata = object(json!({"title": "Tee \"Grün\"\n", "z": 1, "a": {"y": [], "x": ""}}));
    record
}

pub(super) fn rich_nodes() -> Vec<Node> {
    let call = ToolCall::new("call_1", "weather", json!({"zone": "Oslo", "at": [1, 2.5, -3e-9, null]}));
    let silent = Node::new(None, Message::new(Role::User, Vec::<Content>::new()));
    let mut question = Node::new(None, Message::user("Why?\r\n\t\u{0}\u{7f}\u{feff} 日本語 👩‍👩‍👧 \"\\"));
    question.message.name = Some("Zoë".to_owned());
    question.message.extra = object(json!({"zebra": 1, "apple": {"d": [], "c": ""}, "": null}));
    let parts = vec![
        Content::Thinking(String::new()),
        Content::Channel(ChannelText::new("joke", "A crab\nand a shell.")),
        Content::Text(String::new()),
        Content::ToolCall(call.clone()),
        Content::Malformed(Malformed { raw: "<tool_call>{".to_owned(), reason: "ends early".to_owned() }),
    ];
    let mut answer = Node::new(Some(question.id), Message::new(Role::Assistant, parts));
    answer.tokens = vec![0, 1, u32::MAX];
    answer.status = NodeStatus::Interrupted;
    answer.reply = Some(Box::new(rich_facts()));
    answer.label = Some(String::new());
    // The host's keys may be those by which version 0.1 stored facts.
    answer.metadata = object(json!({"usage": {"prompt": 12, "completion": 3}, "label": "", "cost": 0.00072}));
    let results = vec![ToolResult::ok(&call, json!({"celsius": -3})), ToolResult::error(&call, "no")];
    let result = Node::new(Some(answer.id), Message::tool(results));
    let mut elsewhere = Node::new(Some(result.id), Message::assistant("Cold."));
    elsewhere.prompt_name = Some("weather".to_owned());
    elsewhere.metadata =
        object(json!({"model": "of a car", "finish": "stop", "seed": 7, "prompt_name": "host's"}));
    let image = Media::new("image/png", b"image".to_vec());
    let media = vec![
        Part::from(Content::Image(image.clone()))
            .with_field("image_url", json!({"detail": "low"}))
            .with_field("cache", Value::Null),
        Content::Audio(image.clone()).into(),
        Content::Video(vec![image]).into(),
        Content::Video(vec![]).into(),
    ];
    let mut shown = Node::new(Some(result.id), Message::new(Role::User, media));
    shown.metadata =
        object(json!({"model": "of a car", "usage": {"prompt": 1, "generated": 1}, "label": "car"}));
    vec![silent, question, answer, result, elsewhere, shown]
}

/// Returns every fact that a reply may have.
fn rich_facts() -> ReplyFacts {
    let cut = json!({"policy": Digest::of(b"policy"), "dropped": 2, "tokens": 70});
    let mut facts = ReplyFacts::new("model \u{1F980}");
    facts.finish = Some(FinishReason::StopString);
    let mut usage = Usage::new(12, 3);
    usage.cached = 4;
    usage.thinking = 1;
    facts.usage = Some(usage);
    facts.cache = Some(CacheReport::new(12, 4));
    facts.template = Some(Digest::of(b"template"));
    facts.seed = Some(u64::MAX);
    facts.stop_string = Some("\n".to_owned());
    facts.error = Some(String::new());
    facts.system_prompt = Some("Rhyme.".to_owned());
    facts.warnings = vec![Warning::BrokenText, Warning::LeftOut { what: "tools".to_owned() }];
    facts.history_cut = Some(must("a history cut", serde_json::from_value(cut)));
    facts.facts = object(json!({"alloquy.redaction": {"b": [], "a": 0.1}}));
    facts
}

/// Returns a message with an image of these bytes.
pub(super) fn showing(bytes: &[u8]) -> Message {
    Message::new(Role::User, vec![Content::Image(Media::new("image/png", bytes.to_vec()))])
}
