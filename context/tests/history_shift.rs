//! History shift: what the model sees when a conversation outgrows its window, and what the reply says of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use alloquy_context::{HistoryShift, ShiftPolicy};
use alloquy_core::message::{ToolCall, ToolResult};
use alloquy_core::processor::ToolCallDelta;
use alloquy_core::report::{CacheReport, Warning};
use alloquy_core::{
    ChatModel, Content, Delta, ErrorKind, Manager, Message, Preface, Reply, ReplyStream, Request, Result,
    Role, ToolSpec, TurnEvent, TurnRequest,
};
use alloquy_inference::{Generator, GeneratorOptions, LanguageModel};
use alloquy_testing::{ScriptedEngine, TaggedProcessor, TaggedTemplate};
use futures::StreamExt;
use pollster::block_on;
use proptest::prelude::*;
use serde_json::json;

const WINDOW: usize = 100;

/// Together more than a window.
const QUESTIONS: [&str; 6] = ["the first", "the second", "the third", "the fourth", "the fifth", "the sixth"];

/// Calls a tool, piece by piece, always by the same id.
#[derive(Debug)]
struct Calling;

#[async_trait::async_trait]
impl ChatModel for Calling {
    fn name(&self) -> &str {
        "calling"
    }

    async fn reply(&self, _: Request) -> Result<ReplyStream> {
        let call = ToolCall::new("call_0", "clock", json!({}));
        let id = call.id.clone();
        let name = call.name.clone();
        let text = "{}".to_owned();
        Ok(ReplyStream::new(|mut emit| async move {
            emit.send(Delta::Arguments(ToolCallDelta { id, name, text })).await;
            emit.send(Delta::ToolCall(call.clone())).await;
            Ok(Reply::new(Message::new(Role::Assistant, vec![Content::ToolCall(call)])))
        }))
    }

    async fn warm(&self, _: Request) -> Result<Option<CacheReport>> {
        Ok(None)
    }
}

fn round(script: &[(&str, &str)]) -> LanguageModel {
    let engine = ScriptedEngine::new(script.iter().copied()).context_length(WINDOW);
    LanguageModel::builder(Generator::new(Arc::new(engine), GeneratorOptions::default()).unwrap())
        .template(TaggedTemplate)
        .processor(TaggedProcessor)
        .build()
        .unwrap()
}

fn policy() -> ShiftPolicy {
    ShiftPolicy::new(WINDOW).reply(12).fill(0.5)
}

/// A length that adds up: a unit for each character of a message, and one for its end.
fn characters(request: &Request) -> Result<usize> {
    let messages = request.preface.messages.iter().chain(&request.path);
    Ok(messages.map(|message| message.text().chars().count() + 1).sum())
}

fn dropped(warnings: &[Warning]) -> usize {
    warnings
        .iter()
        .map(|warning| match warning {
            Warning::HistoryShifted { dropped, .. } => *dropped,
            _ => 0,
        })
        .sum()
}

#[test]
fn a_conversation_goes_on_past_its_window_and_says_so() {
    let round = round(&[("<assistant>", "Yes."), ("seven<end><assistant>", "I forgot what one was.")]);
    let shift = HistoryShift::new(round.clone(), policy()).unwrap();
    let seen = HistoryShift::new(round.clone(), policy()).unwrap();
    let manager = Manager::builder(round.clone()).middleware(shift).build().unwrap();
    let mut drawing = String::new();
    block_on(async {
        let conversation = manager.create(Preface::system("Be kind.")).await.unwrap();
        for question in ["one", "two", "three", "four", "five", "six", "seven", "eight"] {
            let turn = conversation.send(question).finish().await.unwrap();
            let mut request =
                conversation.request().await.unwrap().ending(alloquy_core::template::PromptEnd::Generation);
            let answer = request.path.pop().unwrap();
            let shifted = seen.shift(request).unwrap();
            let prompt = round.prepare(&shifted.request).unwrap();
            assert_eq!(dropped(&turn.reply.warnings), shifted.dropped);
            let cache = turn.reply.cache.unwrap();
            writeln!(
                drawing,
                "{:?}\n  {} units, {} of them reused, {} messages dropped\n  {}\n  {}",
                prompt.rendered,
                cache.prompt,
                cache.cached,
                shifted.dropped,
                answer.text(),
                json!(turn.reply.warnings),
            )
            .unwrap();
        }
        assert_eq!(
            conversation.history().await.unwrap().len(),
            16,
            "nothing is dropped from the conversation"
        );
    });
    insta::assert_snapshot!(drawing);
}

#[test]
fn what_is_remembered_changes_nothing() {
    let path: Vec<_> = (0..40)
        .map(|number| match number % 2 {
            0 => Message::user(format!("question {number}")),
            _ => Message::assistant("x".repeat(number)),
        })
        .collect();
    let used = HistoryShift::new(characters, policy()).unwrap();
    let mut before = 0;
    for length in (1..path.len()).step_by(2) {
        let request = || Request::new(Preface::system("Be kind."), path[..length].to_vec());
        let fresh = HistoryShift::new(characters, policy()).unwrap();
        let shifted = used.shift(request()).unwrap();
        assert_eq!(shifted.request.path, fresh.shift(request()).unwrap().request.path);
        assert_eq!(shifted.request.path, path[shifted.dropped..length]);
        assert!(shifted.dropped >= before, "what was dropped comes back");
        before = shifted.dropped;
    }
    assert!(before > 30);
}

#[test]
fn a_conversation_is_not_gone_through_again() {
    let counted = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&counted);
    let length = move |request: &Request| {
        counter.fetch_add(1, Ordering::Relaxed);
        characters(request)
    };
    let shift = HistoryShift::new(length, policy()).unwrap();
    let mut path = Vec::new();
    for _ in 0..200 {
        path.push(Message::user("question"));
        let before = counted.load(Ordering::Relaxed);
        shift.shift(Request::new(Preface::default(), path.clone())).unwrap();
        assert!(counted.load(Ordering::Relaxed) - before <= 8);
        path.push(Message::assistant("answer"));
    }
}

#[test]
fn instructions_and_examples_stay_and_an_exchange_is_not_torn() {
    let call = ToolCall::new("call_0", "clock", json!({}));
    let path = vec![
        Message::system("In the path."),
        Message::user("An example?"),
        Message::assistant("An answer."),
        Message::user("x".repeat(30)),
        Message::assistant("y".repeat(20)),
        Message::user("What time is it?"),
        Message::new(Role::Assistant, vec![Content::ToolCall(call.clone())]),
        Message::tool(vec![ToolResult::ok(&call, "noon")]),
    ];
    let shift = HistoryShift::new(characters, policy().keep(2)).unwrap();
    let shifted = shift.shift(Request::new(Preface::default(), path.clone())).unwrap();
    assert_eq!(shifted.dropped, 2);
    assert_eq!(shifted.request.path, [&path[..3], &path[5..]].concat());
}

#[test]
fn a_call_out_of_sight_keeps_its_id_to_itself() {
    let round = round(&[("Now?<end><assistant>", "call:clock {}")]);
    let shift = HistoryShift::new(round.clone(), policy()).unwrap();
    let manager = Manager::builder(round).middleware(shift).build().unwrap();
    block_on(async {
        let clock: ToolSpec = serde_json::from_value(json!({"name": "clock"})).unwrap();
        let conversation =
            manager.create(Preface { tools: vec![clock], ..Preface::default() }).await.unwrap();
        let first = conversation.send("Now?").finish().await.unwrap();
        let id = |turn: &alloquy_core::TurnReply| turn.reply.message.tool_calls().next().unwrap().id.clone();
        let call = first.reply.message.tool_calls().next().unwrap().clone();
        conversation.add(vec![Message::tool(vec![ToolResult::ok(&call, "z".repeat(60))])]).await.unwrap();
        let second = conversation.send("Now?").finish().await.unwrap();
        assert_eq!(second.reply.warnings, [Warning::HistoryShifted { dropped: 3, tokens: 83 }]);
        assert_ne!(id(&first), id(&second));
    });
}

#[test]
fn pieces_of_arguments_have_the_id_of_their_call() {
    let call = ToolCall::new("call_0", "clock", json!({}));
    let path = vec![
        Message::new(Role::Assistant, vec![Content::ToolCall(call.clone())]),
        Message::user("x".repeat(60)),
        Message::assistant("y".repeat(60)),
        Message::user("Again"),
    ];
    let manager = Manager::builder(Calling).middleware(HistoryShift::new(characters, policy()).unwrap());
    block_on(async {
        let hosts = Preface::default().tool(ToolSpec::new("clock", "The host's own", json!({})));
        let conversation = manager.build().unwrap().create(hosts).await.unwrap();
        conversation.add(path).await.unwrap();
        let mut turn = conversation.complete(TurnRequest::default());
        let mut ids = Vec::new();
        while let Some(event) = turn.next().await {
            match event {
                Ok(TurnEvent::Delta(Delta::Arguments(piece))) => ids.push(piece.id),
                Ok(TurnEvent::Delta(Delta::ToolCall(call))) => ids.push(call.id),
                _ => {}
            }
        }
        assert_eq!(ids, ["call_0_2", "call_0_2"]);
    });
}

#[test]
fn what_is_computed_ahead_is_what_the_next_answer_begins_with() {
    let round = round(&[("<assistant>", "Yes.")]);
    let shift = || HistoryShift::new(round.clone(), policy()).unwrap();
    let manager = Manager::builder(round.clone()).middleware(shift()).build().unwrap();
    block_on(async {
        let conversation = manager.create(Preface::default()).await.unwrap();
        for question in QUESTIONS {
            conversation.add(question).await.unwrap();
            let warm = conversation.warm(TurnRequest::default()).await.unwrap().unwrap();
            let reply = conversation.complete(TurnRequest::default()).finish().await.unwrap().reply;
            assert_eq!(reply.cache.unwrap().computed, 1, "{question}: the header alone is left");
            assert_eq!(reply.cache.unwrap().cached, warm.prompt);
            assert!(
                !conversation.score(TurnRequest::default(), &["Yes.".to_owned()]).await.unwrap().is_empty()
            );
        }
        assert!(round.prepare(&conversation.request().await.unwrap()).unwrap().prompt.units.len() > WINDOW);
        let drafted = manager.create(Preface::default()).await.unwrap();
        for question in QUESTIONS {
            let warm = drafted.warm(question).await.unwrap().unwrap();
            let reply = drafted.send(question).await.unwrap().reply;
            assert_eq!((reply.text().as_str(), reply.cache.unwrap().cached), ("Yes.", warm.prompt));
        }
    });
}

#[test]
fn a_question_that_is_too_long_is_the_models_to_refuse() {
    let round = round(&[]);
    let shift = HistoryShift::new(round.clone(), policy()).unwrap();
    let long = Message::user("x".repeat(WINDOW));
    let path = vec![Message::user("Hi"), Message::assistant("Hello!"), long.clone()];
    let shifted = shift.shift(Request::new(Preface::default(), path)).unwrap();
    assert_eq!((shifted.dropped, shifted.request.path.as_slice()), (2, [long].as_slice()));
    let error = block_on(round.reply(shifted.request)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ContextOverflow);
}

#[test]
fn a_policy_out_of_range_is_refused() {
    let refused = |policy: ShiftPolicy| HistoryShift::new(characters, policy).unwrap_err().to_string();
    insta::assert_snapshot!(refused(ShiftPolicy::new(128)), @"128 tokens for a reply are not below the window of 128");
    insta::assert_snapshot!(refused(ShiftPolicy::new(999).fill(0.0)), @"the share 0 of the window is not above 0 and at most 1");
    insta::assert_snapshot!(refused(ShiftPolicy::new(999).fill(f64::NAN)), @"the share NaN of the window is not above 0 and at most 1");
}

fn said() -> impl Strategy<Value = Message> {
    let role = prop_oneof![4 => Just(Role::User), 4 => Just(Role::Assistant), 1 => Just(Role::Tool), 1 => Just(Role::System)];
    (role, 0_usize..60).prop_map(|(role, length)| Message::new(role, vec![Content::Text("x".repeat(length))]))
}

proptest! {
    #[test]
    fn what_is_left_fits_or_is_the_last_exchange(
        path in proptest::collection::vec(said(), 0..40), keep in 0_usize..3, reply in 0_usize..90, fill in 0.01..=1.0,
    ) {
        let policy = ShiftPolicy::new(WINDOW).reply(reply).fill(fill).keep(keep);
        let shift = HistoryShift::new(characters, policy).unwrap();
        let request = Request::new(Preface::default(), path.clone());
        let fits = |request: &Request| characters(request).unwrap() + reply < WINDOW;
        let shifted = shift.shift(request.clone()).unwrap();
        let lead = path.iter().take_while(|message| message.role == Role::System).count() + keep;
        let lead = lead.min(path.len());
        let left = &shifted.request.path;
        prop_assert_eq!(left, &[&path[..lead], &path[lead + shifted.dropped..]].concat());
        prop_assert!(shifted.dropped == 0 || left[lead].role == Role::User);
        prop_assert!(shifted.dropped == 0 || !fits(&request));
        let later = left.iter().skip(lead + 1).any(|message| message.role == Role::User);
        prop_assert!(fits(&shifted.request) || !later, "{left:?}");
    }
}
