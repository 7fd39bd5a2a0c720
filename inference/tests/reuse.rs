//! What is reused: the longest common prefix, forks before foreign tails are cut, a bounded number of sessions.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::Arc;

use alloquy_core::report::{CacheReport, MissReason};
use alloquy_core::{ChatModel, Message, Preface, Request};
use alloquy_inference::{Generator, LanguageModel};
use alloquy_testing::{ScriptedEngine, TaggedProcessor, TaggedTemplate};

fn round(engine: &ScriptedEngine, sessions: usize) -> LanguageModel {
    let engine = Arc::new(engine.clone());
    LanguageModel::builder(Generator::new(engine, sessions).unwrap())
        .template(TaggedTemplate)
        .processor(TaggedProcessor)
        .build()
        .unwrap()
}

fn ask(round: &LanguageModel, texts: &[&str]) -> CacheReport {
    let path = texts.iter().enumerate().map(|(index, text)| match index % 2 {
        0 => Message::user(*text),
        _ => Message::assistant(*text),
    });
    let request = Request::new(Preface::system("You are a patient teacher."), path.collect());
    let reply = pollster::block_on(async { round.reply(request).await?.finish().await });
    reply.unwrap().cache.unwrap()
}

#[test]
fn a_longer_conversation_reuses_prompt_and_reply() {
    let round = round(&ScriptedEngine::new([("<user>a<end><assistant>", "b")]), 1);
    let first = ask(&round, &["a"]);
    assert_eq!((first.cached, first.first_difference), (0, None));
    let second = ask(&round, &["a", "b", "c"]);
    assert_eq!(second.cached, first.prompt + 1);
    assert_eq!(second.computed, second.prompt - second.cached);
}

#[test]
fn an_edit_reuses_what_stands_before_it() {
    let round = round(&ScriptedEngine::new([]), 1);
    let first = ask(&round, &["a", "b", "c"]);
    let edited = ask(&round, &["a", "b", "d"]);
    assert_eq!(edited.cached, first.prompt - "c".len() - 2);
    assert_eq!(edited.first_difference, Some(edited.cached));
}

#[test]
fn the_same_prompt_again_computes_one_unit() {
    let round = round(&ScriptedEngine::new([]), 1);
    ask(&round, &["a"]);
    assert_eq!(ask(&round, &["a"]).computed, 1);
}

#[test]
fn with_room_another_branch_leaves_the_first_one_whole() {
    let round = round(&ScriptedEngine::new([]), 2);
    ask(&round, &["one question", "one answer", "more"]);
    ask(&round, &["another question", "another answer", "more"]);
    let back = ask(&round, &["one question", "one answer", "more"]);
    assert_eq!(back.computed, 1, "the first branch was cut: {back:?}");
}

#[test]
fn without_room_the_least_recently_used_session_leaves() {
    let round = round(&ScriptedEngine::new([]), 2);
    let texts = [
        "first conversation with a long text",
        "second one, just as long as that",
        "third, longer than both",
    ];
    for text in texts {
        ask(&round, &[text, "an answer that makes it longer still", "go on"]);
    }
    let preface = ask(&round, &["x"]).cached;
    assert_eq!(ask(&round, &[texts[2], "an answer that makes it longer still", "go on"]).computed, 1);
    assert_eq!(ask(&round, &[texts[0], "an answer that makes it longer still", "go on"]).cached, preface);
}

#[test]
fn without_room_what_others_hold_too_leaves_before_a_tail_that_nobody_else_holds() {
    let round = round(&ScriptedEngine::new([]), 2);
    let long = "a question that goes on for a good while";
    let first = ["q", "a", long];
    let short = ["q", "a", "x"];
    let other = ["q", "a", "a questionable one"];
    ask(&round, &first);
    ask(&round, &short);
    ask(&round, &other);
    assert_eq!(ask(&round, &first).computed, 1, "its tail was cut");
    let again = ask(&round, &short);
    assert_eq!(again.miss, Some(MissReason::Evicted), "{again:?}");
    assert_eq!(ask(&round, &["q", "a", "new"]).miss, None, "nothing of it was ever computed");
}
