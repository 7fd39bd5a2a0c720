//! Policies for a full context: what each leaves out of random conversations, and what it says of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use alloquy_context::{DropPolicy, HistoryDrop, HistoryShift, HistorySummary, ShiftPolicy, SummaryPolicy};
use alloquy_core::message::{ToolCall, ToolResult};
use alloquy_core::middleware::Middleware;
use alloquy_core::report::{CacheReport, Usage, Warning};
use alloquy_core::{
    ChatModel, Content, ErrorKind, Manager, Message, Preface, Reply, ReplyStream, Request, Result, Role,
};
use alloquy_testing::{EchoModel, ScriptedModel, laws::context_policy};
use pollster::block_on;
use proptest::prelude::*;
use serde_json::json;

const WINDOW: usize = 120;

/// A length that adds up: a unit for each character of what is said, and one for the end of each message.
fn characters(request: &Request) -> Result<usize> {
    let messages = request.preface.messages.iter().chain(&request.path);
    Ok(messages.map(length_of).sum())
}

fn length_of(message: &Message) -> usize {
    let calls = message.tool_calls().map(|call| call.name.len());
    let results = message.tool_results().map(|result| result.text().chars().count());
    message.text().chars().count() + calls.chain(results).sum::<usize>() + 1
}

/// Answers every request with so many letters, and remembers the requests.
#[derive(Clone, Debug, Default)]
struct Writer {
    letters: usize,
    /// How long a question may be.
    room: Option<usize>,
    asked: Arc<Mutex<Vec<Request>>>,
}

impl Writer {
    fn of(letters: usize) -> Self {
        Self { letters, ..Self::default() }
    }

    fn questions(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().map(|request| request.path[0].text()).collect()
    }
}

#[async_trait::async_trait]
impl ChatModel for Writer {
    fn name(&self) -> &str {
        "writer"
    }

    async fn reply(&self, request: Request) -> Result<ReplyStream> {
        if self.room.is_some_and(|room| request.path[0].text().len() > room) {
            return Err(alloquy_core::Error::new(ErrorKind::ContextOverflow, "too long"));
        }
        let mut asked = self.asked.lock().unwrap();
        asked.push(request);
        let number = asked.len().to_string();
        let text: String = number.chars().chain(std::iter::repeat('s')).take(self.letters).collect();
        let mut reply = Reply::new(Message::assistant(text));
        reply.usage = Usage::new(50, self.letters);
        Ok(ReplyStream::new(|_| async { Ok(reply) }))
    }

    async fn warm(&self, _: Request) -> Result<Option<CacheReport>> {
        Ok(None)
    }
}

fn drops(policy: DropPolicy) -> HistoryDrop {
    HistoryDrop::new(characters, policy).unwrap()
}

fn summarises(writer: &Writer, policy: SummaryPolicy) -> HistorySummary {
    HistorySummary::new(characters, Arc::new(writer.clone()), policy).unwrap()
}

/// Ten turns of twenty units each.
fn ten_turns() -> Vec<Message> {
    let turn = |number: usize| {
        [Message::user(format!("question {number}")), Message::assistant(format!("answer {number}"))]
    };
    let mut path: Vec<_> = (0..10).flat_map(turn).collect();
    path.push(Message::user("and now?"));
    path
}

fn texts(request: &Request) -> Vec<String> {
    request.path.iter().map(Message::text).collect()
}

#[test]
fn as_few_turns_as_possible_are_dropped_to_the_unit() {
    let policy = drops(DropPolicy::new(WINDOW).reply(11));
    let fitted = policy.fit(Request::new(Preface::system("Be kind."), ten_turns())).unwrap();
    // The instructions and the last question take 18 units, a turn 20; 109 may be filled.
    assert_eq!((fitted.dropped, fitted.tokens), (12, 120));
    assert_eq!(texts(&fitted.request)[0], "question 6");
    let exact = drops(DropPolicy::new(WINDOW).reply(WINDOW - 98));
    assert_eq!(exact.fit(Request::new(Preface::system("Be kind."), ten_turns())).unwrap().dropped, 12);
    let tight = drops(DropPolicy::new(WINDOW).reply(WINDOW - 97));
    assert_eq!(tight.fit(Request::new(Preface::system("Be kind."), ten_turns())).unwrap().dropped, 14);
}

#[test]
fn pinned_turns_stay_with_what_belongs_to_them() {
    let call = ToolCall::new("call_0", "clock", json!({}));
    let example = [
        Message::system("In the path."),
        Message::assistant("Hello, how can I help?"),
        Message::user("What time is it?"),
        Message::new(Role::Assistant, vec![Content::ToolCall(call.clone())]),
        Message::tool(vec![ToolResult::ok(&call, "noon")]),
        Message::assistant("Noon."),
    ];
    let path = [&example[..], &ten_turns()].concat();
    let fitted = drops(DropPolicy::new(150).reply(20).pinned(1)).fit(Request::new(Preface::default(), path));
    let fitted = fitted.unwrap();
    assert_eq!(fitted.request.path[..6], example[..]);
    assert_eq!((fitted.dropped, texts(&fitted.request)[6].as_str()), (16, "question 8"));
}

#[test]
fn a_result_after_the_next_question_keeps_its_call() {
    let call = ToolCall::new("call_0", "clock", json!({}));
    let path = vec![
        Message::user("x".repeat(60)),
        Message::user("y".repeat(40)),
        Message::new(Role::Assistant, vec![Content::ToolCall(call.clone())]),
        Message::user("Well?"),
        Message::tool(vec![ToolResult::ok(&call, "noon")]),
    ];
    let fitted =
        drops(DropPolicy::new(80).reply(8)).fit(Request::new(Preface::default(), path.clone())).unwrap();
    assert_eq!(fitted.request.path, path[1..]);
}

#[test]
fn a_last_turn_that_leaves_no_room_is_refused_with_the_numbers() {
    let request = |length| {
        let path = [&ten_turns()[..20], &[Message::user("x".repeat(length))]].concat();
        Request::new(Preface::system("Be kind."), path)
    };
    let policy = drops(DropPolicy::new(WINDOW).reply(30));
    let error = policy.fit(request(WINDOW)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ContextOverflow);
    insta::assert_snapshot!(error.to_string(), @"the last question with what always stays takes 130 tokens, and 120 fit: no room for a reply, though 20 earlier messages were left out");
    // Less room than is kept free is room nevertheless: the reply says where it ends.
    assert_eq!(policy.fit(request(WINDOW - 12)).unwrap().dropped, 20);
    let writer = Writer::of(10);
    let summarised = block_on(summarises(&writer, SummaryPolicy::new(WINDOW)).fit(request(WINDOW)));
    assert_eq!(summarised.unwrap_err().to_string(), error.to_string());
}

#[test]
fn a_summary_is_used_again_and_only_extended() {
    let writer = Writer::of(10);
    let policy = summarises(&writer, SummaryPolicy::new(WINDOW).reply(20).summary(10));
    let mut path = Vec::new();
    let mut drawing = Vec::new();
    for number in 0..12 {
        path.push(Message::user(format!("question {number}")));
        let fitted = block_on(policy.fit(Request::new(Preface::default(), path.clone()))).unwrap();
        drawing.push(format!("{} {}", texts(&fitted.request).join(" | "), json!(fitted.warnings)));
        path.push(Message::assistant(format!("answer {number}")));
    }
    insta::assert_snapshot!(drawing.join("\n"));
    insta::assert_snapshot!(writer.questions().join("\n---\n"));
}

#[test]
fn a_branch_uses_the_summary_of_what_it_shares() {
    let writer = Writer::of(10);
    let policy = summarises(&writer, SummaryPolicy::new(WINDOW).reply(20).summary(10));
    let ask = |last: &str| {
        let path = [&ten_turns()[..20], &[Message::user(last)]].concat();
        block_on(policy.fit(Request::new(Preface::default(), path))).unwrap()
    };
    let one = ask("this?");
    let other = ask("that?");
    assert_eq!(writer.questions().len(), 1);
    let spent = |warnings: &[Warning]| match warnings {
        [Warning::HistorySummarized { spent, .. }] => *spent,
        other => panic!("{other:?}"),
    };
    assert_eq!(spent(&one.warnings), Some(Usage::new(50, 10)));
    assert_eq!(spent(&other.warnings), None);
}

#[test]
fn what_the_writer_has_no_room_for_is_cut_or_counted() {
    let narrow = Writer { letters: 10, room: Some(400), ..Writer::default() };
    let policy = summarises(&narrow, SummaryPolicy::new(WINDOW).reply(20).summary(10));
    let long = [vec![Message::user("x".repeat(300)), Message::assistant("Hm.")], ten_turns()].concat();
    let fitted = block_on(policy.fit(Request::new(Preface::default(), long))).unwrap();
    let [Warning::HistorySummarized { dropped, left_out, tokens, summary, .. }] = fitted.warnings[..] else {
        panic!("{:?}", fitted.warnings)
    };
    assert_eq!((left_out, tokens, summary), (2, 301 + 4 + (dropped - 2) * 10, 26 + 11));
    assert!(narrow.questions().len() > 1, "the rest is summarised bit by bit");
}

#[test]
fn a_last_turn_without_room_for_a_summary_goes_without_and_says_so() {
    let writer = Writer::of(30);
    let policy = summarises(&writer, SummaryPolicy::new(WINDOW).reply(20).summary(30).role(Role::System));
    let path = [&ten_turns()[..20], &[Message::user("x".repeat(WINDOW - 10))]].concat();
    let fitted = block_on(policy.fit(Request::new(Preface::default(), path.clone()))).unwrap();
    assert_eq!(fitted.request.path, path[20..]);
    let spent = Some(Usage::new(50, 30));
    let omitted = Warning::HistorySummarized { dropped: 20, tokens: 200, summary: 0, left_out: 20, spent };
    assert_eq!(fitted.warnings, [omitted]);
}

#[test]
fn a_summary_is_shown_as_whose_words_it_is_to_be() {
    let shown = |role| {
        let policy = SummaryPolicy::new(WINDOW).reply(20).summary(10).role(role);
        let fitted =
            block_on(summarises(&Writer::of(4), policy).fit(Request::new(Preface::default(), ten_turns())));
        let path = fitted.unwrap().request.path;
        path.iter().take(3).map(|message| (message.role, message.text())).collect::<Vec<_>>()
    };
    insta::assert_debug_snapshot!([shown(Role::System), shown(Role::User), shown(Role::Assistant)]);
}

#[test]
fn the_same_model_summarises_what_it_said_and_the_conversation_keeps_everything() {
    let script = [("<assistant>", "Yes."), ("Summarise", "We said yes.")];
    let model = ScriptedModel::new(script).context_length(1000);
    let policy = SummaryPolicy::new(120).reply(12).summary(20);
    let summary = HistorySummary::new(model.clone(), Arc::new(model.clone()), policy).unwrap();
    let manager = Manager::builder(model).middleware(summary).build().unwrap();
    block_on(async {
        let conversation = manager.create(Preface::system("Be kind.")).await.unwrap();
        let mut summarised = 0;
        for number in 0..12 {
            let turn = conversation.send(format!("question {number}")).finish().await.unwrap();
            let warnings = turn.reply.warnings;
            let node = conversation.history().await.unwrap().pop().unwrap();
            assert_eq!(node.reply.unwrap().warnings, warnings);
            let is_summary = |warning: &Warning| matches!(warning, Warning::HistorySummarized { .. });
            summarised += usize::from(warnings.iter().any(is_summary));
        }
        assert!(summarised > 3);
        assert_eq!(conversation.history().await.unwrap().len(), 24);
    });
}

#[test]
fn what_was_dropped_is_said_in_each_reply() {
    let model = ScriptedModel::new([("<assistant>", "Yes.")]).context_length(60);
    let policy = HistoryDrop::new(model.clone(), DropPolicy::new(60)).unwrap();
    let manager = Manager::builder(model).middleware(policy).build().unwrap();
    let conversation = block_on(manager.create(Preface::default())).unwrap();
    let dropped = (0..6).map(|number| conversation.ask(format!("question {number}")).unwrap().reply.warnings);
    insta::assert_snapshot!(json!(dropped.collect::<Vec<_>>()));
}

#[test]
fn a_question_for_which_a_policy_makes_room_is_asked_and_kept() {
    let model = ScriptedModel::new([("<assistant>", "Yes.")]).context_length(100);
    let policy = HistoryDrop::new(model.clone(), DropPolicy::new(100)).unwrap();
    let manager = Manager::builder(model).middleware(policy).build().unwrap();
    block_on(async {
        let conversation = manager.create(Preface::default()).await.unwrap();
        for turn in 1..8 {
            conversation.send("a question of forty characters, about so").finish().await.unwrap();
            assert_eq!(conversation.history().await.unwrap().len(), 2 * turn);
        }
        conversation.send("x".repeat(200)).finish().await.unwrap_err();
        assert_eq!(conversation.branches().await.unwrap().len(), 1);
    });
}

/// Counts messages, and panics the first time.
fn panicking() -> impl Fn(&Request) -> Result<usize> {
    let is_armed = AtomicBool::new(true);
    move |request: &Request| {
        if is_armed.swap(false, Ordering::SeqCst) {
            panic!("boom {}", 42);
        }
        Ok(request.path.len())
    }
}

#[test]
fn a_length_that_panics_fails_its_turn() {
    let dropping = HistoryDrop::new(panicking(), DropPolicy::new(1000)).unwrap();
    let shifting = HistoryShift::new(panicking(), ShiftPolicy::new(1000)).unwrap();
    let managers =
        [Manager::builder(EchoModel).middleware(dropping), Manager::builder(EchoModel).middleware(shifting)];
    for manager in managers {
        let conversation = block_on(manager.build().unwrap().create(Preface::default())).unwrap();
        let error = conversation.ask("one").unwrap_err();
        assert!(error.to_string().ends_with("panicked: boom 42"), "{error}");
        assert_eq!(conversation.ask("on").unwrap().text(), "on");
    }
}

#[test]
fn a_summary_that_is_stopped_is_a_reply_that_is_stopped() {
    let model = ScriptedModel::new([("<assistant>", "Yes.")]);
    let policy = HistorySummary::new(characters, Arc::new(model), SummaryPolicy::new(WINDOW));
    let request = Request::new(Preface::default(), ten_turns());
    request.stop.stop();
    let error = block_on(policy.unwrap().fit(request)).unwrap_err();
    assert!(error.is_cancelled());
    insta::assert_snapshot!(format!("{error:#}"));
}

#[test]
fn a_policy_out_of_range_is_refused() {
    let refused = |policy: SummaryPolicy| {
        HistorySummary::new(characters, Arc::new(Writer::default()), policy).unwrap_err().to_string()
    };
    let drop = HistoryDrop::new(characters, DropPolicy::new(9).reply(9)).unwrap_err().to_string();
    let refusals = [
        drop,
        refused(SummaryPolicy::new(9).reply(9)),
        refused(SummaryPolicy::new(100).reply(60).summary(40)),
        refused(SummaryPolicy::new(100).summary(0)),
        refused(SummaryPolicy::new(100).fill(0.0)),
        refused(SummaryPolicy::new(100).role(Role::Tool)),
    ];
    insta::assert_snapshot!(refusals.join("\n"));
}

/// A turn: how long its question is, how long its answer, and whether a tool is asked in between.
fn turns() -> impl Strategy<Value = Vec<(usize, usize, bool)>> {
    proptest::collection::vec((0_usize..60, 0_usize..60, any::<bool>()), 1..12)
}

/// A conversation of which no two messages are alike, its last question without an answer.
fn path(turns: &[(usize, usize, bool)], front: usize) -> Vec<Message> {
    let numbered = |what: &str, number: usize, length: usize| format!("{what}{number}{}", "x".repeat(length));
    let mut path: Vec<_> = (0..front).map(|number| Message::system(numbered("s", number, 5))).collect();
    for (number, (question, answer, calls)) in turns.iter().enumerate() {
        path.push(Message::user(numbered("q", number, *question)));
        if *calls {
            let call = ToolCall::new(format!("call_{number}"), "clock", json!({}));
            path.push(Message::new(Role::Assistant, vec![Content::ToolCall(call.clone())]));
            path.push(Message::tool(vec![ToolResult::ok(&call, numbered("r", number, answer / 2))]));
        }
        if number + 1 < turns.len() {
            path.push(Message::assistant(numbered("a", number, *answer)));
        }
    }
    path
}

proptest! {
    #[test]
    fn every_policy_keeps_the_laws(
        turns in turns(), front in 0_usize..2, reply in 0_usize..60, pinned in 0_usize..3, letters in 0_usize..40,
        room in proptest::option::of(250_usize..500), role in prop_oneof![Just(Role::System), Just(Role::User), Just(Role::Assistant)],
    ) {
        let writer = Writer { letters, room, ..Writer::default() };
        let summary = SummaryPolicy::new(WINDOW).reply(reply).pinned(pinned).summary(20).role(role);
        let shift = HistoryShift::new(characters, ShiftPolicy::new(WINDOW).reply(reply)).unwrap();
        let policies: [Arc<dyn Middleware>; 3] = [
            Arc::new(shift),
            Arc::new(drops(DropPolicy::new(WINDOW).reply(reply).pinned(pinned))),
            Arc::new(summarises(&writer, summary)),
        ];
        let path = path(&turns, front);
        for policy in &policies {
            // As the conversation was held, so that what is remembered counts.
            for end in 1..=path.len() {
                let is_asked = matches!(path[end - 1].role, Role::User | Role::Tool);
                if is_asked {
                    let request = Request::new(Preface::system("Be kind."), path[..end].to_vec());
                    block_on(context_policy::all(policy, &characters, WINDOW, &request));
                }
            }
        }
    }

    #[test]
    fn one_turn_more_would_not_have_fit(turns in turns(), reply in 0_usize..60) {
        let request = Request::new(Preface::default(), path(&turns, 0));
        let Ok(fitted) = drops(DropPolicy::new(WINDOW).reply(reply)).fit(request.clone()) else { return Ok(()) };
        if fitted.dropped > 0 {
            let earlier = request.path[..fitted.dropped].iter().rposition(|message| message.role == Role::User);
            let more = Request::new(Preface::default(), request.path[earlier.unwrap()..].to_vec());
            prop_assert!(characters(&more).unwrap() > WINDOW - reply);
        }
    }
}
