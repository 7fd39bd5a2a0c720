//! The JSON of nodes: today's form, and that of version 0.1, which had every fact in `metadata`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use alloquy_core::media::Digest;
use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::report::{CacheReport, CutHistory, FinishReason, MissReason, ReplyFacts, Usage, Warning};
use alloquy_core::tree::NodeStatus;
use alloquy_core::{Manager, Message, Node, Preface, ReplyStream, Request, Result, Role, TurnRequest};
use alloquy_testing::EchoModel;
use futures::StreamExt;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const ID: &str = "019aa3c5-0000-7000-8000-000000000000";

fn line(role: &str, metadata: &Value) -> Value {
    json!({"id": ID, "message": {"role": role, "parts": [{"text": "Hello!"}]}, "status": "complete",
        "metadata": metadata})
}

fn read(line: &Value) -> Node {
    serde_json::from_str(&line.to_string()).unwrap()
}

/// A reply of `tiny`, with what a line of version 0.1 says of it beside that.
fn reply(change: impl FnOnce(&mut ReplyFacts)) -> Node {
    let mut facts = ReplyFacts::new("tiny");
    change(&mut facts);
    let mut node = Node::new(None, Message::assistant("Hello!")).with_id(ID.parse().unwrap());
    node.reply = Some(Box::new(facts));
    node
}

fn object(value: Value) -> Map<String, Value> {
    serde_json::from_value(value).unwrap()
}

fn cut(value: Value) -> CutHistory {
    serde_json::from_value(value).unwrap()
}

/// Each fact of version 0.1, as it was written, and what it is now.
fn lines_of_0_1() -> Vec<(Value, Node)> {
    let mut usage = Usage::new(12, 5);
    (usage.cached, usage.thinking, usage.remaining) = (4, 1, Some(40));
    let mut cache = CacheReport::new(12, 4);
    (cache.first_difference, cache.miss) = (Some(4), Some(MissReason::Evicted));
    let digest = Digest::of(b"template");
    let policy = json!({"policy": digest, "dropped": 4, "tokens": 200,
        "summary": {"text": "They spoke of water.", "left_out": 1, "cut": true}});
    let mut labelled = reply(|_| {});
    labelled.label = Some("first".to_owned());
    let mut prompted = reply(|_| {});
    prompted.prompt_name = Some("greeting".to_owned());
    let mut noted = reply(|_| {});
    noted.metadata = object(json!({"usage": "a lot", "cost": 0.1}));
    let facts = vec![
        (json!({}), reply(|_| {})),
        (json!({"finish": "stop"}), reply(|facts| facts.finish = Some(FinishReason::Stop))),
        (json!({"finish": "max_tokens"}), reply(|facts| facts.finish = Some(FinishReason::Length))),
        (json!({"finish": "stopped"}), reply(|facts| facts.finish = Some(FinishReason::Cancelled))),
        (
            json!({"usage": {"prompt": 12, "reused": 4, "generated": 5, "thinking": 1, "remaining": 40}}),
            reply(|facts| facts.usage = Some(usage)),
        ),
        (json!({"usage": {"prompt": 12, "reply": 5}}), reply(|facts| facts.usage = Some(Usage::new(12, 5)))),
        (
            json!({"cache": {"prompt": 12, "reused": 4, "forwarded": 8, "first_difference": 4, "miss": "not_held"}}),
            reply(|facts| facts.cache = Some(cache)),
        ),
        (json!({"template": digest.to_string()}), reply(|facts| facts.template = Some(digest))),
        (json!({"seed": u64::MAX}), reply(|facts| facts.seed = Some(u64::MAX))),
        (json!({"stop_string": "\n"}), reply(|facts| facts.stop_string = Some("\n".to_owned()))),
        (json!({"error": "no memory"}), reply(|facts| facts.error = Some("no memory".to_owned()))),
        (json!({"system_prompt": "Rhyme."}), reply(|facts| facts.system_prompt = Some("Rhyme.".to_owned()))),
        (
            json!({"degradations": [{"left_out": {"what": "tools"}}, "broken_text"]}),
            reply(|facts| {
                let what = "tools".to_owned();
                facts.warnings = vec![Warning::LeftOut { what }, Warning::BrokenText];
            }),
        ),
        (json!({"history_cut": policy}), reply(|facts| facts.history_cut = Some(cut(policy.clone())))),
        (json!({"label": "first"}), labelled),
        (json!({"prompt_name": "greeting"}), prompted),
        (json!({"usage": "a lot", "cost": 0.1}), noted),
    ];
    let mut lines = Vec::new();
    for (fact, node) in facts {
        let mut metadata = object(json!({"model": "tiny"}));
        metadata.extend(object(fact));
        lines.push((line("assistant", &metadata.into()), node));
    }
    lines
}

#[test]
fn every_fact_of_version_0_1_is_read() {
    for (line, node) in lines_of_0_1() {
        assert_eq!(read(&line), node, "{line}");
        let written = serde_json::to_value(&node).unwrap();
        assert_eq!(read(&written), node, "{written}");
    }
}

#[test]
fn facts_stay_in_the_metadata_of_messages_that_no_model_generated() {
    let facts = json!({"model": "tiny", "usage": {"prompt": 1, "generated": 1}, "finish": "stop"});
    for role in ["user", "system", "tool"] {
        let node = read(&line(role, &facts));
        assert_eq!((node.reply, Value::Object(node.metadata)), (None, facts.clone()), "{role}");
    }
    let nameless = json!({"model": 7, "finish": "stop"});
    let node = read(&line("assistant", &nameless));
    assert_eq!((node.reply, Value::Object(node.metadata)), (None, nameless));
    let labelled = read(&line("user", &json!({"label": "first", "prompt_name": 7})));
    assert_eq!((labelled.label.as_deref(), labelled.prompt_name), (Some("first"), None));
    assert_eq!(Value::Object(labelled.metadata), json!({"prompt_name": 7}));
}

#[test]
fn a_node_of_version_0_1_is_read_again_as_it_was_written() {
    let (line, node) = lines_of_0_1().remove(1);
    let mut tree = alloquy_core::tree::Tree::from_nodes([read(&line)]).unwrap();
    tree.insert(node).unwrap();
    assert_eq!(tree.len(), 1);
}

#[test]
fn the_facts_of_a_reply_are_written_by_name() {
    let mut node = reply(|facts| {
        facts.finish = Some(FinishReason::Stop);
        facts.warnings = vec![Warning::BrokenText];
        facts.facts = object(json!({"alloquy.redaction": 2}));
    });
    node.label = Some("first".to_owned());
    node.metadata = object(json!({"model": "of a car"}));
    let written = json!({"id": ID, "message": {"role": "assistant", "parts": [{"text": "Hello!"}]},
        "status": "complete", "label": "first", "metadata": {"model": "of a car"},
        "reply": {"model": "tiny", "finish": "stop", "warnings": ["broken_text"],
            "facts": {"alloquy.redaction": 2}}});
    assert_eq!(serde_json::to_value(&node).unwrap(), written);
    let mut typed = Node::new(None, Message::assistant("Hello!"));
    assert!(serde_json::to_value(&typed).unwrap().get("reply").is_none());
    typed.metadata = object(json!({"model": "of a car"}));
    assert_eq!(serde_json::to_value(&typed).unwrap().get("reply"), Some(&Value::Null));
}

/// Leaves a fact on each reply.
#[derive(Debug)]
struct Counting;

#[async_trait::async_trait]
impl Middleware for Counting {
    async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
        let mut stream = next.call(request).await?;
        Ok(ReplyStream::new(move |mut emit| async move {
            while let Some(delta) = stream.next().await {
                emit.send(delta).await;
            }
            let mut reply = stream.finish().await?;
            reply.facts.insert("host.count".to_owned(), 2.into());
            Ok(reply)
        }))
    }
}

#[test]
fn facts_that_middleware_adds_are_stored_with_the_node() {
    pollster::block_on(async {
        let manager = Manager::builder(EchoModel).middleware(Counting).build().unwrap();
        let conversation = manager.create(Preface::default()).await.unwrap();
        conversation.send(TurnRequest::from("Hi").metadata("host.count", "its own")).finish().await.unwrap();
        let node = conversation.history().await.unwrap().pop().unwrap();
        assert_eq!(Value::Object(node.reply.unwrap().facts), json!({"host.count": 2}));
        assert_eq!(Value::Object(node.metadata), json!({"host.count": "its own"}));
    });
}

/// Values that a fact, or a host's key of the same name, may have.
fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<u64>().prop_map(Value::from),
        "[a-z]{0,3}".prop_map(Value::from),
        prop_oneof![Just("stop"), Just("stopped"), Just("length")].prop_map(Value::from),
        Just(Digest::of(b"template").to_string()).prop_map(Value::from),
        Just(json!(["broken_text", {"thinking_cut": {"tokens": 3}}])),
        Just(json!({"policy": Digest::of(b"policy"), "dropped": 2, "tokens": 70})),
        (any::<u32>(), any::<u32>()).prop_map(|(prompt, reply)| json!({"prompt": prompt, "reply": reply})),
        (any::<u32>(), any::<u32>())
            .prop_map(|(prompt, cached)| json!({"prompt": prompt, "reused": cached, "forwarded": 1})),
    ]
}

const NAMES: [&str; 14] = [
    "model",
    "finish",
    "usage",
    "cache",
    "template",
    "seed",
    "stop_string",
    "error",
    "system_prompt",
    "degradations",
    "history_cut",
    "prompt_name",
    "label",
    "cost",
];

fn metadata() -> impl Strategy<Value = Map<String, Value>> {
    let names = prop::sample::select(&NAMES[..]);
    prop::collection::vec((names, value()), 0..9)
        .prop_map(|facts| facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn role() -> impl Strategy<Value = Role> {
    prop_oneof![Just(Role::Assistant), Just(Role::Assistant), Just(Role::User), Just(Role::Tool)]
}

proptest! {
    /// What version 0.1 wrote is read as the node that its form of today is read as.
    #[test]
    fn every_node_of_version_0_1_is_the_same_in_the_form_of_today(role in role(), metadata in metadata()) {
        let node = read(&line(role.as_str(), &metadata.into()));
        let written = serde_json::to_value(&node).unwrap();
        prop_assert_eq!(read(&written), node, "{}", written);
    }

    /// No key of a host is read as a fact.
    #[test]
    fn a_hosts_keys_are_its_own(role in role(), metadata in metadata(), is_reply in any::<bool>(), label in any::<bool>()) {
        let mut node = Node::new(None, Message::new(role, Vec::<alloquy_core::Content>::new()));
        node.status = NodeStatus::Interrupted;
        node.metadata = metadata;
        node.reply = is_reply.then(|| Box::new(ReplyFacts::new("tiny")));
        node.label = label.then(|| "first".to_owned());
        let written = serde_json::to_value(&node).unwrap();
        prop_assert_eq!(read(&written), node, "{}", written);
    }
}
