//! What the fixtures of a release hold: conversations of a harbour that have whatever a conversation may have.

use std::sync::Arc;

use alloquy_core::arguments::{
    InjectionPolicy, ProcessorArguments, TextSource, ThinkingHistory, ThinkingSwitch,
};
use alloquy_core::manager::NewConversation;
use alloquy_core::media::Digest;
use alloquy_core::message::{ChannelText, Malformed, ToolCall};
use alloquy_core::report::{CacheReport, CutHistory, FinishReason, MissReason, Usage, Warning};
use alloquy_core::sampling::PenaltyScope;
use alloquy_core::store::ConversationStore;
use alloquy_core::{
    Content, Conversation, ConversationId, Error, ErrorKind, Manager, Media, Message, Owner, Part, Preface,
    Reply, Result, Role, SamplingOptions, Tool, ToolSpec, TurnRequest,
};
use alloquy_testing::{ScriptedModel, ScriptedReply};
use futures::StreamExt;
use serde_json::{Value, json};

/// The example of prices knows what this one costs.
const MODEL: &str = "gpt-4o";

/// What a search of these texts finds is among what a release's fixtures are compared with.
pub(super) const SEARCHES: [&str; 5] = ["harbour", "\"high water\"", "gulls", "drift", "\"never mind\""];

/// Writes everything.
pub(super) async fn write(store: &Arc<dyn ConversationStore>) {
    let manager = manager(store, Owner::local());
    let conversation = manager.create(harbour()).await.unwrap();
    ask(&conversation).await;
    branch(&conversation).await;
    end_early(&conversation).await;
    overflow(&conversation).await;
    note(&conversation).await;
    fork(&conversation).await;
    talk_of_tides(&manager).await;
    manager.create(NewConversation::from(Preface::default()).id(id("empty"))).await.unwrap();
    let ann = manager_of_ann(store);
    let theirs = ann.create(NewConversation::from(Preface::default()).id(id("harbour"))).await.unwrap();
    theirs.add(Message::user("Whose harbour is this?")).await.unwrap();
}

fn id(name: &str) -> ConversationId {
    name.parse().unwrap()
}

fn manager(store: &Arc<dyn ConversationStore>, owner: Owner) -> Manager {
    let model = ScriptedModel::replying(script()).named(MODEL);
    Manager::builder(model).store(Arc::clone(store)).owner(owner).tool(Tide).build().unwrap()
}

fn manager_of_ann(store: &Arc<dyn ConversationStore>) -> Manager {
    manager(store, "ann".parse().unwrap())
}

/// The replies in the order in which [`write`] asks for them.
fn script() -> Vec<ScriptedReply> {
    let steps = [shown(), calls(), after_calls(), at_a_stop_text(), at_a_limit()];
    let early = [
        ScriptedReply::Hangs("The boat is".to_owned()),
        ScriptedReply::Fails("The boat drifts to".to_owned()),
        ScriptedReply::Hangs("The boat drifts aw".to_owned()),
    ];
    let last = [in_a_full_context(), after_a_summary(), in_a_fork(), looks(), after_calls()];
    steps.map(ScriptedReply::from).into_iter().chain(early).chain(last.map(ScriptedReply::from)).collect()
}

/// A conversation with all that may stand before its first message.
fn harbour() -> NewConversation {
    let parameters = json!({"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]});
    let mut tide = ToolSpec::new("berths", "Counts free berths", parameters);
    tide.extra.insert("strict".to_owned(), true.into());
    let arguments = ProcessorArguments::default()
        .thinking(ThinkingSwitch::On)
        .history(ThinkingHistory::StripBeforeLastUser)
        .injection(InjectionPolicy::allow(["<think>"]).and_trust([TextSource::System]))
        .extra("date_string", "2026-11-23");
    let preface = Preface::system("Be brief. 緑茶 is green tea.\n\t\u{feff}")
        .message(Message::user("An example?"))
        .message(Message::assistant("An answer."))
        .tool(tide)
        .arguments(arguments);
    NewConversation::from(preface)
        .id(id("harbour"))
        .sampling(sampling())
        .metadata("title", "Harbour \"north\"\n")
        .metadata("tags", json!(["water", {"deep": [1, 2.5, -3e-9, null]}]))
        .metadata("user", json!({"name": "ann", "id": 9_007_199_254_740_993_u64}))
}

/// Every option has a value of its own.
fn sampling() -> SamplingOptions {
    SamplingOptions {
        temperature: Some(0.3),
        top_k: Some(40),
        top_p: Some(0.9),
        min_p: Some(0.05),
        typical_p: Some(0.95),
        repetition_penalty: Some(1.1),
        presence_penalty: Some(-0.5),
        frequency_penalty: Some(0.25),
        penalty_window: Some(64),
        penalty_scope: Some(PenaltyScope::PromptAndReply),
        no_repeat_ngram: Some(4),
        // Since then.
        repetition_detection: None,
        suppress: vec![3, u32::MAX],
        logit_bias: [(7, -0.1), (40_000, 2.5)].into(),
        seed: Some(u64::MAX),
        max_tokens: Some(200),
        stop: vec!["\u{1F980}\n".to_owned(), "USER:".to_owned()],
        stop_tokens: vec![vec![0, 9], vec![11]],
        logprobs: Some(2),
    }
}

/// A PNG of one pixel.
fn image() -> Media {
    let bytes = [
        137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 1, 0, 0, 0, 1, 8, 2, 0, 0, 0,
        144, 119, 83, 222, 0, 0, 0, 12, 73, 68, 65, 84, 120, 218, 99, 16, 72, 88, 0, 0, 1, 148, 1, 17, 200,
        85, 68, 74, 0, 0, 0, 0, 73, 69, 78, 68, 174, 66, 96, 130,
    ];
    Media::new("image/png", bytes.to_vec())
}

fn audio() -> Media {
    Media::new("audio/wav", b"RIFF no audio WAVE".to_vec())
}

/// A question with an image and one with everything else that a message may hold; calls of tools and their results.
async fn ask(conversation: &Conversation) {
    let image_part = Part::from(Content::Image(image()))
        .with_field("image_url", json!({"detail": "low"}))
        .with_field("cache", Value::Null);
    let parts = vec![Part::from(Content::Text("What is in this harbour?".to_owned())), image_part];
    let question = TurnRequest::from(Message::new(Role::User, parts).named("Zoë")).prompt("describe");
    conversation.send(question).finish().await.unwrap();
    let asked = TurnRequest::from("When is high water?").metadata("source", "almanac").label("tides");
    conversation.send(asked).finish().await.unwrap();
    let frames = vec![image(), Media::new("image/png", b"another frame".to_vec())];
    let mut video = Message::new(Role::User, vec![Content::Video(frames), Content::Audio(audio())]);
    video.extra = object(json!({"zebra": 1, "apple": {"d": [], "c": ""}, "": null}));
    let hosted = TurnRequest::from(video)
        .metadata("usage", json!({"prompt": 1, "reply": 1}))
        .metadata("cost", 0.00072);
    conversation.add(hosted).await.unwrap();
    // The host writes a message, with metadata under names that facts of replies have.
    let elsewhere = TurnRequest::from(Message::assistant("A ferry leaves."))
        .metadata("model", "elsewhere")
        .metadata("usage", "a lot")
        .metadata("finish", "stop")
        .metadata("reviewed", true);
    conversation.add(elsewhere).await.unwrap();
}

/// Another answer to the same question, another question in its place, and a branch that goes.
async fn branch(conversation: &Conversation) {
    let history = conversation.history().await.unwrap();
    let calling = history.iter().position(|node| node.message.tool_calls().next().is_some()).unwrap();
    let question = history[calling - 1].id;
    let again = TurnRequest::default().at(question).label("again").system_prompt("Rhyme.");
    conversation.complete(again).finish().await.unwrap();
    conversation.edit(question, "When is low water? \u{2028}\u{7f} 👩‍👩‍👧").finish().await.unwrap();
    let head = conversation.head().await.unwrap();
    conversation.add(Message::user("Never mind.")).await.unwrap();
    let gone = conversation.head().await.unwrap().unwrap();
    conversation.add(Message::assistant("As you like.")).await.unwrap();
    conversation.goto(head).await.unwrap();
    assert_eq!(conversation.prune(gone).await.unwrap(), 2);
}

/// One reply is stopped, one fails, and one is dropped.
async fn end_early(conversation: &Conversation) {
    let head = conversation.head().await.unwrap();
    let mut stopped = conversation.send("Where is the boat?");
    while !matches!(stopped.next().await, Some(Ok(alloquy_core::TurnEvent::Delta(_)))) {}
    stopped.cancel();
    assert_eq!(stopped.finish().await.unwrap().reply.finish, FinishReason::Cancelled);
    conversation.goto(head).await.unwrap();
    let failed = conversation.send("Where does the boat drift?").finish().await.unwrap();
    assert_eq!(failed.reply.finish, FinishReason::Error);
    conversation.goto(head).await.unwrap();
    let asked = TurnRequest::from("Where is it now?").metadata("usage", "a lot").label("dropped");
    let mut dropped = conversation.send(asked);
    while !matches!(dropped.next().await, Some(Ok(alloquy_core::TurnEvent::Delta(_)))) {}
    drop(dropped);
    conversation.goto(head).await.unwrap();
}

/// Replies whose prompts went without the beginning of the history.
async fn overflow(conversation: &Conversation) {
    conversation.send("And tomorrow?").finish().await.unwrap();
    conversation.send("And the day after?").finish().await.unwrap();
}

/// What people note on nodes and on the conversation.
async fn note(conversation: &Conversation) {
    let nodes = conversation.nodes().await.unwrap();
    let labelled = nodes.iter().find(|node| node.label.as_deref() == Some("again")).unwrap();
    let dropped = nodes.iter().find(|node| node.label.as_deref() == Some("dropped")).unwrap();
    conversation.label(labelled.id, Some("rhymed")).await.unwrap();
    conversation.label(dropped.id, None).await.unwrap();
    conversation.label(nodes[0].id, Some("start")).await.unwrap();
    conversation.bookmark("draft", labelled.id).await.unwrap();
    conversation.bookmark("gone", dropped.id).await.unwrap();
    conversation.remove_bookmark("gone").await.unwrap();
    conversation.set_node_metadata(nodes[1].id, "rating", json!({"stars": 5})).await.unwrap();
    let reviewed = nodes.iter().find(|node| node.metadata.get("model") == Some(&json!("elsewhere"))).unwrap();
    conversation.set_node_metadata(reviewed.id, "reviewed", Value::Null).await.unwrap();
    conversation.set_metadata("archived", Value::Null).await.unwrap();
    conversation.set_metadata("draft", true).await.unwrap();
    conversation.remove_metadata("draft").await.unwrap();
}

/// A copy of the path to a branch, which goes its own way.
async fn fork(conversation: &Conversation) {
    let rhymed = conversation.resolve("draft").await.unwrap();
    let copy = conversation.fork_at(rhymed, id("harbour/fork ü")).await.unwrap();
    copy.send("And in the fork?").finish().await.unwrap();
}

/// A conversation that every form of a document has a place for, but for its media, thinking and calls.
async fn talk_of_tides(manager: &Manager) {
    let new = NewConversation::from(Preface::system("Speak of tides.")).id(id("tides"));
    let conversation = manager.create(new.metadata("title", "Tides")).await.unwrap();
    let parts = vec![Content::Text("Is this low water?".to_owned()), Content::Image(image())];
    conversation.send(Message::new(Role::User, parts)).finish().await.unwrap();
}

/// Says when high water is, and is asked once about a place that it does not know.
#[derive(Debug)]
struct Tide;

#[async_trait::async_trait]
impl Tool for Tide {
    fn spec(&self) -> ToolSpec {
        let parameters = json!({"type": "object", "properties": {"at": {"type": "string"}}});
        ToolSpec::new("tide", "Says when high water is", parameters)
    }

    async fn call(&self, arguments: &Value) -> Result<Value> {
        match arguments["at"].as_str() {
            Some("Oslo") => Ok(json!({"high": ["03:12", "15:40"], "metres": 0.3})),
            place => Err(Error::new(ErrorKind::Tool, format!("no harbour at {place:?}"))),
        }
    }
}

fn reply(parts: Vec<Content>, usage: Usage, cache: CacheReport) -> Reply {
    let mut reply = Reply::new(Message::new(Role::Assistant, parts));
    (reply.usage, reply.cache) = (usage, Some(cache));
    reply.template = Some(Digest::of(b"template"));
    reply
}

fn usage(prompt: usize, cached: usize, generated: usize, thinking: usize) -> Usage {
    let mut usage = Usage::new(prompt, generated);
    usage.cached = cached;
    usage.thinking = thinking;
    usage.remaining = Some(4096 - prompt - generated);
    usage
}

fn cache(usage: Usage, first_difference: Option<usize>, miss: Option<MissReason>) -> CacheReport {
    let mut report = CacheReport::new(usage.prompt, usage.cached);
    report.first_difference = first_difference;
    report.miss = miss;
    report
}

fn text(text: &str) -> Content {
    Content::Text(text.to_owned())
}

/// The first reply: thinking, a channel, something unreadable, and every warning there is.
fn shown() -> Reply {
    let parts = vec![
        Content::Thinking("A harbour, and a boat.\n".to_owned()),
        Content::Channel(ChannelText::new("joke", "A crab\nand a shell.")),
        text("A boat in a harbour."),
        Content::Malformed(Malformed { raw: "<tool_call>{".to_owned(), reason: "ends early".to_owned() }),
    ];
    let usage = usage(120, 0, 40, 9);
    let mut reply = reply(parts, usage, cache(usage, None, None));
    reply.tokens = vec![0, 1, 65_536, u32::MAX];
    reply.seed = Some(u64::MAX);
    reply.warnings = warnings();
    reply
}

fn warnings() -> Vec<Warning> {
    let media = image().digest();
    let audio = audio().digest();
    vec![
        Warning::MaxTokensCapped { asked: 9000, room: 200 },
        Warning::ThinkingCut { tokens: 9 },
        Warning::ToolsExcluded { tools: 2 },
        Warning::GrammarCut,
        Warning::BrokenText,
        Warning::ControlTokenLetThrough { token: "<think>".to_owned(), source: TextSource::System, times: 2 },
        Warning::RoleMarkerInText {
            marker: "USER:".to_owned(),
            source: TextSource::Tool,
            message: Some(3),
            times: 1,
        },
        Warning::RoleMarkerInText {
            marker: "USER:".to_owned(),
            source: TextSource::ToolSpecs,
            message: None,
            times: 1,
        },
        Warning::InstructionsMerged { messages: 1 },
        Warning::LeftOut { what: "tools".to_owned() },
        Warning::PixelsCapped { media, wanted: 4_000_000, taken: 1_000_000 },
        Warning::AudioPadded { media: audio, milliseconds: 20, padded: 30 },
        Warning::AudioChunked { media: audio, chunks: 3 },
        Warning::AudioCut { media: audio, missing: 12, partial: 1 },
        Warning::FramesSampled { media, frames: 200, taken: 8 },
        Warning::ThinkingSwitchIgnored,
        Warning::ThinkingLeftOut { messages: 1 },
        Warning::TemplateChanged { before: Digest::of(b"before"), now: Digest::of(b"now") },
        Warning::HistoryShifted { dropped: 2, tokens: 70 },
        Warning::HistorySummarized {
            dropped: 4,
            tokens: 200,
            summary: 30,
            left_out: 1,
            spent: Some(usage(220, 0, 30, 0)),
        },
        Warning::SummaryCut,
        Warning::ProviderReplaced {
            asked: "cuda".to_owned(),
            used: "cpu".to_owned(),
            reason: "no driver".to_owned(),
        },
    ]
}

/// Two calls, of which one has no answer.
fn calls() -> Reply {
    let oslo = ToolCall::new("call_1", "tide", json!({"at": "Oslo", "day": [1, 2.5, -3e-9, null]}));
    let nowhere = ToolCall::new("call_2", "tide", json!({"at": "Nowhere"}));
    let usage = usage(200, 150, 20, 0);
    let parts = vec![text("I look."), Content::ToolCall(oslo), Content::ToolCall(nowhere)];
    let mut reply = reply(parts, usage, cache(usage, Some(150), Some(MissReason::Evicted)));
    reply.finish = FinishReason::ToolCalls;
    reply
}

fn after_calls() -> Reply {
    let usage = usage(260, 220, 12, 0);
    let mut reply = reply(vec![text("High water is at 03:12.")], usage, cache(usage, None, None));
    reply.tokens = vec![9, 8, 7];
    reply.seed = Some(7);
    reply
}

fn at_a_stop_text() -> Reply {
    let usage = usage(190, 100, 8, 2);
    let miss = cache(usage, Some(100), Some(MissReason::Changed));
    let mut reply = reply(vec![text("The water's high when gulls fly by.")], usage, miss);
    (reply.finish, reply.stop_string) = (FinishReason::StopString, Some("\u{1F980}\n".to_owned()));
    reply.seed = Some(0);
    reply
}

fn at_a_limit() -> Reply {
    let usage = usage(180, 90, 200, 0);
    let miss = cache(usage, Some(90), Some(MissReason::Rewritten));
    let mut reply = reply(vec![text("Low water is at")], usage, miss);
    reply.finish = FinishReason::Length;
    reply
}

/// Where the prompt had no room for what was said first.
fn in_a_full_context() -> Reply {
    let mut usage = usage(4000, 3000, 96, 0);
    usage.remaining = Some(0);
    let miss = cache(usage, Some(3000), Some(MissReason::Retokenized));
    let mut reply = reply(vec![text("Tomorrow the")], usage, miss);
    reply.finish = FinishReason::ContextFull;
    reply.cut = Some(cut(json!({"policy": Digest::of(b"shift"), "dropped": 2, "tokens": 70})));
    reply.warnings = vec![Warning::HistoryShifted { dropped: 2, tokens: 70 }];
    reply
}

/// Where a summary stood for it.
fn after_a_summary() -> Reply {
    let mut usage = usage(300, 10, 5, 0);
    usage.remaining = None;
    let miss = cache(usage, Some(10), Some(MissReason::NotRewindable));
    let mut reply = reply(vec![text("Calm.")], usage, miss);
    reply.cut = Some(cut(json!({
        "policy": Digest::of(b"summary"), "dropped": 4, "tokens": 200,
        "summary": {"text": "They spoke of water.", "left_out": 1, "cut": true},
    })));
    reply
}

fn in_a_fork() -> Reply {
    let usage = usage(150, 140, 4, 0);
    reply(vec![text("The same harbour.")], usage, cache(usage, None, None))
}

fn looks() -> Reply {
    let call = ToolCall::new("call_1", "tide", json!({"at": "Oslo"}));
    let usage = usage(90, 0, 14, 4);
    let parts = vec![Content::Thinking("I ask.\n".to_owned()), text("I look."), Content::ToolCall(call)];
    let mut reply = reply(parts, usage, cache(usage, None, None));
    reply.finish = FinishReason::ToolCalls;
    reply
}

fn cut(value: Value) -> CutHistory {
    serde_json::from_value(value).unwrap()
}

fn object(value: Value) -> serde_json::Map<String, Value> {
    serde_json::from_value(value).unwrap()
}
